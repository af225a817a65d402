"""Reductions of GPUArrays: the methods, which follow NumPy, and the functions of pycuda.gpuarray."""

from __future__ import annotations

import builtins
import functools
import operator
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import normalized_axes
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new, write_back
from pycuda._array.reduction.reduce import launches_of, reduce
from pycuda._driver import _ArrayFunction
from pycuda._kernels.plans.sharing import check_writable

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Array, Axes, Stream
    from pycuda.gpuarray import GPUArray

# ---- methods


def _quick(name, method):
    """The method, which is not entered for calls a.name() whose launch is remembered."""
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As numpy.{name}, with `stream` and `allocator`."
    return functools.update_wrapper(_ArrayFunction(method, launches_of(name)), method)


def _reduce(name, a, axis, dtype, out, keepdims, initial, where, stream, allocator) -> GPUArray:
    if initial is None and where is True:
        return reduce(name, a, axis, dtype, out, keepdims, stream, allocator)
    from pycuda._array.reduction.masked import reduce_some

    return reduce_some(name, a, axis, dtype, out, keepdims, initial, where, stream, allocator)


def _plain(name):
    """A method (axis, dtype, out, keepdims, initial, where)."""

    def method(
        self: GPUArray,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
        *,
        stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray:
        return _reduce(name, self, axis, dtype, out, keepdims, initial, where, stream, allocator)

    return _quick(name, method)


def _ordered(name):
    """A method (axis, out, keepdims, initial, where)."""

    def method(
        self: GPUArray,
        axis: Axes = None,
        out: Array | None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
        *,
        stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray:
        return _reduce(name, self, axis, None, out, keepdims, initial, where, stream, allocator)

    return _quick(name, method)


def _truth(name):
    """A method (axis, out, keepdims, where), or in PyCUDA's form (stream)."""

    def method(
        self: GPUArray,
        axis: Axes = None,
        out: Array | None = None,
        keepdims: bool = False,
        *,
        where: Any = True,
        stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray:
        if isinstance(axis, _driver.Stream):
            axis, stream = None, axis
        return _reduce(name, self, axis, None, out, keepdims, None, where, stream, allocator)

    return _quick(name, method)


sum, prod = _plain("sum"), _plain("prod")
max, min, any, all = _ordered("max"), _ordered("min"), _truth("any"), _truth("all")


def _one_axis(name):
    """A method (axis, out, keepdims) that takes one axis at most."""

    def method(
        self: GPUArray,
        axis: Axes = None,
        out: Array | None = None,
        keepdims: bool = False,
        *,
        stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray:
        if axis is not None:
            axis = operator.index(axis)
        return reduce(name, self, axis, None, out, keepdims, stream, allocator)

    return _quick(name, method)


argmax, argmin = _one_axis("argmax"), _one_axis("argmin")


def _count(a, axis) -> int:
    """How many elements each result is made of."""
    count = 1
    for each in normalized_axes(axis, a.ndim, scalars=False):
        count *= a.shape[each]
    return count


def mean(
    self: Array,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray:
    """The arithmetic mean. Integers are computed in double, half in float."""
    if where is not True:
        from pycuda._array.reduction.masked import mean_of_some

        return mean_of_some(self, axis, dtype, out, keepdims, where, stream, allocator)
    if _count(self, axis) == 0:
        warnings.warn("mean of an empty slice", RuntimeWarning, stacklevel=2)
    return reduce("mean", self, axis, dtype, out, keepdims, stream, allocator)


def _spread(name):
    """A method of the squared distances from the mean."""

    def method(
        self: GPUArray,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Array | None = None,
        correction: float | None = None,
        stream: Stream = None,
        allocator: Allocator = None,
    ) -> GPUArray:
        if correction is not None:
            if ddof:
                raise ValueError("ddof and correction can't be provided simultaneously.")
            ddof = correction
        if where is not True or mean is not None:
            from pycuda._array.reduction.masked import spread_of_some

            return spread_of_some(
                name, self, axis, dtype, out, ddof, keepdims, where, mean, stream, allocator
            )
        if _count(self, axis) <= ddof:
            warnings.warn("degrees of freedom <= 0 for a slice", RuntimeWarning, stacklevel=2)
        if dtype is not None and not _is_plain(self.dtype, np.dtype(dtype)):
            result = _spread_in(name, self, axis, np.dtype(dtype), ddof, keepdims, stream, allocator)
            return result if out is None else _into(name, result, out, stream)
        return reduce(name, self, axis, dtype, out, keepdims, stream, allocator, float(ddof))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As numpy.{name}, with `stream` and `allocator`."
    return method


var, std = _spread("var"), _spread("std")


def _is_plain(given, wanted) -> bool:
    """Whether the kernels compute a variance in this dtype as NumPy does: a real one of real numbers."""
    return wanted.kind not in "biuc" and given.kind != "c"


def _spread_in(name, a, axis, dtype, ddof, keepdims, stream, allocator) -> GPUArray:
    """The same in any dtype, by NumPy's steps: the mean is one of that dtype, and so is the result."""

    def divided(total, count):
        """In the dtype, whatever is lost."""
        quotient = apply("divide", total, count, stream=stream, allocator=allocator)
        if quotient.dtype == dtype:
            return quotient
        return apply(
            "copy", quotient, out=new(quotient.shape, dtype, allocator), stream=stream, casting="unsafe"
        )

    count = _count(a, axis)
    mean = divided(reduce("sum", a, axis, dtype, None, True, stream, allocator), count)
    apart = apply("subtract", a, mean, stream=stream, allocator=allocator)
    if a.dtype.kind == "c" and apart.dtype.kind == "c":
        squares = apply("multiply", apart, apply("conjugate", apart, stream=stream), stream=stream)._real
    else:
        squares = apply("multiply", apart, apart, stream=stream)
    total = reduce("sum", squares, axis, dtype, None, keepdims, stream, allocator)
    result = divided(total, builtins.max(count - ddof, 0))
    if name == "var":
        return result
    if result.ndim and dtype.kind in "biu":
        raise TypeError(f"Cannot cast std output to {dtype!r} with casting rule 'same_kind'")
    root = apply("sqrt", result, stream=stream)
    return apply("copy", root, out=result, stream=stream, casting="unsafe")


def _into(name, result, out, stream) -> GPUArray:
    if name == "std" and out.dtype.kind in "biu":
        raise TypeError(f"the result is a float, which cannot be cast to the dtype of out, {out.dtype}")
    if out.shape != result.shape:
        raise ValueError(f"out has the shape {out.shape}, the result has {result.shape}")
    check_writable(out)
    return write_back(result, out, stream)


def count_nonzero(
    a: Array, axis: Axes = None, *, keepdims: bool = False, stream: Stream = None, allocator: Allocator = None
) -> GPUArray:
    """How many elements are not 0, as numpy.count_nonzero: int64, a 0-d array for all."""
    return reduce("count_nonzero", a, axis, None, None, keepdims, stream, allocator)
