"""Without the GIL: what the import of pycuda leaves as it was."""

import sys

import pytest
from free_threading import FREE_THREADED

MODULES = "driver gpuarray cumath curandom linalg reduction scan sparse tools ipc gl"


@pytest.mark.skipif(not FREE_THREADED, reason="this CPython cannot disable the GIL")
def test_the_import_leaves_the_gil_off(run_python):
    """From CPython 3.14 on: docs/install.md."""
    modules = ", ".join(f"pycuda.{name}" for name in MODULES.split())
    program = f"import sys, warnings\nwarnings.simplefilter('ignore')\nimport {modules}\n"
    done = run_python(program + "print(sys._is_gil_enabled())", env={"PYTHON_GIL": None})
    assert done.stdout == f"{sys.version_info < (3, 14)}\n", done.stderr
