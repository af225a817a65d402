"""Cholesky, QR and singular value decompositions."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from pycuda._array.core.assign import assign
from pycuda._array.core.creation import identity, tril, triu
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.core.operands import real_dtype
from pycuda._array.linear import checks, lapack
from pycuda._array.linear.eigenvalues import eigh, eigvalsh
from pycuda._array.linear.matrices import (
    adjoint,
    common_dtype,
    in_columns,
    in_rows,
    new_columns,
    stacked,
    stacked_square,
)
from pycuda._libraries import small_lapack

if TYPE_CHECKING:
    from typing import Any, Literal

    from pycuda._array.core.types import Array, Inexact, QRResult, SVDResult
    from pycuda.gpuarray import GPUArray

_QR = type(np.linalg.qr(np.ones((1, 1))))
_SVD = type(np.linalg.svd(np.ones((1, 1))))
NOT_DEFINITE = "Matrix is not positive definite"
NOT_CONVERGED = "SVD did not converge"


def cholesky(a: Array[Inexact], /, *, upper=False) -> GPUArray[Inexact]:
    """numpy.linalg.cholesky"""
    a = stacked_square(np.linalg.cholesky, a, upper=upper)
    dtype = common_dtype(a)
    checks.refuse_in_capture("numpy.linalg.cholesky")
    a = a.astype(dtype, copy=False)
    if lapack.has_small(a):
        with checks.linalg_error(NOT_DEFINITE) as check:
            return small_lapack.cholesky(a, bool(upper), check.address)
    factor = a.copy("C") if lapack.is_by_numpy() else in_columns(a, dtype)
    info = checks.new_info(a.shape[:-2], a.allocator)
    lapack.potrf(factor, bool(upper), info)
    checks.raise_if_failed(info, NOT_DEFINITE, factor)
    return factor if lapack.is_by_numpy() else in_rows((triu if upper else tril)(factor))


# ---- QR


def _product_of_reflectors(factors, tau, width: int) -> GPUArray:
    """The first `width` columns of Q, in column order."""
    *batch, rows, _ = factors.shape
    count = tau.shape[-1]
    q = new_columns((*batch, rows, width), factors.dtype, factors.allocator)
    if count:
        assign(q[..., :count], factors[..., :count])
        lapack.orgqr(q, tau)
    elif width:
        assign(q, identity(width, q.dtype))
    return q


@overload
def qr(a: Array[Inexact], mode: Literal["reduced", "complete"] = "reduced") -> QRResult[Inexact]: ...
@overload
def qr(a: Any, mode: Literal["reduced", "complete"] = "reduced") -> QRResult: ...
@overload
def qr(a: Any, mode: Literal["r"]) -> GPUArray: ...
@overload
def qr(a: Any, mode: Literal["raw"]) -> tuple[GPUArray, GPUArray]: ...


def qr(a, mode="reduced") -> QRResult | GPUArray | tuple[GPUArray, GPUArray]:
    """numpy.linalg.qr"""
    if mode not in ("reduced", "complete", "r", "raw"):
        raise numpy_error(np.linalg.qr, a, mode)
    a = stacked(np.linalg.qr, a, mode)
    dtype = common_dtype(a)
    *batch, rows, columns = a.shape
    min_side = min(rows, columns)
    factors, tau = in_columns(a, dtype), new((*batch, min_side), dtype, a.allocator)
    lapack.geqrf(factors, tau)
    if mode == "raw":
        return in_rows(factors.swapaxes(-1, -2)), tau
    width = rows if mode == "complete" else min_side
    r = in_rows(triu(factors[..., :width, :]))
    return r if mode == "r" else _QR(in_rows(_product_of_reflectors(factors, tau, width)), r)


# ---- singular values


def unchecked_svd(a, dtype, full_matrices: bool, vectors: bool):
    """(u, s, vh, info); u and vh lie in memory column by column, or are None without `vectors`."""
    lapack.refuse_gesvd_in_capture(a)
    *batch, rows, columns = a.shape
    min_side = min(rows, columns)
    s = new((*batch, min_side), real_dtype(dtype), a.allocator)
    info, u, vh = checks.new_info(batch, a.allocator), None, None
    if vectors:
        u = new_columns((*batch, rows, rows if full_matrices else min_side), dtype, a.allocator)
        vh = new_columns((*batch, columns if full_matrices else min_side, columns), dtype, a.allocator)
    if s.size:
        lapack.gesvd(in_columns(a, dtype), s, u, vh, info, checks.are_wanted())
    elif vectors:
        for each in (u, vh):
            if each.size:
                assign(each, identity(each.shape[-1], dtype))
    return u, s, vh, info


def _of_hermitian(a, vectors: bool):
    """svd() of Hermitian matrices, by their eigenvalues: singular values are their magnitudes, and their
    signs go into the right singular vectors. vectors: whether these are wanted, not the singular values
    alone.
    """
    from pycuda._array.indexing.take_put import take_along_axis

    if not vectors:
        return _sort_decreasing(apply("absolute", eigvalsh(a)))
    w, v = eigh(a)
    s = apply("absolute", w)
    order = apply("negative", s).argsort(axis=-1)
    v = take_along_axis(v, order[..., None, :], -1)
    sign = take_along_axis(apply("sign", w), order, -1)
    vh = adjoint(apply("multiply", v, sign[..., None, :]))
    return _SVD(v, take_along_axis(s, order, -1), in_rows(vh))


def _sort_decreasing(values) -> GPUArray:
    values.sort(axis=-1)
    return values[..., ::-1].copy("C")


@overload
def svd(
    a: Array[Inexact], full_matrices: bool = True, compute_uv: Literal[True] = True, hermitian: bool = False
) -> SVDResult[Inexact]: ...
@overload
def svd(
    a: Any, full_matrices: bool = True, compute_uv: Literal[True] = True, hermitian: bool = False
) -> SVDResult: ...
@overload
def svd(
    a: Any, full_matrices: bool = True, *, compute_uv: Literal[False], hermitian: bool = False
) -> GPUArray[np.floating]: ...


def svd(a, full_matrices=True, compute_uv=True, hermitian=False) -> SVDResult | GPUArray:
    """numpy.linalg.svd"""
    if hermitian:
        return _of_hermitian(stacked_square(np.linalg.svd, a, hermitian=True), compute_uv)
    a = stacked(np.linalg.svd, a)
    dtype = common_dtype(a)
    checks.refuse_in_capture("numpy.linalg.svd")
    u, s, vh, info = unchecked_svd(a, dtype, bool(full_matrices), bool(compute_uv))
    checks.raise_if_failed(info, NOT_CONVERGED, *((u, s, vh) if compute_uv else (s,)))
    return _SVD(in_rows(u), s, in_rows(vh)) if compute_uv else s


def svdvals(x, /) -> GPUArray[np.floating]:
    """numpy.linalg.svdvals"""
    return svd(x, compute_uv=False)
