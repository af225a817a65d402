"""bincount: how often integers occur, as in NumPy.

Counts are integers. Sums of weights are computed in double, each bin's in an order that depends on the
elements alone: elements are sorted by bin, each of 32 threads adds every 32nd weight of a bin from first to
last (each of 256 threads every 256th if a bin has more than 1024), and their sums are added pairwise. So they
have the same bits on every device.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.axes import INDEX
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new, on_device
from pycuda._array.core.packed import as_packed
from pycuda._kernels.builtin import elements
from pycuda._kernels.builtin import histogram as kernels
from pycuda._kernels.plans.axes import vector_width

if TYPE_CHECKING:
    from pycuda._array.core.types import Allocator, Array, HostOrDevice, Stream
    from pycuda.gpuarray import GPUArray


BLOCK = (kernels.THREADS, 1, 1)
DOUBLE = np.dtype(np.float64)


def cleared(shape, dtype, stream, allocator) -> GPUArray:
    """A new array of zeros."""
    result = new(shape, dtype, allocator)
    if result.nbytes:
        _driver.memset_d32_async(result, 0, result.nbytes // 4, stream)
    return result


def _checked_input(x, stream) -> GPUArray:
    """x, one-dimensional, of integers or booleans, packed. ValueError or TypeError as NumPy's otherwise."""
    if x.ndim != 1:
        raise ValueError("object too deep for desired array" if x.ndim else "object of too small depth")
    if x.dtype.kind not in "biu":
        raise TypeError(f"Cannot cast array data from {x.dtype!r} to {INDEX!r} according to the rule 'safe'")
    return as_packed(x, stream)


def _weights(weights, x, stream) -> GPUArray:
    """bincount's weights as packed doubles on the device."""
    if not np.can_cast(weights.dtype, DOUBLE, "safe"):
        raise TypeError(
            f"Cannot cast array data from {weights.dtype!r} to {DOUBLE!r} according to the rule 'safe'"
        )
    if weights.shape != x.shape:
        raise ValueError("The weights and list don't have the same length.")
    if not isinstance(weights, _driver.GPUArray):
        return on_device(weights.astype(DOUBLE), stream)
    return as_packed(weights.astype(DOUBLE, order="C", copy=False, stream=stream), stream)


def _count_numbers(x, stream, allocator):
    """(counts of the first numbers, the maximum number plus 1). Waits for the stream."""
    captures.refuse("bincount()", "the length of the result depends on the maximum number", stream)
    counts = cleared((kernels.NUMBERS + 2,), INDEX, stream, allocator)
    blocks, chunk = kernels.chunk(x.size)
    kernels.numbers(elements.stored(x.dtype), vector_width(x)).prepared_async_call(
        (blocks, 1), BLOCK, stream, x, x.size, chunk, kernels.NUMBERS, counts, counts[kernels.NUMBERS :]
    )
    maximum, negative = counts[kernels.NUMBERS :].get(stream=stream).view(np.uint64)
    if negative:
        raise ValueError("'list' argument must have no negative elements")
    return counts[: kernels.NUMBERS], int(maximum) + 1


@takes_arrays
def bincount(
    x: Array,
    /,
    weights: HostOrDevice | None = None,
    minlength: int = 0,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray:
    """Count the occurrences of each number from 0 on, as numpy.bincount.

    Parameters
    ----------
    x : GPUArray of int
        A 1-D array without negative numbers.
    weights : GPUArray or array, optional
        The weight of each element, added up in double. By default each counts 1.
    minlength : int, optional
        The minimum length of the result.
    stream : Stream, optional
        The call waits for it, since the length of the result depends on the maximum number.
    allocator : callable, optional
        For the result.

    Returns
    -------
    GPUArray
        int64, or float64 with weights, unless `x` is empty.

    Raises
    ------
    ValueError
        `x` has negative numbers, or `weights` has another length.
    TypeError
        The elements of `x` are not integers.
    """
    x = _checked_input(x, stream)
    if minlength is None or operator.index(minlength) < 0:
        raise (TypeError if minlength is None else ValueError)("'minlength' must not be negative")
    allocator = allocator or x.allocator
    if weights is not None:
        weights = _weights(
            weights if isinstance(weights, _driver.GPUArray) else np.asarray(weights), x, stream
        )
    if x.size == 0:
        return cleared((minlength,), INDEX, stream, allocator)
    counts, end = _count_numbers(x, stream, allocator)
    length = max(end, operator.index(minlength))
    if weights is not None:
        return sums_of_weights(x, weights, end, length, stream, allocator)
    if length <= kernels.NUMBERS:
        return apply("copy", counts[:length], out=new((length,), INDEX, allocator), stream=stream)
    result = cleared((length,), INDEX, stream, allocator)
    if end <= kernels.NUMBERS:
        apply("copy", counts[:end], out=result[:end], stream=stream)
        return result
    function = kernels.many_numbers(elements.stored(x.dtype))
    function.prepared_async_call(kernels.histogram_grid(x.size), BLOCK, stream, x, x.size, result)
    return result


def sums_of_weights(x, weights, end, length, stream, allocator) -> GPUArray:
    """For each number below `length` the sum of the weights of its occurrences in x. All numbers of x are
    below `end`; the weights of those from `length` on are ignored."""
    from pycuda._array.sorting.row_sort import Work

    dtype = np.dtype(np.uint32 if end <= 1 << 32 else np.int64)
    keys = as_packed(x.astype(dtype, order="C", copy=False, stream=stream), stream)
    passes = max(-(-(end - 1).bit_length() // 8), 1)  # of the sort: one for each byte that a number can have
    ordered, moved = new(keys.shape, dtype, allocator), new(keys.shape, DOUBLE, allocator)
    Work(keys, ordered, weights, moved, passes=passes).run(stream, allocator)
    result = new((length,), DOUBLE, allocator)
    if length:
        function = kernels.sums(elements.stored(dtype))
        function.prepared_async_call(
            kernels.sum_grid(length), BLOCK, stream, ordered, moved, x.size, result, length
        )
    return result
