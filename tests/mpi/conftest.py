"""Starts programs with several MPI processes."""

import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

# Open MPI refuses root and more processes than cores, without these.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


@pytest.fixture(scope="session")
def mpi():
    """(path of mpiexec, changes of the environment) for the MPI library that mpi4py is to load: that of
    PYCUDA_TEST_MPIEXEC and MPI4PY_LIBMPI if these are set.
    """
    found = importlib.util.find_spec("mpi4py")
    if found is None:
        pytest.skip("mpi4py is not installed")
    changes = {**OPEN_MPI, "PYCUDA_CPU_DEVICES": "2", "OPENBLAS_NUM_THREADS": "1"}
    if program := os.environ.get("PYCUDA_TEST_MPIEXEC"):
        return program, changes
    # PyPI's wheels of MPI libraries put both into the folders bin and lib of the environment.
    home = Path(found.origin).resolve().parents[4]
    library = next((path for path in [*home.glob("lib/libmpi.so.*")] if path.exists()), None)
    program = shutil.which("mpiexec", path=str(home / "bin"))
    if program and library:
        return program, {**changes, "MPI4PY_LIBMPI": str(library)}
    program = shutil.which("mpiexec")
    if program is None:
        pytest.skip("no mpiexec: pip install mpich")
    return program, changes


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
