"""The Python folders do not import each other in a cycle, also not inside functions."""

import ast
import functools
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "pycuda"
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")
}


@functools.cache
def imported(name, lazy=True):
    """The names of the modules that a module of the package imports; lazy: also inside its functions."""
    return tuple(imports_of(name, lazy))


def imports_of(name, lazy):
    """Yields the names that imported() returns."""
    tree = ast.parse(MODULES[name].read_text())
    for node in ast.walk(tree) if lazy else tree.body:
        if isinstance(node, ast.ImportFrom):
            base = ".".join([*name.split(".")[: -node.level], *([node.module] if node.module else [])])
            home = base if node.level else node.module
            yield from (
                f"{home}.{each.name}" if f"{home}.{each.name}" in MODULES else home for each in node.names
            )
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def cycle(arrows):
    """A cycle in a graph {node: nodes that it needs}, as a list of nodes; None if there is none."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return error.args[1]
    return None


@pytest.mark.parametrize("parent", ["pycuda", "pycuda._array", "pycuda._kernels"])
def test_no_folders_import_each_other(parent):
    depth = parent.count(".") + 1

    def folder(name):
        parts = name.split(".")
        return parts[depth] if name.startswith(f"{parent}.") and len(parts) > depth + 1 else None

    arrows = {}
    for name in MODULES:
        if folder(name):
            arrows.setdefault(folder(name), set()).update(map(folder, imported(name)))
    assert len(arrows) > 4
    arrows = {name: others - {name, None} for name, others in arrows.items()}
    assert cycle(arrows) is None


def test_no_modules_import_each_other_when_they_are_imported():
    arrows = {name: {*imported(name, lazy=False)} & {*MODULES} - {name} for name in MODULES}
    assert sum(map(len, arrows.values())) > 300
    assert cycle(arrows) is None


def test_private_modules_import_no_public_ones():
    """Public modules import private ones, not the reverse. Both may import compyte, which other packages
    share.
    """
    below = [name for name in MODULES if re.match(r"pycuda\._(?!_main__)", name)]
    assert len(below) > 150
    wrong = [
        f"{name}: {each}"
        for name in below
        for each in imported(name, lazy=False)
        if each.split(".")[0] == "pycuda" and not re.match(r"pycuda(\.(_|compyte\.)|$)", each)
    ]
    assert not wrong


def test_no_import_gives_a_module_the_name_of_another():
    names = {name.rsplit(".", 1)[-1] for name in MODULES}
    wrong = [
        f"{path.relative_to(PACKAGE)}: {each.name} as {each.asname}"
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for each in node.names
        if each.asname in names and each.asname != each.name.rsplit(".", 1)[-1]
    ]
    assert not wrong
