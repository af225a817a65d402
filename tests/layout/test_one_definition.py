"""Each name of a function of arrays is defined in one module of pycuda/_array. If the signature of PyCUDA,
NumPy or the array API standard differs, that function is in the module of such signatures.
"""

import ast
from pathlib import Path

ARRAY = Path(__file__).resolve().parents[2] / "pycuda" / "_array"
SIGNATURES = {
    "numpy_api/numpy_signatures.py",
    "numpy_api/standard_signatures.py",
    "pycuda_api/pycuda_signatures.py",
}


def defined(path):
    """Yields the names of a module's functions, classes and variables."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            targets = (name for target in node.targets for name in ast.walk(target))
            yield from (name.id for name in targets if isinstance(name, ast.Name))


def places():
    """{public name: [modules that define it]}"""
    found = {}
    for path in sorted(ARRAY.rglob("*.py")):
        module = path.relative_to(ARRAY).as_posix()
        for name in defined(path):
            if not name.startswith("_"):
                found.setdefault(name, []).append(module)
    return found


def test_each_name_is_defined_once():
    found = places()
    assert found["sort"] == ["sorting/sorting.py"] and len(found) > 400
    twice = {name: {*modules} - SIGNATURES for name, modules in found.items()}
    assert {name: modules for name, modules in twice.items() if len(modules) > 1} == {}
