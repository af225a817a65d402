"""Elementwise functions of pycuda.gpuarray and methods that need more than a row of the table of
functions."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply, new_like

if TYPE_CHECKING:
    from pycuda._array.core.types import Allocator, Array, Operand, Stream
    from pycuda.gpuarray import GPUArray


def maximum(a: Operand, b: Operand, out: Array | None = None, stream: Stream = None) -> GPUArray:
    """The greater of both at each place, the number where one is NaN. Operands broadcast."""
    return apply("fmax", a, b, out=out, stream=stream)


def minimum(a: Operand, b: Operand, out: Array | None = None, stream: Stream = None) -> GPUArray:
    """The less of both at each place, the number where one is NaN. Operands broadcast."""
    return apply("fmin", a, b, out=out, stream=stream)


def _check_no_host(*operands) -> None:
    for operand in operands:
        if isinstance(operand, np.ndarray):
            raise ValueError("arrays in host memory cannot be operands: copy them to the device with to_gpu")


def logical_and(
    x1: Operand,
    x2: Operand,
    out: Array | None = None,
    *,
    allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray:
    """Whether both are not 0, as bool."""
    _check_no_host(x1, x2)
    return apply("logical_and", x1, x2, out=out, allocator=allocator, stream=stream)


def logical_or(
    x1: Operand,
    x2: Operand,
    out: Array | None = None,
    *,
    allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray:
    """Whether one of both is not 0, as bool."""
    _check_no_host(x1, x2)
    return apply("logical_or", x1, x2, out=out, allocator=allocator, stream=stream)


def logical_not(
    x: Operand, out: Array | None = None, *, allocator: Allocator = None, stream: Stream = None
) -> GPUArray:
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
        Where the result goes.
    stream : Stream, optional
    """
    if self.dtype.kind in "iu":  # a Python int that no element reaches is no limit either
        reach = np.iinfo(self.dtype)
        min = None if type(min) is int and min <= reach.min else min
        max = None if type(max) is int and max >= reach.max else max
    if min is None and max is None:
        return apply("copy", self, out=out, stream=stream)
    if max is None:
        return apply("maximum", self, min, out=out, stream=stream)
    if min is None:
        return apply("minimum", self, max, out=out, stream=stream)
    return apply("clip", self, min, max, out=out, stream=stream)


@takes_arrays
def round(self: Array, decimals: int = 0, out: Array | None = None, *, stream: Stream = None) -> GPUArray:
    """The elements rounded to that many decimals, ties to even, as numpy.round.

    Parameters
    ----------
    decimals : int, optional
    out : GPUArray, optional
        Where the result goes.
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
    scale = 10.0 ** abs(decimals) if abs(decimals) < 309 else math.inf
    first, second = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    whole = self.dtype.kind in "iu"
    result = new_like(self, np.float64 if whole else self.dtype, "K") if out is None else out
    apply(first, self, scale, out=result, stream=stream)
    apply("rint", result, out=result, stream=stream)
    apply(second, result, scale, out=result, stream=stream)
    return result.astype(self.dtype, stream=stream) if whole and out is None else result


def _round_parts(a, decimals, out, stream):
    """Of complex numbers each part by itself: 0 * inf would be NaN in the other one."""
    result = a.copy(stream=stream)
    for part in (result._real, result._imag):
        round(part, decimals, part, stream=stream)
    return result if out is None else apply("copy", result, out=out, stream=stream)
