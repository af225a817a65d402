"""cuBLAS by the names of its functions: matrices are stored column by column, vectors with a step."""

from __future__ import annotations

import ctypes
import math

import pycuda.driver as drv
from pycuda._libraries import host

from ._library import Handle, Library


class cublasError(Exception):
    """A function of cuBLAS failed."""


class cublasNotInitialized(cublasError):
    """The handle is not one, or was destroyed."""


class cublasAllocFailed(cublasError):
    """There is no memory for what the library needs."""


class cublasInvalidValue(cublasError):
    """A parameter has a value that the function does not take."""


class cublasArchMismatch(cublasError):
    """The device lacks something that the function needs."""


class cublasMappingError(cublasError):
    """Memory of the device could not be accessed."""


class cublasExecutionFailed(cublasError):
    """A kernel failed."""


class cublasInternalError(cublasError):
    """An internal operation of the library failed."""


class cublasNotSupported(cublasError):
    """The function does not support this."""


class cublasLicenseError(cublasError):
    """A license is missing."""


cublasExceptions = {
    -1: cublasError,
    1: cublasNotInitialized,
    3: cublasAllocFailed,
    7: cublasInvalidValue,
    8: cublasArchMismatch,
    11: cublasMappingError,
    13: cublasExecutionFailed,
    14: cublasInternalError,
    15: cublasNotSupported,
    16: cublasLicenseError,
}

_library = Library("cublas", cublasExceptions, "skcuda._host_blas")
cublasCheckStatus = _library.check

_TABLE = """
cublas?amax         Is Id Ic Iz   n x incx =index
cublas?amin         Is Id Ic Iz   n x incx =index
cublas?asum         S D Sc Dz     n x incx =real
cublas?nrm2         S D Sc Dz     n x incx =real
cublas?dot          S D           n x incx y incy =value
cublas?dotu         C Z           n x incx y incy =value
cublas?dotc         C Z           n x incx y incy =value
cublas?axpy         S D C Z       n alpha* x incx y incy
cublas?copy         S D C Z       n x incx y incy
cublas?swap         S D C Z       n x incx y incy
cublas?scal         S D C Z       n alpha* x incx
cublas?scal         Cs Zd         n alpha*r x incx
cublas?rot          S D C Z       n x incx y incy c*r s*
cublas?rot          Cs Zd         n x incx y incy c*r s*r
cublas?rotm         S D           n x incx y incy sparam
cublas?gbmv         S D C Z       trans m n kl ku alpha* A lda x incx beta* y incy
cublas?gemv         S D C Z       trans m n alpha* A lda x incx beta* y incy
cublas?ger          S D           m n alpha* x incx y incy A lda
cublas?gerc         C Z           m n alpha* x incx y incy A lda
cublas?geru         C Z           m n alpha* x incx y incy A lda
cublas?sbmv         S D           uplo n k alpha* A lda x incx beta* y incy
cublas?hbmv         C Z           uplo n k alpha* A lda x incx beta* y incy
cublas?spmv         S D           uplo n alpha* AP x incx beta* y incy
cublas?hpmv         C Z           uplo n alpha* AP x incx beta* y incy
cublas?spr          S D           uplo n alpha* x incx AP
cublas?hpr          C Z           uplo n alpha*r x incx AP
cublas?spr2         S D           uplo n alpha* x incx y incy AP
cublas?hpr2         C Z           uplo n alpha* x incx y incy AP
cublas?symv         S D C Z       uplo n alpha* A lda x incx beta* y incy
cublas?hemv         C Z           uplo n alpha* A lda x incx beta* y incy
cublas?syr          S D C Z       uplo n alpha* x incx A lda
cublas?her          C Z           uplo n alpha*r x incx A lda
cublas?syr2         S D C Z       uplo n alpha* x incx y incy A lda
cublas?her2         C Z           uplo n alpha* x incx y incy A lda
cublas?tbmv         S D C Z       uplo trans diag n k A lda x incx
cublas?tbsv         S D C Z       uplo trans diag n k A lda x incx
cublas?tpmv         S D C Z       uplo trans diag n AP x incx
cublas?tpsv         S D C Z       uplo trans diag n AP x incx
cublas?trmv         S D C Z       uplo trans diag n A lda x incx
cublas?trsv         S D C Z       uplo trans diag n A lda x incx
cublas?gemm         S D C Z       transa transb m n k alpha* A lda B ldb beta* C ldc
cublas?symm         S D C Z       side uplo m n alpha* A lda B ldb beta* C ldc
cublas?hemm         C Z           side uplo m n alpha* A lda B ldb beta* C ldc
cublas?syrk         S D C Z       uplo trans n k alpha* A lda beta* C ldc
cublas?herk         C Z           uplo trans n k alpha*r A lda beta*r C ldc
cublas?syr2k        S D C Z       uplo trans n k alpha* A lda B ldb beta* C ldc
cublas?her2k        C Z           uplo trans n k alpha* A lda B ldb beta*r C ldc
cublas?trmm         S D C Z       side uplo trans diag m n alpha* A lda B ldb C ldc
cublas?trsm         S D C Z       side uplo trans diag m n alpha* A lda B ldb
cublas?geam         S D C Z       transa transb m n alpha* A lda beta* B ldb C ldc
cublas?dgmm         S D C Z       side m n A lda x incx C ldc
cublas?gemmBatched  S D C Z       transa transb m n k alpha* A lda B ldb beta* C ldc batchCount
cublas?trsmBatched  S D C Z       side uplo trans diag m n alpha* A lda B ldb batchCount
cublas?getrfBatched S D C Z       n A lda P info batchSize
cublas?getriBatched S D C Z       n A lda P C ldc info batchSize
cublas?getrsBatched S D C Z       trans n nrhs Aarray lda devIpiv Barray ldb info batchSize
"""

globals().update(_library.functions(_TABLE))


# ---- handles


def cublasCreate() -> Handle:
    """A handle of the library in the current context."""
    return _library.create("cublasCreate")


def cublasDestroy(handle) -> None:
    """Release a handle."""
    _library.destroy("cublasDestroy", handle)


def cublasSetStream(handle, id) -> None:
    """Queue what is called with this handle on a stream: its number (`stream.handle`), or a Stream."""
    _library.set_stream("cublasSetStream", handle, id)


def cublasGetStream(handle) -> int:
    """The number of the handle's stream."""
    return _library.valid(handle).stream_number


def cublasGetVersion(handle) -> int:
    """The version of the library; on the CPU device that of the CUDA driver it has."""
    if host.is_possible():
        return drv.get_driver_version()
    version = ctypes.c_int()
    _library.call("cublasGetVersion", ctypes.c_void_p(handle), ctypes.byref(version))
    return version.value


# ---- rotations: of numbers, so that the host computes them with either device


def _rotg(handle, a, b) -> tuple[float, float, float, float]:
    """(r, z, c, s): the rotation of (a, b) to (r, 0), and z, from which c and s can be recovered."""
    a, b = float(a), float(b)
    r = math.copysign(math.hypot(a, b), a if abs(a) > abs(b) else b)
    if not r:
        return 0.0, 0.0, 1.0, 0.0
    c, s = a / r, b / r
    z = s if abs(a) > abs(b) else 1 / c if c else 1.0
    return r, z, c, s


def _complex_rotg(handle, a, b) -> tuple[complex, complex, float, complex]:
    """(r, b, c, s): the rotation of (a, b) to (r, 0), where c is real; b is where _rotg() has z."""
    a, b = complex(a), complex(b)
    if not a:
        return b, b, 0.0, 1 + 0j
    length, direction = math.hypot(abs(a), abs(b)), a / abs(a)
    return direction * length, b, abs(a) / length, direction * b.conjugate() / length


cublasSrotg = cublasDrotg = _rotg
cublasCrotg = cublasZrotg = _complex_rotg


# BLAS's gamma: rotmg scales d1 and d2 by powers of its square to be near 1, and the factors by powers of it.
_GAMMA = 4096.0


def _scaled(d, factors: list, where: tuple[int, ...]):
    """Scale d by a power of _GAMMA**2 to be near 1, and the factors at the places `where`, in place, by the
    inverse power of _GAMMA. Returns (d, whether it was scaled).
    """
    was_scaled = False
    while d and not _GAMMA**-2 < abs(d) < _GAMMA**2:
        power = 1 if abs(d) <= _GAMMA**-2 else -1
        d *= _GAMMA ** (2 * power)
        for each in where:
            factors[each] *= _GAMMA**-power
        was_scaled = True
    return d, was_scaled


def _rotmg(handle, d1, d2, x1, y1) -> tuple[float, float, float, list[float]]:
    """(d1, d2, x1, param): the modified rotation of (x1, y1), weighted by d1 and d2, to (x1, 0).

    param is BLAS's (flag, h11, h21, h12, h22). The flag says which elements of H are stored: -2: none, H is
    the identity; -1: all; 0: h21 and h12, the diagonal is 1; 1: h11 and h22, h21 is -1 and h12 is 1.
    """
    p1, p2 = d1 * x1, d2 * y1
    if d1 >= 0 and p2 == 0:
        return d1, d2, x1, [-2.0, 0.0, 0.0, 0.0, 0.0]
    is_first = abs(p1 * x1) > abs(p2 * y1)
    if d1 < 0 or (not is_first and p2 * y1 < 0):
        return 0.0, 0.0, 0.0, [-1.0, 0.0, 0.0, 0.0, 0.0]
    # h11, h21, h12, h22; x1 is appended, because it is scaled as h11 and h12 are.
    factors = [1.0, -y1 / x1, p2 / p1, 1.0] if is_first else [p1 / p2, -1.0, 1.0, x1 / y1]
    change = factors[0] * factors[3] - factors[1] * factors[2]
    d1, d2, x1 = (d1, d2, x1) if is_first else (d2, d1, y1)
    factors.append(x1 * change)
    d1, was_d1_scaled = _scaled(d1 / change, factors, (0, 2, 4))
    d2, was_d2_scaled = _scaled(d2 / change, factors, (1, 3))
    *factors, x1 = factors
    if was_d1_scaled or was_d2_scaled:
        return d1, d2, x1, [-1.0, *factors]
    if is_first:
        return d1, d2, x1, [0.0, 0.0, *factors[1:3], 0.0]
    return d1, d2, x1, [1.0, factors[0], 0.0, 0.0, factors[3]]


cublasSrotmg = cublasDrotmg = _rotmg
