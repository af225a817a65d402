"""cuSOLVER's dense functions by name: matrices are stored column by column."""

from __future__ import annotations

import ctypes

from pycuda._libraries import host

from ._library import Handle, Library


class CUSOLVER_ERROR(Exception):
    """A function of cuSOLVER failed."""


class CUSOLVER_STATUS_NOT_INITIALIZED(CUSOLVER_ERROR):
    """The handle is not one, or was destroyed."""


class CUSOLVER_STATUS_ALLOC_FAILED(CUSOLVER_ERROR):
    """There is no memory for what the library needs."""


class CUSOLVER_STATUS_INVALID_VALUE(CUSOLVER_ERROR):
    """A parameter has a value that the function does not take."""


class CUSOLVER_STATUS_ARCH_MISMATCH(CUSOLVER_ERROR):
    """The device lacks something that the function needs."""


class CUSOLVER_STATUS_MAPPING_ERROR(CUSOLVER_ERROR):
    """Memory of the device could not be accessed."""


class CUSOLVER_STATUS_EXECUTION_FAILED(CUSOLVER_ERROR):
    """A kernel failed."""


class CUSOLVER_STATUS_INTERNAL_ERROR(CUSOLVER_ERROR):
    """An internal operation of the library failed."""


class CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED(CUSOLVER_ERROR):
    """The function does not take such matrices."""


class CUSOLVER_STATUS_NOT_SUPPORTED(CUSOLVER_ERROR):
    """The function does not support this."""


class CUSOLVER_STATUS_ZERO_PIVOT(CUSOLVER_ERROR):
    """A pivot is zero."""


class CUSOLVER_STATUS_INVALID_LICENSE(CUSOLVER_ERROR):
    """A license is missing."""


CUSOLVER_EXCEPTIONS = {
    -1: CUSOLVER_ERROR,
    1: CUSOLVER_STATUS_NOT_INITIALIZED,
    2: CUSOLVER_STATUS_ALLOC_FAILED,
    3: CUSOLVER_STATUS_INVALID_VALUE,
    4: CUSOLVER_STATUS_ARCH_MISMATCH,
    5: CUSOLVER_STATUS_MAPPING_ERROR,
    6: CUSOLVER_STATUS_EXECUTION_FAILED,
    7: CUSOLVER_STATUS_INTERNAL_ERROR,
    8: CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED,
    9: CUSOLVER_STATUS_NOT_SUPPORTED,
    10: CUSOLVER_STATUS_ZERO_PIVOT,
    11: CUSOLVER_STATUS_INVALID_LICENSE,
}

_library = Library("cusolver", CUSOLVER_EXCEPTIONS, "skcuda._host_solver")
cusolverCheckStatus = _library.check

_TABLE = """
cusolverDn?potrf_bufferSize        S D C Z  uplo n a lda =int
cusolverDn?potrf                   S D C Z  uplo n a lda workspace lwork devInfo
cusolverDn?potrs                   S D C Z  uplo n nrhs a lda B ldb devInfo
cusolverDn?getrf_bufferSize        S D C Z  m n a lda =int
cusolverDn?getrf                   S D C Z  m n a lda workspace devIpiv devInfo
cusolverDn?getrs                   S D C Z  trans n nrhs a lda devIpiv B ldb devInfo
cusolverDn?gesvd_bufferSize        S D C Z  m n =int
cusolverDn?gesvd                   S D C Z  jobu jobvt m n a lda s U ldu vt ldvt work lwork rwork devInfo
cusolverDn?geqrf_bufferSize        S D C Z  m n a lda =int
cusolverDn?geqrf                   S D C Z  m n a lda tau workspace lwork devInfo
cusolverDn?orgqr_bufferSize        S D      m n k a lda tau =int
cusolverDn?orgqr                   S D      m n k a lda tau work lwork devInfo
cusolverDn?ungqr_bufferSize        C Z      m n k a lda tau =int
cusolverDn?ungqr                   C Z      m n k a lda tau work lwork devInfo
cusolverDn?syevd_bufferSize        S D      jobz uplo n a lda w =int
cusolverDn?syevd                   S D      jobz uplo n a lda w workspace lwork devInfo
cusolverDn?heevd_bufferSize        C Z      jobz uplo n a lda w =int
cusolverDn?heevd                   C Z      jobz uplo n a lda w workspace lwork devInfo
cusolverDn?syevj_bufferSize        S D      jobz uplo n a lda w =int params
cusolverDn?syevj                   S D      jobz uplo n a lda w work lwork info params
cusolverDn?heevj_bufferSize        C Z      jobz uplo n a lda w =int params
cusolverDn?heevj                   C Z      jobz uplo n a lda w work lwork info params
cusolverDn?syevjBatched_bufferSize S D      jobz uplo n a lda w =int params batchSize
cusolverDn?syevjBatched            S D      jobz uplo n a lda w work lwork info params batchSize
cusolverDn?heevjBatched_bufferSize C Z      jobz uplo n a lda w =int params batchSize
cusolverDn?heevjBatched            C Z      jobz uplo n a lda w work lwork info params batchSize
"""

globals().update(_library.functions(_TABLE))


# ---- handles


def cusolverDnCreate() -> Handle:
    """A handle of the library in the current context."""
    return _library.create("cusolverDnCreate")


def cusolverDnDestroy(handle) -> None:
    """Release a handle."""
    _library.destroy("cusolverDnDestroy", handle)


def cusolverDnSetStream(handle, stream) -> None:
    """Queue what is called with this handle on a stream: its number (`stream.handle`), or a Stream."""
    _library.set_stream("cusolverDnSetStream", handle, stream)


def cusolverDnGetStream(handle) -> int:
    """The number of the handle's stream."""
    return _library.valid(handle).stream_number


# ---- parameters of Jacobi's method


def _set(name: str, info, value) -> None:
    """Set a parameter of Jacobi's method. On the CPU device LAPACK computes, and the value is ignored."""
    _library.valid(info)
    if not host.is_possible():
        _library.call(name, ctypes.c_void_p(info), value)


def _get(name: str, handle, info, value):
    """What the library reports on the last computation: it writes to the ctypes number `value`, which is
    returned as a Python number. On the CPU device, where LAPACK computes, that is 0.
    """
    _library.valid(info)
    if not host.is_possible():
        _library.call(name, ctypes.c_void_p(handle), ctypes.c_void_p(info), ctypes.byref(value))
    return value.value


def cusolverDnCreateSyevjInfo() -> Handle:
    """The parameters of Jacobi's method for eigenvalues."""
    return _library.create("cusolverDnCreateSyevjInfo")


def cusolverDnDestroySyevjInfo(info) -> None:
    """Release parameters."""
    _library.destroy("cusolverDnDestroySyevjInfo", info)


def cusolverDnXsyevjSetTolerance(info, tolerance) -> None:
    """Set the tolerance at which the computation ends."""
    _set("cusolverDnXsyevjSetTolerance", info, ctypes.c_double(tolerance))


def cusolverDnXsyevjSetMaxSweeps(info, max_sweeps) -> None:
    """Set after how many sweeps the computation ends."""
    _set("cusolverDnXsyevjSetMaxSweeps", info, ctypes.c_int(max_sweeps))


def cusolverDnXsyevjSetSortEig(info, sort_eig) -> None:
    """Set whether eigenvalues are sorted; on the CPU device they are."""
    _set("cusolverDnXsyevjSetSortEig", info, ctypes.c_int(sort_eig))


def cusolverDnXsyevjGetResidual(handle, info) -> float:
    """The residual of the last computation."""
    return _get("cusolverDnXsyevjGetResidual", handle, info, ctypes.c_double())


def cusolverDnXsyevjGetSweeps(handle, info) -> int:
    """The sweeps of the last computation."""
    return _get("cusolverDnXsyevjGetSweeps", handle, info, ctypes.c_int())
