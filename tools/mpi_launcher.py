"""Which mpiexec starts processes whose mpi4py loads the same MPI library: for tests and benchmarks."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

# Open MPI refuses root and more processes than cores, without these.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def homes():
    """Folders in which PyPI's wheels of MPI libraries may have their folders bin and lib: the environment
    that has mpi4py, this one, and folders that pip installed into (`--target`). LookupError without mpi4py.
    """
    found = importlib.util.find_spec("mpi4py")
    if found is None:
        raise LookupError("mpi4py is not installed")
    return [*Path(found.origin).resolve().parents[4:5], Path(sys.prefix), *map(Path, sys.path)]


def find_mpi():
    """(path of mpiexec, changes of the environment). Both are as PYCUDA_TEST_MPIEXEC and MPI4PY_LIBMPI say if
    the first is set; else mpiexec is that of a wheel, or the system's. LookupError with the reason if there
    is none.
    """
    places = homes()
    if program := os.environ.get("PYCUDA_TEST_MPIEXEC"):
        return program, OPEN_MPI
    for home in places:
        library = next((path for path in home.glob("lib/libmpi.so.*") if path.exists()), None)
        program = shutil.which("mpiexec", path=str(home / "bin"))
        if program and library:
            return program, {**OPEN_MPI, "MPI4PY_LIBMPI": str(library)}
    program = shutil.which("mpiexec")
    if program is None:
        raise LookupError("no mpiexec: pip install mpich")
    return program, OPEN_MPI
