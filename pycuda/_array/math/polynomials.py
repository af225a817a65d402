"""Polynomials by their coefficients, the highest power first: np.polyval, np.polyfit, np.roots and so on.

Coefficients are GPUArrays or a few numbers of the host.
"""

from __future__ import annotations

import operator
import warnings
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.creation import arange, eye, full, ones
from pycuda._array.core.elementwise import apply, users_level
from pycuda._array.core.memory import new, on_device
from pycuda._array.core.operands import as_array, host_data_error, is_number
from pycuda._array.linear import checks
from pycuda._array.linear.eigenvalues import are_real, complex_eigvals, eigvals
from pycuda._array.linear.least_squares import lstsq
from pycuda._array.linear.products import convolve, outer
from pycuda._array.linear.solving import inv
from pycuda._array.shape.joining import concatenate
from pycuda._array.sorting.sorting import sort

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def _coefficients(p) -> GPUArray:
    """The coefficients as an array of at least one axis on the device. TypeError for other objects."""
    if isinstance(p, _driver.GPUArray):
        return p if p.ndim else p.reshape(1)
    if isinstance(p, list | tuple | np.ndarray) or is_number(p):
        return on_device(np.atleast_1d(p))
    raise host_data_error(p)


def _zeros(count: int, dtype) -> GPUArray:
    return full((count,), 0, dtype)


def polyval(p, x) -> GPUArray:
    """The value at x of a polynomial with these coefficients."""
    x = as_array(x)
    result = apply("multiply", x, 0)
    for coefficient in p if isinstance(p, _driver.GPUArray) else np.asarray(p):
        result = apply("add", apply("multiply", result, x), coefficient)
    return result


# ---- arithmetic


def _of_one_length(a1, a2) -> tuple[GPUArray, GPUArray]:
    """Both polynomials, with leading zeros for the shorter one."""
    a1, a2 = _coefficients(a1), _coefficients(a2)
    length = max(len(a1), len(a2))
    return tuple(
        concatenate([_zeros(length - len(each), each.dtype), each]) if len(each) < length else each
        for each in (a1, a2)
    )


def polyadd(a1, a2) -> GPUArray:
    """The sum of two polynomials."""
    return apply("add", *_of_one_length(a1, a2))


def polysub(a1, a2) -> GPUArray:
    """The difference of two polynomials."""
    return apply("subtract", *_of_one_length(a1, a2))


def _without_leading_zeros(p) -> GPUArray:
    """The polynomial without leading zeros, but with its last coefficient. Waits for the array."""
    places = p.nonzero()[0]
    return p[int(places[0].get()) :] if places.size else p[-1:]


def polymul(a1, a2) -> GPUArray:
    """The product of two polynomials. Waits for both."""
    return convolve(*(_without_leading_zeros(_coefficients(each)) for each in (a1, a2)))


def polydiv(u, v) -> tuple[GPUArray, GPUArray]:
    """(quotient, remainder) of two polynomials. Waits for the remainder."""
    u, v = (apply("add", _coefficients(each), 0.0) for each in (u, v))
    rest = u.astype(np.result_type(u.dtype, v.dtype))
    count = len(u) - len(v) + 1
    quotient = _zeros(max(count, 1), rest.dtype)
    scale = apply("divide", 1.0, v[0])
    for k in range(count):
        quotient[k] = apply("multiply", scale, rest[k])
        part = rest[k : k + len(v)]
        part -= apply("multiply", quotient[k], v)
    negligible = apply("less_equal", apply("absolute", rest), 1e-8)
    kept = apply("logical_not", negligible).nonzero()[0]
    return quotient, rest[int(kept[0].get()) if kept.size else -1 :]


def polyder(p, m=1) -> GPUArray:
    """The m-th derivative."""
    m = operator.index(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = _coefficients(p)
    for _ in range(m):
        p = apply("multiply", p[:-1], arange(len(p) - 1, 0, -1, dtype=np.int64))
    return p


def polyint(p, m=1, k=None) -> GPUArray:
    """The m-th integral, with these constants of integration."""
    m = operator.index(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = _coefficients(np.zeros(m) if k is None else k)
    if len(k) == 1 and m > 1:
        k = apply("multiply", k, ones((m,), np.float64))
    if len(k) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = _coefficients(p)
    for i in range(m):
        quotients = apply("divide", p, arange(len(p), 0, -1, dtype=np.int64))
        p = concatenate([quotients, k[i : i + 1]])
    return p


# ---- roots


def poly(seq_of_zeros) -> GPUArray:
    """The coefficients of the polynomial with these roots, or the characteristic one of a matrix."""
    roots = _coefficients(seq_of_zeros)
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] != 0:
        roots = eigvals(roots)
    elif roots.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    roots = roots.astype(np.dtype(np.mintypecode(roots.dtype.char)), copy=False)
    result = ones((1,), roots.dtype if len(roots) else np.float64)
    for i in range(len(roots)):
        factor = ones((2,), roots.dtype)
        factor[1] = -roots[i]
        result = convolve(result, factor)
    if result.dtype.kind == "c" and bool((sort(roots) == sort(roots.conj())).all()):
        return apply("real", result)
    return result


def _without_zeros(p) -> tuple[GPUArray, int]:
    """(the coefficients from the first to the last that is not 0, the number of zeros after these)"""
    places = p.nonzero()[0].get()
    if not len(places):
        return p[:0], 0
    first, last = int(places[0]), int(places[-1])
    return p[first : last + 1], len(p) - last - 1


def roots(p) -> GPUArray:
    """The roots: eigenvalues of the companion matrix. Waits for the coefficients, unless nothing is checked:
    then the first one must not be 0."""
    p = _coefficients(p)
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    p, at_zero = _without_zeros(p) if checks.are_wanted() else (p, 0)
    if not len(p):
        return new((0,), np.float64)
    if p.dtype.kind not in "fc":
        p = p.astype(np.float64)
    if len(p) == 1:
        return _zeros(at_zero, np.float64)
    companion = eye(len(p) - 1, k=-1, dtype=p.dtype)
    companion[0] = -p[1:] / p[0]
    found = complex_eigvals(companion)
    if are_real(companion, found):  # as NumPy's, whatever its eigvals returns
        found = apply("real", found)
    return concatenate([found, _zeros(at_zero, found.dtype)])


# ---- least squares


def _for_rows(values, like) -> GPUArray:
    """A number for each row, shaped to broadcast against `like`: a matrix, or one number for each row."""
    return values[:, None] if like.ndim == 2 else values


def _check_points(x, y, deg: int) -> None:
    """Raise polyfit's exceptions for points, or a degree, that do not fit."""
    if deg < 0:
        raise ValueError("expected deg >= 0")
    for fails, text in (
        (x.ndim != 1, "expected 1D vector for x"),
        (x.size == 0, "expected non-empty vector for x"),
        (y.ndim not in (1, 2), "expected 1D or 2D array for y"),
        (x.shape[:1] != y.shape[:1], "expected x and y to have same length"),
    ):
        if fails:
            raise TypeError(text)


def _checked_weights(w, y) -> GPUArray:
    """polyfit's weights as floats: one for each point. TypeError otherwise."""
    w = apply("add", as_array(w), 0.0)
    if w.ndim != 1:
        raise TypeError("expected a 1-d array for weights")
    if w.shape[0] != y.shape[0]:
        raise TypeError("expected w and y to have the same length")
    return w


def _powers(x, count: int) -> GPUArray:
    """A column for each power, the highest first."""
    exponents = arange(count - 1, -1, -1, dtype=np.int64)
    return apply("power", x[:, None], exponents.astype(np.promote_types(x.dtype, int)))


def _covariance(powers, scale, residuals, points: int, scaled: bool, several: bool) -> GPUArray:
    """polyfit's covariance matrix of the coefficients; with several columns of y one for each."""
    base = inv(powers.T @ powers)
    base /= outer(scale, scale)
    if scaled and points <= len(scale):
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    factor = apply("divide", residuals, points - len(scale)) if scaled else 1
    return apply("multiply", base[:, :, None] if several else base, factor)


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False) -> GPUArray | tuple[GPUArray, ...]:
    """The polynomial of this degree with the least squares of errors. Waits for the rank, unless nothing is
    checked."""
    x, y = (apply("add", as_array(each), 0.0) for each in (x, y))
    _check_points(x, y, deg)
    count = int(deg) + 1
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    left, right = _powers(x, count), y
    if w is not None:
        w = _checked_weights(w, y)
        left, right = apply("multiply", left, w[:, None]), apply("multiply", y, _for_rows(w, y))
    scale = apply("sqrt", apply("multiply", left, left).sum(axis=0))
    left = apply("divide", left, scale)
    found, residuals, rank, values = lstsq(left, right, rcond)
    result = apply("divide", found, _for_rows(scale, found))
    if full:
        return result, residuals, rank, values, rcond
    if checks.are_wanted() and int(rank) != count:
        warnings.warn(
            "Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=users_level()
        )
    if not cov:
        return result
    return result, _covariance(left, scale, residuals, len(x), cov != "unscaled", y.ndim == 2)
