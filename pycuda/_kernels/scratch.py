"""Memory that a kernel needs only while it runs.

Kernels of one stream run one after the other, so they share one area: it is not allocated again at each launch.
An area begins with words that are 0 before and after every kernel; the rest holds anything.
"""

from __future__ import annotations

import weakref

import pycuda.driver as drv
from pycuda._kernels.caches import ContextCache

WORDS = 256  # bytes of an area that are 0 between kernels

_LEAST = 1 << 16
_areas = ContextCache()


def _new(nbytes: int, stream):
    memory = drv.mem_alloc(nbytes)
    drv.memset_d32_async(memory, 0, WORDS // 4, stream)
    return memory


def _of_context():
    context = drv.Context.get_current()
    areas = _areas.get(context)
    if areas is None:
        areas = _areas[context] = weakref.WeakKeyDictionary(), {}
    return areas


def area(stream, nbytes: int):
    """An allocation of at least WORDS + nbytes bytes for the next kernel in the stream, whose first WORDS bytes are
    0. The caller holds it until the kernel is launched.
    """
    by_stream, by_none = _of_context()
    if stream is not None and not isinstance(stream, drv.Stream):
        # Nothing says when this stream is gone and its handle another's: freeing waits for the kernel.
        return _new(WORDS + nbytes, stream)
    areas, key = (by_none, None) if stream is None else (by_stream, stream)
    found = areas.get(key)
    if found is None or found.size < WORDS + nbytes:
        size = max(_LEAST, 1 << (WORDS + nbytes - 1).bit_length())
        found = areas[key] = _new(size, stream)
    return found
