"""What kernels remember for a context, and forget with pycuda.tools.clear_context_caches()."""

from __future__ import annotations

import functools
import weakref

import pycuda.driver as drv
from pycuda._driver import _Calls, _KernelCall
from pycuda.tools import context_dependent_memoized_functions


class ContextCache(dict):
    """A dict whose values belong to contexts, which they keep alive until the dict is emptied."""

    __hash__ = object.__hash__

    def __init__(self):
        super().__init__()
        _caches.add(self)

    def __eq__(self, other):
        return self is other


_caches: weakref.WeakSet[ContextCache | _Calls] = weakref.WeakSet()


def calls(positions: tuple[int, ...], aligned: bool = False, written: tuple[int, ...] = ()) -> _Calls:
    """What a kernel remembers of calls with arrays at these positions, forgotten like a ContextCache."""
    made = _Calls(positions, aligned, written=written)
    _caches.add(made)
    return made


def remembering(method):
    """A method __call__ that need not be entered for what the attribute _calls remembers a launch of."""
    return functools.update_wrapper(_KernelCall(method), method)


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
        result = known.get(key, known)
        if result is not known:
            return result
        result = make(*args)
        while len(known) >= limit:
            known.pop(next(iter(known)), None)
        known[key] = result
        return result

    return recall
