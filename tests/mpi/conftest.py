"""Starts programs with several MPI processes."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

from mpi_launcher import find_mpi


@pytest.fixture(scope="session")
def mpi():
    """(path of mpiexec, changes of the environment) for the MPI library that mpi4py is to load: that of
    PYCUDA_TEST_MPIEXEC and MPI4PY_LIBMPI if these are set.
    """
    try:
        program, changes = find_mpi()
    except LookupError as error:
        pytest.skip(str(error))
    return program, {**changes, "PYCUDA_CPU_DEVICES": "2", "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture
def mpi_run(mpi, tmp_path):
    """A function that runs a program with so many processes and returns its CompletedProcess (text).

    source: the program, or the Path of one. check: all processes must exit with 0.
    """
    program, changes = mpi

    def run(processes, source, *arguments, check=True, timeout=100, **env):
        script = source if isinstance(source, Path) else tmp_path / "program.py"
        if script is not source:
            script.write_text(textwrap.dedent(source))
        command = [program, "-n", str(processes), sys.executable, "-m", "mpi4py", str(script), *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env={**os.environ, **changes, **env}
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    return run
