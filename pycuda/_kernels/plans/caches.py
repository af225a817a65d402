"""What is remembered for a context: until it ends, nobody can make it current any more, or
pycuda.tools.clear_context_caches() is called. It does not keep the context alive.
"""

from __future__ import annotations

import functools
import weakref

from pycuda._driver import _Calls, _context_serial, _forget_kernels, _forget_with_contexts, _KernelCall

current = _context_serial


class ContextCache(dict):
    """A dict whose keys are current(), or tuples that begin with it."""

    __hash__ = object.__hash__

    def __init__(self):
        super().__init__()
        _caches.add(self)

    def __eq__(self, other):
        return self is other

    def forget(self, serial: int) -> None:
        for key in [key for key in self if (key[0] if isinstance(key, tuple) else key) == serial]:
            self.pop(key, None)


_caches: weakref.WeakSet[ContextCache] = weakref.WeakSet()
_calls: weakref.WeakSet[_Calls] = weakref.WeakSet()


def calls(positions: tuple[int, ...], aligned: bool = False, written: tuple[int, ...] = ()) -> _Calls:
    """What a kernel remembers of calls with arrays at these positions, forgotten like a ContextCache."""
    made = _Calls(positions, aligned, written=written)
    _calls.add(made)
    return made


def remembering(method):
    """A method __call__ that need not be entered for what the attribute _calls remembers a launch of."""
    return functools.update_wrapper(_KernelCall(method), method)


def _clear_calls() -> None:
    """Of all contexts: they are made again from what the kernels remember otherwise."""
    for made in list(_calls):
        made.clear()


def clear_caches() -> None:
    """Forget everything, of all contexts."""
    for cache in list(_caches):
        cache.clear()
    _clear_calls()
    _forget_kernels()


@_forget_with_contexts
def _forget(serial: int) -> None:
    for cache in list(_caches):
        cache.forget(serial)
    _clear_calls()


def context_memory(make, limit: int):
    """make(*args), remembered for the current context; at most `limit` results, the oldest go first."""
    known = ContextCache()

    def recall(*args):
        key = current(), args
        result = known.get(key, known)
        if result is not known:
            return result
        result = make(*args)
        while len(known) >= limit:
            known.pop(next(iter(known)), None)
        known[key] = result
        return result

    return recall
