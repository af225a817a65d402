"""Systems of linear equations, inverses, powers and determinants, by LU factorizations."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.assign import assign
from pycuda._array.core.broadcast import broadcast_to, fit
from pycuda._array.core.creation import arange, identity
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.core.operands import as_array, real_dtype
from pycuda._array.linear import checks, lapack
from pycuda._array.linear.diagonals import diagonal
from pycuda._array.linear.matmul import matmul
from pycuda._array.linear.matrices import (
    common_dtype,
    in_columns,
    in_rows,
    new_columns,
    stacked_square,
)
from pycuda._libraries import small_lapack

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Inexact, Scalar, SlogdetResult
    from pycuda.gpuarray import GPUArray

_Slogdet = type(np.linalg.slogdet(np.ones((1, 1))))
SINGULAR = "Singular matrix"


def lu_of(a, dtype) -> tuple[GPUArray, GPUArray, GPUArray]:
    """(factors, pivots, info) of the LU factorization of each matrix, as of lapack.getrf: the factors lie in
    memory column by column.
    """
    *batch, rows, columns = a.shape
    factors = in_columns(a, dtype)
    pivots = new((*batch, min(rows, columns)), np.int64, a.allocator)
    info = checks.new_info(batch, a.allocator)
    lapack.getrf(factors, pivots, info)
    return factors, pivots, info


def diagonals_of(factors) -> GPUArray:
    """A view of the diagonals of U, in the factors of lu_of()."""
    return diagonal(factors, 0, -2, -1)


def solve_by_lu(factors, pivots, b, dtype, transposed=0) -> GPUArray:
    """The solutions, column by column, for factors and pivots of lu_of() and right-hand sides that broadcast
    with the matrices. transposed: as for lapack.getrs.
    """
    batch = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    x = in_columns(b, dtype, batch)
    if factors.shape[:-2] != batch:
        factors = in_columns(factors, dtype, batch)
        every = new((*batch, pivots.shape[-1]), pivots.dtype, pivots.allocator)
        assign(every, pivots)
        pivots = every
    lapack.getrs(factors, pivots, x, transposed)
    return x


def _solutions(a, right, dtype) -> tuple[GPUArray, GPUArray, GPUArray | None]:
    """By NumPy or by LU factors: (solutions, info, the diagonals of U or None without LU factors)."""
    if not lapack.is_by_numpy():
        factors, pivots, info = lu_of(a, dtype)
        return solve_by_lu(factors, pivots, right, dtype), info, diagonals_of(factors)
    batch = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
    x, info = new((*batch, *right.shape[-2:]), dtype, right.allocator), checks.new_info(batch, a.allocator)
    assign(x, right)
    lapack.gesv(broadcast_to(a, (*batch, *a.shape[-2:])), x, info)
    return x, info, None


def _solve_small(a, right) -> GPUArray:
    """The solutions by small_lapack."""
    if a.shape[:-2] != right.shape[:-2]:
        batch = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
        a = broadcast_to(a, (*batch, *a.shape[-2:]))
        right = broadcast_to(right, (*batch, *right.shape[-2:]))
    with checks.linalg_error(SINGULAR) as check:
        return small_lapack.solve(a, right, check.address)


def solve(a: Array[Inexact], b: Array[Inexact]) -> GPUArray[Inexact]:
    """numpy.linalg.solve"""
    a, b = as_array(a), as_array(b)
    a = stacked_square(np.linalg.solve, a, b)
    right = b[:, None] if b.ndim == 1 else b
    if right.ndim < 2 or right.shape[-2] != a.shape[-1] or not fit(a.shape[:-2], right.shape[:-2]):
        raise numpy_error(np.linalg.solve, a, b)
    dtype = common_dtype(a, b)
    checks.refuse_in_capture("numpy.linalg.solve")
    a, right = a.astype(dtype, copy=False), right.astype(dtype, copy=False)
    if right.size and lapack.has_small(a, right.shape[-1]):
        x = _solve_small(a, right)
    else:
        x, info, diagonals = _solutions(a, right, dtype)
        checks.raise_if_failed(info, SINGULAR, x, diagonals=diagonals)
        x = in_rows(x)
    return x[..., 0] if b.ndim == 1 else x


def _inverses(a, dtype) -> tuple[GPUArray, GPUArray, GPUArray | None]:
    """By NumPy or by LU factors: (inverses, info, the diagonals of U or None without LU factors)."""
    if lapack.is_by_numpy():
        x, info = new(a.shape, dtype, a.allocator), checks.new_info(a.shape[:-2], a.allocator)
        lapack.inverse(a, x, info)
        return x, info, None
    factors, pivots, info = lu_of(a, dtype)
    x = new_columns(a.shape, dtype, a.allocator)
    assign(x, identity(a.shape[-1], dtype))
    lapack.getrs(factors, pivots, x)
    return x, info, diagonals_of(factors)


def unchecked_inverse(a, dtype) -> GPUArray:
    """The inverses, NaN for singular matrices."""
    a = a.astype(dtype, copy=False)
    if lapack.has_small(a, a.shape[-1]):
        return small_lapack.inverse(a)
    x, info, _ = _inverses(a, dtype)
    checks.fill_failed(info, x)
    return x


def inv(a: Array[Inexact]) -> GPUArray[Inexact]:
    """numpy.linalg.inv"""
    a = stacked_square(np.linalg.inv, a)
    dtype = common_dtype(a)
    checks.refuse_in_capture("numpy.linalg.inv")
    a = a.astype(dtype, copy=False)
    if lapack.has_small(a, a.shape[-1]):
        with checks.linalg_error(SINGULAR) as check:
            return small_lapack.inverse(a, check.address)
    x, info, diagonals = _inverses(a, dtype)
    checks.raise_if_failed(info, SINGULAR, x, diagonals=diagonals)
    return in_rows(x)


def matrix_power(a: Array[Scalar], n) -> GPUArray[Scalar]:
    """numpy.linalg.matrix_power, by repeated squaring"""
    a = stacked_square(np.linalg.matrix_power, a, n)
    try:
        n = operator.index(n)
    except TypeError:
        raise numpy_error(np.linalg.matrix_power, a, n) from None
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        result = new(a.shape, a.dtype, a.allocator)
        result[...] = identity(a.shape[-1], a.dtype)
        return result
    result, square = None, a
    while n:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        square = matmul(square, square) if n else square
    return result


# ---- determinants


def slogdet(a: Array[Inexact]) -> SlogdetResult[Inexact]:
    """numpy.linalg.slogdet"""
    a = stacked_square(np.linalg.slogdet, a)
    dtype = common_dtype(a)
    factors, pivots, _ = lu_of(a, dtype)
    main = diagonals_of(factors)
    # A row that was interchanged with itself, whose pivot is its own number from 1, does not change the sign.
    swaps = apply("not_equal", pivots, arange(1, a.shape[-1] + 1, dtype=np.int64)).sum(axis=-1)
    parity = (1 - 2 * (swaps % 2)).astype(real_dtype(dtype))
    sign = apply("multiply", apply("sign", main).prod(axis=-1), parity)
    return _Slogdet(sign, apply("log", apply("absolute", main)).sum(axis=-1))


def det(a: Array[Inexact]) -> GPUArray[Inexact]:
    """numpy.linalg.det"""
    a = stacked_square(np.linalg.det, a)
    sign, logarithm = slogdet(a)
    return apply("multiply", sign, apply("exp", logarithm))


# ---- tensors


def tensorsolve(a: Array[Inexact], b: Array[Inexact], axes=None) -> GPUArray[Inexact]:
    """numpy.linalg.tensorsolve"""
    a, b = as_array(a), as_array(b)
    given = a
    if axes is not None:
        order = list(range(a.ndim))
        for axis in axes:
            order.remove(axis)
            order.append(axis)
        a = a.transpose(order)
    shape = a.shape[-(a.ndim - b.ndim) :]
    side = math.prod(shape)
    if a.size != side**2 or b.size != side:
        raise numpy_error(np.linalg.tensorsolve, given, b, axes)
    return solve(a.reshape(side, side), b.ravel()).reshape(shape)


def tensorinv(a: Array[Inexact], ind=2) -> GPUArray[Inexact]:
    """numpy.linalg.tensorinv"""
    a = as_array(a)
    if ind <= 0 or math.prod(a.shape[:ind]) != math.prod(a.shape[ind:]):
        raise numpy_error(np.linalg.tensorinv, a, ind)
    side = math.prod(a.shape[ind:])
    return inv(a.reshape(side, side)).reshape(*a.shape[ind:], *a.shape[:ind])
