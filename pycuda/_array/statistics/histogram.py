"""How often numbers occur: bincount and histogram, as NumPy has them.

Counts are integers. Sums of weights are computed in double, each bin's in an order that depends on the
elements alone: elements are sorted by bin, each of 32 threads adds up every 32nd weight of a bin from first
to last, or of 256 threads every 256th where a bin has more than 1024, and their sums are added by halves. So
they have the same bits everywhere.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

import pycuda.driver as drv
from pycuda._array.core import captures
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new, on_device
from pycuda._array.core.packed import as_packed
from pycuda._array.sorting.row_sort import Work
from pycuda._driver import GPUArray
from pycuda._kernels.builtin import elements
from pycuda._kernels.builtin import histogram as kernels
from pycuda._kernels.plans.caches import memoized_in_context

if TYPE_CHECKING:
    from pycuda._array.core.types import Allocator, Array, HostOrDevice, Stream

_BLOCK = (kernels.THREADS, 1, 1)
_INDEX, _DOUBLE = np.dtype(np.intp), np.dtype(np.float64)


def _zeros(shape, dtype, stream, allocator) -> GPUArray:
    result = new(shape, dtype, allocator)
    if result.nbytes:
        drv.memset_d32_async(result, 0, result.nbytes // 4, stream)
    return result


def _vector(a) -> int:
    """How many elements are loaded together."""
    return 16 // a.itemsize if a._address % 16 == 0 and a.itemsize <= 16 else 1


# ---- bincount


def _numbers(x, stream) -> GPUArray:
    if x.ndim != 1:
        raise ValueError("object too deep for desired array" if x.ndim else "object of too small depth")
    if x.dtype.kind not in "biu":
        raise TypeError(f"Cannot cast array data from {x.dtype!r} to {_INDEX!r} according to the rule 'safe'")
    return as_packed(x, stream)


def _weights(weights, x, stream) -> GPUArray:
    if not np.can_cast(weights.dtype, _DOUBLE, "safe"):
        raise TypeError(
            f"Cannot cast array data from {weights.dtype!r} to {_DOUBLE!r} according to the rule 'safe'"
        )
    if weights.shape != x.shape:
        raise ValueError("The weights and list don't have the same length.")
    if not isinstance(weights, GPUArray):
        return on_device(weights.astype(_DOUBLE), stream)
    return as_packed(weights.astype(_DOUBLE, order="C", copy=False, stream=stream), stream)


def _count_numbers(x, stream, allocator):
    """(counts of the first numbers, the greatest number plus 1). Waits for the stream."""
    captures.refuse("bincount()", "the greatest number is the length of the result", stream)
    counts = _zeros((kernels.NUMBERS + 2,), _INDEX, stream, allocator)
    blocks, chunk = kernels.chunk(x.size)
    kernels.numbers(elements.stored(x.dtype), _vector(x)).prepared_async_call(
        (blocks, 1), _BLOCK, stream, x, x.size, chunk, kernels.NUMBERS, counts, counts[kernels.NUMBERS :]
    )
    greatest, negative = counts[kernels.NUMBERS :].get(stream=stream).view(np.uint64)
    if negative:
        raise ValueError("'list' argument must have no negative elements")
    return counts[: kernels.NUMBERS], int(greatest) + 1


def bincount(
    x: Array,
    /,
    weights: HostOrDevice | None = None,
    minlength: int = 0,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray:
    """How often each number from 0 on occurs, as numpy.bincount.

    Parameters
    ----------
    x : GPUArray of int
        With one axis, and no negative numbers.
    weights : GPUArray or array, optional
        What is added up for each number, in double, instead of 1.
    minlength : int, optional
        Of the result.
    stream : Stream, optional
        The call waits for it: the greatest number is the length of the result.
    allocator : callable, optional
        For the result.

    Returns
    -------
    GPUArray
        Of int64, or float64 with weights, unless there are none.

    Raises
    ------
    ValueError
        For negative numbers, or weights of another length.
    TypeError
        For elements that are no integers.
    """
    x = _numbers(x, stream)
    if minlength is None or operator.index(minlength) < 0:
        raise (TypeError if minlength is None else ValueError)("'minlength' must not be negative")
    allocator = allocator or x.allocator
    if weights is not None:
        weights = _weights(weights if isinstance(weights, GPUArray) else np.asarray(weights), x, stream)
    if x.size == 0:
        return _zeros((minlength,), _INDEX, stream, allocator)
    counts, end = _count_numbers(x, stream, allocator)
    length = max(end, operator.index(minlength))
    if weights is not None:
        return _sums(x, weights, end, length, stream, allocator)
    if length <= kernels.NUMBERS:
        return apply("copy", counts[:length], out=new((length,), _INDEX, allocator), stream=stream)
    result = _zeros((length,), _INDEX, stream, allocator)
    if end <= kernels.NUMBERS:
        apply("copy", counts[:end], out=result[:end], stream=stream)
        return result
    function = kernels.many_numbers(elements.stored(x.dtype))
    function.prepared_async_call(kernels.grid(x.size), _BLOCK, stream, x, x.size, result)
    return result


def _sums(x, weights, end, length, stream, allocator) -> GPUArray:
    """Of the weights of each number below `end`; 0 up to `length`. Numbers from `length` on do not count."""
    dtype = np.dtype(np.uint32 if end <= 1 << 32 else np.int64)
    keys = as_packed(x.astype(dtype, order="C", copy=False, stream=stream), stream)
    passes = max(-(-(end - 1).bit_length() // 8), 1)
    ordered, moved = new(keys.shape, dtype, allocator), new(keys.shape, _DOUBLE, allocator)
    Work(keys, ordered, weights, moved, passes=passes).run(stream, allocator)
    result = new((length,), _DOUBLE, allocator)
    if length:
        function = kernels.sums(elements.stored(dtype))
        function.prepared_async_call(
            kernels.sum_grid(length), _BLOCK, stream, ordered, moved, x.size, result, length
        )
    return result


# ---- histogram


def _outer_edges(a, limits, stream):
    """The first and the last edge, as NumPy chooses them."""
    if limits is not None:
        first, last = limits
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    elif a.size == 0:
        first, last = 0, 1
    else:
        captures.refuse(
            "histogram() without a range", "the least and the greatest element are the outer edges", stream,
            "with range=(first, last) it can",
        )  # fmt: skip
        first, last = (each(stream=stream).get(stream=stream)[()] for each in (a.min, a.max))
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    if first == last:
        first, last = first - 0.5, last + 0.5
    return first, last


def _edges(a, bins, limits, stream):
    """(edges on the host, whether they are even)."""
    if isinstance(bins, str):
        from pycuda._array.statistics.bin_estimators import count_bins

        bins = count_bins(bins, a, limits, stream)
    if np.ndim(bins) == 1:
        if isinstance(bins, GPUArray):
            captures.refuse(
                "histogram() by edges on the device",
                "they are checked",
                stream,
                "use the edges of a host array",
            )
        edges = bins.get() if isinstance(bins, GPUArray) else np.asarray(bins)
        if np.any(edges[:-1] > edges[1:]):
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges, False
    if np.ndim(bins):
        raise ValueError("`bins` must be 1d, when an array")
    try:
        count = operator.index(bins)
    except TypeError:
        raise TypeError("`bins` must be an integer, a string, or an array") from None
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    first, last = _outer_edges(a, limits, stream)
    dtype = np.result_type(first, last, a.dtype)
    if dtype.kind in "iu":
        dtype = np.result_type(dtype, float)
    edges = np.linspace(first, last, count + 1, endpoint=True, dtype=dtype)
    if np.any(edges[:-1] >= edges[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {count} finite-sized bins.")
    return edges, True


# A copy from the host waits for what the stream does, so edges that are used again are kept.
_kept_edges = memoized_in_context(lambda data, dtype: on_device(np.frombuffer(data, dtype)), 64)


def _there(edges, stream) -> GPUArray:
    """Edges on the device, not to be changed."""
    if len(edges) - 1 > kernels.LARGEST:
        return on_device(edges, stream)
    return _kept_edges(edges.tobytes(), edges.dtype)


def _count_between(a, edges, there, edge, even, stream, allocator) -> GPUArray:
    bins = len(edges) - 1
    counts = _zeros((bins,), _INDEX, stream, allocator)
    if not a.size or not bins:
        return counts
    element = elements.stored(a.dtype)
    if bins > kernels.LARGEST:
        # One more for what is in no bin.
        numbers = _bins_of(a, there, edge, bins, stream, allocator)
        every = _zeros((bins + 1,), _INDEX, stream, allocator)
        kernels.many_numbers("unsigned").prepared_async_call(
            kernels.grid(a.size), _BLOCK, stream, numbers, a.size, every
        )
        return apply("copy", every[:bins], out=counts, stream=stream)
    kind = element, edge, _vector(a), kernels.capacity(bins)
    blocks, chunk = kernels.chunk(a.size)
    plan = kernels.even(edges, edge) if even else None
    arguments = (a, a.size, chunk, there, bins) if plan is None else (a, a.size, chunk, there, bins, plan)
    function = kernels.between(*kind) if plan is None else kernels.between_even(*kind)
    function.prepared_async_call((blocks, 1), _BLOCK, stream, *arguments, counts)
    return counts


def _bins_of(a, there, edge, bins, stream, allocator) -> GPUArray:
    numbers = new((a.size,), np.uint32, allocator)
    function = kernels.bins_of(elements.stored(a.dtype), edge)
    function.prepared_async_call(kernels.grid(a.size), _BLOCK, stream, a, a.size, there, bins, numbers)
    return numbers


def _sum_between(a, weights, there, edge, bins, stream, allocator) -> GPUArray:
    """Sums of weights, in their dtype."""
    if weights.dtype.kind == "c":
        result = new((bins,), weights.dtype, allocator)
        for part, target in ((weights._real, result._real), (weights._imag, result._imag)):
            sums = _sum_between(a, part, there, edge, bins, stream, allocator)
            apply("copy", sums, out=target, stream=stream, casting="unsafe")
        return result
    if not a.size or not bins:
        return _zeros((bins,), _DOUBLE, stream, allocator).astype(weights.dtype, stream=stream)
    numbers = _bins_of(a, there, edge, bins, stream, allocator)
    values = as_packed(weights.astype(_DOUBLE, order="C", copy=False, stream=stream), stream)
    sums = _sums(numbers, values.reshape(-1), bins + 1, bins, stream, allocator)
    return sums.astype(weights.dtype, copy=False, stream=stream)


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
        Of bool, integers or floats.
    bins : int or sequence or str, optional
        How many bins of one width, or their edges. The last bin includes its upper edge. Or the name of one
        of NumPy's estimators but "stone", for which the call waits.
    range : (number, number), optional
        The first and the last edge of bins of one width; otherwise the least and the greatest element, for
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
        raise TypeError(f"a histogram is of real numbers, not {a.dtype}")
    if weights is not None:
        if not isinstance(weights, GPUArray):
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
    edges, even = _edges(a, bins, range, stream)
    edge = kernels.edge_type(np.promote_types(a.dtype, edges.dtype))
    there = _there(edges.astype(kernels.edge_dtype(edge), copy=False), stream)
    if weights is None:
        counts = _count_between(a, edges, there, edge, even, stream, allocator)
    else:
        counts = _sum_between(a, weights, there, edge, len(edges) - 1, stream, allocator)
    shown = new(edges.shape, edges.dtype, allocator)
    apply("copy", _there(edges, stream), out=shown, stream=stream)
    if density:
        widths = on_device(np.diff(edges).astype(_DOUBLE), stream)
        total = counts.sum(stream=stream)
        counts = apply("divide", apply("divide", counts, widths, stream=stream), total, stream=stream)
    return counts, shown
