"""Kernels of triangles, padding and joined arrays (pycuda-rearrange.hpp).

The functions plan_... return launches for plans.caches.launched(). Their results are not empty.
"""

from __future__ import annotations

import itertools
import math
import struct

from pycuda._driver import _collapse_axes, _divider
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import axis_capacity, ceil_div, packed_axes, power_at_least, vector_width
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

# As in pycuda-rearrange.hpp: threads of a block, elements or units of a thread.
THREADS, _ROUNDS = 256, 4
# Fewer elements than this are counted in 32 bits, which struct Divider divides.
_NARROW = 1 << 31
# Arrays that one launch joins: the address of each is a parameter of the kernel.
MAX_JOINED = 32
_PAD_MODES = ("edge", "wrap", "reflect", "symmetric")  # in the order of PadMode

_KERNEL = """#include "array/pycuda-rearrange.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__(REARRANGE_THREADS) rearrange({parameters})
{{
    {body};
}}
"""


def _compile_kernel(parameters: str, body: str, arguments: str):
    text = _KERNEL.format(parameters=parameters, body=body)
    return compiled(text).get_function("rearrange")._prepare_strided(arguments)


def _launch(function, units: int, after: tuple, shape, dtype) -> tuple:
    """A launch for plans.caches.launched(). units: elements, or vectors of them, that threads move; after:
    the arguments after the arrays, with ... for the result."""
    grid = ceil_div(units, THREADS * _ROUNDS), 1
    return function.prepared_async_call, grid, (THREADS, 1, 1), after, (shape, dtype)


# ---- triangles


@context_dependent_memoize
def _triangle(element: str, vector: int, lower: bool, axes: int):
    return _compile_kernel(
        f"const char *in, {element} *out, Triangle<{axes}> plan",
        f"triangle<{element}, {vector}, {str(lower).lower()}>(in, out, plan)",
        f"PP{24 + 24 * axes}s",
    )


def plan_triangle(diagonal: int, lower: bool, m) -> tuple:
    """The launch of tril (`lower`) or triu, for matrices whose rows have contiguous elements. A vector stands
    for a square matrix of which it is every row."""
    shape = m.shape if m.ndim > 1 else m.shape * 2
    strides = m.strides[:-1] if m.ndim > 1 else (0,)
    numbers = (*(0,) * (len(strides) - 1), 1)
    axes, _ = _collapse_axes(list(zip(shape[:-1], strides, numbers, strict=True)), 2)
    vector = vector_width(m, [axis[:2] for axis in axes])
    if 16 % m.itemsize or shape[-1] % vector:
        vector = 1
    capacity, units = axis_capacity(len(axes)), math.prod(shape) // vector
    function = _triangle(elements.raw(m.dtype), vector, lower, capacity)
    plan = struct.pack("3q", shape[-1], units, diagonal) + packed_axes(axes, capacity)
    return _launch(function, units, (..., plan), shape, m.dtype)


# ---- padding


@context_dependent_memoize
def _pad_with(element: str, itemsize: int, number: str, axes: int):
    return _compile_kernel(
        f"const char *in, {element} *out, index_t count, PaddedAxes<{axes}> axes, "
        f"PadValues<{element}, {axes}> values",
        f"pad_with<{element}, {number}>(in, out, count, axes, values)",
        f"PPq{48 * axes}s{2 * itemsize * axes}s",
    )


@context_dependent_memoize
def _pad_repeating(element: str, number: str, axes: int):
    return _compile_kernel(
        f"const char *in, {element} *out, index_t count, PaddedAxes<{axes}> axes, int mode",
        f"pad_repeating<{element}, {number}>(in, out, count, axes, mode)",
        f"PPq{48 * axes}si",
    )


_PADDED_AXIS = struct.Struct("4q3I4x")  # PaddedAxis of pycuda-rearrange.hpp


def plan_pad(widths: tuple, mode: str, values: bytes, a) -> tuple:
    """The launch that pads an array along each axis by a pair of widths, before and after it. values: in mode
    "constant", for each axis the two elements that fill the padding. If the kernel has more axes than the
    array, axes of length 1 come first.
    """
    shape = tuple(n + before + after for n, (before, after) in zip(a.shape, widths, strict=True))
    count, capacity = math.prod(shape), axis_capacity(a.ndim)
    missing = capacity - a.ndim
    axes = [(1, 1, 0, 0)] * missing
    for length, inside, (before, _), stride in zip(shape, a.shape, widths, a.strides, strict=True):
        axes.append((length, inside, before, stride))
    packed = b"".join(
        _PADDED_AXIS.pack(length, *rest, length % _NARROW, *_divider(length % _NARROW))
        for length, *rest in axes
    )
    element, number = elements.raw(a.dtype), "unsigned" if count < _NARROW else "index_t"
    if mode == "constant":
        function = _pad_with(element, a.itemsize, number, capacity)
        more = bytes(2 * a.itemsize * missing) + values
    else:
        function, more = _pad_repeating(element, number, capacity), _PAD_MODES.index(mode)
    return _launch(function, count, (..., count, packed, more), shape, a.dtype)


# ---- arrays joined


@context_dependent_memoize
def _join(element: str, count: int):
    names = [f"p{k}" for k in range(count)]
    return _compile_kernel(
        ", ".join(f"const {element} *{name}" for name in names) + f", {element} *out, Join<{count}> plan",
        f"const {element} *const from[] = {{{', '.join(names)}}};\n    join(from, out, plan)",
        "P" * (count + 1) + f"{8 * (3 + count)}s",
    )


def _plan_join(axis: int, shape: tuple[int, ...], arrays) -> tuple:
    """The launch that joins arrays along an axis. The kernel takes a power of two of arrays: missing ones are
    empty, with NULL for an address."""
    capacity = power_at_least(len(arrays))
    missing, rows = (0,) * (capacity - len(arrays)), math.prod(shape[:axis])
    begin = list(itertools.accumulate((array.size // rows for array in arrays), initial=0))
    begin += begin[-1:] * len(missing)
    plan = struct.pack(f"{3 + capacity}q", math.prod(shape), begin[-1], *begin)
    dtype = arrays[0].dtype
    function = _join(elements.raw(dtype), capacity)
    return _launch(function, math.prod(shape), (*missing, ..., plan), shape, dtype)


def plan_concatenate(axis: int, *arrays) -> tuple:
    """The launch that joins C-contiguous arrays of one dtype, at most MAX_JOINED, along an axis."""
    shape = arrays[0].shape
    axis %= len(shape)
    length = sum(array.shape[axis] for array in arrays)
    return _plan_join(axis, (*shape[:axis], length, *shape[axis + 1 :]), arrays)


def plan_stack(axis: int, *arrays) -> tuple:
    """The launch that joins C-contiguous arrays of one dtype and shape, at most MAX_JOINED, along a new
    axis."""
    shape = arrays[0].shape
    axis %= len(shape) + 1
    return _plan_join(axis, (*shape[:axis], len(arrays), *shape[axis:]), arrays)
