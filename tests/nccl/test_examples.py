"""The sessions that the reference shows with the names of pycuda.nccl."""

from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_sessions(run_python):
    pytest.importorskip("nccl.core", reason="nccl4py is not installed")
    done = run_python(
        f"""
import doctest, sys
from pathlib import Path
sys.path.insert(0, {str(DOCS)!r})
import programs
runner = doctest.DocTestRunner()
for names, text in programs.examples_of(Path({str(DOCS / "examples" / "nccl.pycon")!r})):
    runner.run(doctest.DocTestParser().get_doctest(text, {{}}, names[0], None, 0))
assert runner.tries > 10 and not runner.failures
"""
    )
    assert done.returncode == 0, done.stdout + done.stderr
