"""Histograms of several axes, the edges of bins, and which bin a value is in."""

from __future__ import annotations

import math

import numpy as np

from pycuda._array.core.axes import INDEX
from pycuda._array.core.creation import full
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import on_device
from pycuda._array.core.operands import as_array
from pycuda._array.sorting.sorting import searchsorted
from pycuda._array.statistics.histogram import _edges, bincount
from pycuda._driver import GPUArray


def histogram_bin_edges(a, bins=10, range=None, weights=None) -> GPUArray:
    """The edges that histogram() has for these arguments."""
    if isinstance(bins, str) and weights is not None:
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
    if a.dtype.kind == "b":
        a = a.astype(np.uint8)
    edges, _ = _edges(a.ravel(), bins, range, None)
    return on_device(edges)


def _monotonic(bins) -> int:
    """1 for edges that increase, -1 for others, as NumPy decides it: what the first two that differ do, no
    later two may undo. So edges that are NaN count as decreasing."""
    if bins.ndim != 1:
        raise ValueError(f"object {'too deep' if bins.ndim else 'of too small depth'} for desired array")
    before, after = bins[:-1], bins[1:]
    differ = np.flatnonzero(before != after)
    if not differ.size:
        return 1
    first = differ[0]
    rises = before[first] < after[first]
    undone = before[first + 1 :] > after[first + 1 :] if rises else before[first + 1 :] < after[first + 1 :]
    if undone.any():
        raise ValueError("bins must be monotonically increasing or decreasing")
    return 1 if rises else -1


def digitize(x, bins, right=False) -> GPUArray:
    """The number of the bin that each value is in. Where the edges are on the device they are read, for which
    the call waits.
    """
    x = as_array(x)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    bins = bins if isinstance(bins, GPUArray) else np.asarray(bins)
    direction = _monotonic(bins.get() if isinstance(bins, GPUArray) else bins)
    edges = bins if isinstance(bins, GPUArray) else on_device(bins)
    side = "left" if right else "right"
    if direction > 0:
        return searchsorted(edges, x, side)
    return apply("subtract", edges.size, searchsorted(edges[::-1].copy(), x, side))


def _columns(sample) -> list[GPUArray]:
    """The coordinates of the points along each axis; booleans as integers."""
    return [each.astype(np.uint8) if each.dtype.kind == "b" else each for each in _split(sample)]


def _split(sample) -> list[GPUArray]:
    if isinstance(sample, GPUArray):
        sample = sample.reshape(-1, 1) if sample.ndim == 1 else sample
        if sample.ndim != 2:
            raise ValueError("a sample has a row for each point")
        return [sample[:, number] for number in range(sample.shape[1])]
    columns = [as_array(each).ravel() for each in sample]
    dtype = np.result_type(*(each.dtype for each in columns))
    return [each.astype(dtype, copy=False) for each in columns]


def _all_edges(columns, bins, limits) -> list[np.ndarray]:
    count = len(columns)
    if not isinstance(bins, list | tuple | np.ndarray | GPUArray):
        bins = [bins] * count
    elif len(bins) != count:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    limits = (None,) * count if limits is None else limits
    if len(limits) != count:
        raise ValueError("range argument must have one entry per dimension")
    edges = []
    for number, (column, each, limit) in enumerate(zip(columns, bins, limits, strict=True)):
        if np.ndim(each) == 0 and not isinstance(each, str) and int(each) < 1:
            raise ValueError(f"`bins[{number}]` must be positive, when an integer")
        if limit is not None and np.ndim(each) == 0 and not isinstance(each, str):
            column = column[:0].astype(np.float64)  # the limits are all that the edges follow from
        found, _ = _edges(column, each, limit, None)
        edges.append(found)
    return edges


def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    """How many points are in each bin of several axes, as numpy.histogramdd.

    Returns
    -------
    (GPUArray, list of GPUArray)
        The counts, or sums of weights, in double; the edges along each axis.
    """
    columns = _columns(sample)
    if any(each.dtype.kind == "c" for each in columns):
        raise TypeError("a histogram is of real numbers")
    edges = _all_edges(columns, bins, range)
    there = [on_device(each) for each in edges]
    shape = tuple(len(each) + 1 for each in edges)  # with one for what is below, and one for what is above
    numbers = full(columns[0].shape, 0, INDEX)
    for column, each, host in zip(columns, there, edges, strict=True):
        place = searchsorted(each, column, "right")
        # The last bin includes its upper edge.
        last = apply("equal", column, host[-1])
        place = apply("subtract", place, last.astype(INDEX))
        numbers = apply("add", apply("multiply", numbers, len(host) + 1), place)
    given = None if weights is None else as_array(weights)
    counts = bincount(numbers, given, minlength=math.prod(shape))[: math.prod(shape)]
    counts = counts.astype(np.float64).reshape(shape)
    inside = counts[tuple(slice(1, -1) for _ in shape)].copy()
    if density:
        total = inside.sum()
        for axis, host in enumerate(edges):
            widths = on_device(np.diff(host).astype(np.float64))
            inside = apply("divide", inside, widths.reshape((-1,) + (1,) * (inside.ndim - 1 - axis)))
        inside = apply("divide", inside, total)
    return inside, there


def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    """How many points are in each bin of a plane, as numpy.histogram2d."""
    x, y = as_array(x), as_array(y)
    if x.size != y.size:
        raise ValueError("x and y must have the same length.")
    if not isinstance(bins, int | np.integer) and len(bins) != 2:
        bins = [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]
