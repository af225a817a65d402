"""Axes of arrays as arguments of kernels. core/layout/ merges them; here they are packed into bytes.

An axis is a tuple: its length, and its stride in bytes in each array.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pycuda._driver import _LAYOUTS, _WIDEST_ACCESS, _alignment, _collapse_axes

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


class Axis(NamedTuple):
    """One axis of an array, and its stride in a second one."""

    length: int
    stride: int
    other: int


def broadcast_strides(array, shape) -> tuple[int, ...]:
    """The strides of an array broadcast to this shape, to which it must broadcast: 0 along repeated axes."""
    missing = len(shape) - len(array.shape)
    return (0,) * missing + tuple(
        0 if length == 1 else stride for length, stride in zip(array.shape, array.strides, strict=True)
    )


def broadcasts(shape, to) -> bool:
    """Whether an array of this shape broadcasts to the shape `to`."""
    missing = len(to) - len(shape)
    return (
        missing >= 0
        and min(to, default=0) >= 0
        and all(length in (1, wanted) for length, wanted in zip(shape, to[missing:], strict=True))
    )


_CAPACITIES = tuple(axes for kind, axes, wide in _LAYOUTS if kind == "STRIDED" and not wide)


def collapsed(axes: Sequence, sort=False, reverse=False) -> tuple[list[Axis], int]:
    """(the fewest axes with the same order of elements, start). The axes begin `start` bytes after the
    array's first element. sort: the order of elements is that of memory. reverse: axes with negative strides
    are reversed, which is why `start` may not be 0."""
    axes, start = _collapse_axes(axes, 2, sort, reverse)
    return [Axis(*axis) for axis in axes], start


def axis_capacity(count: int) -> int:
    """The smallest compiled number of axes that is at least `count`."""
    return next(number for number in _CAPACITIES if number >= count)


def packed_axes(axes: Sequence[tuple[int, ...]], capacity: int) -> bytes:
    """The lengths of all axes, then their strides in each array, as in the structures Axes and Walk of
    kernels. If there are fewer than `capacity` axes, outer axes of length 1 are added."""
    width = len(axes[0])
    full = [(1, *(0,) * (width - 1))] * (capacity - len(axes)) + list(axes)
    return struct.pack(f"{width * capacity}q", *(axis[field] for field in range(width) for axis in full))


def are_aligned(axes: Sequence[tuple[int, ...]], addresses: tuple[int, ...], unit: int) -> bool:
    """Whether each array's elements along these axes lie at multiples of `unit` bytes, which is at most
    _WIDEST_ACCESS."""
    return min(_alignment(axes, addresses)) >= unit


def elements_per_access(itemsize: int) -> int:
    """How many elements fill the widest access of a thread; 1 if no number of them does."""
    return _WIDEST_ACCESS // itemsize if _WIDEST_ACCESS % itemsize == 0 else 1


def vector_width(array: GPUArray, axes: Sequence[tuple[int, int]] = ()) -> int:
    """Elements of the vectors by which the array can be loaded: those of the widest access, or 1 if the array
    is not aligned for it.

    Vectors start at the array's address and at each index along `axes`, which are (length, stride in bytes).
    """
    aligned = are_aligned(axes, (array._address,), _WIDEST_ACCESS)
    return elements_per_access(array.itemsize) if aligned else 1


def power_at_most(n: int) -> int:
    """The greatest power of two that is at most n, 1 for less."""
    return 1 << max(n, 1).bit_length() - 1


def power_at_least(n: int) -> int:
    """The least power of two that is at least n."""
    return 1 << max(n - 1, 0).bit_length()


def ceil_div(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)
