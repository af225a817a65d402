"""Decorators of the functions on arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from pycuda._driver import _ArrayFunction

_Function = TypeVar("_Function", bound=Callable[..., Any])


def array_function(
    function: _Function, quick: Any = None, writes: bool = False, anywhere: bool = False
) -> _Function:
    """As takes_arrays(), for a function whose body need not run at every call. quick: either the elementwise
    operation that the function is for one array of inexact numbers, or the _LaunchCache that remembers its
    launches by positional arguments.
    """
    wrapper = _ArrayFunction(function, quick, writes, anywhere)
    return cast(_Function, functools.update_wrapper(wrapper, function))


def takes_arrays(function: _Function, anywhere: bool = False) -> _Function:
    """Decorate a function, or a method, so that it takes other libraries' arrays wherever it takes GPUArrays.
    If it has a parameter `stream`, that stream is current while it runs, so that copies and allocations for
    which the function names no stream are on that one. GPUArrays of several devices are refused, unless they
    may be `anywhere`, as the function does not read their elements.
    """
    return array_function(function, anywhere=anywhere)


def writes_array(function: _Function) -> _Function:
    """As takes_arrays(), for a method that writes to its array. The method is refused if that array is a
    temporary copy, as in z.real.fill(0), where what is written would be lost.
    """
    return array_function(function, writes=True)


_PARAMETERS = {
    "axis": "int or tuple of int, optional\n    Default: all axes, or the flattened array.",
    "dtype": "dtype, optional\n    Of the computation and of a new result.",
    "out": "GPUArray, optional\n    Where the result goes.",
    "ddof": "int, optional\n    Taken off the number of elements.",
    "keepdims": "bool, optional\n    Keep the reduced axes, with length 1.",
    "initial": "number, optional\n    What the elements are combined with.",
    "where": "GPUArray of bool, optional\n    The elements that count.",
    "mean": "GPUArray, optional\n    The mean, where it is known, with axes of length 1.",
    "correction": "int, optional\n    The same as `ddof`.",
    "stream": "Stream, optional",
    "allocator": "callable, optional\n    For the result.",
}


def reduces(function: _Function) -> _Function:
    """Add to the docstring the parameters that reductions and scans have in common."""
    code = cast(Any, function).__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    rows = "\n".join(f"{name} : {_PARAMETERS[name]}" for name in names)
    function.__doc__ = f"{function.__doc__}\n\nParameters\n----------\n{rows}"
    return function
