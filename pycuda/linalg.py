"""Triangular systems, and LU and Cholesky factorizations that are used again, as scipy.linalg has them.
All else of linear algebra is in ``numpy.linalg``, which takes GPUArrays.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.broadcast import fit
from pycuda._array.core.creation import arange, identity, tril, triu
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.operands import as_array, real_dtype
from pycuda._array.indexing.take_put import take_along_axis
from pycuda._array.linear import checks, lapack
from pycuda._array.linear.checks import without_checks
from pycuda._array.linear.diagonals import diagonal
from pycuda._array.linear.matrices import common_dtype, in_columns, in_rows
from pycuda._array.linear.solving import diagonals_of, lu_of, solve_by_lu
from pycuda._libraries import small_lapack

if TYPE_CHECKING:
    from typing import Literal

    from pycuda._array.core.types import Array
    from pycuda.gpuarray import GPUArray

__all__ = ["cho_factor", "cho_solve", "lu", "lu_factor", "lu_solve", "solve_triangular", "without_checks"]

_TRANSPOSED = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _square(a, refusal: str) -> GPUArray:
    """The matrices as an array. ValueError, with this text for their shape, unless they are square."""
    a = as_array(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(refusal.format(a.shape))
    return a


def _right_hand_sides(a, b, refusal: str) -> GPUArray:
    """The right-hand sides b of systems with the matrices a, as columns: a 1-D array is one column.
    ValueError, with this text for both shapes, if they do not fit.
    """
    b = as_array(b)
    right = b[:, None] if b.ndim == 1 else b
    if right.ndim < 2 or right.shape[-2] != a.shape[-1] or not fit(a.shape[:-2], right.shape[:-2]):
        raise ValueError(refusal.format(a.shape, b.shape))
    return right


def _finite_flags(check_finite: bool, *arrays) -> list:
    """For each array of floats, on the device, whether all elements are finite. Empty if nothing is to be
    checked.
    """
    wanted = check_finite and checks.are_wanted()
    return [apply("isfinite", each).all() for each in arrays if wanted and each.dtype.kind in "fc"]


def _refuse_infinite(finite) -> None:
    """ValueError if one of the flags of _finite_flags() is false. Waits for the stream."""
    if not all(bool(each.get()) for each in finite):
        raise ValueError("array must not contain infs or NaNs")


def _solution(x, b) -> GPUArray:
    """The solutions x, columns, in the form of the right-hand sides b."""
    return x[..., 0] if as_array(b).ndim == 1 else in_rows(x)


# ---- triangles


def _solve_triangle(a, x, lower: bool, transposed: int, unit: bool) -> None:
    """Overwrite x, right-hand sides that lie in memory column by column, by the solutions. The matrices
    broadcast to the stack of x. transposed: as for lapack.trsm; unit: the diagonal counts as 1.
    """
    columns = in_columns(a, x.dtype, x.shape[:-2])
    lapack.trsm(columns, x, not lower, transposed, unit)


@takes_arrays
def solve_triangular(
    a: Array,
    b: Array,
    trans: Literal[0, 1, 2, "N", "T", "C"] = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> GPUArray:
    """The solution x of a x = b for a triangular matrix, as scipy.linalg.solve_triangular.

    Parameters
    ----------
    a : GPUArray
        Of the shape (..., M, M); only one triangle is read. Single or double precision, real or complex;
        integers become double.
    b : GPUArray
        Of the shape (M,) or (..., M, K); axes before the last two broadcast with those of `a`.
    trans : {0, 1, 2, "N", "T", "C"}, optional
        Solve with `a`, with its transposed, or with its conjugate transposed.
    lower : bool, optional
        The lower triangle of `a`; by default the upper one.
    unit_diagonal : bool, optional
        The diagonal is 1, whatever is there.
    overwrite_b : bool, optional
        As in SciPy; nothing is overwritten.
    check_finite : bool, optional
        Refuse infinities and NaNs.

    Returns
    -------
    GPUArray
        It has the shape of `b`, after broadcasting, and the common dtype of both.

    Raises
    ------
    numpy.linalg.LinAlgError
        There is a zero on the diagonal.
    ValueError
        Shapes do not fit, or there are infinities or NaNs.

    Examples
    --------
    >>> import numpy as np
    >>> import pycuda.linalg
    >>> import pycuda.gpuarray as gpuarray
    >>> import pycuda.autoprimaryctx
    >>> a = gpuarray.to_gpu(np.array([[2.0, 0], [1, 4]]))
    >>> b = gpuarray.to_gpu(np.array([2.0, 9]))
    >>> print(pycuda.linalg.solve_triangular(a, b, lower=True))
    [1. 2.]
    """
    a = _square(a, "expected square matrix")
    right = _right_hand_sides(a, b, "shapes of a {} and b {} are incompatible")
    dtype = common_dtype(a, right)
    checks.refuse_in_capture("pycuda.linalg.solve_triangular")
    finite = _finite_flags(check_finite, a, right)
    x = in_columns(right, dtype, np.broadcast_shapes(a.shape[:-2], right.shape[:-2]))
    _solve_triangle(a, x, lower, _TRANSPOSED[trans], unit_diagonal)
    _refuse_infinite(finite)
    if not unit_diagonal and a.size:
        zero = apply("equal", diagonal(a, 0, -2, -1), 0)
        first = apply("where", zero.any(axis=-1), zero.argmax(axis=-1) + 1, 0)
        checks.raise_if_failed(
            first, lambda info: f"singular matrix: resolution failed at diagonal {info - 1}", x
        )
    return _solution(x, b)


# ---- LU


@takes_arrays
def lu_factor(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> tuple[GPUArray, GPUArray]:
    """The LU factorization with partial pivoting, for lu_solve, as scipy.linalg.lu_factor.

    Parameters
    ----------
    a : GPUArray
        Of the shape (..., M, N). Single or double precision, real or complex; integers become double.
    overwrite_a : bool, optional
        As in SciPy; nothing is overwritten.
    check_finite : bool, optional
        Refuse infinities and NaNs.

    Returns
    -------
    lu : GPUArray
        Of the shape (..., M, N): U in the upper triangle, L below, without its diagonal of ones.
    piv : GPUArray
        Of the shape (..., K) with K = min(M, N), int32: row i was interchanged with row piv[i].

    Warns
    -----
    RuntimeWarning
        There is a zero on the diagonal of U: the matrix is singular.

    Raises
    ------
    ValueError
        There are infinities or NaNs, or less than two axes.

    Examples
    --------
    >>> import numpy as np
    >>> import pycuda.linalg
    >>> import pycuda.gpuarray as gpuarray
    >>> import pycuda.autoprimaryctx
    >>> a = gpuarray.to_gpu(np.array([[1.0, 2], [2, 2]]))
    >>> factors = pycuda.linalg.lu_factor(a)
    >>> print(pycuda.linalg.lu_solve(factors, gpuarray.to_gpu(np.array([3.0, 4]))))
    [1. 1.]
    """
    factors, pivots = _lu(a, "pycuda.linalg.lu_factor", check_finite, warn=True)
    return in_rows(factors), (pivots - 1).astype(np.int32)


def _lu(a, name: str, check_finite: bool, warn: bool) -> tuple[GPUArray, GPUArray]:
    """(factors in columns, pivots counted from 1)"""
    a = as_array(a)
    if a.ndim < 2:
        raise ValueError("The input array must be at least two-dimensional.")
    dtype = common_dtype(a)
    checks.refuse_in_capture(name)
    finite = _finite_flags(check_finite, a)
    factors, pivots, info = lu_of(a, dtype)
    _refuse_infinite(finite)
    failed = checks.first_info(info, diagonals_of(factors)) if warn and checks.are_wanted() else 0
    if failed:
        text = f"Diagonal number {failed} is exactly zero. Singular matrix."
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    return factors, pivots


@takes_arrays
def lu_solve(
    lu_and_piv: tuple[Array, Array],
    b: Array,
    trans: Literal[0, 1, 2] = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> GPUArray:
    """The solution x of a x = b by the factorization of lu_factor, as scipy.linalg.lu_solve.

    Parameters
    ----------
    lu_and_piv : tuple of GPUArray
        What lu_factor returned, of square matrices.
    b : GPUArray
        Of the shape (M,) or (..., M, K); axes before the last two broadcast with those of the factors.
    trans : {0, 1, 2}, optional
        Solve with `a`, with its transposed, or with its conjugate transposed.
    overwrite_b : bool, optional
        As in SciPy; nothing is overwritten.
    check_finite : bool, optional
        Refuse infinities and NaNs.

    Returns
    -------
    GPUArray
        It has the shape of `b`, after broadcasting. Infinities or NaNs for a matrix that is singular.

    Raises
    ------
    ValueError
        Shapes do not fit, or there are infinities or NaNs.
    """
    factors, piv = lu_and_piv
    factors = _square(factors, "expected square matrix")
    right = _right_hand_sides(factors, b, "Shapes of lu {} and b {} are incompatible")
    dtype = common_dtype(factors, right)
    if check_finite:
        checks.refuse_in_capture("pycuda.linalg.lu_solve")
    finite = _finite_flags(check_finite, right)
    pivots = as_array(piv).astype(np.int64) + 1
    x = solve_by_lu(in_columns(factors, dtype), pivots, right, dtype, _TRANSPOSED[trans])
    _refuse_infinite(finite)
    return _solution(x, b)


@takes_arrays
def lu(
    a: Array,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[GPUArray, ...]:
    """The LU factorization a = P L U with partial pivoting, as scipy.linalg.lu.

    Parameters
    ----------
    a : GPUArray
        Of the shape (..., M, N). Single or double precision, real or complex; integers become double.
    permute_l : bool, optional
        Return P L instead of P and L.
    overwrite_a : bool, optional
        As in SciPy; nothing is overwritten.
    check_finite : bool, optional
        Refuse infinities and NaNs.
    p_indices : bool, optional
        Return the rows instead of the matrix P: a = L[p] U.

    Returns
    -------
    p, l, u : GPUArray
        Of the shapes (..., M, M), (..., M, K) and (..., K, N) with K = min(M, N). With `p_indices` p is of
        the shape (..., M), int32; with `permute_l` there are two arrays, P L and U.

    Raises
    ------
    ValueError
        There are infinities or NaNs, or less than two axes.

    Examples
    --------
    >>> import numpy as np
    >>> import pycuda.linalg
    >>> import pycuda.gpuarray as gpuarray
    >>> import pycuda.autoprimaryctx
    >>> a = gpuarray.to_gpu(np.array([[1.0, 2], [2, 2]]))
    >>> p, l, u = pycuda.linalg.lu(a)
    >>> print(p @ l @ u)
    [[1. 2.]
     [2. 2.]]
    """
    factors, pivots = _lu(a, "pycuda.linalg.lu", check_finite, warn=False)
    *_, rows, columns = factors.shape
    min_side = min(rows, columns)
    lower = in_rows(tril(factors[..., :min_side], -1) + identity(rows, factors.dtype)[:, :min_side])
    upper = in_rows(triu(factors[..., :min_side, :]))
    order = lapack.row_order(pivots, rows, inverse=True)
    if permute_l:
        return take_along_axis(lower, order[..., None], -2), upper
    if p_indices:
        return order, lower, upper
    matrix = apply("equal", order[..., None], arange(rows, dtype=np.int32))
    return matrix.astype(real_dtype(factors.dtype)), lower, upper


# ---- Cholesky


@takes_arrays
def cho_factor(
    a: Array, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[GPUArray, bool]:
    """The Cholesky factorization of a Hermitian matrix, for cho_solve, as scipy.linalg.cho_factor.

    Parameters
    ----------
    a : GPUArray
        Of the shape (..., M, M); only one triangle is read. Single or double precision, real or complex;
        integers become double.
    lower : bool, optional
        Which triangle that is, and in which the factor is returned; by default the upper one.
    overwrite_a : bool, optional
        As in SciPy; nothing is overwritten.
    check_finite : bool, optional
        Refuse infinities and NaNs.

    Returns
    -------
    c : GPUArray
        Of the shape of `a`. What is in the other triangle is not said.
    lower : bool

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is not positive definite.
    ValueError
        The matrix is not square, or there are infinities or NaNs.

    Examples
    --------
    >>> import numpy as np
    >>> import pycuda.linalg
    >>> import pycuda.gpuarray as gpuarray
    >>> import pycuda.autoprimaryctx
    >>> a = gpuarray.to_gpu(np.array([[4.0, 2], [2, 5]]))
    >>> factor = pycuda.linalg.cho_factor(a)
    >>> print(pycuda.linalg.cho_solve(factor, gpuarray.to_gpu(np.array([6.0, 7]))))
    [1. 1.]
    """
    a = _square(a, "Input array is expected to be square but has the shape: {}.")
    dtype = common_dtype(a)
    checks.refuse_in_capture("pycuda.linalg.cho_factor")
    finite = _finite_flags(check_finite, a)
    a, info = a.astype(dtype, copy=False), checks.new_info(a.shape[:-2], a.allocator)
    if lapack.has_small(a):
        factor = small_lapack.cholesky(a, not lower, info=info)
    else:
        factor = in_columns(a, dtype)
        lapack.potrf(factor, not lower, info)
    _refuse_infinite(finite)
    text = "{}-th leading minor of the array is not positive definite"
    checks.raise_if_failed(info, text.format, factor)
    return in_rows(factor), lower


@takes_arrays
def cho_solve(
    c_and_lower: tuple[Array, bool], b: Array, overwrite_b: bool = False, check_finite: bool = True
) -> GPUArray:
    """The solution x of a x = b by the factorization of cho_factor, as scipy.linalg.cho_solve.

    Parameters
    ----------
    c_and_lower : tuple of GPUArray and bool
        What cho_factor returned.
    b : GPUArray
        Of the shape (M,) or (..., M, K); axes before the last two broadcast with those of the factor.
    overwrite_b : bool, optional
        As in SciPy; nothing is overwritten.
    check_finite : bool, optional
        Refuse infinities and NaNs.

    Returns
    -------
    GPUArray
        It has the shape of `b`, after broadcasting.

    Raises
    ------
    ValueError
        Shapes do not fit, or there are infinities or NaNs.
    """
    c, lower = c_and_lower
    c = _square(c, "The factored matrix c is not square.")
    right = _right_hand_sides(c, b, "incompatible dimensions ({} and {})")
    dtype = common_dtype(c, right)
    if check_finite:
        checks.refuse_in_capture("pycuda.linalg.cho_solve")
    finite = _finite_flags(check_finite, c, right)
    x = in_columns(right, dtype, np.broadcast_shapes(c.shape[:-2], right.shape[:-2]))
    # a = c c^H or c^H c: solve with c and with its conjugate transpose (2, as in lapack.trsm).
    for transposed in (0, 2) if lower else (2, 0):
        _solve_triangle(c, x, lower, transposed, unit=False)
    _refuse_infinite(finite)
    return _solution(x, b)
