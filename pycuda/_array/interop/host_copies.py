"""Host copies of arrays, for pickles and messages: in page-locked memory, while there is some.

A copy to fresh memory of NumPy's takes ten times as long: the driver copies through memory of its own, and
each page is mapped when it is first written to. A page-locked copy holds a block of a pool until nothing
refers to it anymore. It is memory of the process: it can be read after the end of the context, and in a
forked child. How much of it there may be is limited, as copies may live long, where distributed keeps what it
has spilled in host memory, say: beyond the limit they are NumPy's memory.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from pycuda import _driver
from pycuda._kernels.plans.caches import memoized_in_context

_SMALL = 256 << 10  # bytes; below, the context's staging block serves (ext/memory/staging.h)
_MOST = 4 << 30
_OF_MEMORY = 16  # all devices together have a limit of this part of the host's memory


@functools.cache
def limit() -> int:
    """How many bytes of page-locked memory the copies of a context may have."""
    setting = os.environ.get("PYCUDA_PAGELOCKED_MIB")
    if setting:
        return int(setting) << 20
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(_MOST, memory // _OF_MEMORY // _driver.Device.count())


def _new_pool() -> _driver.PageLockedMemoryPool:
    pool = _driver._registered_pool()
    pool.limit = limit()
    return pool


_pool = memoized_in_context(_new_pool, 256)


def _page_locked(array: Any) -> np.ndarray | None:
    """Memory for a copy of a contiguous array; None beyond the limit, or if the driver has none."""
    try:
        if not limit():
            return None
        pool = _pool()
        used = pool.active_bytes + array.nbytes
        if used + used // 16 > limit():  # a block may be so much larger than what was asked for
            return None
        return pool.allocate(array.shape, array.dtype, "C" if array.flags.c_contiguous else "F")
    except _driver.Error:  # array.get() raises what is no lack of memory
        return None


def host_copy(array: Any) -> np.ndarray:
    """As array.get()."""
    if array.nbytes < _SMALL or not array.flags.forc:
        return array.get()
    host = _page_locked(array)
    return array.get() if host is None else array.get(host)
