"""Every program in the documentation runs."""

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
    if "import scipy" in program:
        pytest.importorskip("scipy")
    done = run_python(program)
    assert done.returncode == 0 and not done.stderr, done.stderr
