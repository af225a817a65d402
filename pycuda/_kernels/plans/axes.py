"""Axes of arrays made few: sorted, turned round, merged, and packed for a kernel.

An axis is (length, stride, other): the bytes from one element to the next in the array that is walked, and in
a second one, or whatever else goes along.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple


class Axis(NamedTuple):
    """One axis of a walk."""

    length: int
    stride: int
    other: int


ONE = Axis(1, 0, 0)
_ROOMS = (1, 2, 4, 8, 16, 32, 64)


def turned(axes: Iterable[Axis]) -> tuple[list[Axis], int]:
    """The axes with no negative stride, and the bytes from the first element to the first of these."""
    offset, result = 0, []
    for axis in axes:
        if axis.stride < 0:
            offset += axis.stride * (axis.length - 1)
            axis = Axis(axis.length, -axis.stride, -axis.other)
        result.append(axis)
    return result, offset


def by_stride(axes: Iterable[Axis]) -> list[Axis]:
    """The outermost in memory first; axes of stride 0, which cost nothing, before all others."""
    return sorted(axes, key=lambda axis: (axis.stride != 0, -abs(axis.stride)))


def merged(axes: Iterable[Axis]) -> list[Axis]:
    """Neighbours that are walked as one are one; axes of length 1 go. At least one is left."""
    result: list[Axis] = []
    for axis in axes:
        if axis.length == 1:
            continue
        outer = result[-1] if result else None
        whole = axis.length * axis.stride, axis.length * axis.other
        if outer and (outer.stride, outer.other) == whole:
            result[-1] = Axis(outer.length * axis.length, axis.stride, axis.other)
        else:
            result.append(axis)
    return result or [ONE]


def room(count: int) -> int:
    """How many axes a kernel for so many is made for: few kernels serve all."""
    return next(number for number in _ROOMS if number >= count)


def packed(axes: list[Axis], places: int) -> bytes:
    """struct Axes<places> of pycuda-elements.hpp, filled up with outer axes of length 1."""
    full = [ONE] * (places - len(axes)) + list(axes)
    return struct.pack(f"{3 * places}q", *(axis[field] for field in range(3) for axis in full))


def power_at_most(n: int) -> int:
    """The greatest power of two that is at most n, 1 for less."""
    return 1 << max(n, 1).bit_length() - 1


def power_at_least(n: int) -> int:
    """The least power of two that is at least n."""
    return 1 << max(n - 1, 0).bit_length()


def ceil_div(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)
