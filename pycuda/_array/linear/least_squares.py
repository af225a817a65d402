"""Least squares, pseudoinverses, ranks and condition numbers, by singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.core.operands import as_array, limits_of, real_dtype
from pycuda._array.linear import checks
from pycuda._array.linear.decompositions import svd, unchecked_svd
from pycuda._array.linear.matmul import matmul
from pycuda._array.linear.matrices import adjoint, common_dtype, in_rows, stacked, stacked_square
from pycuda._array.linear.norms import norm
from pycuda._array.linear.solving import unchecked_inverse

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Inexact
    from pycuda.gpuarray import GPUArray

_NOT_CONVERGED = "SVD did not converge in Linear Least Squares"
_NOT_GIVEN = object()
_NUMPYS_RCOND = 1e-15  # the default of numpy.linalg.pinv


def _relative_tolerance(tolerance):
    """A relative tolerance, shaped to broadcast against the singular values: if it is an array it has one
    number for each matrix.
    """
    from pycuda.gpuarray import GPUArray

    return tolerance[..., None] if isinstance(tolerance, GPUArray) and tolerance.ndim else tolerance


def _reciprocal(s, large) -> GPUArray:
    """1 / s, and 0 for those that are not large."""
    return apply("where", large, apply("reciprocal", s), 0).astype(s.dtype, copy=False)


def _squared_magnitudes(x) -> GPUArray:
    """Squares of absolute values."""
    if x.dtype.kind == "c":
        return apply("add", apply("square", x._real), apply("square", x._imag))
    return apply("square", x)


def lstsq(a, b, rcond=None) -> tuple[GPUArray, GPUArray, GPUArray, GPUArray]:
    """numpy.linalg.lstsq"""
    a, b = as_array(a), as_array(b)
    right = b[:, None] if b.ndim == 1 else b
    if a.ndim != 2 or right.ndim != 2 or a.shape[0] != right.shape[0]:
        raise numpy_error(np.linalg.lstsq, a, b, rcond)
    dtype = common_dtype(a, b)
    checks.refuse_in_capture("numpy.linalg.lstsq")
    rows, columns = a.shape
    if rcond is None:
        rcond = limits_of(dtype).eps * max(rows, columns)
    elif rcond < 0:
        rcond = limits_of(dtype).eps
    u, s, vh, info = unchecked_svd(a, dtype, full_matrices=False, vectors=True)
    checks.raise_if_failed(info, _NOT_CONVERGED, u, s, vh)
    large = apply("greater", s, s.max(initial=0) * float(rcond))
    rank = large.sum(dtype=np.int32)
    a, right = a.astype(dtype, copy=False), right.astype(dtype, copy=False)
    x = matmul(adjoint(vh), apply("multiply", _reciprocal(s, large)[:, None], matmul(adjoint(u), right)))
    # NumPy has residuals only for matrices of full rank. Without checks the rank is not read.
    if rows > columns and not (checks.are_wanted() and int(rank.get()) != columns):
        residuals = _squared_magnitudes(right - matmul(a, x)).sum(axis=0)
    else:
        residuals = new((0,), real_dtype(dtype), a.allocator)
    return x[:, 0].copy() if b.ndim == 1 else x, residuals, rank, s


def pinv(a: Array[Inexact], rcond=None, hermitian=False, *, rtol=_NOT_GIVEN) -> GPUArray[Inexact]:
    """numpy.linalg.pinv"""
    a = as_array(a)
    if rcond is not None and rtol is not _NOT_GIVEN:
        raise numpy_error(np.linalg.pinv, a, rcond, rtol=rtol)
    if rcond is None:
        rcond = _NUMPYS_RCOND if rtol is _NOT_GIVEN else rtol
    a = (stacked_square if hermitian else stacked)(np.linalg.pinv, a, hermitian=hermitian)
    if rcond is None:
        rcond = max(a.shape[-2:]) * limits_of(common_dtype(a)).eps
    if not a.size:
        return new((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype, a.allocator)
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    large = apply("greater", s, s.max(axis=-1, keepdims=True) * _relative_tolerance(rcond))
    factor = _reciprocal(s, large)[..., None]
    return in_rows(matmul(adjoint(vh), apply("multiply", factor, adjoint(u))))


def standard_pinv(a: Array[Inexact], rcond=None, hermitian=False, *, rtol=None) -> GPUArray[Inexact]:
    """numpy.linalg.pinv with the array API standard's default: singular values count as 0 up to the largest
    times max(M, N) and the precision of the dtype."""
    if rcond is not None and rtol is None:
        return pinv(a, rcond, hermitian)
    return pinv(a, rcond, hermitian, rtol=rtol)


def matrix_rank(A, tol=None, hermitian=False, *, rtol=None) -> GPUArray[np.intp]:
    """numpy.linalg.matrix_rank"""
    a = as_array(A)
    if rtol is not None and tol is not None:
        raise numpy_error(np.linalg.matrix_rank, a, tol, rtol=rtol)
    if a.ndim < 2:
        return apply("not_equal", a, 0).any().astype(np.int64)
    s = svd(a, compute_uv=False, hermitian=hermitian)
    if tol is None:
        rtol = max(a.shape[-2:]) * limits_of(s.dtype).eps if rtol is None else _relative_tolerance(rtol)
        threshold = s.max(axis=-1, keepdims=True, initial=0) * rtol
    else:
        threshold = _relative_tolerance(tol)
    return apply("greater", s, threshold).sum(axis=-1, dtype=np.int64)


def _with_infinity(result, x) -> GPUArray:
    """The condition numbers of the matrices x, with inf in place of NaN unless the matrix has a NaN."""
    known = apply("logical_not", apply("isnan", x).any(axis=(-2, -1)))
    return apply("where", apply("isnan", result) & known, np.inf, result).astype(result.dtype, copy=False)


def cond(x, p=None) -> GPUArray[np.floating]:
    """numpy.linalg.cond"""
    x = as_array(x)
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise numpy_error(np.linalg.cond, x, p)
    if p is None or p in (2, -2):
        s = svd(x, compute_uv=False)
        first, last = s[..., 0], s[..., -1]
        return _with_infinity(apply("divide", *((last, first) if p == -2 else (first, last))), x)
    stacked_square(np.linalg.cond, x, p)
    dtype = common_dtype(x)
    inverses = unchecked_inverse(x, dtype)
    result = apply("multiply", norm(x, p, (-2, -1)), norm(inverses, p, (-2, -1)))
    return _with_infinity(result.astype(real_dtype(dtype), copy=False), x)
