"""Handles of NVIDIA's libraries, one for each stream."""

from __future__ import annotations

from pycuda import _driver
from pycuda._kernels.plans.caches import ContextCache, current, of_stream


class PooledHandle:
    """A handle that one stream uses. When the stream is gone the next one takes it over: destroying it would
    wait for all work of the context.
    """

    def __init__(self, kind: str, spare: list):
        self.spare = spare
        self.value = spare.pop() if spare else _driver._LibraryHandle(kind)

    def __del__(self):
        self.spare.append(self.value)


class Handles:
    """The handles of a kind that has no workspace. A stream of others gets one for each call: nothing says
    when it is gone.
    """

    def __init__(self, kind: str):
        self._kind = kind
        self._by_stream, self._spare = ContextCache(), ContextCache()

    def of(self, stream):
        """The _LibraryHandle of a stream of the current context."""
        handles, key = of_stream(self._by_stream, stream)
        if handles is None:
            made = _driver._LibraryHandle(self._kind)
            made.use(stream)
            return made
        found = handles.get(key)
        if found is None:
            found = PooledHandle(self._kind, self._spare.setdefault(current(), []))
            found.value.use(stream)
            handles[key] = found
        return found.value
