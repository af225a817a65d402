"""Differences, slopes and sums along an axis: np.diff, np.gradient, np.trapezoid and so on."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import normalized_axes, one_axis
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.operands import MISSING, as_array, checked_out, is_number
from pycuda._array.reduction.reduce import sum_dtype
from pycuda._array.reduction.scans import scan
from pycuda._array.shape.joining import concatenate
from pycuda._array.shape.views import at

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Inexact, Scalar
    from pycuda.gpuarray import GPUArray


def _is_given(value) -> bool:
    """Whether the caller gave a value: NumPy's default is an object of its own, the array API standard's
    None.
    """
    return value is not MISSING and value is not None


def _slice_of_axis(a, axis, start, end) -> GPUArray:
    return a[at(axis, slice(start, end))]


def _subtract(a, b) -> GPUArray:
    """a - b; for booleans, whether they differ."""
    return apply("not_equal" if a.dtype.kind == "b" else "subtract", a, b)


def _as_part(value, a, axis) -> GPUArray:
    """The array to put before or after an axis, by a number or an array."""
    value = as_array(value)
    if value.ndim:
        return value
    return broadcast_to(value, tuple(1 if each == axis else n for each, n in enumerate(a.shape)))


def diff(a, n=1, axis=-1, prepend=MISSING, append=MISSING) -> GPUArray:
    """Each element less the one before, n times over."""
    n = operator.index(n)
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = one_axis(axis, a.ndim)
    parts = [a]
    if _is_given(prepend):
        parts.insert(0, _as_part(prepend, a, axis))
    if _is_given(append):
        parts.append(_as_part(append, a, axis))
    a = concatenate(parts, axis) if len(parts) > 1 else a
    for _ in range(min(n, a.shape[axis])):  # each one makes the axis shorter by 1, down to 0
        a = _subtract(_slice_of_axis(a, axis, 1, None), _slice_of_axis(a, axis, None, -1))
    return a


def ediff1d(ary: Array[Scalar], to_end=None, to_begin=None) -> GPUArray[Scalar]:
    """Differences of the flattened array, with these numbers before and after them."""
    flat = as_array(ary).ravel()
    parts = [apply("subtract", flat[1:], flat[:-1])]
    for value, place, name in ((to_begin, 0, "to_begin"), (to_end, 2, "to_end")):
        if value is None:
            continue
        value = as_array(value)
        if not np.can_cast(value.dtype, flat.dtype, "same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        parts.insert(place, value.ravel().astype(flat.dtype, copy=False))
    return concatenate(parts) if len(parts) > 1 else parts[0]


# ---- slopes


def _spacings(varargs, f, axes) -> list:
    """The spacing of each axis: a number, or the distances between neighbors as an array."""
    if not varargs:
        return [1.0] * len(axes)
    if len(varargs) == 1 and (is_number(varargs[0]) or varargs[0].ndim == 0):
        return [varargs[0]] * len(axes)
    if len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    found: list = []
    for value, axis in zip(varargs, axes, strict=True):
        if is_number(value) or as_array(value).ndim == 0:
            found.append(value)
            continue
        if value.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if value.size != f.shape[axis]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        distances = value.astype(np.float64) if value.dtype.kind in "iu" else value
        found.append(diff(distances))
    return found


def _combine(factors, parts) -> GPUArray:
    """The sum of parts times factors."""
    total = None
    for factor, part in zip(factors, parts, strict=True):
        product = apply("multiply", part, factor)
        total = product if total is None else apply("add", total, product)
    return total


def _inner_slopes(f, axis, step) -> GPUArray:
    """gradient() of the inner points: central differences, which are of second order for unequal steps,
    too.
    """
    before, here, after = (
        _slice_of_axis(f, axis, start, end) for start, end in ((None, -2), (1, -1), (2, None))
    )
    if is_number(step) or step.ndim == 0:
        return (
            apply("divide", apply("subtract", after, before), apply("multiply", step, 2.0))
            if isinstance(step, _driver.GPUArray)
            else apply("divide", apply("subtract", after, before), 2.0 * step)
        )
    shape = tuple(-1 if each == axis else 1 for each in range(f.ndim))
    left, right = step[:-1], step[1:]
    total = left + right
    factors = (-right / (left * total), (right - left) / (left * right), left / (right * total))
    return _combine([each.reshape(shape) for each in factors], (before, here, after))


def _edge_slopes(f, axis, step, order) -> tuple[GPUArray, GPUArray]:
    """The slopes at the first and the last element, by one-sided differences of order 1 or 2."""
    numbers = is_number(step) or step.ndim == 0
    first = [_slice_of_axis(f, axis, place, place + 1) for place in range(3)][: order + 1]
    last = [
        _slice_of_axis(f, axis, f.shape[axis] - 1 - place, f.shape[axis] - place)
        for place in range(order + 1)
    ]
    if order == 1:
        left, right = (step, step) if numbers else (step[0], step[-1])
        return (
            apply("divide", apply("subtract", first[1], first[0]), left),
            apply("divide", apply("subtract", last[0], last[1]), right),
        )
    if numbers:
        factors = (-1.5 / step, 2.0 / step, -0.5 / step)
        return _combine(factors, first), _combine([-each for each in factors], last)
    results = []
    for one, two, parts, sign in ((step[0], step[1], first, 1), (step[-1], step[-2], last, -1)):
        total = one + two
        factors = (-(2.0 * one + two) / (one * total), total / (one * two), -one / (two * total))
        results.append(_combine([each * sign for each in factors], parts))
    return results[0], results[1]


def gradient(f, *varargs, axis=None, edge_order=1) -> GPUArray | tuple[GPUArray, ...]:
    """The slope along each axis: of second order inside, of `edge_order` at the edges."""
    axes = normalized_axes(axis, f.ndim, scalars=False)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    steps = _spacings(varargs, f, axes)
    if f.dtype.kind in "iu":
        f = f.astype(np.float64)
    results = []
    for each, step in zip(axes, steps, strict=True):
        if f.shape[each] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) "
                "elements are required."
            )
        if f.dtype.kind == "b":
            raise TypeError("gradient is not supported for boolean arrays: convert them to numbers first")
        first, last = _edge_slopes(f, each, step, edge_order)
        parts = (first, _inner_slopes(f, each, step), last) if f.shape[each] > 2 else (first, last)
        results.append(concatenate(parts, each, dtype=f.dtype))
    if len(axes) == 1 and np.ndim(axis) == 0 and (axis is not None or f.ndim == 1):
        return results[0]
    return tuple(results) if len(axes) != 1 else results[0]


def trapezoid(y, x=None, dx=1.0, axis=-1) -> GPUArray:
    """The integral along an axis by trapezoids, whose width is dx, or the distances of x."""
    y = as_array(y)
    axis = one_axis(axis, y.ndim)
    if x is None:
        width = dx
    else:
        x = as_array(x)
        if x.ndim == 1:
            shape = tuple(-1 if each == axis else 1 for each in range(y.ndim))
            width = diff(x).reshape(shape)
        else:
            width = diff(x, axis=axis)
    both = apply("add", _slice_of_axis(y, axis, 1, None), _slice_of_axis(y, axis, None, -1))
    return apply("divide", apply("multiply", both, width), 2.0).sum(axis=axis)


def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi) -> GPUArray:
    """Angles without jumps of more than half a period: whole periods are added."""
    axis = one_axis(axis, p.ndim)
    jumps = diff(p, axis=axis)
    discont = period / 2 if discont is None else discont
    dtype = np.result_type(p.dtype, period)
    if dtype.kind in "iu":
        high, odd = divmod(period, 2)
        ambiguous = odd == 0
    else:
        high, ambiguous = period / 2, True
    low = -high
    turned = apply("add", apply("remainder", apply("subtract", jumps, low), period), low)
    if ambiguous:
        mask = apply("logical_and", apply("equal", turned, low), apply("greater", jumps, 0))
        turned = apply("where", mask, high, turned)
    correction = apply("subtract", turned, jumps)
    correction = apply("where", apply("less", apply("absolute", jumps), discont), 0, correction)
    result = new(p.shape, dtype, p.allocator)
    result[...] = p
    moved = apply("add", _slice_of_axis(result, axis, 1, None), correction.cumsum(axis))
    _slice_of_axis(result, axis, 1, None)[...] = moved
    return result


# ---- sums


def _cumulative_function(name):
    """The function cumulative_sum ("sum") or cumulative_prod ("prod")."""

    def function(
        x: Array[Inexact], /, *, axis=None, dtype=None, out=None, include_initial=False
    ) -> GPUArray[Inexact]:
        if axis is None:
            if x.ndim >= 2:
                raise ValueError(
                    "For arrays which have more than one dimension ``axis`` argument is required."
                )
            axis = 0
        x = x if x.ndim else x.reshape(1)
        axis = one_axis(axis, x.ndim)
        if not include_initial:
            return scan(name, x, axis, dtype, out)
        result = sum_dtype(x.dtype, None if dtype is None else np.dtype(dtype))
        shape = tuple(n + 1 if each == axis else n for each, n in enumerate(x.shape))
        target = new(shape, result, x.allocator) if out is None else checked_out(out, shape, result)
        _slice_of_axis(target, axis, 0, 1)[...] = 0 if name == "sum" else 1
        scan(name, x, axis, dtype, _slice_of_axis(target, axis, 1, None))
        return target

    return function


cumulative_sum, cumulative_prod = _cumulative_function("sum"), _cumulative_function("prod")
