"""Reductions of some of the elements, those of a mask or those that are not NaN, and with initial=."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.axes import normalized_axes
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.core.operands import as_array, as_mask, real_dtype, result_or_out
from pycuda._array.reduction.reduce import LOOPS, folded_dtype, reduce, result_shape
from pycuda._kernels.plans.axes import broadcasts

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def has_nan(a) -> bool:
    """Whether the dtype has NaNs."""
    return a.dtype.kind in "fcV"


def without_nan(a, number) -> GPUArray:
    """The array with a number in place of NaN."""
    return apply("where", apply("isnan", a), number, a) if has_nan(a) else a


def counted_elements(a, where=True, skip_nan=True):
    """A mask of the elements that a reduction takes: those where `where` is true and, with skip_nan, that are
    not NaN. None for all.
    """
    mask = apply("logical_not", apply("isnan", a)) if skip_nan and has_nan(a) else None
    if where is True or where is None:
        return mask
    where = as_mask(where)
    where = broadcast_to(where, a.shape)
    return where if mask is None else apply("logical_and", mask, where)


# ---- of elements that count


def _mean_dtype(a, dtype) -> np.dtype:
    """The dtype of a mean of `a` with this argument dtype=."""
    if dtype is not None:
        return np.dtype(dtype)
    return np.dtype(np.float64) if a.dtype.kind in "biu" else a.dtype


def _sum_dtype(dtype) -> np.dtype:
    """The dtype that a mean is computed in: float32 for float16."""
    return np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind in "fV" else dtype


def _count_true(mask, a, axis, keepdims) -> GPUArray:
    """How many elements of `a` the mask, or None for all, selects along the axis."""
    if mask is None:
        mask = broadcast_to(as_array(True), a.shape)
    return mask.sum(axis=axis, keepdims=keepdims)


def masked_mean(a, mask, axis, dtype, keepdims) -> GPUArray:
    """The mean of the elements of a mask; NaN where there is none."""
    result = _mean_dtype(a, dtype)
    total = (a if mask is None else apply("where", mask, a, a.dtype.type(0))).sum(
        axis=axis, dtype=_sum_dtype(result), keepdims=keepdims
    )
    # A complex number is divided in double: the quotient of its parts is the nearest one, as in NumPy.
    real = np.float64 if result.kind == "c" else _sum_dtype(result)
    count = _count_true(mask, a, axis, keepdims).astype(real)
    return apply("divide", total, count).astype(result, copy=False)


def masked_var(a, mask, axis, dtype, ddof, keepdims, mean=None, of_few=0) -> GPUArray:
    """The sum of the squared distances from the mean, of the elements of a mask, divided by their number
    minus ddof; if that is not positive, divided by `of_few`: 0 as in var(), or NaN.
    """
    number = _sum_dtype(_mean_dtype(a, dtype))
    mean = masked_mean(a, mask, axis, number, keepdims=True) if mean is None else mean
    distance = apply("subtract", a.astype(number, copy=False), mean)
    if distance.dtype.kind == "c":
        squares = apply("add", apply("square", distance._real), apply("square", distance._imag))
    else:
        squares = apply("square", distance)
    if mask is not None:
        squares = apply("where", mask, squares, squares.dtype.type(0))
    total = squares.sum(axis=axis, keepdims=keepdims)
    freedom = apply("subtract", _count_true(mask, a, axis, keepdims).astype(total.dtype), ddof)
    result = apply("divide", total, apply("where", apply("greater", freedom, 0), freedom, of_few))
    return result.astype(real_dtype(_mean_dtype(a, dtype)), copy=False)


# ---- the methods' where=, initial= and mean=

_COMBINE = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
_NEUTRAL = {"sum": 0, "prod": 1, "any": False, "all": True}


def use_stream(stream):
    """A `with` block in which the stream is current; None changes nothing."""
    return contextlib.nullcontext() if stream is None else stream


def reduce_some(name, a, axis, dtype, out, keepdims, initial, where, stream, allocator) -> GPUArray:
    """sum, prod, max, min, any or all of the elements where a mask is true, combined with `initial` unless
    that is None.
    """
    if isinstance(initial, np.ndarray):
        initial = initial[()]
    with use_stream(stream):
        if where is not True:
            if name not in _NEUTRAL and initial is None:
                raise ValueError(
                    f"reduction operation '{_COMBINE[name]}' does not have an identity, so to use a where "
                    "mask one has to specify 'initial'"
                )
            where = as_mask(where)
            if not broadcasts(where.shape, a.shape):
                raise numpy_error(np.add.reduce, a, axis, where=where)
            where = broadcast_to(where, a.shape)
            a = apply("where", where, a, a.dtype.type(_NEUTRAL.get(name, initial)))
        if name in ("max", "min") and not a.size and initial is not None:
            shape = result_shape(a.shape, normalized_axes(axis, a.ndim), keepdims)
            result = new(shape, a.dtype, allocator or a.allocator)
            result[...] = initial
            return result_or_out(result, out, "unsafe")
        if dtype is None and out is not None and name in LOOPS:
            dtype = folded_dtype(LOOPS[name], a.dtype, None, out.dtype)
        result = reduce(name, a, axis, dtype, None, keepdims, None, allocator)
        if initial is not None:
            result = apply(_COMBINE[name], result, result.dtype.type(initial))
        return result_or_out(result, out, "unsafe")


def mean_of_some(a, axis, dtype, out, keepdims, where, stream, allocator) -> GPUArray:
    """The mean of the elements where a mask is true."""
    with use_stream(stream):
        return result_or_out(
            masked_mean(a, counted_elements(a, where, skip_nan=False), axis, dtype, keepdims), out
        )


def spread_of_some(name, a, axis, dtype, out, ddof, keepdims, where, mean, stream, allocator) -> GPUArray:
    """var or std of the elements where a mask is true, or about a mean that is given."""
    with use_stream(stream):
        result = masked_var(a, counted_elements(a, where, skip_nan=False), axis, dtype, ddof, keepdims, mean)
        return result_or_out(apply("sqrt", result) if name == "std" else result, out)
