"""Every example runs, by itself, without a word on stderr."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("example", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_example(example):
    done = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, timeout=100, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr


def test_program_in_the_readme(run_python):
    readme = (FOLDER.parent / "README.md").read_text()
    program = readme.split("```python\n")[1].split("```")[0]
    assert len(program.strip().splitlines()) <= 10
    done = run_python(program)
    assert done.returncode == 0 and done.stdout == "True\n", done.stderr
