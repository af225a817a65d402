"""CONTRIBUTING.md's recipes: one of each is added to a copy of the tree, which is built and used. That takes
minutes, so it is done with PYCUDA_RECIPES=1 only (.ci/run)."""

import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
from checkout import tracked

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()

# The heading of a recipe, and its changes: the arguments of add() after `text`. They touch no files but those
# that the recipe names.
RECIPES = {
    "Add a driver function": [
        ("abi/cuda_exports.def", "CU_EXPORT(cuDeviceGetLuid,", None),
        (
            "abi/cuda_functions.def",
            "CU_FN(cuDeviceGetName,",
            "CU_FN(cuDeviceGetLuid, cuDeviceGetLuid, 10000, NONE, ASKS,\n"
            "      (char *luid, unsigned int *mask, CUdevice dev), (luid, mask, dev))\n",
        ),
        ("device/api/base/refused.def", "REFUSED(cuDeviceGetLuid,", None),
        (
            "device/api/device/device.c",
            "CUresult cuDeviceGetName(",
            "CUresult cuDeviceGetLuid(char *luid, unsigned int *mask, CUdevice dev)\n"
            '{\n    *mask = 5 + (unsigned)dev;\n    memcpy(luid, "identity", 8);\n'
            "    return CUDA_SUCCESS;\n}\n\n",
        ),
    ],
    "Add a function or a method": [
        (
            "ext/context/device_calls.def",
            "ASK(pci_bus_id,",
            'ASK(luid, cuDeviceGetLuid, "$self", "Read the identifier of the device.\\n",\n'
            '    (state, bytes, &mask, handle), Py_BuildValue("y#I", bytes, (Py_ssize_t)8, mask),\n'
            "    char bytes[8]; unsigned mask)\n",
        ),
        (
            "ext/context/device.c",
            "static PyMethodDef device_methods[]",
            'PyDoc_STRVAR(ordinal_plus_doc, "ordinal_plus($self, number=1)\\n--\\n\\nAdd to it.");\n\n'
            "static PyObject *device_ordinal_plus(PyObject *self, FAST_PARAMETERS)\n"
            "{\n    int number = 1;\n"
            "    if (READ_ARGUMENTS(ordinal_plus_doc, INTO(&number)) < 0) return NULL;\n"
            "    return PyLong_FromLong(device_cast(self)->handle + number);\n}\n\n",
        ),
        (
            "ext/context/device.c",
            '    {"count", device_count,',
            '    {"ordinal_plus", AS_METHOD(device_ordinal_plus), FAST_KEYWORDS, ordinal_plus_doc},\n',
        ),
    ],
    "Add a PTX instruction to the CPU device": [
        ("device/ptx/instructions.def", "OPCODE(tanh,", 'OPCODE(swab, "0")\nFORM(".b32", "d:0 a:0")\n'),
        ("device/exec/code/alu.def", "OP(brev_b32)", "OP(swab_b32)\n"),
        ("device/exec/ops/logic.c", "UNARY(brev_b32,", "UNARY(swab_b32, b32, __builtin_bswap32(a))\n"),
        ("device/lower/select/select.def", "ALU(tanh)", "ALU(swab)\n"),
    ],
    "Add an array operation": [
        (
            "pycuda/_kernels/builtin/functions.py",
            '    Function("sign", np.sign,',
            '    Function("cube", np.square, _kinds(fi="a * a * a")),\n',
        ),
        (
            "pycuda/_kernels/builtin/reduction.py",
            '    "prod": Reduction(',
            '    "sumsq": Reduction("A", "A(x * x)", "zero<A>()", "A(a + b)"),\n',
        ),
        ("pycuda/_array/reduction/reduce.py", '    "prod": _Rule(', '    "sumsq": _Rule(_of_sum),\n'),
        (
            "pycuda/_array/sorting/sets.py",
            "def isin(",
            "def derivative(p: Array[Scalar], m=1) -> GPUArray[Scalar]:\n"
            '    """The coefficients of the derivative, as numpy.polyder."""\n'
            "    for _ in range(m):\n"
            "        p = p[:-1] * arange(len(p) - 1, 0, -1, dtype=p.dtype)\n"
            "    return p\n\n\n",
        ),
        (
            "pycuda/gpuarray.py",
            "from pycuda._array.sorting.sorting import (",
            "from pycuda._array.sorting.sets import derivative\n",
        ),
        ("pycuda/gpuarray.py", '    "dot",', '    "derivative",\n'),
        (
            "pycuda/_array/sorting/sets.py",
            "from pycuda._array.core.elementwise import",
            "from pycuda._array.core.creation import arange\n",
        ),
        ("pycuda/_array/numpy_api/protocols.py", '    "sorting.sets": "', None, "derivative=polyder "),
        (
            "pycuda/gpuarray.py",
            "    # Modules that few programs need are imported at the first call.",
            "    def negated(self):\n"
            '        """Each element with the other sign."""\n'
            "        return -self\n\n",
        ),
    ],
}
PROGRAM = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
import pycuda.numpy as xp
from pycuda._array.core.elementwise import apply
from pycuda._array.numpy_api.protocols import implementation
from pycuda._array.reduction.reduce import reduce

assert __import__("pycuda").__file__.startswith({root!r})
assert drv.Device(0).luid() == (b"identity", 5)
assert drv.Device(0).ordinal_plus() == 1 and drv.Device(0).ordinal_plus(number=5) == 5
host = np.array([1, 2.5, -3])
a = gpuarray.to_gpu(host)
assert (apply("cube", a).get() == host**3).all()
assert reduce("sumsq", a).get() == (host**2).sum()
assert implementation(np.polyder).__name__ == "derivative"
assert (np.polyder(a).get() == np.polyder(host)).all()
assert (xp.polyder([1, 2.5, -3]).get() == np.polyder(host)).all()
assert (a.__array_namespace__().polyder(a).get() == np.polyder(host)).all()
assert (gpuarray.derivative(a).get() == np.polyder(host)).all()
assert (a.negated().get() == -host).all()
module = drv.module_from_buffer(b'''
.version 8.0
.target sm_80
.address_size 64
.visible .entry swab(.param .u64 at)
{{
    .reg .u64 %a;
    .reg .b32 %x;
    ld.param.u64 %a, [at];
    ld.global.b32 %x, [%a];
    swab.b32 %x, %x;
    st.global.b32 [%a], %x;
    ret;
}}
''')
word = np.array([0x01020304], np.uint32)
module.get_function("swab")(drv.InOut(word), block=(1, 1, 1))
assert word[0] == 0x04030201, hex(word[0])
print("done")
"""


def section(heading):
    """The text of CONTRIBUTING.md under this heading."""
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]


@pytest.mark.parametrize("heading", RECIPES)
def test_a_recipe_names_every_file(heading):
    """Each file that the recipe's changes touch, or its folder, is named in its text."""
    named = re.findall(r"`((?:abi|ext|device|exec|pycuda)/[\w./*]*)", section(heading))
    named += [f"device/{name}" for name in named]
    for file, *_ in RECIPES[heading]:
        assert any(fnmatch(file, name) or (name[-1] == "/" and file.startswith(name)) for name in named), file


def add(text, file, before, addition, inside=""):
    """The text of a file with the addition before its only line that begins with `before`. If the addition is
    None, that line is removed; if `inside` is not empty, it is inserted into that line, after `before`. file:
    its name, for messages.
    """
    lines = text.split("\n")
    at = [number for number, line in enumerate(lines) if line.startswith(before)]
    assert len(at) == 1, f"{len(at)} lines of {file} begin with {before!r}"
    (at,) = at
    if inside:
        lines[at] = before + inside + lines[at][len(before) :]
    elif addition is None:
        del lines[at]
    else:
        lines[at:at] = addition.removesuffix("\n").split("\n")
    return "\n".join(lines)


def changed_files():
    """The files that the recipes change, as they are after all of them."""
    files = {}
    for file, *addition in (row for rows in RECIPES.values() for row in rows):
        files[file] = add(files.get(file) or (ROOT / file).read_text(), file, *addition)
    return files


def test_the_recipes_change_the_files_that_contributing_names():
    """The changes can be applied: without a build, so that a line that has moved is noticed at once."""
    files = changed_files()
    assert files.keys() == {file for rows in RECIPES.values() for file, *_ in rows}


@pytest.mark.cpu("a device that is built for this")
@pytest.mark.skipif("PYCUDA_RECIPES" not in os.environ, reason="builds all of the C code: PYCUDA_RECIPES=1")
@pytest.mark.timeout(900)
def test_a_tree_with_one_of_each_recipe_builds_and_works(tmp_path):
    pytest.importorskip("mesonbuild")
    tree, build = tmp_path / "tree", tmp_path / "build"
    for name in tracked():
        if not name.startswith(("tests/ptx/", "docs/")) and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    for file, text in changed_files().items():
        (tree / file).write_text(text)
    # For Meson to find NumPy, whose command numpy-config may not be on PATH.
    tools = {**os.environ, "PKG_CONFIG_PATH": str(Path(np.__file__).parent / "_core" / "lib" / "pkgconfig")}
    for command in (
        ["setup", build, tree, "-Dbuildtype=plain", "-Disas=v2"],
        ["install", "-C", build, "--destdir", tmp_path / "installed", "--quiet"],
    ):
        subprocess.run([sys.executable, "-m", "mesonbuild.mesonmain", *command], check=True, env=tools)
    (package,) = (tmp_path / "installed").rglob("pycuda/driver.py")
    # -S: without the files of site-packages that may name an editable install.
    path = os.pathsep.join([str(package.parents[1]), *(p for p in sys.path if p.endswith("-packages"))])
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM.format(root=str(tmp_path))],
        env={**os.environ, "PYTHONPATH": path, "PYCUDA_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    shutil.rmtree(build)
    assert done.stdout == "done\n", done.stdout + done.stderr
    subprocess.run(
        [sys.executable, "-S", tree / "tools" / "numpy_stubs.py"],
        env={**os.environ, "PYTHONPATH": path, "PYCUDA_DEVICE": "cpu"},
        check=True,
    )
    stub = (package.parent / "numpy" / "__init__.pyi").read_text()
    assert "def polyder(p: _Array[_Scalar], m: _Any = 1) -> _GPUArray[_Scalar]: ..." in stub
    assert (
        "def derivative(p: GPUArray[Scalar], m: Any = 1) -> GPUArray[Scalar]: ..."
        in (package.parent / "gpuarray.pyi").read_text()
    )
