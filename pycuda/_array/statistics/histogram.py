"""Histograms of one axis and of several: bincount() of the bins, or kernels that search the edges."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import INDEX
from pycuda._array.core.creation import full
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new, on_device
from pycuda._array.core.operands import as_array
from pycuda._array.core.packed import as_packed
from pycuda._array.sorting.sorting import searchsorted
from pycuda._array.statistics.bincount import BLOCK, DOUBLE, bincount, cleared, sums_of_weights
from pycuda._array.statistics.bins import bin_edges
from pycuda._kernels.builtin import elements
from pycuda._kernels.builtin import histogram as kernels
from pycuda._kernels.plans.axes import vector_width
from pycuda._kernels.plans.caches import memoized_in_context

if TYPE_CHECKING:
    from pycuda._array.core.types import Allocator, Array, HostOrDevice, Stream
    from pycuda.gpuarray import GPUArray


# Edges on the device by (their bytes, their dtype). A copy from the host waits for the work of the stream, so
# edges are kept for the next call.
_kept_edges = memoized_in_context(lambda data, dtype: on_device(np.frombuffer(data, dtype)), 64)


def _edges_on_device(edges, stream) -> GPUArray:
    """The edges on the device, in an array that must not be changed, as other calls may use it."""
    if len(edges) - 1 > kernels.LARGEST:
        return on_device(edges, stream)
    return _kept_edges(edges.tobytes(), edges.dtype)


def _count_between(a, edges, edges_on_device, edge, even, stream, allocator) -> GPUArray:
    """How many elements are in each bin. edges: in host memory; edge: the C type of `edges_on_device`; even:
    the edges are equidistant, so the kernel computes the bin of an element instead of searching it.
    """
    bins = len(edges) - 1
    counts = cleared((bins,), INDEX, stream, allocator)
    if not a.size or not bins:
        return counts
    element = elements.stored(a.dtype)
    if bins > kernels.LARGEST:
        # One more count, for elements that are in no bin.
        numbers = _bins_of(a, edges_on_device, edge, bins, stream, allocator)
        counts_and_rest = cleared((bins + 1,), INDEX, stream, allocator)
        kernels.many_numbers("unsigned").prepared_async_call(
            kernels.histogram_grid(a.size), BLOCK, stream, numbers, a.size, counts_and_rest
        )
        return apply("copy", counts_and_rest[:bins], out=counts, stream=stream)
    kind = element, edge, vector_width(a), kernels.capacity(bins)
    blocks, chunk = kernels.chunk(a.size)
    plan = kernels.even(edges, edge) if even else None
    arguments = (a, a.size, chunk, edges_on_device, bins, *(() if plan is None else (plan,)))
    function = kernels.values_between(*kind) if plan is None else kernels.between_even(*kind)
    function.prepared_async_call((blocks, 1), BLOCK, stream, *arguments, counts)
    return counts


def _bins_of(a, edges_on_device, edge, bins, stream, allocator) -> GPUArray:
    """The index of each element's bin; `bins`, the number of bins, for elements in none."""
    numbers = new((a.size,), np.uint32, allocator)
    function = kernels.bins_of(elements.stored(a.dtype), edge)
    function.prepared_async_call(
        kernels.histogram_grid(a.size), BLOCK, stream, a, a.size, edges_on_device, bins, numbers
    )
    return numbers


def _sum_between(a, weights, edges_on_device, edge, bins, stream, allocator) -> GPUArray:
    """The sum of the weights of the elements in each bin, in the dtype of the weights."""
    if weights.dtype.kind == "c":
        result = new((bins,), weights.dtype, allocator)
        for part, target in ((weights._real, result._real), (weights._imag, result._imag)):
            sums = _sum_between(a, part, edges_on_device, edge, bins, stream, allocator)
            apply("copy", sums, out=target, stream=stream, casting="unsafe")
        return result
    if not a.size or not bins:
        return cleared((bins,), DOUBLE, stream, allocator).astype(weights.dtype, stream=stream)
    numbers = _bins_of(a, edges_on_device, edge, bins, stream, allocator)
    values = as_packed(weights.astype(DOUBLE, order="C", copy=False, stream=stream), stream)
    sums = sums_of_weights(numbers, values.reshape(-1), bins + 1, bins, stream, allocator)
    return sums.astype(weights.dtype, copy=False, stream=stream)


@takes_arrays
def histogram(
    a: Array,
    bins: int | str | HostOrDevice = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: HostOrDevice | None = None,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> tuple[GPUArray, GPUArray]:
    """How many elements are between edges, as numpy.histogram.

    Parameters
    ----------
    a : GPUArray
        Its elements are booleans, integers or floats.
    bins : int or sequence or str, optional
        How many bins of one width, or their edges. The last bin includes its upper edge. Or the name of one
        of NumPy's estimators but "stone", for which the call waits.
    range : (number, number), optional
        The first and the last edge of bins of one width; otherwise the minimum and the maximum, for
        which the call waits.
    density : bool, optional
        Divide by the widths of bins and the sum of all.
    weights : GPUArray, optional
        What is added up, in double, instead of 1; the result has its dtype.
    stream : Stream, optional
    allocator : callable, optional
        For the results.

    Returns
    -------
    (GPUArray, GPUArray)
        The counts of int64, and the edges.

    Raises
    ------
    ValueError
        For edges that do not increase, a range that is not finite, weights of another shape.
    TypeError
        For complex numbers.
    """
    if elements.kind(a.dtype) not in "bif":
        raise TypeError(f"histogram() requires real numbers, not {a.dtype}")
    if weights is not None:
        if not isinstance(weights, _driver.GPUArray):
            weights = on_device(np.asarray(weights), stream)
        if weights.shape != a.shape:
            raise ValueError("weights should have the same shape as a.")
    allocator = allocator or a.allocator
    if a.dtype.kind == "b":
        a = a.astype(np.uint8, stream=stream)
    a = as_packed(a.ravel(), stream)
    weights = None if weights is None else weights.ravel()
    if isinstance(bins, str) and weights is not None:
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
    edges, even = bin_edges(a, bins, range, stream)
    edge = kernels.edge_type(np.promote_types(a.dtype, edges.dtype))
    edges_on_device = _edges_on_device(edges.astype(kernels.edge_dtype(edge), copy=False), stream)
    if weights is None:
        counts = _count_between(a, edges, edges_on_device, edge, even, stream, allocator)
    else:
        counts = _sum_between(a, weights, edges_on_device, edge, len(edges) - 1, stream, allocator)
    shown = new(edges.shape, edges.dtype, allocator)
    apply("copy", _edges_on_device(edges, stream), out=shown, stream=stream)
    if density:
        widths = on_device(np.diff(edges).astype(DOUBLE), stream)
        total = counts.sum(stream=stream)
        counts = apply("divide", apply("divide", counts, widths, stream=stream), total, stream=stream)
    return counts, shown


def _columns(sample) -> list[GPUArray]:
    """The coordinates of the points along each axis; booleans as integers."""
    return [each.astype(np.uint8) if each.dtype.kind == "b" else each for each in _split(sample)]


def _split(sample) -> list[GPUArray]:
    """A sample's coordinates: a column for each dimension, of one dtype."""
    if isinstance(sample, _driver.GPUArray):
        sample = sample.reshape(-1, 1) if sample.ndim == 1 else sample
        if sample.ndim != 2:
            raise ValueError("a sample has a row for each point")
        return [sample[:, number] for number in range(sample.shape[1])]
    columns = [as_array(each).ravel() for each in sample]
    dtype = np.result_type(*(each.dtype for each in columns))
    return [each.astype(dtype, copy=False) for each in columns]


def _all_edges(columns, bins, limits) -> list[np.ndarray]:
    """histogramdd's edges of each dimension, on the host."""
    count = len(columns)
    if not isinstance(bins, list | tuple | np.ndarray | _driver.GPUArray):
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
            column = column[:0].astype(np.float64)  # the edges depend on the limits alone
        found, _ = bin_edges(column, each, limit, None)
        edges.append(found)
    return edges


def histogramdd(sample, bins=10, range=None, density=None, weights=None) -> tuple[GPUArray, list[GPUArray]]:
    """How many points are in each bin of several axes, as numpy.histogramdd.

    Returns
    -------
    (GPUArray, list of GPUArray)
        The counts, or sums of weights, in double; the edges along each axis.
    """
    columns = _columns(sample)
    if any(each.dtype.kind == "c" for each in columns):
        raise TypeError("histogramdd() requires real numbers")
    edges = _all_edges(columns, bins, range)
    edges_on_device = [on_device(each) for each in edges]
    shape = tuple(len(each) + 1 for each in edges)  # the bins, one for what is below, one for what is above
    numbers = full(columns[0].shape, 0, INDEX)
    for column, each, host in zip(columns, edges_on_device, edges, strict=True):
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
    return inside, edges_on_device


def histogram2d(x, y, bins=10, range=None, density=None, weights=None) -> tuple[GPUArray, GPUArray, GPUArray]:
    """How many points are in each bin of a plane, as numpy.histogram2d."""
    x, y = as_array(x), as_array(y)
    if x.size != y.size:
        raise ValueError("x and y must have the same length.")
    if not isinstance(bins, int | np.integer) and len(bins) != 2:
        bins = [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]
