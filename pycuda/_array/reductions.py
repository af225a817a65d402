"""Reductions of GPUArrays: the methods, which follow NumPy, and the functions of pycuda.gpuarray."""

from __future__ import annotations

import functools
import operator
import warnings

from pycuda._array.reducing import normalized_axes, reduce, whole
from pycuda._driver import _ArrayFunction

# ---- methods


def _quick(name, method):
    """The method, which is not entered for calls a.name() whose launch is remembered."""
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As numpy.{name}, with `stream` and `allocator`."
    return functools.update_wrapper(_ArrayFunction(method, whole[name]), method)


def _plain(name):
    """A method (axis, dtype, out, keepdims)."""

    def method(self, axis=None, dtype=None, out=None, keepdims=False, *, stream=None, allocator=None):
        return reduce(name, self, axis, dtype, out, keepdims, stream, allocator)

    return _quick(name, method)


def _ordered(name):
    """A method (axis, out, keepdims)."""

    def method(self, axis=None, out=None, keepdims=False, *, stream=None, allocator=None):
        return reduce(name, self, axis, None, out, keepdims, stream, allocator)

    return _quick(name, method)


sum, prod = _plain("sum"), _plain("prod")
max, min, any, all = _ordered("max"), _ordered("min"), _ordered("any"), _ordered("all")


def _one_axis(name):
    """A method (axis, out, keepdims) that takes one axis at most."""

    def method(self, axis=None, out=None, keepdims=False, *, stream=None, allocator=None):
        if axis is not None:
            axis = operator.index(axis)
        return reduce(name, self, axis, None, out, keepdims, stream, allocator)

    return _quick(name, method)


argmax, argmin = _one_axis("argmax"), _one_axis("argmin")


def _count(a, axis) -> int:
    """How many elements each result is made of."""
    count = 1
    for each in normalized_axes(axis, a.ndim):
        count *= a.shape[each]
    return count


def mean(self, axis=None, dtype=None, out=None, keepdims=False, *, stream=None, allocator=None):
    """The arithmetic mean. Integers are computed in double, half in float."""
    if _count(self, axis) == 0:
        warnings.warn("mean of an empty slice", RuntimeWarning, stacklevel=2)
    return reduce("mean", self, axis, dtype, out, keepdims, stream, allocator)


def _spread(name):
    """A method of the squared distances from the mean."""

    def method(
        self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None, stream=None,
        allocator=None,
    ):  # fmt: skip
        if correction is not None:
            if ddof:
                raise ValueError("ddof and correction are one and the same: give one of them")
            ddof = correction
        if _count(self, axis) <= ddof:
            warnings.warn("degrees of freedom <= 0 for a slice", RuntimeWarning, stacklevel=2)
        return reduce(name, self, axis, dtype, out, keepdims, stream, allocator, float(ddof))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As numpy.{name}, with `stream` and `allocator`."
    return method


var, std = _spread("var"), _spread("std")


def count_nonzero(a, axis=None, *, keepdims=False, stream=None, allocator=None):
    """How many elements are not 0, as numpy.count_nonzero: int64, an array without axes for all."""
    return reduce("count_nonzero", a, axis, None, None, keepdims, stream, allocator)
