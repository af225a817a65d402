"""Reductions of GPUArrays: the methods, which follow NumPy, and the functions of pycuda.gpuarray."""

from __future__ import annotations

import builtins
import operator
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import normalized_axes
from pycuda._array.core.decorators import array_function, reduces, takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new, write_back
from pycuda._array.reduction.reduce import check_out_shape, launches_of, reduce
from pycuda._driver import _check_writable

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Array, Axes, Floating, Inexact, Scalar, Stream
    from pycuda.gpuarray import GPUArray

_Method = TypeVar("_Method", bound=Callable[..., Any])

# ---- methods


def _method(function: _Method) -> _Method:
    """Decorate a reduction: it is not entered for calls without arguments whose launch is remembered."""
    return array_function(reduces(function), launches_of(function.__name__))


def _reduce(name, a, axis, dtype, out, keepdims, initial, where, stream, allocator) -> GPUArray:
    if initial is None and where is True:
        return reduce(name, a, axis, dtype, out, keepdims, stream, allocator)
    from pycuda._array.reduction.masked import reduce_some

    return reduce_some(name, a, axis, dtype, out, keepdims, initial, where, stream, allocator)


def _any_or_all(name, a, axis, out, keepdims, where, stream, allocator) -> GPUArray:
    """The reduction `name`. The axis may be a stream, as in PyCUDA's a.any(stream)."""
    if isinstance(axis, _driver.Stream):
        axis, stream = None, axis
    return _reduce(name, a, axis, None, out, keepdims, None, where, stream, allocator)


def _index_of_extreme(name, a, axis, out, keepdims, stream, allocator) -> GPUArray:
    axis = None if axis is None else operator.index(axis)
    return reduce(name, a, axis, None, out, keepdims, stream, allocator)


@_method
def sum(
    self: Array[Inexact],
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Array | bool = True,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Inexact]:
    """The sum of the elements, as numpy.sum: small integers are summed in the default one, half in float.
    Floats are summed by pairs, in an order that depends on shape and strides only."""
    return _reduce("sum", self, axis, dtype, out, keepdims, initial, where, stream, allocator)


@_method
def prod(
    self: Array[Inexact],
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Array | bool = True,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Inexact]:
    """The product of the elements, as numpy.prod."""
    return _reduce("prod", self, axis, dtype, out, keepdims, initial, where, stream, allocator)


@_method
def max(
    self: Array[Scalar],
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Array | bool = True,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]:
    """The maximum, as numpy.max: NaN where there is one. ValueError without elements."""
    return _reduce("max", self, axis, None, out, keepdims, initial, where, stream, allocator)


@_method
def min(
    self: Array[Scalar],
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Array | bool = True,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]:
    """The minimum, as numpy.min: NaN where there is one. ValueError without elements."""
    return _reduce("min", self, axis, None, out, keepdims, initial, where, stream, allocator)


@_method
def any(
    self: Array,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Array | bool = True,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[np.bool_]:
    """Whether an element is not 0."""
    return _any_or_all("any", self, axis, out, keepdims, where, stream, allocator)


@_method
def all(
    self: Array,
    axis: Axes = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Array | bool = True,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[np.bool_]:
    """Whether no element is 0."""
    return _any_or_all("all", self, axis, out, keepdims, where, stream, allocator)


@_method
def argmax(
    self: Array,
    axis: int | None = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[np.intp]:
    """The index of the first maximum along an axis, or in the flattened array, as numpy.argmax.
    ValueError without elements."""
    return _index_of_extreme("argmax", self, axis, out, keepdims, stream, allocator)


@_method
def argmin(
    self: Array,
    axis: int | None = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[np.intp]:
    """The index of the first minimum, as argmax()."""
    return _index_of_extreme("argmin", self, axis, out, keepdims, stream, allocator)


def _elements_per_result(a, axis) -> int:
    """How many elements are reduced to each element of the result."""
    count = 1
    for each in normalized_axes(axis, a.ndim, scalars=False):
        count *= a.shape[each]
    return count


@takes_arrays
@reduces
def mean(
    self: Array[Inexact],
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Array | bool = True,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Inexact]:
    """The mean of the elements, as numpy.mean: of integers in float64, of float16 in float32."""
    if where is not True:
        from pycuda._array.reduction.masked import mean_of_some

        return mean_of_some(self, axis, dtype, out, keepdims, where, stream, allocator)
    if _elements_per_result(self, axis) == 0:
        warnings.warn("mean of an empty slice", RuntimeWarning, stacklevel=2)
    return reduce("mean", self, axis, dtype, out, keepdims, stream, allocator)


def _var_or_std(
    name, a, axis, dtype, out, ddof, keepdims, where, mean, correction, stream, allocator
) -> GPUArray:
    """The mean of squared distances from the mean (var), or its square root (std)."""
    if correction is not None:
        if ddof:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if where is not True or mean is not None:
        from pycuda._array.reduction.masked import spread_of_some

        return spread_of_some(name, a, axis, dtype, out, ddof, keepdims, where, mean, stream, allocator)
    if _elements_per_result(a, axis) <= ddof:
        warnings.warn("degrees of freedom <= 0 for a slice", RuntimeWarning, stacklevel=3)
    if dtype is not None and not is_real_variance(a.dtype, np.dtype(dtype)):
        result = _spread_in(name, a, axis, np.dtype(dtype), ddof, keepdims, stream, allocator)
        if out is None:
            return result
        check_out_shape(name, a, axis, out, keepdims)
        return _cast_into_out(name, result, out, stream)
    return reduce(name, a, axis, dtype, out, keepdims, stream, allocator, float(ddof))


@takes_arrays
@reduces
def var(
    self: Array[Floating],
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Array | bool = True,
    mean: Array | None = None,
    correction: float | None = None,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Floating]:
    """The mean square of the distances from the mean, as numpy.var; divided by the number of elements less
    ddof."""
    return _var_or_std(
        "var", self, axis, dtype, out, ddof, keepdims, where, mean, correction, stream, allocator
    )


@takes_arrays
@reduces
def std(
    self: Array[Floating],
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Array | bool = True,
    mean: Array | None = None,
    correction: float | None = None,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Floating]:
    """The square root of var()."""
    return _var_or_std(
        "std", self, axis, dtype, out, ddof, keepdims, where, mean, correction, stream, allocator
    )


def is_real_variance(given, wanted) -> bool:
    """Whether a variance of elements of the dtype `given`, with dtype=wanted, is of floats and computed in a
    float dtype: then kernels compute it as NumPy does.
    """
    return wanted.kind not in "biuc" and given.kind != "c"


def _spread_in(name, a, axis, dtype, ddof, keepdims, stream, allocator) -> GPUArray:
    """var() or std() in a dtype in which kernels do not compute it, by the steps of NumPy: first the mean in
    that dtype, then the result."""

    def divided(total, count):
        """The quotient, converted to the dtype by unsafe casting."""
        quotient = apply("divide", total, count, stream=stream, allocator=allocator)
        if quotient.dtype == dtype:
            return quotient
        return apply(
            "copy", quotient, out=new(quotient.shape, dtype, allocator), stream=stream, casting="unsafe"
        )

    count = _elements_per_result(a, axis)
    mean = divided(
        reduce("sum", a, axis, dtype, None, keepdims=True, stream=stream, allocator=allocator), count
    )
    deviation = apply("subtract", a, mean, stream=stream, allocator=allocator)
    if a.dtype.kind == "c" and deviation.dtype.kind == "c":
        squares = apply(
            "multiply", deviation, apply("conjugate", deviation, stream=stream), stream=stream
        )._real
    else:
        squares = apply("multiply", deviation, deviation, stream=stream)
    total = reduce("sum", squares, axis, dtype, None, keepdims, stream, allocator)
    result = divided(total, builtins.max(count - ddof, 0))
    if name == "var":
        return result
    if result.ndim and dtype.kind in "biu":
        raise TypeError(
            f"Cannot cast ufunc 'sqrt' output from dtype('float64') to {dtype!r} with casting rule "
            "'same_kind'"
        )
    root = apply("sqrt", result, stream=stream)
    return apply("copy", root, out=result, stream=stream, casting="unsafe")


def _cast_into_out(name, result, out, stream) -> GPUArray:
    """`out`, with the elements of the result converted to its dtype. TypeError if NumPy refuses that."""
    if name == "std" and out.dtype.kind in "biu":
        raise TypeError(
            f"Cannot cast ufunc 'sqrt' output from {result.dtype!r} to {out.dtype!r} with casting rule "
            "'same_kind'"
        )
    _check_writable(out)
    return write_back(result, out, stream)


@takes_arrays
def count_nonzero(
    a: Array, axis: Axes = None, *, keepdims: bool = False, stream: Stream = None, allocator: Allocator = None
) -> GPUArray[np.intp]:
    """How many elements are not 0, as numpy.count_nonzero: int64, a 0-d array for all."""
    return reduce("count_nonzero", a, axis, None, None, keepdims, stream, allocator)
