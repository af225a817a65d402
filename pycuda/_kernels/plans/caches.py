"""Caches of a context. Their entries are dropped when the context ends or cannot be made current anymore, and
by pycuda.tools.clear_context_caches(). They do not keep the context alive.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar, cast

from pycuda import _driver
from pycuda._base.bounded import keys_now, make_room
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
_Object = TypeVar("_Object")

current = _context_serial  # returns the serial number of the current context


class ContextCache(dict):
    """A dict whose keys are serial numbers of contexts (current()), or tuples that begin with one."""

    __hash__ = object.__hash__

    def __init__(self):
        super().__init__()
        _caches.add(self)

    def __eq__(self, other):
        return self is other

    def forget(self, serial: int) -> None:
        """Drop the entries of the context with this serial number."""
        for key in keys_now(self):
            if (key[0] if isinstance(key, tuple) else key) == serial:
                self.pop(key, None)


def is_own_stream(stream) -> bool:
    """Whether it is the default stream or one that pycuda made. Nothing may be cached for other streams, as
    nothing says when one is destroyed and its handle is that of a new stream.
    """
    return stream is None or isinstance(stream, Stream)


def of_stream(cache: ContextCache, stream) -> tuple[Any, Any]:
    """(dict, key): dict[key] is the cache's value for a stream of the current context. (None, None) for a
    stream that pycuda did not make.
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
    """A cache of the launches of a kernel whose calls have arrays at these positions. It is cleared when any
    context ends, and by clear_context_caches()."""
    made = _LaunchCache(positions, aligned, written=written)
    _launch_caches.add(made)
    return made


class _Launches(dict):
    """A _LaunchCache for each key of the package's own kernels: (make, number of arrays, *more), where `more`
    are arguments of the call that are not arrays. For planned(), make(*more, *arrays) returns (plan, launch
    or None).
    """

    def __missing__(self, key: tuple) -> _LaunchCache:
        if len(self) >= _MAX_KEYS:
            self.clear()
        made = self[key] = launch_cache(tuple(range(key[1])), aligned=True)
        return made


_MAX_KEYS = 4096  # then all are dropped
launches = _Launches()


def planned(key: tuple, arrays: tuple) -> Any:
    """The plan for a call with these arrays, made for the first call with arrays of the same form (shapes,
    strides, dtypes, alignment) and remembered."""
    known = launches[key]
    plan = known.find(arrays)
    if plan is None:
        make, _, *more = key
        plan, launch = make(*more, *arrays)
        known.remember(arrays, plan, launch)
    return plan


def launched(key: tuple, values: tuple, stream: Any = None, allocator: Any = None) -> Any:
    """Launch a kernel for these values. Returns the new array that it writes; True if it writes no new array.

    key: (make, number of arrays, *more). The arrays are the first ones of `values`. If their form is new,
    make(*more, *values) returns the launch, as _LaunchCache.remember() takes it: (call, grid, block,
    arguments after the values, with ... for the new array, that array's shape and dtype or None).
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
    """Decorator of a method __call__: calls whose launch the attribute _launches remembers are launched
    without entering the method."""
    return cast(_Method, functools.update_wrapper(_KernelCall(method), method))


def _listed(objects: Iterable[_Object]) -> list[_Object]:
    """A list of what is in a WeakSet, to which other threads may add meanwhile."""
    while True:
        try:
            return list(objects)
        except RuntimeError:  # it changed while it was read
            continue


def _clear_launches() -> None:
    """Clear the launches of all contexts. They are not kept by context, as contexts seldom end; launches of
    other contexts are planned again."""
    for made in _listed(_launch_caches):
        made.clear()


def clear_context_caches() -> None:
    """Drop everything that is cached for contexts: results of context_dependent_memoize, kernels and
    launches."""
    for function in context_dependent_memoized_functions:
        function.clear_cache()
    for cache in _listed(_caches):
        cache.clear()
    _clear_launches()
    _forget_kernels()


@_forget_with_contexts
def _forget_context(serial: int) -> None:
    for cache in _listed(_caches):
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
        make_room(known, limit)
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
