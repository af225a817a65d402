"""Memory that a kernel needs only while it runs.

Kernels of one stream run one after another, so they share one area: it is not allocated again at each
launch. An area begins with words that are 0 before and after every kernel; the rest holds anything.

A graph may be launched on any stream, concurrently with later work of the captured stream: each of its
kernels has an area of its own, which is set to 0 before it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._driver import _is_captured
from pycuda._kernels.plans.axes import ceil_div, power_at_least
from pycuda._kernels.plans.caches import ContextCache, of_stream

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

# Bytes at the beginning of an area that are 0 between kernels.
_WORDS = 256
# The minimum number of bytes of an area, so that it is rarely replaced by a larger one.
_MIN_BYTES = 1 << 16
# SCAN_GROUP of pycuda-scan.hpp.
_GROUP = 32
_BYTE = np.dtype(np.uint8)
_areas, _states = ContextCache(), ContextCache()


def _new_zeroed(nbytes: int, cleared: int, stream, captured: bool) -> GPUArray:
    """New memory, of which the first `cleared` bytes are set to 0 on the stream. Memory that is kept for a
    stream is not from the pool, whose blocks keep the streams alive on which they are used."""
    memory = (
        _driver.GPUArray(nbytes, _BYTE)
        if captured
        else _driver.GPUArray(nbytes, _BYTE, gpudata=_driver.mem_alloc(nbytes))
    )
    _driver.memset_d32_async(memory, 0, cleared // 4, stream)
    return memory


class Area(NamedTuple):
    """Words that are 0 between kernels, and memory for anything. Both keep the memory alive."""

    words: GPUArray
    memory: GPUArray


def _new_area(nbytes: int, stream, captured: bool) -> Area:
    memory = _new_zeroed(_WORDS + nbytes, _WORDS, stream, captured)
    return Area(memory[:_WORDS], memory[_WORDS:])


def area(stream, nbytes: int) -> Area:
    """Scratch memory for the next kernels in the stream. The caller keeps the Area until the last of them is
    launched; the memory may then be used by later kernels in the stream."""
    stream = _driver.current_stream() if stream is None else stream
    if _is_captured(stream):
        return _new_area(nbytes, stream, captured=True)
    areas, key = of_stream(_areas, stream)
    if areas is None:
        return _new_area(nbytes, stream, captured=False)  # freeing it waits for the kernel
    found = areas.get(key)
    if found is None or found.memory.size < nbytes:
        size = max(_MIN_BYTES, power_at_least(_WORDS + nbytes))
        found = areas[key] = _new_area(size - _WORDS, stream, captured=False)
    return found


class Partials(NamedTuple):
    """What the blocks of a scan exchange (scan_row of pycuda-scan.hpp)."""

    values: int  # how many partial results
    counts: int  # how many counters of arrivals


NOTHING = Partials(0, 0)


def partials_of_tiles(rows: int, tiles: int) -> Partials:
    """The partial results for this many tiles in each row."""
    groups = ceil_div(tiles, _GROUP)
    supers = ceil_div(groups, _GROUP)
    return Partials(rows * (tiles + groups + supers), rows * (groups + supers))


class States:
    """The memory of scan_states (pycuda-scan.hpp), by which the blocks of a launch wait for each other, for
    the kernels of one stream.

    parts: words, counts of 64 bits, entries of 64 bits, bytes for values; 0 (NULL) for an empty part. An
    entry is valid if its lower half is the number of the launch, a count if its upper half is. So they are
    cleared only here, not before each launch. Values of up to 16 bytes are in entries (mailbox of
    pycuda-scan.hpp).
    """

    _LAUNCHES = 1 << 32  # numbers of launches have 32 bits

    def __init__(self, stream, counts: int, entries: int, value_bytes: int, captured: bool):
        ends = tuple(itertools.accumulate((_WORDS, 8 * counts, 8 * entries, value_bytes)))
        memory = _new_zeroed(ends[-1], ends[2], stream, captured)
        self._sizes = counts, entries, value_bytes
        self.parts = tuple(
            memory[start:end] if end > start else 0 for start, end in zip((0, *ends), ends, strict=False)
        )
        self._launches = itertools.count(1)

    def has_room_for(self, *sizes: int) -> bool:
        """Whether all of these fit: counts, entries, bytes of values."""
        return all(own >= wanted for own, wanted in zip(self._sizes, sizes, strict=True))

    def launch(self) -> int:
        """The number of the next launch, from 1; 0 if all numbers are used, so that new States are needed."""
        number = next(self._launches)
        return number if number < self._LAUNCHES else 0


def states(stream, partials: Partials, itemsize: int) -> tuple:
    """The members of a scan_state, as arguments of the next kernel in the stream: States.parts and the number
    of the launch. itemsize: bytes of a value."""
    entries, value_bytes = partials.values, partials.values * itemsize
    if itemsize <= 16:
        entries, value_bytes = entries * ceil_div(itemsize, 4), 0
    stream = _driver.current_stream() if stream is None else stream
    captured = _is_captured(stream)
    known, key = (None, None) if captured else of_stream(_states, stream)
    if known is None:
        found = States(stream, partials.counts, entries, value_bytes, captured)
        return *found.parts, found.launch()
    found = known.get(key)
    if found is not None and found.has_room_for(partials.counts, entries, value_bytes):
        number = found.launch()
        if number:
            return *found.parts, number
    sizes = (power_at_least(max(size, 1 << 8)) for size in (partials.counts, entries, value_bytes))
    found = known[key] = States(stream, *sizes, False)
    return *found.parts, found.launch()
