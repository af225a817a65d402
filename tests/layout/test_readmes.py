"""Each folder of sources has a short description: a README.md or, for a Python package, the docstring of its
__init__.py, but not both. A folder without either is named in the README.md above it.
"""

import ast
from pathlib import Path

import pytest
from checkout import tracked

ROOT = Path(__file__).resolve().parents[2]
TOPS = {"abi", "core", "device", "ext", "pycuda", "skcuda", "pycuda_cpu", "tests", "tools"}
TOPS |= {"benchmarks", "docs", "examples"}
SOURCES = {".c", ".h", ".hpp", ".cu", ".def", ".py", ".md", ".ptx", ".txt", ".svg", ".png"}
TRACKED = tracked()
FOLDERS = sorted(
    {
        path.parent
        for path in map(Path, TRACKED)
        if path.parts[0] in TOPS and path.suffix in SOURCES and (ROOT / path).exists()
    }
)
MAX_LINES = 15


def describes_itself(folder):
    """Whether it has a README.md (of a title and some lines) or a docstring; it must not have both."""
    readme, package = ROOT / folder / "README.md", ROOT / folder / "__init__.py"
    docstring = ast.get_docstring(ast.parse(package.read_text())) if package.exists() else None
    assert not (readme.exists() and docstring), "a README.md and the docstring of __init__.py"
    if readme.exists():
        lines = readme.read_text().splitlines()
        assert lines[0].startswith("# ") and 2 < len(lines) <= MAX_LINES
    return readme.exists() or bool(docstring)


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_folder_is_described(folder):
    if describes_itself(folder):
        return
    above = next(each for each in folder.parents if (ROOT / each / "README.md").exists())
    assert above.parts, f"{folder} has no README.md"
    assert f"`{folder.relative_to(above).parts[0]}/`" in (ROOT / above / "README.md").read_text()


def test_most_folders_are_tested():
    assert len(FOLDERS) > 80
