"""The folders of C and Python code: each has a description, and those of C include only those below them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)

# From the bottom: a folder includes only those before it.
CORE = ["core/layout", "core"]
ORDER = re.search(r"only those before it:(.*?);", (ROOT / "ext/README.md").read_text(), re.S)[1]
EXT = [*(f"ext/{name}" for name in re.findall(r"`(\w+)/`", ORDER)), "ext"]
DEVICE = [
    "device/ptx",
    "device/exec/code",
    "device/exec/memory",
    "device/exec/state",
    "device/exec/numbers",
    "device/exec/texture",
    "device/exec/checks",
    "device/exec/control",
    "device/exec/collective",
    "device/exec/async",
    "device/exec/runtime",
    "device/exec/run",
    "device/exec/ops",
    "device/exec",
    "device/lower",
    "device/lower/select",
    "device/lower/passes",
    "device/api/base",
    "device/api/context",
    "device/api/stream",
    "device/api/memory",
    "device/api/copy",
    "device/api/texture",
    "device/api/device",
    "device/api/code",
    "device/api/launch",
    "device/graph",
    "device/api/entry",
    "device/toolkit",
    "device/runtime",
    "device",
]


def files(folder):
    """The C files and tables in a folder and below it."""
    return [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in {".c", ".h", ".def"}]


def folder(path):
    """The name of a file's folder, from the root."""
    return path.parent.relative_to(ROOT).as_posix()


def included(path):
    """Yields (name, folder) of each file of the project that a file includes from another folder."""
    for name in INCLUDE.findall(path.read_text()):
        for base in (ROOT, ROOT / "device"):
            if (base / name).is_file() and folder(base / name) != folder(path):
                yield name, folder(base / name)


def folders(top):
    """The names of the folders with C files in `top` and below it."""
    return {folder(path) for path in files(top)}


def test_every_folder_has_a_rule():
    assert folders("core") == set(CORE)
    assert folders("ext") == set(EXT)
    assert folders("device") == set(DEVICE)


@pytest.mark.parametrize("order", [CORE, EXT, DEVICE], ids=["core", "ext", "device"])
def test_a_folder_includes_only_those_before_it(order):
    place = {name: number for number, name in enumerate(order)}
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in files(order[-1])
        for name, target in included(path)
        if target in place and place[target] > place[folder(path)]
    ]
    assert not wrong


def described(name):
    """Whether a folder has a README.md or a package's docstring, or the README.md of its parent names it."""
    path = ROOT / name
    text = path / "__init__.py"
    if (path / "README.md").exists() or (text.exists() and text.read_text().startswith('"""')):
        return True
    above = path.parent / "README.md"
    return above.exists() and f"`{path.name}/`" in above.read_text()


def test_every_folder_is_described():
    names = {
        path.parent.relative_to(ROOT).as_posix()
        for top in ("abi", "core", "ext", "device", "pycuda")
        for path in (ROOT / top).rglob("*")
        if path.suffix in {".c", ".h", ".def", ".py", ".hpp"}
    }
    assert len(names) > 60
    assert sorted(name for name in names if not described(name)) == []


@pytest.mark.parametrize(
    "page",
    [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        *(f"docs/design/{path.name}" for path in (ROOT / "docs" / "design").glob("*.md")),
    ],
)
def test_paths_in_a_page_exist(page):
    names = re.findall(
        r"`((?:abi|core|ext|device|exec|lower|ptx|api|pycuda|tests|tools|docs|benchmarks)/[\w./-]*)`",
        (ROOT / page).read_text(),
    )
    assert names
    assert [
        name for name in names if not any((base / name).exists() for base in (ROOT, ROOT / "device"))
    ] == []
