"""Eigenvalues and eigenvectors."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.core.operands import real_dtype
from pycuda._array.linear import checks, lapack
from pycuda._array.linear.matrices import (
    common_dtype,
    complex_dtype,
    in_columns,
    in_rows,
    new_columns,
    stacked_square,
    zero_unless_finite,
)

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, EighResult, EigResult, Inexact
    from pycuda.gpuarray import GPUArray

_Eigh = type(np.linalg.eigh(np.ones((1, 1))))
_Eig = type(np.linalg.eig(np.ones((1, 1))))
_NOT_CONVERGED = "Eigenvalues did not converge"
_NOT_FINITE = "Array must not contain infs or NaNs"


# ---- of Hermitian matrices


def _syevd(function, a, uplo, vectors: bool) -> tuple[GPUArray, GPUArray]:
    """(eigenvalues, eigenvectors in columns)"""
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        raise numpy_error(function, a, uplo)
    a = stacked_square(function, a, uplo)
    dtype = common_dtype(a)
    checks.refuse_in_capture(f"numpy.linalg.{function.__name__}")
    lapack.refuse_syevd_in_capture(a)
    w = new(a.shape[:-1], real_dtype(dtype), a.allocator)
    v, info = in_columns(a, dtype), checks.new_info(a.shape[:-2], a.allocator)
    lapack.syevd(v, w, uplo.upper() == "U", vectors, info)
    checks.raise_if_failed(info, _NOT_CONVERGED, w, v)
    return w, v


def eigh(a: Array[Inexact], UPLO="L") -> EighResult[Inexact]:
    """numpy.linalg.eigh"""
    w, v = _syevd(np.linalg.eigh, a, UPLO, vectors=True)
    return _Eigh(w, in_rows(v))


def eigvalsh(a, UPLO="L") -> GPUArray[np.floating]:
    """numpy.linalg.eigvalsh"""
    return _syevd(np.linalg.eigvalsh, a, UPLO, vectors=False)[0]


# ---- of any matrices


def _geev(function, a, vectors: bool) -> tuple[GPUArray, GPUArray | None]:
    """(eigenvalues, eigenvectors or None), both complex; the eigenvectors lie in memory column by column."""
    a = stacked_square(function, a)
    dtype = common_dtype(a)
    checks.refuse_in_capture(f"numpy.linalg.{function.__name__}")
    lapack.refuse_geev_in_capture(a)
    result = complex_dtype(dtype)
    w = new(a.shape[:-1], result, a.allocator)
    v = new_columns(a.shape, result, a.allocator) if vectors else None
    work = in_columns(a, dtype)
    finite = zero_unless_finite(work)
    info = checks.new_info(a.shape[:-2], a.allocator)
    lapack.geev(work, w, v, info)
    apply("where", finite, info, -1, out=info)  # raises _NOT_FINITE below
    results = (w, v) if vectors else (w,)
    checks.raise_if_failed(info, lambda info: _NOT_CONVERGED if info > 0 else _NOT_FINITE, *results)
    return w, v


@functools.cache
def _can_be_real() -> bool:
    """Whether this NumPy returns real arrays if all eigenvalues of a real matrix are real: before 2.5 it
    does.
    """
    return np.linalg.eigvals(np.eye(1)).dtype.kind == "f"


def are_real(a, w) -> bool:
    """Whether `a` is real and so are all its eigenvalues w, for which the host waits. Within without_checks()
    it does not wait, and the result is False.
    """
    return a.dtype.kind != "c" and checks.are_wanted() and not apply("imag", w).any().get()


def _are_real(a, w) -> bool:
    """Whether NumPy returns real arrays for the matrix `a` with the eigenvalues w."""
    return _can_be_real() and are_real(a, w)


def complex_eig(a) -> EigResult:
    """numpy.linalg.eig, whose results are complex even if all eigenvalues are real: the array API
    standard's.
    """
    w, v = _geev(np.linalg.eig, a, vectors=True)
    return _Eig(w, in_rows(v))


def eig(a) -> EigResult:
    """numpy.linalg.eig"""
    w, v = complex_eig(a)
    return _Eig(apply("real", w), apply("real", v)) if _are_real(a, w) else _Eig(w, v)


def complex_eigvals(a) -> GPUArray[np.complexfloating]:
    """numpy.linalg.eigvals, whose result is complex even if all eigenvalues are real: the array API
    standard's.
    """
    return _geev(np.linalg.eigvals, a, vectors=False)[0]


def eigvals(a) -> GPUArray[np.inexact]:
    """numpy.linalg.eigvals"""
    w = complex_eigvals(a)
    return apply("real", w) if _are_real(a, w) else w
