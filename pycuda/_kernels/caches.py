"""What kernels remember for a context, and forget with pycuda.tools.clear_context_caches()."""

from __future__ import annotations

import weakref

import pycuda.driver as drv
from pycuda.tools import context_dependent_memoized_functions


class ContextCache(dict):
    """A dict whose values belong to contexts, which they keep alive until the dict is emptied."""

    __hash__ = object.__hash__

    def __init__(self):
        super().__init__()
        _caches.add(self)

    def __eq__(self, other):
        return self is other

    def remember(self, key, value, limit: int) -> None:
        """For a key of `_call_key`, None being none: with `limit` values the dict begins anew."""
        if key is None:
            return
        if len(self) >= limit:
            self.clear()
        self[key] = value


_caches: weakref.WeakSet[ContextCache] = weakref.WeakSet()


class _All:
    @staticmethod
    def clear_cache() -> None:
        for cache in list(_caches):
            cache.clear()


context_dependent_memoized_functions.append(_All)

_current = drv.Context.get_current


def context_memory(make, limit: int):
    """make(*args), remembered for the current context; at most `limit` results, the oldest go first."""
    known = ContextCache()

    def recall(*args):
        key = _current(), args
        try:
            return known[key]
        except KeyError:
            pass
        result = make(*args)
        while len(known) >= limit:
            known.pop(next(iter(known)), None)
        known[key] = result
        return result

    return recall
