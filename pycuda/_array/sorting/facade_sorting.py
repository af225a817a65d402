"""Sorting, functions that are not methods: sorted copies, several keys, the greatest elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.axes import INDEX, flat_or_axis, one_axis
from pycuda._array.core.memory import new
from pycuda._array.core.packed import as_packed, axis_back, axis_last, packed_copy
from pycuda._array.indexing import mask, take_put
from pycuda._array.indexing.take_put import take, take_along_axis
from pycuda._array.shape.joining import concatenate
from pycuda._array.sorting import sorting
from pycuda._array.sorting.row_sort import Work
from pycuda._array.sorting.topk import first_of_rows, suits
from pycuda._kernels.builtin import select
from pycuda._kernels.builtin import sort as kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pycuda._array.core.types import Allocator, Array, HostOrDevice, Stream
    from pycuda.gpuarray import GPUArray


def sort(
    a: Array,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray:
    """A sorted copy, as numpy.sort.

    Parameters
    ----------
    a : GPUArray
        NaNs come last; complex numbers are ordered by their real parts, then the imaginary ones.
    axis : int or None, optional
        None: the flattened array.
    kind : {"quicksort", "heapsort", "mergesort", "stable"}, optional
        All sort alike, and keep the order of equal elements.
    order : None
        There are no fields.
    stable : bool, optional
    descending : bool, optional
        The greatest first, NaNs last all the same.
    stream : Stream, optional
    allocator : callable, optional
        For the result.

    Returns
    -------
    GPUArray
        In C order.
    """
    sorting.check_kind(kind, order, stable)
    kernels.order(a.dtype)
    a, axis = flat_or_axis(a, axis)
    allocator = allocator or a.allocator
    rows = axis_last(a, axis)
    keys = as_packed(rows, stream)
    result = new(keys.shape, a.dtype, allocator) if keys is rows else keys
    sorting.sort_rows(keys, result, descending, stream, allocator)
    return sorting.in_c_order(axis_back(result, axis), stream)


def partition(
    a: Array,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray:
    """A copy in which element kth is where sorting would bring it, as numpy.partition. It is a sorted one.

    Parameters
    ----------
    a : GPUArray
    kth : int or sequence of int
    axis : int or None, optional
        None: the flattened array.
    kind : {"introselect"}, optional
    order : None
        There are no fields.
    stream : Stream, optional
    allocator : callable, optional
        For the result.
    """
    a, axis = flat_or_axis(a, axis)
    sorting.check_partition(kth, a.shape[axis], kind, order)
    return sort(a, axis, stream=stream, allocator=allocator)


def lexsort(
    keys: Array | Sequence[GPUArray],
    axis: int | None = -1,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray:
    """The indices that sort by several keys, the last of which counts most, as numpy.lexsort.

    Parameters
    ----------
    keys : sequence of GPUArray, or GPUArray
        Of one shape; of an array, its first axis.
    axis : int, optional
    stream : Stream, optional
    allocator : callable, optional
        For the result.
    """
    keys = [keys[number] for number in range(len(keys))] if isinstance(keys, _driver.GPUArray) else list(keys)
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if any(key.shape != keys[0].shape for key in keys):
        raise ValueError("all keys need to be the same shape")
    if keys[0].ndim == 0:
        return sorting.argsort(keys[0], stream=stream, allocator=allocator).reshape(())
    axis = one_axis(axis, keys[0].ndim)
    result = sorting.argsort(keys[0], axis, stream=stream, allocator=allocator)
    for key in keys[1:]:
        moved = take_along_axis(key, result, axis, mode="clip", stream=stream)  # there are no wrong ones
        step = sorting.argsort(moved, axis, stream=stream)
        result = take_along_axis(result, step, axis, mode="clip", stream=stream)
    return result


def sort_by_key(
    keys: Array, values: Array, *, stream: Stream = None, allocator: Allocator = None
) -> tuple[GPUArray, GPUArray]:
    """Keys sorted, and what belongs to them in the same order; that of equal keys is kept.

    Parameters
    ----------
    keys : GPUArray
        With one axis.
    values : GPUArray
        As many, of any dtype; with more axes a value is what belongs to one index of the first.
    stream : Stream, optional
    allocator : callable, optional
        For the results.

    Returns
    -------
    (GPUArray, GPUArray)
        The keys and the values.
    """
    if keys.ndim != 1 or values.ndim == 0 or len(values) != len(keys):
        raise ValueError(f"keys and values must be 1-d and of the same length: {keys.shape}, {values.shape}")
    allocator = allocator or keys.allocator
    kernels.order(keys.dtype)
    packed = as_packed(keys, stream)
    sorted_keys = new(keys.shape, keys.dtype, allocator)
    if keys.size > kernels.ROW_SLOTS and values.ndim == 1 and kernels.raw_value(values.dtype):
        sorted_values = new(values.shape, values.dtype, allocator)
        Work(packed, sorted_keys, as_packed(values, stream), sorted_values).run(stream, allocator)
        return sorted_keys, sorted_values
    places = new(keys.shape, INDEX, allocator)
    Work(packed, sorted_keys, values_out=places).run(stream, allocator)
    return sorted_keys, take(values, places, 0, mode="clip", stream=stream, allocator=allocator)


# ---- the greatest

_LEAST_LENGTH = 1 << 18  # below it a row is sorted as a whole, where k is great
_SAMPLE = kernels.ROW_SLOTS


class TopK(NamedTuple):
    """What topk gives."""

    values: GPUArray
    indices: GPUArray


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
        False: the least ones, the least first.
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
    a, axis = flat_or_axis(a, axis)
    length = a.shape[axis]
    k = sorting.read_count(k, length)
    allocator = allocator or a.allocator
    kernels.order(a.dtype)
    rows = as_packed(axis_last(a, axis), stream)
    shape = (*rows.shape[:-1], k)
    if not math.prod(shape):
        return TopK(
            *(new((*a.shape[:axis], k, *a.shape[axis + 1 :]), each, allocator) for each in (a.dtype, INDEX))
        )
    flat = rows.reshape(-1, length)
    if suits(len(flat), length, k):
        parts = first_of_rows(flat, k, largest, stream, allocator)
    elif length >= _LEAST_LENGTH and len(flat) <= max(length >> 20, 1):
        found = [_top_of_long(flat[row], k, largest, stream, allocator) for row in range(len(flat))]
        parts = (
            found[0]
            if len(found) == 1
            else [concatenate(each, stream=stream) for each in zip(*found, strict=True)]
        )
    else:
        parts = _top_of_sorted(flat, k, largest, stream, allocator)
    return TopK(*(sorting.in_c_order(axis_back(part.reshape(shape), axis), stream) for part in parts))


def _top_of_sorted(rows, k, largest, stream, allocator):
    """(values, indices) of every row, by sorting."""
    keys, places = new(rows.shape, rows.dtype, allocator), new(rows.shape, INDEX, allocator)
    Work(rows, keys, values_out=places, descending=largest).run(stream, allocator)
    if k == rows.shape[-1]:
        return keys, places
    return tuple(packed_copy(each[..., :k], stream, allocator) for each in (keys, places))


class _Row(NamedTuple):
    """A long row, in which elements are compared with one of them."""

    keys: GPUArray
    order: kernels.Order
    limit: GPUArray
    stream: object
    allocator: object

    def mark(self, relation):
        function = select.mark_by_limit(self.order, relation)
        return mask.mark(
            function, self.keys.size, self.keys, self.limit, stream=self.stream, allocator=self.allocator
        )

    def elements(self, marked, most=None):
        """(values, indices) of those marked, of the first ones where `most` says how many."""
        count = marked.total if most is None else min(marked.total, most)
        values, places = new((count,), self.keys.dtype, self.allocator), new((count,), INDEX, self.allocator)
        if count:
            function = select.write_elements(self.order.raw)
            marked.write(function, self.keys, values, places, 0, 0, count, stream=self.stream)
        return values, places


def _top_of_long(keys, k, largest, stream, allocator):
    """(values, indices) of one row: all that is not after a limit, which comes from a sample, sorted."""
    whole = keys.reshape(1, -1)
    expected = k * _SAMPLE / keys.size
    rank = int(expected + 4 * math.sqrt(expected)) + 3
    if rank > _SAMPLE // 4 or captures.is_captured(stream):  # which cannot wait to hear how many there are
        return _top_of_sorted(whole, k, largest, stream, allocator)
    # An odd step, so that no column of a table is all that is seen of it.
    sample = packed_copy(keys[:: (keys.size // _SAMPLE - 1) | 1][:_SAMPLE], stream, allocator)
    Work(sample, sample, descending=largest).run(stream)
    row = _Row(keys, kernels.order(keys.dtype, largest), sample[rank - 1 : rank], stream, allocator)
    most = keys.size // 8
    marked = row.mark("not after")
    if k <= marked.total <= most:
        values, places = row.elements(marked)
    else:
        # Many are equal to the limit, or the sample was bad luck.
        before = row.mark("before") if marked.total > most else None
        if before is None or before.total > most:
            return _top_of_sorted(whole, k, largest, stream, allocator)
        parts = [row.elements(before)]
        if before.total < k:
            parts.append(row.elements(row.mark("equal"), k - before.total))
        values, places = (concatenate(each, stream=stream) for each in zip(*parts, strict=True))
    keys, order = _top_of_sorted(values.reshape(1, -1), k, largest, stream, allocator)
    return keys, take(places, order, stream=stream, mode="clip", allocator=allocator)


def compress(
    condition: HostOrDevice,
    a: Array,
    axis: int | None = None,
    out: Array | None = None,
    *,
    stream: Stream = None,
) -> GPUArray:
    """The elements along an axis where the condition is true, as numpy.compress.

    Parameters
    ----------
    condition : GPUArray or array
        With one axis.
    a : GPUArray
    axis : int, optional
        The flattened array by default.
    out : GPUArray, optional
        Where the result goes.
    stream : Stream, optional
        The call waits for it: the length of the result depends on the condition.
    """
    return take_put.compress(a, condition, axis, out, stream=stream)


def extract(condition: HostOrDevice, arr: Array, *, stream: Stream = None) -> GPUArray:
    """The elements of the flattened array where the condition is true, as numpy.extract.

    Parameters
    ----------
    condition : GPUArray or array
    arr : GPUArray
    stream : Stream, optional
    """
    condition = condition if isinstance(condition, _driver.GPUArray) else np.asarray(condition)
    return take_put.compress(arr.ravel(), condition.ravel(), 0, stream=stream)


def flatnonzero(a: Array, *, stream: Stream = None) -> GPUArray:
    """The indices of the elements of the flattened array that are not 0, as numpy.flatnonzero.

    Parameters
    ----------
    a : GPUArray
    stream : Stream, optional
    """
    return mask.coordinates_of_true(a.ravel(), stream, what="flatnonzero()")[0]
