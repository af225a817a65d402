"""Whether the MPI library of mpi4py may be given the addresses of device memory."""

from __future__ import annotations

import ctypes
import functools
import sys
from types import ModuleType

from pycuda import _driver

_REFUSED = (
    "the MPI library ({}) is not CUDA-aware and would access device memory as if it were the host's; "
    "pycuda.mpi.staged(comm) sends through host memory"
)


def loaded_mpi() -> ModuleType | None:
    """The module mpi4py.MPI, if the program has imported it."""
    return sys.modules.get("mpi4py.MPI")


def cuda_support(mpi: ModuleType) -> bool | None:
    """What the MPI library answers when it is asked whether it is CUDA-aware; None if it cannot be asked.

    Open MPI answers after MPI_Init only, by whether it was built with CUDA and found it; MPICH by whether it
    was built with CUDA and MPIR_CVAR_ENABLE_GPU is not 0.
    """
    if not mpi.Is_initialized() or mpi.Is_finalized():
        return None
    return _query(mpi.__file__)


def _ask(extension: str) -> bool | None:
    # A symbol is looked up in the extension and in the libraries that it is linked with.
    query = getattr(ctypes.CDLL(extension), "MPIX_Query_cuda_support", None)
    return None if query is None else bool(query())


_query = functools.cache(_ask)


def check_library(array: object) -> None:
    """Raises BufferError if mpi4py has an MPI library that cannot access device memory."""
    mpi = loaded_mpi()
    if mpi is None or _driver._is_cpu_device() or cuda_support(mpi) is not False:
        return
    raise BufferError(_REFUSED.format(mpi.Get_library_version().splitlines()[0].strip()))
