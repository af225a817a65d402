"""Medians and quantiles: the elements of some ranks of each row, and means of two of them.

In nanmedian and similar functions each row has its own number of elements, which are those that are not NaN.
These numbers, and the ranks that follow from them, stay on the device.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import INDEX, normalized_axes
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import on_device
from pycuda._array.core.operands import as_array, keeps_axes, result_or_out
from pycuda._array.core.packed import as_packed
from pycuda._array.indexing.take_put import take_along_axis
from pycuda._array.shape.joining import concatenate
from pycuda._array.shape.views import moveaxis
from pycuda._array.sorting import ranks
from pycuda._array.sorting.sorting import sort
from pycuda._array.statistics.statistics import nanmean, weights_for

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Inexact
    from pycuda.gpuarray import GPUArray


class _Rows(NamedTuple):
    """Rows of elements, along the last axis, and the shape of a result that has one element of each row."""

    rows: GPUArray
    kept: tuple[int, ...]
    kept_dims: tuple[int, ...]  # with axes of length 1 for those that are reduced

    def counts(self) -> GPUArray:
        """How many elements of each row are not NaN, as float64, with an axis of length 1."""
        numbers = apply("logical_not", apply("isnan", self.rows))
        return numbers.sum(axis=-1, keepdims=True).astype(np.float64)


def _as_rows(a, axis) -> tuple[GPUArray, _Rows]:
    """(rows of the elements along `axis`, the same as _Rows)."""
    axes = normalized_axes(axis, a.ndim, scalars=False)
    if not a.ndim:
        a, axes = a.reshape(1), (0,)
    others = [each for each in range(a.ndim) if each not in axes]
    kept = tuple(a.shape[each] for each in others)
    length = math.prod(a.shape[each] for each in axes)
    rows = a.transpose((*others, *axes)).reshape((*kept, length))
    dims = tuple(1 if each in axes else a.shape[each] for each in range(a.ndim))
    return rows, _Rows(rows, kept, dims)


def _sorted_rows(a, axis) -> _Rows:
    """The rows along `axis`, sorted: NaNs come last."""
    rows, found = _as_rows(a, axis)
    return found._replace(rows=sort(rows, -1))


def _elements_at(rows, places) -> GPUArray:
    """The elements at these places of each row. A view if the places are consecutive."""
    if places.size and (places.size == 1 or (np.diff(places) == 1).all()):
        return rows[..., int(places[0]) : int(places[-1]) + 1]
    return rows.take(places, -1)


def _elements(rows, *places) -> list[GPUArray]:
    """For each array of places the elements that sorting along the last axis would bring there. The last
    array of the result has one element of each row, which is NaN if sorting would bring a NaN to the row's
    end."""
    if not ranks.can_find(rows, sum(each.size for each in places)):
        rows = sort(rows, -1)
        return [*(_elements_at(rows, each) for each in places), rows[..., -1:]]
    numbers, where = np.unique(np.concatenate(places), return_inverse=True)
    groups = ranks.find_ranks(as_packed(rows), numbers.tolist())
    found = concatenate([each[..., :-1] for each in groups], -1) if len(groups) > 1 else groups[0]
    parts = np.split(where.ravel(), np.cumsum([each.size for each in places])[:-1])
    return [*(_elements_at(found, each) for each in parts), groups[0][..., -1:]]


def _with_nan(result, last) -> GPUArray:
    """The result, with NaN for rows whose `last` element is NaN. Both arrays have the axis of places."""
    if last.dtype.kind not in "fcV" or not last.shape[-1]:
        return result
    return apply("where", apply("isnan", last), last.astype(result.dtype, copy=False), result)


# ---- medians


def _middle(rows, first, last) -> GPUArray:
    """The mean of two elements of each row, whose indices are `first` and `last`."""
    parts = (take_along_axis(rows, each, -1) for each in (first, last))
    low, high = parts
    wide = np.result_type(rows.dtype, np.float32) if rows.dtype.kind in "fcV" else np.dtype(np.float64)
    if rows.dtype.itemsize == 2 and rows.dtype.kind in "fV":
        wide = np.dtype(np.float32)
    total = apply("add", low.astype(wide, copy=False), high.astype(wide, copy=False))
    result = apply("divide", total, 2)
    return result.astype(rows.dtype, copy=False) if rows.dtype.kind in "fcV" else result


def median(
    a: Array[Inexact], axis=None, out=None, overwrite_input=False, keepdims=False
) -> GPUArray[Inexact]:
    """The middle of the elements in their order, or the mean of the two in the middle."""
    rows, found = _as_rows(a, axis)
    length = rows.shape[-1]
    if length == 0:
        result = rows.mean(axis=-1, keepdims=True)
    else:
        middle, last = _elements(rows, np.arange((length - 1) // 2, length // 2 + 1))
        result = _with_nan(middle.mean(axis=-1, keepdims=True), last)
    return result_or_out(result.reshape(found.kept_dims if keepdims and a.ndim else found.kept), out)


def nanmedian(
    a: Array[Inexact], axis=None, out=None, overwrite_input=False, keepdims=False
) -> GPUArray[Inexact]:
    """The median of the elements that are not NaN; NaN where there is none."""
    found = _sorted_rows(a, axis)
    if not a.size:
        return nanmean(a, axis, None, out, keepdims)
    if a.dtype.kind not in "fcV":
        return median(a, axis, out, overwrite_input, keeps_axes(keepdims))
    counts = found.counts().astype(INDEX)
    first = apply("maximum", apply("floor_divide", apply("subtract", counts, 1), 2), 0)
    result = _middle(found.rows, first, apply("floor_divide", counts, 2))
    shape = found.kept_dims if keeps_axes(keepdims) and a.ndim else found.kept
    return result_or_out(result.reshape(shape), out)


# ---- quantiles: where in a row of n they are, for q on the host or on the device


def _plotting_position(alpha, beta):
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _nearest_step(index, exact):
    """The place before a fractional index where exact(its fraction, index) is true, elsewhere the place after
    it.
    """
    before = np.floor(index)
    place = np.where(exact(index - before, index), before, before + 1)
    return np.maximum(place.astype(INDEX), 0)


def _unchanged_gamma(gamma, index):
    return gamma


class _Method(NamedTuple):
    """A method= of numpy.quantile."""

    place: object  # place(n, q): the index, usually fractional, of the quantile q among n sorted elements
    # fraction(gamma, place): how far to interpolate to the next element; gamma is the fractional part of the
    # place. None: places are integers.
    fraction: object = None


_METHODS = {
    "inverted_cdf": _Method(lambda n, q: _nearest_step(n * q - 1, lambda gamma, index: gamma == 0)),
    "averaged_inverted_cdf": _Method(
        lambda n, q: n * q - 1, lambda gamma, index: np.where(gamma == 0, 0.5, 1.0)
    ),
    "closest_observation": _Method(
        lambda n, q: _nearest_step(
            n * q - 1 - 0.5, lambda gamma, index: (gamma == 0) & (np.floor(index) % 2 == 1)
        )
    ),
    "interpolated_inverted_cdf": _Method(_plotting_position(0, 1), _unchanged_gamma),
    "hazen": _Method(_plotting_position(0.5, 0.5), _unchanged_gamma),
    "weibull": _Method(_plotting_position(0, 0), _unchanged_gamma),
    "linear": _Method(lambda n, q: (n - 1) * q, _unchanged_gamma),
    "median_unbiased": _Method(_plotting_position(1 / 3.0, 1 / 3.0), _unchanged_gamma),
    "normal_unbiased": _Method(_plotting_position(3 / 8.0, 3 / 8.0), _unchanged_gamma),
    "lower": _Method(lambda n, q: np.floor((n - 1) * q).astype(INDEX)),
    "higher": _Method(lambda n, q: np.ceil((n - 1) * q).astype(INDEX)),
    "midpoint": _Method(
        lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
        lambda gamma, index: np.where(index % 1 == 0, 0.0, 0.5),
    ),
    "nearest": _Method(lambda n, q: np.around((n - 1) * q).astype(INDEX)),
}


class _Places(NamedTuple):
    """The places of two elements of a row, and how far the quantile is from the first to the second."""

    before: object
    after: object
    fraction: object  # None: the quantile is the first one


def _quantile_places(method: str, n, q, last) -> _Places:
    """The places of the quantiles q of rows of n elements. last: the number of the last element, of each row
    or of all rows."""
    if method not in _METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {_METHODS.keys()}")
    rule = _METHODS[method]
    place = rule.place(n, q)
    if rule.fraction is None or (method == "linear" and place.dtype.kind in "iu"):
        return _Places(np.minimum(place, last), None, None)
    before = np.floor(place)
    fraction = rule.fraction(place - before, place).astype(place.dtype)
    first, second = (np.minimum(np.maximum(each, 0), last).astype(INDEX) for each in (before, before + 1))
    return _Places(first, second, fraction)


def _read_q(q, percent) -> tuple[np.ndarray, bool]:
    """(q as an array on the host, whether it is a Python number). Those do not decide about the dtype of the
    result. The call waits for q on the device."""
    if isinstance(q, _driver.GPUArray):
        q = q.get()
    weak = type(q) in (int, float)
    q = np.true_divide(q, 100) if percent else np.asarray(q)
    if q.size and not (q.min() >= 0 and q.max() <= 1):
        limits = (
            "Percentiles must be in the range [0, 100]"
            if percent
            else "Quantiles must be in the range [0, 1]"
        )
        raise ValueError(limits)
    return np.asarray(q), weak


def _lerp(before, after, fraction) -> GPUArray:
    """Interpolate from the nearer one of two values, so that the result is exact at both."""
    distance = apply("subtract", after, before)
    low = apply("add", before, apply("multiply", distance, fraction))
    high = apply("subtract", after, apply("multiply", distance, 1 - fraction))
    if not isinstance(fraction, _driver.GPUArray):
        return high if fraction >= 0.5 else low
    return apply("where", apply("greater_equal", fraction, 0.5), high, low)


def _quantile(a, q, axis, out, method, keepdims, weights, percent, skip_nan) -> GPUArray:
    """Quantiles or percentiles along axes, of rows that are sorted or searched for them."""
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    q, weak = _read_q(q, percent)
    if weights is not None:
        return _weighted_quantile(a, q, axis, out, method, keepdims, weights, skip_nan)
    rows, found = _as_rows(a, axis)
    if skip_nan and not a.size:
        return nanmean(a, axis, None, out, keepdims)
    length = rows.shape[-1]
    if length == 0 and q.size:
        raise IndexError("a quantile of no elements")
    if skip_nan and a.dtype.kind in "fV":
        rows = sort(rows, -1)
        counts = found._replace(rows=rows).counts().astype(q.dtype, copy=False)
        places = _quantile_places(method, counts, on_device(q.ravel()), np.maximum(counts - 1, 0))
        before, after = (_take_from_rows(rows, each) for each in places[:2])
        fraction = places.fraction
        if weak and fraction is not None:
            fraction = fraction.astype(rows.dtype)
    else:
        places = _quantile_places(method, length, q.ravel(), length - 1)
        *ends, last = _elements(rows, *(each for each in places[:2] if each is not None))
        before, after = ends[0], ends[-1]
        fraction = _fraction_operand(places.fraction, weak)
        if not skip_nan:
            before = _with_nan(before, last)
    result = before if fraction is None else _lerp(before, after, fraction)
    shape = q.shape + (found.kept_dims if keepdims and a.ndim else found.kept)
    return result_or_out(moveaxis(result, -1, 0).reshape(shape), out)


def _running_weights(rows, weights, skip_nan) -> GPUArray:
    """The running sums of weights, as shares of their total. ValueError where the total is not a number."""
    weights = weights.astype(np.float64)
    if skip_nan and rows.dtype.kind in "fV":
        weights = apply("where", apply("isnan", rows), 0.0, weights)
    sums = weights.cumsum(-1)
    sums = apply("divide", sums, sums[..., -1:])
    if bool(apply("isnan", sums[..., -1]).any()):
        raise ValueError("Weights included NaN, inf or were all zero.")
    return sums


def _weighted_quantile(a, q, axis, out, method, keepdims, weights, skip_nan) -> GPUArray:
    """The first elements at which the running sum of the weights reaches q times their total. Waits for the
    stream, to check the totals."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    axes = None if axis is None else normalized_axes(axis, a.ndim, scalars=False)
    weights = weights_for(a, as_array(weights), axes)
    if bool(apply("less", weights, 0).any()):
        raise ValueError("Weights must be non-negative.")
    rows, found = _as_rows(a, axis)
    if not rows.shape[-1]:
        raise IndexError("a quantile of no elements")
    order = rows.argsort(-1)
    rows = take_along_axis(rows, order, -1)
    sums = _running_weights(rows, take_along_axis(_as_rows(weights, axis)[0], order, -1), skip_nan)
    sums = sums.astype(q.dtype) if q.dtype.kind == "f" else sums
    sums = apply("where", apply("equal", sums, 0), -1, sums)  # so that q = 0 skips elements of weight 0
    results = []
    for each in q.ravel():
        before = apply("less", sums, each).sum(axis=-1, keepdims=True)
        results.append(take_along_axis(rows, apply("minimum", before, rows.shape[-1] - 1), -1))
    result = concatenate(results, -1) if results else rows[..., :0]
    result = result if skip_nan else _with_nan(result, rows[..., -1:])
    shape = q.shape + (found.kept_dims if keepdims and a.ndim else found.kept)
    return result_or_out(moveaxis(result, -1, 0).reshape(shape), out)


def _take_from_rows(rows, numbers):
    """The elements of each row with these indices; None without indices."""
    return None if numbers is None else take_along_axis(rows, numbers.astype(INDEX, copy=False), -1)


def _fraction_operand(fraction, weak):
    """The fractions, an array on the host, as an operand of _lerp(): of one q a number, with `weak` one of
    Python's; of several q an array on the device; None as it is.
    """
    if fraction is None:
        return None
    if fraction.size != 1:
        return on_device(fraction)
    return float(fraction.item()) if weak else fraction.reshape(())[()]


def _quantiles(percent, skip_nan):
    """The function quantile, percentile, or one of them that ignores NaNs."""

    def function(
        a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
        interpolation=None,
    ) -> GPUArray:  # fmt: skip
        method = method if interpolation is None else interpolation
        return _quantile(a, q, axis, out, method, keeps_axes(keepdims), weights, percent, skip_nan)

    return function


quantile, nanquantile = (_quantiles(percent=False, skip_nan=each) for each in (False, True))
percentile, nanpercentile = (_quantiles(percent=True, skip_nan=each) for each in (False, True))
