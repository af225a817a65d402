"""Means and variances of elements, of those that are not NaN, or of those that where= selects."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import normalized_axes
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.operands import MISSING, as_array, keeps_axes, real_dtype, result_or_out
from pycuda._array.linear.matmul import matmul
from pycuda._array.reduction.masked import counted_elements, has_nan, masked_mean, masked_var, without_nan
from pycuda._array.reduction.reduce import reduce
from pycuda._array.reduction.reductions import is_real_variance
from pycuda._array.shape.joining import concatenate
from pycuda._array.shape.views import moveaxis

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Floating, Inexact, Scalar
    from pycuda.gpuarray import GPUArray


def _none_if_no_value(value):
    """The argument; None for the value that NumPy passes if none was given."""
    return None if value is MISSING else value


# ---- numpy.nan*


def nansum(
    a: Array[Inexact], axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True
) -> GPUArray[Inexact]:
    """The sum of the elements that are not NaN."""
    return without_nan(a, 0).sum(
        axis=axis,
        dtype=dtype,
        out=out,
        keepdims=keeps_axes(keepdims),
        initial=_none_if_no_value(initial),
        where=where,
    )


def nanprod(
    a: Array[Inexact], axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True
) -> GPUArray[Inexact]:
    """The product of the elements that are not NaN."""
    return without_nan(a, 1).prod(
        axis=axis,
        dtype=dtype,
        out=out,
        keepdims=keeps_axes(keepdims),
        initial=_none_if_no_value(initial),
        where=where,
    )


def _nan_extreme(name, ufunc):
    """The function nanmax or nanmin."""

    def function(
        a: Array[Scalar], axis=None, out=None, keepdims=False, initial=None, where=True
    ) -> GPUArray[Scalar]:
        initial, keepdims = _none_if_no_value(initial), keeps_axes(keepdims)
        if initial is None and where is not True and where is not None:
            raise ValueError(
                f"reduction operation '{ufunc}' does not have an identity, so to use a where mask one has to "
                "specify 'initial'"
            )
        if initial is not None:
            initial = a.dtype.type(initial)
        if a.dtype.kind == "c":  # the kernels of nanmax and nanmin do not compare complex numbers
            never_chosen = -math.inf if name == "max" else math.inf
            mask = counted_elements(a, where)
            result = getattr(apply("where", mask, a, never_chosen), name)(axis=axis, keepdims=keepdims)
            if initial is None:
                some = mask.any(axis=axis, keepdims=keepdims)
                result = apply("where", some, result, math.nan)
        elif initial is not None and not a.size:
            return getattr(a, name)(axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)
        else:
            mask = counted_elements(a, where, skip_nan=False)
            kept = a if mask is None else apply("where", mask, a, initial)
            result = reduce(f"nan{name}", kept, axis, None, None, keepdims)
        if initial is not None:
            result = apply(ufunc, result, initial)
        return result_or_out(result, out)

    return function


nanmax, nanmin = _nan_extreme("max", "fmax"), _nan_extreme("min", "fmin")


def nanmean(
    a: Array[Inexact], axis=None, dtype=None, out=None, keepdims=False, *, where=True
) -> GPUArray[Inexact]:
    """The mean of the elements that are not NaN; NaN where there is none."""
    if axis is not None:
        axis = normalized_axes(axis, a.ndim, scalars=has_nan(a) or where is not True)
    return result_or_out(masked_mean(a, counted_elements(a, where), axis, dtype, keeps_axes(keepdims)), out)


def _nan_spread(name):
    """The function nanvar or nanstd."""

    def function(
        a: Array[Floating],
        axis=None,
        dtype=None,
        out=None,
        ddof=0,
        keepdims=False,
        *,
        where=True,
        mean=None,
        correction=None,
    ) -> GPUArray[Floating]:
        ddof = ddof if _none_if_no_value(correction) is None else correction
        keepdims, mean = keeps_axes(keepdims), _none_if_no_value(mean)
        if axis is not None:
            axis = normalized_axes(axis, a.ndim, scalars=has_nan(a) or where is not True)
        has_kernel = dtype is None or is_real_variance(a.dtype, np.dtype(dtype))
        if has_kernel and where is True and mean is None:
            kind = f"nan{name}" if has_nan(a) else name
            return result_or_out(reduce(kind, a, axis, dtype, None, keepdims, parameter=float(ddof)), out)
        of_few = math.nan if has_nan(a) else 0  # for dtypes without NaN NumPy calls var
        result = masked_var(a, counted_elements(a, where), axis, dtype, ddof, keepdims, mean, of_few)
        return result_or_out(apply("sqrt", result) if name == "std" else result, out)

    return function


nanvar, nanstd = _nan_spread("var"), _nan_spread("std")


def _nan_place(name):
    """The function nanargmax or nanargmin."""

    def function(a, axis=None, out=None, *, keepdims=False) -> GPUArray[np.intp]:
        if not has_nan(a):
            return getattr(a, name)(axis=axis, out=out, keepdims=keeps_axes(keepdims))
        mask = apply("isnan", a)
        if bool(mask.all(axis=axis).any()):
            raise ValueError("All-NaN slice encountered")
        never_chosen = -math.inf if name == "argmax" else math.inf
        kept = apply("where", mask, never_chosen, a)
        return getattr(kept, name)(axis=axis, out=out, keepdims=keeps_axes(keepdims))

    function.__doc__ = f"{name}() of the elements that are not NaN. Waits for the stream: all may be NaN."
    return function


nanargmax, nanargmin = _nan_place("argmax"), _nan_place("argmin")


def nancumsum(a: Array[Inexact], axis=None, dtype=None, out=None) -> GPUArray[Inexact]:
    """cumsum() with 0 in place of NaN."""
    return without_nan(a, 0).cumsum(axis=axis, dtype=dtype, out=out)


def nancumprod(a: Array[Inexact], axis=None, dtype=None, out=None) -> GPUArray[Inexact]:
    """cumprod() with 1 in place of NaN."""
    return without_nan(a, 1).cumprod(axis=axis, dtype=dtype, out=out)


# ---- others


def ptp(a: Array[Scalar], axis=None, out=None, keepdims=False) -> GPUArray[Scalar]:
    """The maximum less the minimum."""
    maximum, minimum = (each(axis=axis, keepdims=keeps_axes(keepdims)) for each in (a.max, a.min))
    return apply("subtract", maximum, minimum, out=out)


def average(
    a, axis=None, weights=None, returned=False, *, keepdims=False
) -> GPUArray | tuple[GPUArray, GPUArray]:
    """The mean, or that of elements with weights. Where weights sum to 0 it is not finite."""
    keepdims = keeps_axes(keepdims)
    if axis is not None:
        axis = normalized_axes(axis, a.ndim, scalars=False)
    if weights is None:
        result = a.mean(axis=axis, keepdims=keepdims)
        total = result.dtype.type(a.size / result.size)
    else:
        weights = weights_for(a, as_array(weights), axis)
        dtype = np.result_type(a.dtype, weights.dtype, *((np.float64,) if a.dtype.kind in "biu" else ()))
        total = weights.sum(axis=axis, dtype=dtype, keepdims=keepdims)
        if total.size and not a.size:
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        products = apply("multiply", a, weights, dtype=dtype)
        result = apply("divide", products.sum(axis=axis, keepdims=keepdims), total)
    if not returned:
        return result
    total = as_array(total)
    return result, broadcast_to(total, result.shape).copy() if total.shape != result.shape else total


def weights_for(a, weights, axis) -> GPUArray:
    """The weights, broadcast to the shape of the array if they are those of an axis."""
    if weights.shape == a.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normalized_axes(axis, a.ndim, scalars=False)
    if weights.shape != tuple(a.shape[each] for each in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    weights = weights.transpose(sorted(range(len(axes)), key=axes.__getitem__))
    shape = tuple(a.shape[each] if each in axes else 1 for each in range(a.ndim))
    return broadcast_to(weights.reshape(shape), a.shape)


def _variables(m, rowvar, dtype) -> GPUArray:
    """The argument of cov() as a matrix with a row for each variable and a column for each observation."""
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    rows = m.astype(dtype, copy=False)
    rows = rows.reshape(1, -1) if rows.ndim < 2 else rows
    return rows.T if not rowvar and m.ndim == 2 else rows


def cov(
    m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None
) -> GPUArray[np.inexact]:
    """Covariances of variables, which are rows, as numpy.cov."""
    m = as_array(m)
    others = [] if y is None else [as_array(y)]
    if dtype is None:
        dtype = np.result_type(m.dtype, *(each.dtype for each in others), np.float64)
    rows = _variables(m, rowvar, dtype)
    if others:
        rows = concatenate((rows, _variables(others[0], rowvar, dtype)), 0)
    if not rows.shape[0]:
        return new((0, 0), np.float64, m.allocator)
    ddof = ddof if ddof is not None else int(not bias)
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            given = as_array(given).astype(np.float64)
            weights = given if weights is None else apply("multiply", weights, given)
    count = rows.shape[1]
    if weights is None:
        mean, factor = rows.mean(axis=1, keepdims=True), count - ddof
    else:
        total = weights.sum()
        mean = apply("divide", apply("multiply", rows, weights).sum(axis=1, keepdims=True), total)
        factor = _freedom(total, weights, aweights, ddof)
    if not isinstance(factor, _driver.GPUArray) and factor <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        factor = 0.0
    distance = apply("subtract", rows, mean)
    right = distance if weights is None else apply("multiply", distance, weights)
    product = matmul(distance, right.T.conj())
    if not isinstance(factor, _driver.GPUArray):
        factor = real_dtype(product.dtype).type(factor)
    divided = apply("divide", product, factor)
    return divided.reshape(()) if divided.size == 1 else divided


def _freedom(total, weights, aweights, ddof) -> GPUArray:
    """The divisor of sums of weighted squares in cov(). total: the sum of `weights`, the products of both
    kinds of weights.
    """
    if ddof == 0:
        return total
    if aweights is None:
        return apply("subtract", total, ddof)
    squares = apply("multiply", weights, as_array(aweights)).sum()
    return apply("subtract", total, apply("divide", apply("multiply", squares, ddof), total))


def corrcoef(x, y=None, rowvar=True, *, dtype=None) -> GPUArray[np.inexact]:
    """Correlations of variables, which are rows, as numpy.corrcoef."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return apply("divide", c, c)
    from pycuda._array.linear.diagonals import diagonal

    spread = apply("sqrt", diagonal(c)._real)
    result = apply("divide", apply("divide", c, spread[:, None]), spread[None, :])
    if result.dtype.kind != "c":
        return apply("clip", result, -1, 1)
    for part in (result._real, result._imag):
        apply("clip", part, -1, 1, out=part)
    return result


def apply_along_axis(func1d, axis, arr, *args, **kwargs) -> GPUArray:
    """A function of arrays with one axis, called for each line along an axis, one after another."""
    moved = moveaxis(arr, axis, -1)
    axis = axis % arr.ndim
    results = [as_array(func1d(moved[index], *args, **kwargs)) for index in np.ndindex(*moved.shape[:-1])]
    if not results:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    inner = results[0].shape
    flat = concatenate([each.reshape((1, *inner)) for each in results])
    whole = flat.reshape((*moved.shape[:-1], *inner))
    outer = moved.ndim - 1
    order = (*range(axis), *range(outer, outer + len(inner)), *range(axis, outer))
    return whole.transpose(order)


def apply_over_axes(func, a, axes) -> GPUArray:
    """A function of an array and an axis, called for one axis after another, each time with the last
    result.
    """
    result = a
    for axis in axes if isinstance(axes, tuple | list) else (axes,):
        axis = axis + a.ndim if axis < 0 else axis
        found = func(result, axis)
        if found.ndim != result.ndim:
            found = found.reshape((*result.shape[:axis], 1, *result.shape[axis + 1 :]))
        result = found
    return result
