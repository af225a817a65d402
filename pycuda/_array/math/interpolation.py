"""np.interp: between given values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.operands import as_array
from pycuda._array.core.packed import as_packed
from pycuda._array.shape.joining import concatenate
from pycuda._kernels.builtin import interp as kernels

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def _value_beyond_end(value, fp, place: int) -> GPUArray:
    """The value of the function beyond one end, as an array of one element."""
    if value is None:
        return fp[place]
    value = as_array(value)
    if value.ndim:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    if value.dtype.kind == "c" != fp.dtype.kind:
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    return as_packed(value.astype(fp.dtype, copy=False))


def _periodic(x, xp, fp, period):
    """x, and the points of one period with a point more on both sides."""
    if period == 0:
        raise ValueError("period must be a non-zero value")
    period = abs(period)
    x, xp = (apply("remainder", each, period) for each in (x, xp))
    order = xp.argsort()
    xp, fp = xp[order], fp[order]
    return x, concatenate((xp[-1:] - period, xp, xp[:1] + period)), concatenate((fp[-1:], fp, fp[:1]))


def interp(x, xp, fp, left=None, right=None, period=None) -> GPUArray:
    """Values at x of the function that is fp at xp, which increase, and linear between them; in double."""
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    if "c" in (x.dtype.kind, xp.dtype.kind):
        raise TypeError("interp is not supported for complex x")
    if x.dtype != np.float32 or period is not None:
        x = x.astype(np.float64, copy=False)
    xp = xp.astype(np.float64, copy=False)
    fp = fp.astype(np.complex128 if fp.dtype.kind == "c" else np.float64, copy=False)
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.size != fp.size:
        raise ValueError("fp and xp are not of the same length.")
    if xp.size == 0:
        raise ValueError("array of sample points is empty")
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left = right = None
    x, xp, fp = as_packed(x), as_packed(xp), as_packed(fp)
    left, right = _value_beyond_end(left, fp, 0), _value_beyond_end(right, fp, -1)
    result = new(x.shape, fp.dtype, x.allocator)
    if result.size:
        kernels.launch(x, result, xp, fp, left, right)
    return result
