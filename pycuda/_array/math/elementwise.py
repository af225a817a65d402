"""Elementwise functions of pycuda.gpuarray and methods that need more than a row of the table of
functions."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pycuda import _driver
from pycuda._array.core.decorators import takes_arrays, writes_array
from pycuda._array.core.elementwise import apply, new_like
from pycuda._kernels.builtin import elements

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Array, Operand, Scalar, Stream
    from pycuda.gpuarray import GPUArray


@takes_arrays
def maximum(
    a: Operand | Array[Scalar], b: Operand | Array[Scalar], out: Array | None = None, stream: Stream = None
) -> GPUArray[Scalar]:
    """The greater of both elements; the other one where one is NaN. Operands broadcast."""
    return apply("fmax", a, b, out=out, stream=stream)


@takes_arrays
def minimum(
    a: Operand | Array[Scalar], b: Operand | Array[Scalar], out: Array | None = None, stream: Stream = None
) -> GPUArray[Scalar]:
    """The smaller of both elements; the other one where one is NaN. Operands broadcast."""
    return apply("fmin", a, b, out=out, stream=stream)


def _check_no_host(*operands) -> None:
    for operand in operands:
        if isinstance(operand, np.ndarray):
            raise ValueError("arrays in host memory cannot be operands: copy them to the device with to_gpu")


@takes_arrays
def logical_and(
    x1: Operand,
    x2: Operand,
    out: Array | None = None,
    *,
    allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray[np.bool_]:
    """Whether both are not 0, as bool."""
    _check_no_host(x1, x2)
    return apply("logical_and", x1, x2, out=out, allocator=allocator, stream=stream)


@takes_arrays
def logical_or(
    x1: Operand,
    x2: Operand,
    out: Array | None = None,
    *,
    allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray[np.bool_]:
    """Whether one of both is not 0, as bool."""
    _check_no_host(x1, x2)
    return apply("logical_or", x1, x2, out=out, allocator=allocator, stream=stream)


@takes_arrays
def logical_not(
    x: Operand, out: Array | None = None, *, allocator: Allocator = None, stream: Stream = None
) -> GPUArray[np.bool_]:
    """Whether each element is 0, as bool."""
    _check_no_host(x)
    return apply("logical_not", x, out=out, allocator=allocator, stream=stream)


@takes_arrays
def clip(
    self: Array,
    min: Operand | None = None,
    max: Operand | None = None,
    out: Array | None = None,
    *,
    stream: Stream = None,
) -> GPUArray:
    """The elements, those beyond the limits replaced by these, as numpy.clip. None is no limit.

    Parameters
    ----------
    min : number or GPUArray or None, optional
    max : number or GPUArray or None, optional
    out : GPUArray, optional
        The array for the result.
    stream : Stream, optional
    """
    if self.dtype.kind in "iu":  # a Python int beyond all numbers of the dtype limits nothing
        info = np.iinfo(self.dtype)
        min = None if type(min) is int and min <= info.min else min
        max = None if type(max) is int and max >= info.max else max
    if min is None and max is None:
        return apply("copy", self, out=out, stream=stream)
    if max is None:
        return apply("maximum", self, min, out=out, stream=stream)
    if min is None:
        return apply("minimum", self, max, out=out, stream=stream)
    return apply("clip", self, min, max, out=out, stream=stream)


@takes_arrays
def round(
    self: Array[Scalar], decimals: int = 0, out: Array | None = None, *, stream: Stream = None
) -> GPUArray[Scalar]:
    """Round to a number of decimals, ties to even, as numpy.round.

    Parameters
    ----------
    decimals : int, optional
    out : GPUArray, optional
        The array for the result.
    stream : Stream, optional
    """
    decimals = operator.index(decimals)
    if self.dtype.kind == "b" and decimals != 0:
        raise TypeError("round is not supported for boolean arrays")
    if self.dtype.kind in "iu" and decimals >= 0:
        return apply("copy", self, out=out, stream=stream)
    if decimals == 0:
        return apply("rint", self, out=out, stream=stream)
    if self.dtype.kind == "c":
        return _round_parts(self, decimals, out, stream)
    scale = 10.0 ** abs(decimals) if abs(decimals) <= sys.float_info.max_10_exp else math.inf
    first, second = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    are_integers = self.dtype.kind in "iu"
    result = new_like(self, np.float64 if are_integers else self.dtype, "K") if out is None else out
    apply(first, self, scale, out=result, stream=stream)
    apply("rint", result, out=result, stream=stream)
    apply(second, result, scale, out=result, stream=stream)
    return result.astype(self.dtype, stream=stream) if are_integers and out is None else result


def _round_parts(a, decimals, out, stream):
    """Round both parts of complex numbers separately: 0 * inf would be NaN in the other part."""
    result = a.copy(stream=stream)
    for part in (result._real, result._imag):
        round(part, decimals, part, stream=stream)
    return result if out is None else apply("copy", result, out=out, stream=stream)


@takes_arrays
def astype(
    self: Array,
    dtype: DTypeLike,
    order: str | Stream = "K",
    copy: bool = True,
    *,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "unsafe",
    subok: bool = True,
    stream: Stream = None,
) -> GPUArray:
    """A copy converted to another dtype.

    Parameters
    ----------
    dtype : dtype
        Any values are taken: what does not fit is truncated as in C.
    order : {"K", "C", "F", "A"}, optional
        Of the result in memory; "K" keeps this array's. Or the stream, as in PyCUDA.
    copy : bool, optional
        False: this array itself when it has the dtype already.
    casting : {"unsafe", "same_kind", "safe", "equiv", "no"}, optional
        A conversion that it does not allow is a TypeError.
    subok : bool, optional
        Ignored.
    stream : Stream, optional
    """
    if isinstance(order, _driver.Stream):
        return astype(self, dtype, "K", copy, casting=casting, stream=order)
    dtype = np.dtype(dtype)
    if casting != "unsafe" and not np.can_cast(self.dtype, dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule '{casting}'"
        )
    has_order = {"C": self.flags.c_contiguous, "F": self.flags.f_contiguous}.get(order, True)
    if dtype == self.dtype and has_order and not copy:
        return self
    return apply("copy", self, out=new_like(self, dtype, order), stream=stream, casting="unsafe")


@writes_array
def fill(self: Array[Scalar], value: Any, stream: Stream = None) -> GPUArray[Scalar]:
    """Set every element to one value, converted to the dtype of the array, which is returned.

    Parameters
    ----------
    value : number
    stream : Stream, optional
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, type(self)):
        return apply("copy", value, out=self, stream=stream, casting="unsafe")
    if elements.kind(self.dtype) == "V" or elements.kind(np.asarray(value).dtype) == "V":
        value = _driver._to_gpu(np.asarray(value, self.dtype))
    else:
        value = self.dtype.type(value)
    return apply("copy", value, out=self, stream=stream, casting="unsafe")


@takes_arrays
def conj(self: Array[Scalar], out: Array | None = None, *, stream: Stream = None) -> GPUArray[Scalar]:
    """The complex conjugate; the array itself when it is not complex.

    Parameters
    ----------
    out : GPUArray, optional
        The array for the result.
    stream : Stream, optional
    """
    if self.dtype.kind != "c" and out is None:
        return self
    return apply("conjugate", self, out=out, stream=stream)


@takes_arrays
def reverse(self: Array[Scalar], stream: Stream = None) -> GPUArray[Scalar]:
    """A copy of this shape and order with the last element first, along every axis.

    Parameters
    ----------
    stream : Stream, optional
    """
    backwards = self[(slice(None, None, -1),) * self.ndim]
    return apply("copy", backwards, out=new_like(self, None, "K"), stream=stream)


@takes_arrays
def mul_add(
    self: Array,
    selffac: complex,
    other: Operand,
    otherfac: complex,
    add_timer: Callable[[int, Callable[[], float]], object] | None = None,
    stream: Stream = None,
    out: Array | None = None,
) -> GPUArray:
    """selffac * self + otherfac * other.

    Parameters
    ----------
    selffac : number
    other : GPUArray
    otherfac : number
    add_timer : callable, optional
        Called with the number of operations (3 * size), and a function that waits and gives seconds.
    stream : Stream, optional
    out : GPUArray, optional
    """
    start = None if add_timer is None else _driver.Event().record(stream)
    result = apply("sum_of_products", self, selffac, other, otherfac, out=out, stream=stream)
    if add_timer is not None:
        add_timer(3 * self.size, _timer(start, _driver.Event().record(stream)))
    return result


def _timer(start, end):
    """A function that waits for the second event and gives the seconds since the first."""

    def seconds():
        end.synchronize()
        return start.time_till(end) * 1e-3

    return seconds


# ---- methods that programs written for PyCUDA call, though it does not document them


@takes_arrays
def _axpbyz(
    self: Array,
    selffac: complex,
    other: Operand,
    otherfac: complex,
    out: Array,
    add_timer: Any = None,
    stream: Stream = None,
) -> GPUArray:
    """out = selffac * self + otherfac * other"""
    return mul_add(self, selffac, other, otherfac, add_timer, stream, out)


@takes_arrays
def _axpbz(self: Array, selffac: complex, other: complex, out: Array, stream: Stream = None) -> GPUArray:
    """out = selffac * self + other, both numbers"""
    return apply("sum_of_products", self, selffac, other, 1, out=out, stream=stream)


@takes_arrays
def _elwise_multiply(self: Array, other: Operand, out: Array, stream: Stream = None) -> GPUArray:
    """out = self * other"""
    return apply("multiply", self, other, out=out, stream=stream)


@takes_arrays
def _div(self: Array, other: Operand, out: Array, stream: Stream = None) -> GPUArray:
    """out = self / other"""
    return apply("divide", self, other, out=out, stream=stream)


def _new_like_me(self: GPUArray, dtype: DTypeLike | None = None, order: str = "C") -> GPUArray:
    """A new array of this shape, whose elements are not initialized. If the dtype is the same it has the
    order of this array, whatever `order` says."""
    same = dtype is None or np.dtype(dtype) == self.dtype
    return new_like(self, dtype, "K" if same else order)
