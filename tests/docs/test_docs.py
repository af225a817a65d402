"""Every program in the documentation runs."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PROGRAMS = [
    (path.relative_to(DOCS).as_posix(), number, program)
    for path in sorted(DOCS.rglob("*.md"))
    for number, program in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.S))
]


@pytest.mark.parametrize(
    "name, number, program", PROGRAMS, ids=[f"{name}-{number}" for name, number, _ in PROGRAMS]
)
def test_program(run_python, name, number, program):
    for package in "scipy", "dask":
        if f"import {package}" in program and importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    # Without the folder of tests, whose names are not to be found as packages.
    done = run_python(program, env={"PYTHONPATH": None})
    assert done.returncode == 0 and not done.stderr, done.stderr
