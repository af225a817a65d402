"""Elements of arrays picked by number: what indexing, take and put are made of.

Numbers that are on the host are checked there. Numbers on the device are checked by the kernel, which touches
nothing for a wrong one and says so in a word of host memory; so a call with such numbers waits for its
stream, and cannot be captured, unless mode is "wrap" or "clip", which have no wrong numbers.
"""

from __future__ import annotations

import math
import threading
from typing import NamedTuple

import numpy as np

import pycuda.driver as drv
from pycuda._array import captures
from pycuda._array.memory import check_writable, new
from pycuda._driver import GPUArray
from pycuda._kernels import axes as layout
from pycuda._kernels import elements, indexing
from pycuda._kernels.caches import context_memory

_BLOCK = (indexing.THREADS, 1, 1)
MODES = {"raise": "RAISE", "wrap": "WRAP", "clip": "CLIP"}


class Numbers(NamedTuple):
    """Which elements: along an axis by number, or anywhere by bytes (mode OFFSET)."""

    array: GPUArray
    mode: str
    length: int = 0  # of the axis
    step: int = 1  # its stride


# ---- errors found on the device

_words = context_memory(
    lambda thread: drv.pagelocked_empty(1, np.int32, mem_flags=drv.host_alloc_flags.DEVICEMAP), 256
)


class _Check:
    """Round launches: IndexError when one of them met a number that no element has."""

    def __init__(self, mode, stream):
        if mode == "RAISE":
            captures.refuse(
                "indexing by an array on the device", "indices are checked", stream,
                "take(), put() and take_along_axis() with mode='wrap' or 'clip' can",
            )  # fmt: skip
        self.word = _words(threading.get_ident()) if mode == "RAISE" else None
        self.address = 0
        self.stream = stream

    def __enter__(self):
        if self.word is not None:
            self.word[0] = 0
            self.address = self.word.base.get_device_pointer()
        return self.address

    def __exit__(self, kind, problem, traceback):
        if self.word is None or kind is not None:
            return
        # An event, as streams are of other libraries, too.
        drv.Event(drv.event_flags.DISABLE_TIMING).record(self.stream).synchronize()
        if self.word[0]:
            raise IndexError("an index is out of bounds: the array has no such element")


def _copy(host, stream=None) -> GPUArray:
    result = GPUArray(host.shape, host.dtype)
    result.set(host, stream=stream)
    return result


def on_device(host, stream=None) -> GPUArray:
    """A copy of a host array, there when this returns."""
    host = np.asarray(host, order="C")
    return captures.aside(stream, _copy, host) if captures.is_captured(stream) else _copy(host, stream)


def host_numbers(numbers, length: int, mode: str) -> np.ndarray:
    """Numbers on the host as int64 from 0 to length. IndexError where mode is RAISE."""
    if mode == "WRAP":
        return (numbers % length if length else numbers).astype(np.int64)
    if mode == "CLIP":
        return np.clip(numbers, 0, length - 1).astype(np.int64)
    wrong = (numbers >= length) | (numbers < -length)
    if wrong.any():
        first = numbers[wrong].flat[0] if numbers.ndim else numbers
        raise IndexError(f"index {first} is out of bounds for an axis of length {length}")
    numbers = numbers.astype(np.int64)
    return np.where(numbers < 0, numbers + length, numbers)


def broadcast_strides(array, shape) -> tuple[int, ...]:
    """The strides with which an array has this shape: 0 along axes that it does not have."""
    missing = len(shape) - array.ndim
    return (0,) * missing + tuple(
        0 if length == 1 else stride for length, stride in zip(array.shape, array.strides, strict=True)
    )


def pick(array, numbers: Numbers, axes, other, put=False, stream=None) -> None:
    """Move elements between `array` and `other`: axes are (length, stride in array, in numbers, in other)."""
    if put:
        check_writable(array)
    count = math.prod(axis[0] for axis in axes)
    if count == 0:
        return
    if numbers.mode != "OFFSET" and numbers.length == 0:
        raise IndexError("an index is out of bounds: the array has no elements along this axis")
    axes = indexing.merged(axes)
    rooms = layout.room(len(axes))
    element, number = elements.raw(array.dtype), elements.stored(numbers.array.dtype)
    function = indexing.pick(element, number, numbers.mode, put, rooms)
    plan = indexing.picking(count, numbers.length, numbers.step, axes, rooms)
    with _Check(numbers.mode, stream) as error:
        function.prepared_async_call(
            indexing.grid(count), _BLOCK, stream, array, numbers.array, other, error, plan
        )


def combined(parts: list[Numbers], shape, stream=None) -> Numbers:
    """Several numbers of each element, which broadcast to one shape, as bytes."""
    if len(parts) == 1:
        return parts[0]
    offsets = new(shape, np.int64)
    if offsets.size == 0:
        return Numbers(offsets, "OFFSET")
    for position, part in enumerate(parts):
        axes = indexing.merged(
            (length, 0, stride, 0)
            for length, stride in zip(shape, broadcast_strides(part.array, shape), strict=True)
        )
        rooms = layout.room(len(axes))
        function = indexing.offsets(elements.stored(part.array.dtype), part.mode, position > 0, rooms)
        plan = indexing.picking(offsets.size, part.length, part.step, axes, rooms)
        with _Check(part.mode, stream) as error:
            function.prepared_async_call(
                indexing.grid(offsets.size), _BLOCK, stream, offsets, part.array, error, plan
            )
    return Numbers(offsets, "OFFSET")
