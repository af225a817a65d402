"""The stubs are what tools/numpy_stubs.py makes of the annotations, and each Any that is left in them is
listed here. That annotations match results is tested with the functions, in
tests/gpuarray/numpy_api/test_numpy_names.py.
"""

import ast
import sys

import numpy as np
import pytest
from annotations import STUBS


@pytest.mark.skipif(
    not np.__version__.startswith("2.4.") or sys.version_info < (3, 11),
    reason="the stubs are those of NumPy 2.4, written by Python 3.11 or later",
)
@pytest.mark.parametrize("path", STUBS.stubs(), ids=lambda path: str(path.relative_to(STUBS.FOLDER)))
def test_the_stubs_agree_with_the_annotations(path):
    assert path.read_text() == STUBS.stubs()[path], "python tools/numpy_stubs.py writes them again"


# ---- Any

# "module: name" of every function or attribute of type Any, with the reasons.
OF_TYPE_ANY = {
    # Python's numbers, nested lists of them, what pickle stores.
    "gpuarray: GPUArray.item", "gpuarray: GPUArray.tolist", "gpuarray: GPUArray.__reduce_ex__",
    # Whatever NumPy's function returns.
    "gpuarray: GPUArray.__array_function__", "gpuarray: GPUArray.__array_ufunc__",
    # Depends on flags, which are known only at run time.
    "gpuarray: unique", "numpy/__init__: unique",
    # Capsules, addresses or allocations, owners of memory, and objects that users passed.
    "_driver: _GPUArrayBase.__dlpack__", "_driver: _GPUArrayBase.gpudata", "_driver: _GPUArrayBase.data",
    "_driver: _GPUArrayBase.base", "_driver: _GPUArrayBase.allocator", "_driver: ArgumentHandler.array",
    "_driver: ExternalMemoryPool.resource", "_driver: RegisteredHostMemory.base",
    "_driver: TextureObject.source",
    # The flat view, which takes any index.
    "_driver: _GPUArrayBase.flat",
    # The type depends on the attribute.
    "_driver: pointer_get_attribute",
}  # fmt: skip


def names_of_type_any(node, prefix):
    """The public names in the class or module whose type is Any or missing, with the prefix."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.ClassDef) and (each.name == "_GPUArrayBase" or each.name[0] != "_"):
            yield from names_of_type_any(each, f"{prefix}{each.name}.")
        elif isinstance(each, ast.FunctionDef) and (each.name[0] != "_" or each.name.startswith("__")):
            if each.returns is None or ast.unparse(each.returns) in ("Any", "_Any"):
                yield prefix + each.name
        elif isinstance(each, ast.AnnAssign) and ast.unparse(each.annotation) in ("Any", "_Any"):
            yield prefix + ast.unparse(each.target)


def test_every_any_in_the_stubs_is_listed():
    found = set()
    for name in ("numpy/__init__", "numpy/linalg", "numpy/fft", "gpuarray", "_driver"):
        tree = ast.parse((STUBS.FOLDER / f"{name}.pyi").read_text())
        found |= {f"{name}: {each}" for each in names_of_type_any(tree, "")}
    assert found == OF_TYPE_ANY
