"""The greatest elements along an axis, or the smallest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pycuda._array.core import captures
from pycuda._array.core.axes import INDEX, flat_or_axis
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.memory import new
from pycuda._array.core.packed import as_packed, axis_back, axis_last, packed_copy
from pycuda._array.indexing import mask
from pycuda._array.indexing.take_put import take
from pycuda._array.shape.joining import concatenate
from pycuda._array.sorting.sorting import check_sortable, in_c_order, read_count
from pycuda._kernels.builtin import select

if TYPE_CHECKING:
    import numpy as np

    from pycuda._array.core.types import Allocator, Array, Stream
    from pycuda._kernels.builtin.sort import Order
    from pycuda.gpuarray import GPUArray


# The top elements of a long row are found in this way: a sample of the row is sorted and gives a limit; the
# elements up to the limit, which should be few but at least k, are sorted.
#
# Shorter rows are sorted as a whole: the search for a limit takes several launches and a wait of the host.
_MIN_LENGTH = 1 << 18
# Elements of the sample, which one block sorts.
_SAMPLE = 2048
# If more than one element in so many is up to the limit, the whole row is sorted.
_MAX_PART = 8
# Long rows are searched one after another: at most one row for each so many elements of a row.
_LENGTH_PER_ROW = 1 << 20


class TopK(NamedTuple):
    """The result of topk."""

    values: GPUArray
    indices: GPUArray[np.intp]


@takes_arrays
def topk(
    a: Array,
    k: int,
    axis: int | None = -1,
    largest: bool = True,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> TopK:
    """The k greatest elements along an axis, the greatest first, and their indices.

    Parameters
    ----------
    a : GPUArray
    k : int
    axis : int or None, optional
        None: the flattened array.
    largest : bool, optional
        False: the smallest ones, the smallest first.
    stream : Stream, optional
        For more than 1024 elements of a long row the call waits for it.
    allocator : callable, optional
        For the results.

    Returns
    -------
    TopK
        `values` and `indices`. Of equal elements those with the lesser indices come first. A NaN is greater
        than every number.
    """
    from pycuda._array.sorting.topk import first_of_rows, suits

    a, axis = flat_or_axis(a, axis)
    length = a.shape[axis]
    k = read_count(k, length)
    allocator = allocator or a.allocator
    check_sortable(a.dtype)
    rows = as_packed(axis_last(a, axis), stream)
    shape = (*rows.shape[:-1], k)
    if not math.prod(shape):
        return TopK(
            *(new((*a.shape[:axis], k, *a.shape[axis + 1 :]), each, allocator) for each in (a.dtype, INDEX))
        )
    flat = rows.reshape(-1, length)
    if suits(len(flat), length, k):
        parts = first_of_rows(flat, k, largest, stream, allocator)
    elif length >= _MIN_LENGTH and len(flat) <= max(length // _LENGTH_PER_ROW, 1):
        found = [_top_of_long(flat[row], k, largest, stream, allocator) for row in range(len(flat))]
        parts = (
            found[0]
            if len(found) == 1
            else [concatenate(each, stream=stream) for each in zip(*found, strict=True)]
        )
    else:
        parts = _top_of_sorted(flat, k, largest, stream, allocator)
    return TopK(*(in_c_order(axis_back(part.reshape(shape), axis), stream) for part in parts))


def _top_of_sorted(rows, k, largest, stream, allocator):
    """(values, indices) of every row, by sorting whole rows."""
    from pycuda._array.sorting.row_sort import Work

    keys, places = new(rows.shape, rows.dtype, allocator), new(rows.shape, INDEX, allocator)
    Work(rows, keys, values_out=places, descending=largest).run(stream, allocator)
    if k == rows.shape[-1]:
        return keys, places
    return tuple(packed_copy(each[..., :k], stream, allocator) for each in (keys, places))


class _LongRow(NamedTuple):
    """A long row whose elements are compared with one of them, the limit."""

    keys: GPUArray
    order: Order
    limit: GPUArray
    stream: object
    allocator: object

    def mark(self, relation):
        """The elements that are "before", "not after" or "equal" to the limit in the order, as
        mask.Marked.
        """
        function = select.mark_by_limit(self.order, relation)
        return mask.mark(
            function, self.keys.size, self.keys, self.limit, stream=self.stream, allocator=self.allocator
        )

    def elements(self, marked, max_count=None):
        """(values, indices) of the marked elements, or of the first `max_count` of them."""
        count = marked.total if max_count is None else min(marked.total, max_count)
        values, places = new((count,), self.keys.dtype, self.allocator), new((count,), INDEX, self.allocator)
        if count:
            function = select.write_elements(self.order.raw)
            marked.write(function, self.keys, values, places, 0, 0, count, stream=self.stream)
        return values, places


def _top_of_long(keys, k, largest, stream, allocator):
    """(values, indices) of one row. Sorts the elements up to a limit estimated from a sample."""
    from pycuda._array.sorting.row_sort import Work
    from pycuda._kernels.builtin import sort as kernels
    from pycuda._kernels.builtin.topk import rank_of_limit

    whole = keys.reshape(1, -1)
    rank = rank_of_limit(k * _SAMPLE / keys.size)
    # The host waits for the number of elements up to the limit, which a capture does not allow.
    if rank > _SAMPLE // 4 or captures.is_captured(stream):
        return _top_of_sorted(whole, k, largest, stream, allocator)
    # The step is odd, so that the sample visits all columns of a flattened table whose width is a power of
    # two.
    sample = packed_copy(keys[:: (keys.size // _SAMPLE - 1) | 1][:_SAMPLE], stream, allocator)
    Work(sample, sample, descending=largest, stable=False).run(stream)
    row = _LongRow(keys, kernels.order(keys.dtype, largest), sample[rank - 1 : rank], stream, allocator)
    max_count = keys.size // _MAX_PART
    marked = row.mark("not after")
    if k <= marked.total <= max_count:
        values, places = row.elements(marked)
    else:
        # Many elements are equal to the limit, or the sample misled.
        before = row.mark("before") if marked.total > max_count else None
        if before is None or before.total > max_count:
            return _top_of_sorted(whole, k, largest, stream, allocator)
        parts = [row.elements(before)]
        if before.total < k:
            parts.append(row.elements(row.mark("equal"), k - before.total))
        values, places = (concatenate(each, stream=stream) for each in zip(*parts, strict=True))
    keys, order = _top_of_sorted(values.reshape(1, -1), k, largest, stream, allocator)
    return keys, take(places, order, stream=stream, mode="clip", allocator=allocator)
