"""Caches of a context, valid until it ends, cannot be made current anymore, or
pycuda.tools.clear_context_caches() is called. They do not keep the context alive.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from pycuda import _driver
from pycuda._driver import (
    Context,
    Stream,
    _context_serial,
    _forget_kernels,
    _forget_with_contexts,
    _KernelCall,
    _LaunchCache,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Method = TypeVar("_Method", bound=Callable[..., Any])

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
        """Drop the entries of the context with this serial number."""
        for key in [key for key in self if (key[0] if isinstance(key, tuple) else key) == serial]:
            self.pop(key, None)


def is_own_stream(stream) -> bool:
    """Whether it is the default stream or one of this package's. Nothing says when a stream of others is gone
    and its handle another's.
    """
    return stream is None or isinstance(stream, Stream)


def of_stream(cache: ContextCache, stream) -> tuple[Any, Any]:
    """(dict, key): where the cache has what belongs to a stream of the current context. The dict is None for
    streams of others.
    """
    if not is_own_stream(stream):
        return None, None
    serial = current()
    found = cache.get(serial)
    if found is None:
        found = cache[serial] = weakref.WeakKeyDictionary(), {}
    by_stream, by_none = found
    return (by_none, None) if stream is None else (by_stream, stream)


_caches: weakref.WeakSet[ContextCache] = weakref.WeakSet()
_launch_caches: weakref.WeakSet[_LaunchCache] = weakref.WeakSet()


def launch_cache(
    positions: tuple[int, ...], aligned: bool = False, written: tuple[int, ...] = ()
) -> _LaunchCache:
    """What a kernel remembers of calls with arrays at these positions, forgotten like a ContextCache."""
    made = _LaunchCache(positions, aligned, written=written)
    _launch_caches.add(made)
    return made


class _Launches(dict):
    """The launches of the package's own kernels, by key: (make, number of arrays, what a call says besides
    them), where make(*more, *arrays) is (plan, launch or None).
    """

    def __missing__(self, key: tuple) -> _LaunchCache:
        if len(self) >= _MAX_KEYS:
            self.clear()
        made = self[key] = launch_cache(tuple(range(key[1])), aligned=True)
        return made


_MAX_KEYS = 4096
launches = _Launches()


def planned(key: tuple, arrays: tuple) -> Any:
    """The plan for a call with these arrays; made when their forms are seen first in a context."""
    known = launches[key]
    plan = known.find(arrays)
    if plan is None:
        make, _, *more = key
        plan, launch = make(*more, *arrays)
        known.remember(arrays, plan, launch)
    return plan


def launched(key: tuple, values: tuple, stream: Any = None, allocator: Any = None) -> Any:
    """The new array that one launch over these values writes; True if it writes none.

    key: (make, number of arrays, *more); so many of the values, the first ones, are arrays. For a form of
    call that is new make(*more, *values) returns the launch, as _LaunchCache.remember() takes it.
    """
    known = launches[key]
    result = known.launch(values, stream, allocator)
    if result is not None:
        return result
    launch = known.find(values)
    if launch is None:
        make, _, *more = key
        launch = make(*more, *values)
        known.remember(values, launch, launch)
    call, grid, block, after, form = launch
    result = True if form is None else _driver.GPUArray(*form, allocator or values[0].allocator)
    call(grid, block, stream, *values, *(result if each is ... else each for each in after))
    return result


def remembering(method: _Method) -> _Method:
    """A method __call__ that need not be entered for what the attribute _launches remembers a launch of."""
    return cast(_Method, functools.update_wrapper(_KernelCall(method), method))


def _clear_launches() -> None:
    """Clear the launches of all contexts: contexts seldom end, and the launches of the others are planned
    again."""
    for made in list(_launch_caches):
        made.clear()


def clear_context_caches() -> None:
    """Forget what context_dependent_memoize and kernels remember."""
    for function in context_dependent_memoized_functions:
        function.clear_cache()
    for cache in list(_caches):
        cache.clear()
    _clear_launches()
    _forget_kernels()


@_forget_with_contexts
def _forget_context(serial: int) -> None:
    for cache in list(_caches):
        cache.forget(serial)
    _clear_launches()


_ABSENT = object()


def memoized_in_context(make: Callable, limit: int) -> Callable:
    """make(*args), remembered for the current context; at most `limit` results, the oldest go first."""
    known = ContextCache()

    def recall(*args):
        key = current(), args
        result = known.get(key, _ABSENT)
        if result is not _ABSENT:
            return result
        result = make(*args)
        while len(known) >= limit:
            known.pop(next(iter(known)), None)
        known[key] = result
        return result

    return recall


context_dependent_memoized_functions: list[Any] = []


def context_dependent_memoize(func: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorator: remember results per current context and arguments until
    clear_context_caches().

    Parameters
    ----------
    func : callable
        Its arguments must be hashable.

    Returns
    -------
    callable
    """
    cache = ContextCache()

    @functools.wraps(func)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        context = 0 if Context.get_current() is None else current()
        key = context, args, frozenset(kwargs.items())
        try:
            return cache[key]
        except KeyError:
            result = cache[key] = func(*args, **kwargs)
            return result

    wrapper.clear_cache = cache.clear  # type: ignore[attr-defined]
    context_dependent_memoized_functions.append(wrapper)
    return wrapper
