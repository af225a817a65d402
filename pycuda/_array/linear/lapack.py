"""LAPACK's factorizations under its names, for stacks of matrices that lie in memory column by column: by
NumPy on the CPU device, by cuSOLVER and cuBLAS on a GPU.

They work in place where LAPACK does. What has no elements is left to the caller. `info` is an int32 for each
matrix, other than 0 where it fails.
"""

from __future__ import annotations

from pycuda._libraries import host, host_lapack


def _library():
    if host.is_possible():
        return host_lapack
    raise NotImplementedError("factorizations of matrices are not supported on a GPU yet")


def getrf(a, pivots, info) -> None:
    """a = P L U: L below the diagonal, whose own is 1, and U above. pivots: int64, the row, counted from 1,
    that each row was interchanged with.
    """
    if a.size:
        _library().getrf(a, pivots, info)


def getrs(lu, pivots, b, transposed: int = 0) -> None:
    """b becomes the solution x of a x = b; transposed: 1 for the transposed of a, 2 for it conjugated."""
    if b.size:
        _library().getrs(lu, pivots, b, transposed)
