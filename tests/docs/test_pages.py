"""What the pages at the top say is so."""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_tests_that_contributing_names_are_there():
    for path, test in re.findall(r"(tests/\S+\.py)(?:::(\w+))?", (ROOT / "CONTRIBUTING.md").read_text()):
        assert (ROOT / path).is_file(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(), test


def test_the_row_that_contributing_shows_is_one():
    row = re.search(r"^    (Function\(.*)$", (ROOT / "CONTRIBUTING.md").read_text(), re.M)[1]
    assert f"    {row}\n" in (ROOT / "pycuda" / "_kernels" / "functions.py").read_text()


def test_make_says_which_package_is_missing(tmp_path):
    """Without headers, venv or a compiler, as on a bare Debian."""
    program = f"""
import importlib.util, sys, sysconfig
sys.path.insert(0, {str(ROOT / "tools")!r})
import prerequisites
sysconfig.get_path = lambda name: {str(tmp_path)!r}
importlib.util.find_spec = lambda name: None
sys.exit(prerequisites.main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PATH": str(tmp_path)}
    )
    assert done.returncode == 1
    assert "apt-get install python3-venv python3-dev gcc" in done.stderr
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "prerequisites.py"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


# Not formatted since the limit became what it says: `make format` does it.
WIDER = ("device/", "CHANGELOG.md", "CONTRIBUTING.md", "docs/cpu_device.md", "docs/design/cpu_device.md")


def long_lines(name):
    """Lines of more than 110 columns, rows of tables apart."""
    lines = enumerate((ROOT / name).read_text().split("\n"), 1)
    return [f"{name}:{n}" for n, line in lines if len(line) > 110 and not line.lstrip().startswith("|")]


def test_no_line_is_longer_than_110_columns():
    """In C and in pages, macro tables apart that clang-format does not touch. Python's lines are ruff's."""
    files = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "*.c", "*.h", "*.md"], capture_output=True, text=True
    ).stdout.split()
    tables = (ROOT / ".clang-format-ignore").read_text().split()
    checked = [
        name
        for name in files
        if not name.startswith(WIDER) and not any(fnmatch.fnmatch(name, table) for table in tables)
    ]
    assert len(checked) > 150
    assert [place for name in checked if (ROOT / name).is_file() for place in long_lines(name)] == []
