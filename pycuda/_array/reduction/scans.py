"""Cumulative functions of GPUArrays."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import normalized_axes
from pycuda._array.core.decorators import reduces, takes_arrays
from pycuda._array.core.elementwise import warn_discarded
from pycuda._array.core.memory import overlap, write_back
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.reduction.reduce import folded_dtype, sum_dtype
from pycuda._driver import _check_writable
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans import scratch
from pycuda._kernels.plans.axes import Axis
from pycuda._kernels.plans.caches import launches, planned

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Array, Inexact, Stream
    from pycuda.gpuarray import GPUArray


def _plan(name, axis, a, out):
    """((plan, kernel, bytes of an accumulator), the launch). The launch is None if blocks pass sums to each
    other, as each launch then needs scratch memory.
    """
    from pycuda._kernels.builtin import axis_scan, reduction

    kept = [Axis(*each) for each in zip(a.shape, a.strides, out.strides, strict=True)]
    along = kept.pop(axis)
    types = reduction.Types(
        elements.stored(a.dtype), None, elements.computed(out.dtype), elements.stored(out.dtype)
    )
    acc_size = reduction.SIZES[types.number]
    plan = axis_scan.plan_axis_scan(
        (a._address, out._address), (a.itemsize, out.itemsize), acc_size, kept, along
    )
    function = axis_scan.axis_scan_kernel(name, types, plan.variant)
    launch = None
    if not plan.partials.values:
        launch = function.prepared_async_call, plan.grid, plan.block, (plan.arguments, *_NO_STATE), None
    return (plan, function, acc_size), launch


_UFUNCS = {"sum": np.add, "prod": np.multiply}
# The kernel's arguments that make a scan_state, for blocks that pass nothing to each other.
_NO_STATE = (0,) * 5


def _launch(name, a, axis, out, stream) -> None:
    """Queue the scan of `a` into `out`, an array of the same shape that does not overlap it."""
    key = _plan, 2, name, axis
    if launches[key].launch((a, out), stream, None) is None:
        plan, function, acc_size = planned(key, (a, out))
        shared = scratch.states(stream, plan.partials, acc_size) if plan.partials.values else _NO_STATE
        function.prepared_async_call(plan.grid, plan.block, stream, a, out, plan.arguments, *shared)


def scan(name, a, axis=None, dtype=None, out=None, stream=None, allocator=None) -> GPUArray:
    """Element i along the axis combines elements 0 to i of `a` as the reduction of this name does."""
    allocator = allocator or a.allocator
    if out is not None and not isinstance(out, _driver.GPUArray):
        raise TypeError(f"out must be a GPUArray, not {type(out).__name__}")
    if axis is None:
        a, axis = a.ravel(), 0
    else:
        (axis,) = normalized_axes(operator.index(axis), a.ndim) or (0,)
        a = a.reshape(1) if a.ndim == 0 else a
    if dtype is None and out is not None:
        dtype = folded_dtype(_UFUNCS.get(name, np.add), a.dtype, None, out.dtype)
    result = sum_dtype(a.dtype, None if dtype is None else np.dtype(dtype))
    warn_discarded(a.dtype, result)
    if out is None:
        out = _driver.GPUArray(a.shape, result, allocator)
        direct = out
    elif out.shape != a.shape:
        raise numpy_error(_UFUNCS.get(name, np.add).accumulate, a, axis, out=out)
    else:
        _check_writable(out)
        fits = result == out.dtype and not overlap(a, out)
        direct = out if fits else _driver.GPUArray(a.shape, result, allocator)
    if a.size:
        _launch(name, a, axis, direct, stream)
    return out if direct is out else write_back(direct, out, stream)


@takes_arrays
@reduces
def cumsum(
    self: Array[Inexact],
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Inexact]:
    """The sums of the elements up to each along an axis, or of the flattened array, as numpy.cumsum."""
    return scan("sum", self, axis, dtype, out, stream, allocator)


@takes_arrays
@reduces
def cumprod(
    self: Array[Inexact],
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Inexact]:
    """The products of the elements up to each along an axis, or of the flattened array, as numpy.cumprod."""
    return scan("prod", self, axis, dtype, out, stream, allocator)
