"""Memory that a kernel needs only while it runs.

Kernels of one stream run one after the other, so they share one area: it is not allocated again at each
launch. An area begins with words that are 0 before and after every kernel; the rest holds anything.
"""

from __future__ import annotations

import itertools
import weakref

import pycuda.driver as drv
from pycuda._kernels.axes import power_at_least
from pycuda._kernels.caches import ContextCache

WORDS = 256  # bytes of an area that are 0 between kernels

_LEAST = 1 << 16
_areas, _states = ContextCache(), ContextCache()


def _new(nbytes: int, stream):
    memory = drv.mem_alloc(nbytes)
    drv.memset_d32_async(memory, 0, WORDS // 4, stream)
    return memory


def _of_stream(cache, stream):
    """(dict, key): where the cache has what belongs to a stream of the current context. The dict is None for
    streams of others: nothing says when such a stream is gone and its handle another's.
    """
    if stream is not None and not isinstance(stream, drv.Stream):
        return None, None
    context = drv.Context.get_current()
    found = cache.get(context)
    if found is None:
        found = cache[context] = weakref.WeakKeyDictionary(), {}
    by_stream, by_none = found
    return (by_none, None) if stream is None else (by_stream, stream)


def area(stream, nbytes: int):
    """An allocation of at least WORDS + nbytes bytes for the next kernel in the stream, whose first WORDS
    bytes are 0. The caller holds it until the kernel is launched.
    """
    stream = drv.current_stream() if stream is None else stream
    areas, key = _of_stream(_areas, stream)
    if areas is None:
        return _new(WORDS + nbytes, stream)  # freeing it waits for the kernel
    found = areas.get(key)
    if found is None or found.size < WORDS + nbytes:
        size = max(_LEAST, power_at_least(WORDS + nbytes))
        found = areas[key] = _new(size, stream)
    return found


class States:
    """Entries by which the blocks of one launch wait for each other, for the kernels of one stream.

    memory: WORDS bytes that are 0 between kernels, `count` entries of 64 bits, then room for anything. An
    entry counts when it has the number of the launch in its lower half, so entries are cleared only here.
    What becomes of values is the mailbox of pycuda-scan.hpp: those of up to 16 bytes are in entries.
    """

    _LAUNCHES = 1 << 32

    def __init__(self, stream, count: int, room: int):
        self.count, self.room = count, room
        self.memory = drv.mem_alloc(WORDS + 8 * count + room)
        drv.memset_d32_async(self.memory, 0, WORDS // 4 + 2 * count, stream)
        self.start = int(self.memory)
        self.entries, self.values = self.start + WORDS, self.start + WORDS + 8 * count
        self._launches = itertools.count(1)

    def launch(self) -> int:
        """The number of the next launch; 0 when there is none left."""
        number = next(self._launches)
        return number if number < self._LAUNCHES else 0


def states(stream, count: int, itemsize: int) -> tuple[States, int]:
    """States for at least so many values of this size, and the number of a launch."""
    count, room = (count * -(-itemsize // 4), 0) if itemsize <= 16 else (count, count * itemsize)
    stream = drv.current_stream() if stream is None else stream
    known, key = _of_stream(_states, stream)
    if known is None:
        found = States(stream, count, room)
        return found, found.launch()
    found = known.get(key)
    if found is not None and found.count >= count and found.room >= room:
        number = found.launch()
        if number:
            return found, number
    found = known[key] = States(
        stream, power_at_least(max(count, 1 << 10)), power_at_least(max(room, 1 << 12))
    )
    return found, found.launch()
