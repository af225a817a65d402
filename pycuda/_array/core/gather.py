"""Gather and scatter: elements of arrays moved by index, for indexing, take and put.

Indices in host memory are checked on the host. Indices on the device are checked by a kernel, which sets a
flag in host memory if one is out of bounds. That is the kernel that moves the elements, which then skips the
index. A kernel of its own checks the indices before that if elements are assigned, as none may be assigned
then, or if the indices are few compared to what is moved, as the host then waits for less.

So a call with indices on the device waits for its stream and cannot be captured, unless mode is "wrap" or
"clip", which have no invalid indices.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.flags import ErrorCheck
from pycuda._array.core.memory import new
from pycuda._driver import _check_writable, _collapse_axes, _packed_strides
from pycuda._kernels.builtin import elements
from pycuda._kernels.builtin import gather as kernels
from pycuda._kernels.plans.axes import axis_capacity, broadcast_strides
from pycuda._kernels.plans.caches import launched, memoized_in_context

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

_BLOCK = (kernels.THREADS, 1, 1)
_MODES = {"raise": "RAISE", "wrap": "WRAP", "clip": "CLIP"}


def read_mode(mode: str) -> str:
    """The Mode of pycuda-gather.hpp, which says what becomes of indices out of bounds, for mode= of NumPy's
    take(). ValueError for other values.
    """
    try:
        return _MODES[mode]
    except KeyError:
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})") from None


class Positions(NamedTuple):
    """Which elements are moved: their indices along an axis or, with the mode OFFSET, their offsets in
    bytes.
    """

    array: GPUArray  # of integers
    mode: str
    length: int = 0  # of the axis
    step: int = 1  # the stride of the axis; with mode OFFSET a number of which all offsets are multiples


# ---- errors found on the device


def _index_error() -> IndexError:
    return IndexError("index is out of bounds")


def _check(mode: str, stream) -> ErrorCheck:
    """A `with` block around launches of kernels that check indices; nothing unless the mode is RAISE."""
    if mode == "RAISE":
        captures.refuse(
            "indexing by an array on the device", "the host reads whether an index is out of bounds",
            stream,
            "take(), put() and take_along_axis() with mode='wrap' or 'clip' can be",
        )  # fmt: skip
    return ErrorCheck(mode == "RAISE", stream, _index_error)


def _plan_check(length: int, numbers, error, refused) -> tuple:
    """The launch, as launched() takes it, of the kernel that checks indices along an axis of this length."""
    axes, _ = _collapse_axes(
        [(n, 0, step, 0) for n, step in zip(numbers.shape, numbers.strides, strict=True)], 3
    )
    capacity = axis_capacity(len(axes))
    call = kernels.check(elements.stored(numbers.dtype), capacity).prepared_async_call
    plan = kernels.picking(numbers.size, length, 0, axes, capacity)
    return call, kernels.gather_grid(numbers.size), _BLOCK, (plan,), None


def _queue_check(numbers, length: int, check, stream, refused=0) -> None:
    """Queue a kernel that checks indices. It sets the flag of `check` and, if it is an array, `refused`,
    which a later kernel reads. The host does not wait for that one."""
    launched((_plan_check, 1, length), (numbers, check.address, refused), stream)
    check.record()


def _queue_check_of_put(numbers, length: int, check, stream) -> GPUArray:
    """Queue a kernel that checks indices, as _queue_check(). Returns the memory by which the kernel after
    it learns that an index is out of bounds, so that it writes nothing."""
    refused = new((1,), np.int32)
    _driver.memset_d32_async(refused, 0, 1, stream)
    _queue_check(numbers, length, check, stream, refused)
    return refused


def host_indices(indices, length: int, mode: str, axis: int = 0) -> np.ndarray:
    """Indices in host memory as int64, from 0 to length - 1. For those that are out of bounds: IndexError if
    mode is RAISE; axis is for its message.
    """
    if mode == "WRAP":
        return (indices % length if length else indices).astype(np.int64)
    if mode == "CLIP":
        return np.clip(indices, 0, length - 1).astype(np.int64)
    wrong = (indices >= length) | (indices < -length)
    if wrong.any():
        first = indices[wrong].flat[0] if indices.ndim else indices
        raise IndexError(f"index {first} is out of bounds for axis {axis} with size {length}")
    indices = indices.astype(np.int64)
    return np.where(indices < 0, indices + length, indices)


def _in_words(element: str, itemsize: int, bits: int, axes):
    """(C type, axes) of what is moved: words of up to 16 bytes if neighboring elements are moved together,
    otherwise elements. bits: the bitwise or of the addresses and of the step between places, whose lowest bit
    is the alignment."""
    *outer, (length, *steps) = axes
    if steps != [itemsize, 0, itemsize]:
        return element, axes
    row = length * itemsize
    bits |= row | kernels.MAX_WORD
    for _, in_array, _, in_other in outer:
        bits |= in_array | in_other
    word = bits & -bits
    if word < itemsize or word == 1:
        return element, axes
    return kernels.WORDS[word], [*outer, (row // word, word, 0, word)]


def _plan_copy(dtype, index_dtype, mode: str, length: int, step: int, axes, put: bool, bits: int):
    """(kernel, grid, block, its arguments after `other`) for indexed_copy(), whose parameters these are: put
    is its direction, bits as in _in_words(). None if no element is moved.
    """
    count = math.prod(axis[0] for axis in axes)
    if count == 0:
        return None
    if mode != "OFFSET" and length == 0:
        raise IndexError("index is out of bounds for axis with size 0")
    axes, _ = _collapse_axes(axes, 3)
    element, index = elements.raw(dtype), elements.stored(index_dtype)
    if not put and kernels.gathers(axes, index_dtype.itemsize, dtype.itemsize):
        return kernels.gather(element, index, kernels.Source(mode, length, step, dtype.itemsize), axes)
    element, axes = _in_words(element, dtype.itemsize, bits | step, axes)
    if kernels.are_long_rows(axes):
        function, grid, plan = kernels.move_rows(index, mode, put, length, step, axes)
        return function, grid, _BLOCK, (plan,)
    count = math.prod(axis[0] for axis in axes)
    capacity = axis_capacity(len(axes))
    function = kernels.pick(element, index, mode, put, capacity)
    plan = kernels.picking(count, length, step, axes, capacity)
    return function, kernels.gather_grid(count), _BLOCK, (plan,)


_plans = memoized_in_context(_plan_copy, 256)


# Indices are checked by a kernel of their own if at least so many bytes are moved, and so many times as many
# as the indices have: moving them takes longer than one more launch, for which alone the host then waits.
_CHECKED_BEFORE, _CHECKED_BEFORE_RATIO = 8 << 20, 8


def _is_checked_before(mode: str, numbers, nbytes: int) -> bool:
    """Whether a kernel of its own checks the indices before `nbytes` bytes of elements are moved."""
    return mode == "RAISE" and nbytes >= max(_CHECKED_BEFORE_RATIO * numbers.nbytes, _CHECKED_BEFORE)


def indexed_copy(array, positions: Positions, axes, other, put=False, stream=None) -> None:
    """Copy elements of `array` to `other`, or with `put` from `other` to `array`.

    positions: the indices or offsets in `array`. axes: (length, stride in `array`, stride in the indices,
    stride in `other`) of the elements that are moved.
    """
    if put:
        _check_writable(array)
    bits = (array._address | other._address) % kernels.MAX_WORD
    numbers, mode, length, step = positions
    plan = _plans(array.dtype, numbers.dtype, mode, length, step, tuple(axes), put, bits)
    if plan is None:
        if mode == "RAISE" and numbers.size:
            host_indices(numbers.get(stream=stream), length, "RAISE")
        return
    function, grid, block, rest = plan
    with _check(mode, stream) as check:
        error = check.address
        if put and mode == "RAISE":
            error = _queue_check_of_put(numbers, length, check, stream)
        elif _is_checked_before(mode, numbers, other.nbytes):
            _queue_check(numbers, length, check, stream)
            error = check.address
        function.prepared_async_call(grid, block, stream, array, numbers, error, other, *rest)


# ---- elements along one axis


def axes_of_take(a, axis: int, numbers, strides):
    """The axes for indexed_copy() to a result with these strides, in which the axes of `numbers` replace this
    one."""
    lengths = (*a.shape[:axis], *numbers.shape, *a.shape[axis + 1 :])
    kept = [(stride, 0) for stride in a.strides]
    pairs = [*kept[:axis], *((0, step) for step in numbers.strides), *kept[axis + 1 :]]
    return [(length, *pair, step) for length, pair, step in zip(lengths, pairs, strides, strict=True)]


def _launch_of_take(mode: str, axis: int, a, numbers, shape, axes) -> tuple:
    """The launch, as launched() takes it, that moves elements of `a` to a new array of this shape."""
    bits, length, step = a._address % kernels.MAX_WORD, a.shape[axis], a.strides[axis]
    function, grid, block, rest = _plan_copy(
        a.dtype, numbers.dtype, mode, length, step, axes, put=False, bits=bits
    )
    return function.prepared_async_call, grid, block, (..., *rest), (shape, a.dtype)


def _plan_take(axis: int, mode: str, a, numbers, error) -> tuple:
    shape = (*a.shape[:axis], *numbers.shape, *a.shape[axis + 1 :])
    axes = axes_of_take(a, axis, numbers, _packed_strides(shape, a.itemsize))
    return _launch_of_take(mode, axis, a, numbers, shape, axes)


def is_remembered_take(a, numbers, allocator) -> bool:
    """Whether _LaunchCache may remember the launch of take_axis(): the indices are on the device, and all
    memory is of the pool, so that its alignment is known."""
    return bool(
        isinstance(numbers, _driver.GPUArray)
        and numbers.dtype.kind in "iu"
        and numbers.ndim
        and allocator is _driver.default_allocate
        and a.size
        and numbers.size
    )


def take_axis(a, numbers, axis: int = 0, mode: str = "RAISE", stream=None) -> GPUArray:
    """The elements with these indices along an axis: a new array."""
    length = a.shape[axis]
    with _check(mode, stream) as check:
        if _is_checked_before(mode, numbers, a.nbytes // length * numbers.size):
            _queue_check(numbers, length, check, stream)
        return launched((_plan_take, 2, axis, mode), (a, numbers, check.address), stream)


def axes_along(a, axis: int, numbers, shape, strides):
    """The axes for indexed_copy() to a result of this shape and strides, by an index for each place along the
    other axes."""
    steps, places = broadcast_strides(a, shape), broadcast_strides(numbers, shape)
    return [
        (n, 0 if each == axis else steps[each], places[each], strides[each]) for each, n in enumerate(shape)
    ]


def _plan_take_along(axis: int, mode: str, shape, a, numbers, error) -> tuple:
    axes = axes_along(a, axis, numbers, shape, _packed_strides(shape, a.itemsize))
    return _launch_of_take(mode, axis, a, numbers, shape, axes)


def take_along(a, numbers, axis: int, mode: str, shape, stream=None) -> GPUArray:
    """The elements along an axis by an index for each place along the others: a new array of this shape."""
    with _check(mode, stream) as check:
        key = _plan_take_along, 2, axis, mode, shape
        return launched(key, (a, numbers, check.address), stream)


# ---- several indices


def combined_offsets(parts: list[Positions], shape, stream=None) -> Positions:
    """Several positions as one: the sum of their offsets, for elements of `shape`, to which their arrays
    broadcast. Indices are checked, unless there is only one part: that is returned as it is.
    """
    if len(parts) == 1:
        return parts[0]
    offsets = new(shape, np.int64)
    grain = math.gcd(*(part.step for part in parts))
    if offsets.size == 0:
        return Positions(offsets, "OFFSET")
    for position, part in enumerate(parts):
        strides = broadcast_strides(part.array, shape)
        axes, _ = _collapse_axes(
            [(length, 0, step, 0) for length, step in zip(shape, strides, strict=True)], 3
        )
        capacity = axis_capacity(len(axes))
        function = kernels.offsets(elements.stored(part.array.dtype), part.mode, position > 0, capacity)
        plan = kernels.picking(offsets.size, part.length, part.step, axes, capacity)
        with _check(part.mode, stream) as check:
            function.prepared_async_call(
                kernels.offsets_grid(offsets.size), _BLOCK, stream, offsets, part.array, check.address, plan
            )
    return Positions(offsets, "OFFSET", step=grain)
