"""Handles of NVIDIA's libraries, one for each stream."""

from __future__ import annotations

from pycuda import _driver
from pycuda._kernels.plans.caches import ContextCache, current, of_stream


class PooledHandle:
    """A handle that one stream uses: from the list `spare`, or a new one if that is empty. When the stream is
    gone, and this object with it, the handle goes to `spare` for another stream: destroying a handle would
    wait for all work of the context.
    """

    def __init__(self, kind: str, spare: list):
        self.spare = spare
        self.value = spare.pop() if spare else _driver._LibraryHandle(kind)

    def __del__(self):
        self.spare.append(self.value)


class Handles:
    """The handles of a library that needs no workspace from the caller, one for each stream. A stream that
    pycuda did not make gets a new one for each call, as nothing says when the stream is destroyed.
    """

    def __init__(self, kind: str):
        self._kind = kind
        self._by_stream, self._spare = ContextCache(), ContextCache()

    def of(self, stream):
        """The _LibraryHandle of a stream of the current context."""
        handles, key = of_stream(self._by_stream, stream)
        if handles is None:
            own = _driver._LibraryHandle(self._kind)
            own.use(stream)
            return own
        pooled = handles.get(key)
        if pooled is None:
            pooled = PooledHandle(self._kind, self._spare.setdefault(current(), []))
            pooled.value.use(stream)
            handles[key] = pooled
        return pooled.value
