"""np.pad. Modes in which each new element is a constant or a copy of an element are one kernel for all axes.
For the other modes, whose new elements are computed, one axis after another is padded, in NumPy's order, so
that the corners are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.creation import arange
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.shape.joining import concatenate
from pycuda._array.shape.views import at
from pycuda._array.statistics.quantiles import median
from pycuda._kernels.builtin.rearrange import plan_pad
from pycuda._kernels.plans.caches import launched

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Scalar
    from pycuda.gpuarray import GPUArray

_KEYWORDS = {
    "constant": {"constant_values"},
    "edge": set(),
    "empty": set(),
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "wrap": set(),
}


def _as_pairs(value, ndim: int, whole=False) -> list[tuple]:
    """(before, after) for each axis, from any form of numpy.pad's arguments. With `whole` they are widths,
    which must be integers from 0.
    """
    if value is None or (type(value) is int and value >= 0):
        return [(value, value)] * ndim
    array = np.asarray(value)
    if whole:
        if array.dtype.kind not in "iu":
            raise TypeError("`pad_width` must be of integral type.")
        if (array < 0).any():
            raise ValueError("index can't contain negative values")
    return [tuple(pair) for pair in np.broadcast_to(array, (ndim, 2)).tolist()]


def _widths(pad_width, ndim: int) -> list[tuple[int, int]]:
    """(before, after) of each axis from any form of numpy.pad's argument."""
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            widths[axis] = (width, width) if isinstance(width, int) else tuple(width)
        pad_width = widths
    return _as_pairs(pad_width, ndim, whole=True)


# ---- by index: which element of the axis is at each position

# Bytes of an element of which kernels pad arrays: constants are arguments of the kernel.
_MAX_BYTES = 16


def _by_index(a, widths, mode: str, values=None) -> GPUArray:
    """All axes at once. values: what is before and after each, in the mode "constant"."""
    shape = tuple(n + sum(width) for n, width in zip(a.shape, widths, strict=True))
    if 0 in shape:
        return new(shape, a.dtype, a.allocator)
    if mode != "constant":
        packed = b""
    elif a.itemsize > _MAX_BYTES:
        return _by_slices(a, widths, shape, values)
    else:
        packed = _constants(values, a.dtype).tobytes()
    return launched((plan_pad, 1, tuple(widths), mode, packed), (a,))


def _constants(values, dtype) -> np.ndarray:
    """The constants (before, after) of each axis, as an array of this dtype; None stands for 0."""
    if all(pair == (None, None) for pair in values):
        return np.zeros((len(values), 2), dtype)
    return np.array([[0 if value is None else value for value in pair] for pair in values]).astype(dtype)


def _by_slices(a, widths, shape, values) -> GPUArray:
    """Constant padding: the array and the constants are assigned to slices of a new array."""
    result = new(shape, a.dtype, a.allocator)
    result[tuple(slice(before, before + n) for n, (before, _) in zip(a.shape, widths, strict=True))] = a
    for axis, (pair, (before, after)) in enumerate(zip(_constants(values, a.dtype), widths, strict=True)):
        result[at(axis, slice(0, before))] = pair[0]
        result[at(axis, slice(shape[axis] - after, None))] = pair[1]
    return result


def _mirror_odd(a, axis, before, after, edge_count):
    """One axis padded in the modes "reflect" and "symmetric" with reflect_type="odd": 2 * edge - element.

    edge_count: how often the edge element occurs where the array meets its mirror image, 1 in the mode
    "reflect" and 2 in "symmetric". As NumPy does it, a part that is filled is mirrored again and again,
    before and after it in turn, until all is filled.
    """
    length, total = a.shape[axis], before + a.shape[axis] + after
    result = new((*a.shape[:axis], total, *a.shape[axis + 1 :]), a.dtype, a.allocator)

    def part(start, end):
        return result[at(axis, slice(start, end))]

    def mirror(target, source, edge):
        # target = 2 * edge - source, with the elements of source in reverse order.
        values = apply("subtract", apply("multiply", edge, 2), source[at(axis, slice(None, None, -1))])
        apply("copy", values, out=target, casting="unsafe")

    apply("copy", a, out=part(before, before + length))
    skipped = 2 - edge_count  # elements at the edge that are not in the mirror image
    period = length - skipped
    # `before` and `after` are the numbers of elements that are not filled yet.
    while before or after:
        available = (total - before - after - skipped) // period * period
        count = min(available, before)
        if count:
            first = before + skipped
            mirror(part(before - count, before), part(first, first + count), part(before, before + 1))
            before -= count
        count, end = min(available, after), total - after
        if count:
            last = end - skipped
            mirror(part(end, end + count), part(last - count, last), part(end - 1, end))
            after -= count
    return result


# ---- by value: what is before and after


def _ramp(end, edge, width: int, axis: int, ndim: int):
    """Numbers in equal steps from `end` towards `edge`, without `edge` itself."""
    shape = tuple(-1 if each == axis else 1 for each in range(ndim))
    numbers = arange(width, dtype=np.float64).reshape(shape)
    exact = edge.dtype.kind in "biu"
    step = apply("divide", apply("subtract", edge.astype(np.float64) if exact else edge, end), max(width, 1))
    ramp = apply("add", apply("multiply", numbers, step), end)
    if edge.dtype.kind in "iu":
        ramp = apply("floor", ramp)
    return ramp.astype(edge.dtype)


def _linear_ramp(a, axis, before, after, ends):
    """Pads one axis by values that rise or fall evenly from the edges to `ends`."""
    length = a.shape[axis]
    first, last = a[at(axis, slice(0, 1))], a[at(axis, slice(length - 1, length))]
    start, end = (0 if value is None else value for value in ends)
    left = _ramp(start, first, before, axis, a.ndim)
    right = _ramp(end, last, after, axis, a.ndim)[at(axis, slice(None, None, -1))]
    return concatenate((left, a, right), axis)


def _statistic(function):
    """The function that pads one axis before by `function` (max, mean, ...) of the first elements, and after
    by that of the last elements; lengths: how many elements these are, None for all."""

    def pad_with(a, axis, before, after, lengths):
        length = a.shape[axis]
        sides = []
        for width, count, first in zip((before, after), lengths, (True, False), strict=True):
            count = length if count is None else min(count, length)
            if count == 0:
                raise ValueError("stat_length of 0 yields no value for padding")
            part = slice(0, count) if first else slice(length - count, length)
            value = function(a[at(axis, part)], axis)
            if a.dtype.kind in "iu" and value.dtype.kind == "f":
                value = apply("rint", value)
            side = new((*a.shape[:axis], width, *a.shape[axis + 1 :]), a.dtype, a.allocator)
            side[...] = value
            sides.append(side)
        return concatenate((sides[0], a, sides[1]), axis)

    return pad_with


_statistics = {
    "maximum": _statistic(lambda part, axis: part.max(axis, keepdims=True)),
    "minimum": _statistic(lambda part, axis: part.min(axis, keepdims=True)),
    "mean": _statistic(lambda part, axis: part.mean(axis, keepdims=True)),
    "median": _statistic(lambda part, axis: median(part, axis, keepdims=True)),
}


def _by_function(array, widths, function, keywords) -> GPUArray:
    """numpy.pad with a function as mode, which changes each line along each axis in place. keywords: passed
    to it."""
    result = _by_index(array, widths, "constant", [(0, 0)] * array.ndim)
    for axis, width in enumerate(widths):
        moved = result.transpose((*(each for each in range(array.ndim) if each != axis), axis))
        for index in np.ndindex(*moved.shape[:-1]):
            function(moved[index], width, axis, keywords)
    return result


def _check_axes(array, widths, mode: str) -> None:
    """Raise NumPy's error if an axis that is padded by its own elements has none."""
    if mode in ("constant", "empty"):
        return
    for axis, (before, after) in enumerate(widths):
        if not array.shape[axis] and before + after:
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")


def pad(array: Array[Scalar], pad_width, mode="constant", **kwargs) -> GPUArray[Scalar]:
    """An array with elements before and after it along its axes, as numpy.pad."""
    widths = _widths(pad_width, array.ndim)
    if callable(mode):
        return _by_function(array, widths, mode, kwargs)
    if mode not in _KEYWORDS:
        raise ValueError(f"mode '{mode}' is not supported")
    unsupported = kwargs.keys() - _KEYWORDS[mode]
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    _check_axes(array, widths, mode)
    if mode in ("constant", "empty"):
        return _by_index(array, widths, "constant", _as_pairs(kwargs.get("constant_values"), array.ndim))
    odd = kwargs.get("reflect_type", "even") == "odd"
    if mode not in _BY_VALUE and not odd:
        return _by_index(array, widths, mode)
    # The one keyword of these modes, end_values or stat_length, for each axis.
    given = _as_pairs(next(iter(kwargs.values()), None), array.ndim) if mode in _BY_VALUE else None
    result = array
    for axis, (before, after) in enumerate(widths):
        if not before + after:
            continue
        if given is not None:
            result = _BY_VALUE[mode](result, axis, before, after, given[axis])
        elif result.shape[axis] == 1:
            alone = [(before, after) if each == axis else (0, 0) for each in range(array.ndim)]
            result = _by_index(result, alone, "edge")
        else:
            result = _mirror_odd(result, axis, before, after, edge_count=1 if mode == "reflect" else 2)
    return result if result is not array else array.copy()


_BY_VALUE = {"linear_ramp": _linear_ramp, **_statistics}
