"""NumPy's functions for sorting and searching. Indices are those of a stable sort."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.axes import INDEX, flat_or_axis, one_axis
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new, on_device
from pycuda._array.core.packed import as_packed, axis_back, axis_last, packed, packed_copy
from pycuda._array.indexing.take_put import take, take_along_axis
from pycuda._driver import _check_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pycuda._array.core.types import Allocator, Array, HostOrDevice, Scalar, Stream
    from pycuda.gpuarray import GPUArray


# ---- arguments, with NumPy's errors


def read_kind(kind, order, stable=None) -> bool:
    """Whether the arguments request a stable sort. NumPy's exceptions for invalid arguments."""
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind is None:
        return bool(stable)
    if stable is not None:
        raise ValueError(
            "`kind` and keyword parameters can't be provided at the same time. Use only one of them."
        )
    if not isinstance(kind, str):
        raise TypeError(f"sort kind must be str, not {type(kind).__name__}")
    if kind[:1].lower() not in tuple("qhsm"):
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    return kind[0].lower() in "ms"


def check_partition(kth, length: int, kind: str, order) -> None:
    """NumPy's exceptions for invalid arguments, such as a kth that an axis of this length does not have."""
    if kind != "introselect":
        raise ValueError(f"select kind must be 'introselect' (got {kind!r})")
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    numbers = np.asarray(kth)
    if numbers.dtype.kind == "b":
        raise ValueError("Booleans unacceptable as partition index")
    if numbers.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    if numbers.ndim > 1:
        raise ValueError("object too deep for desired array")
    if length == 0:
        return
    for number in numbers.reshape(-1):
        if not -length <= number < length:
            raise ValueError(f"kth(={number}) out of bounds ({length})")


def negates(dtype, descending) -> bool:
    """Whether a descending sort is done as an ascending one of the negated numbers. That is so for floats, as
    NaNs come last in both orders.
    """
    return bool(descending) and dtype.kind not in "biu"


def check_sortable(dtype) -> None:
    """TypeError for a dtype whose elements have no order."""
    from pycuda._kernels.builtin import sort as kernels

    kernels.order(dtype)


def sort_rows(keys, out, descending, stable, stream, allocator=None) -> None:
    """Sort the packed rows `keys` into the packed rows `out`, which may be the same array."""
    from pycuda._array.sorting.row_sort import Work

    negated = negates(keys.dtype, descending)
    if negated:
        keys = apply("negative", keys, out=out, stream=stream)
    Work(keys, out, descending=bool(descending) and not negated, stable=stable).run(stream, allocator)
    if negated:
        apply("negative", out, out=out, stream=stream)


# ---- sorted arrays


def sort_in_place(a, axis, kind, order, stable, descending, stream) -> None:
    """GPUArray.sort"""
    stable = read_kind(kind, order, stable)
    axis = one_axis(axis, a.ndim)
    _check_writable(a)
    check_sortable(a.dtype)
    if a.size == 0 or a.shape[axis] == 1:
        return
    rows = axis_last(a, axis)
    keys = rows if packed(rows) else packed_copy(rows, stream)
    sort_rows(keys, keys, descending, stable, stream)
    if keys is not rows:
        apply("copy", keys, out=rows, stream=stream)


@takes_arrays
def sort(
    a: Array[Scalar],
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]:
    """A sorted copy, as numpy.sort.

    Parameters
    ----------
    a : GPUArray
        NaNs come last; complex numbers are ordered by their real parts, then the imaginary ones.
    axis : int or None, optional
        None: the flattened array.
    kind : {"quicksort", "heapsort", "mergesort", "stable"}, optional
        The last two keep the order of zeros of both signs, and of NaNs of different bits.
    order : None
        There are no fields.
    stable : bool, optional
        True: as kind="stable".
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
    stable = read_kind(kind, order, stable)
    check_sortable(a.dtype)
    a, axis = flat_or_axis(a, axis)
    allocator = allocator or a.allocator
    rows = axis_last(a, axis)
    keys = as_packed(rows, stream)
    result = new(keys.shape, a.dtype, allocator) if keys is rows else keys
    sort_rows(keys, result, descending, stable, stream, allocator)
    return in_c_order(axis_back(result, axis), stream)


@takes_arrays
def partition(
    a: Array[Scalar],
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]:
    """A copy in which element kth is where sorting would bring it, as numpy.partition. In long rows others
    keep their order on either side; short ones are sorted, and for several kth.

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
    from pycuda._array.sorting import ranks

    a, axis = flat_or_axis(a, axis)
    check_partition(kth, a.shape[axis], kind, order)
    rows, rank = axis_last(a, axis), _one_rank(kth, a.shape[axis])
    if rank is None or not ranks.can_find(rows, 1):
        return sort(a, axis, stream=stream, allocator=allocator)
    keys = as_packed(rows, stream)
    result = new(keys.shape, a.dtype, allocator or a.allocator)
    ranks.partition_rows(keys, rank, result, stream, allocator)
    return in_c_order(axis_back(result, axis), stream)


def _one_rank(kth, length: int) -> int | None:
    """The rank that kth names; None for none or several."""
    found = {int(number) % length for number in np.ravel(kth)} if length else ()
    return found.pop() if len(found) == 1 else None


@takes_arrays
def argsort(
    a: Array,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[np.intp]:
    """The indices that sort along an axis, as numpy.argsort; of equal elements the first comes first.

    Parameters
    ----------
    a : GPUArray
    axis : int or None, optional
        None: the flattened array.
    kind : {"quicksort", "heapsort", "mergesort", "stable"}, optional
        The result is the same for all.
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
        Its dtype is int64.
    """
    read_kind(kind, order, stable)
    return sorting_indices(a, axis, descending, stream, allocator)


def sorting_indices(a, axis, descending, stream, allocator) -> GPUArray:
    """argsort() with checked arguments: the indices of a stable sort along the axis."""
    from pycuda._array.sorting.row_sort import Work

    a, axis = flat_or_axis(a, axis, scalars=True)
    allocator = allocator or a.allocator
    check_sortable(a.dtype)
    rows = axis_last(a, axis)
    if negates(a.dtype, descending):
        rows, descending = apply("negative", rows, stream=stream), False
    rows = as_packed(rows, stream)
    result = new(rows.shape, INDEX, allocator)
    Work(rows, values_out=result, descending=bool(descending)).run(stream, allocator)
    return in_c_order(axis_back(result, axis), stream)


def in_c_order(a, stream) -> GPUArray:
    """The array itself if it is in C order, otherwise a copy in C order."""
    return a if a.flags.c_contiguous or not a.size else packed_copy(a, stream)


def partition_in_place(a, kth, axis, kind, order, stream) -> None:
    """GPUArray.partition"""
    from pycuda._array.sorting import ranks

    axis = one_axis(axis, a.ndim)
    check_partition(kth, a.shape[axis], kind, order)
    rows, rank = axis_last(a, axis), _one_rank(kth, a.shape[axis])
    if rank is None or not ranks.can_find(rows, 1):
        sort_in_place(a, axis, None, None, None, None, stream)
        return
    _check_writable(a)
    keys = packed_copy(rows, stream)
    result = rows if packed(rows) else new(keys.shape, keys.dtype, a.allocator)
    ranks.partition_rows(keys, rank, result, stream)
    if result is not rows:
        apply("copy", result, out=rows, stream=stream)


@takes_arrays
def argpartition(
    a: Array,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[np.intp]:
    """The indices that partition the array, as numpy.argpartition: those of argsort.

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
    a, axis = flat_or_axis(a, axis, scalars=True)
    check_partition(kth, a.shape[axis], kind, order)
    return sorting_indices(a, axis, descending=False, stream=stream, allocator=allocator)


# ---- by keys


@takes_arrays
def lexsort(
    keys: Array | Sequence[GPUArray],
    axis: int | None = -1,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[np.intp]:
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
        return argsort(keys[0], stream=stream, allocator=allocator).reshape(())
    axis = one_axis(axis, keys[0].ndim)
    result = argsort(keys[0], axis, stream=stream, allocator=allocator)
    for key in keys[1:]:
        moved = take_along_axis(key, result, axis, mode="clip", stream=stream)  # no index is out of bounds
        step = argsort(moved, axis, stream=stream)
        result = take_along_axis(result, step, axis, mode="clip", stream=stream)
    return result


@takes_arrays
def sort_by_key(
    keys: Array, values: Array, *, stream: Stream = None, allocator: Allocator = None
) -> tuple[GPUArray, GPUArray]:
    """Sort keys, and values in the order of their keys. Equal keys keep their order.

    Parameters
    ----------
    keys : GPUArray
        A 1-D array.
    values : GPUArray
        As many values as keys, of any dtype. With more axes, the first one is sorted.
    stream : Stream, optional
    allocator : callable, optional
        For the results.

    Returns
    -------
    (GPUArray, GPUArray)
        The keys and the values.
    """
    from pycuda._array.sorting.row_sort import Work
    from pycuda._kernels.builtin import sort as kernels

    if keys.ndim != 1 or values.ndim == 0 or len(values) != len(keys):
        raise ValueError(f"keys and values must be 1-d and of the same length: {keys.shape}, {values.shape}")
    allocator = allocator or keys.allocator
    packed = as_packed(keys, stream)
    sorted_keys = new(keys.shape, keys.dtype, allocator)
    maximum = kernels.row_shape(kernels.order(keys.dtype), alone=False).slots
    if keys.size > maximum and values.ndim == 1 and kernels.raw_value(values.dtype):
        sorted_values = new(values.shape, values.dtype, allocator)
        Work(packed, sorted_keys, as_packed(values, stream), sorted_values).run(stream, allocator)
        return sorted_keys, sorted_values
    places = new(keys.shape, INDEX, allocator)
    Work(packed, sorted_keys, values_out=places).run(stream, allocator)
    return sorted_keys, take(values, places, 0, mode="clip", stream=stream, allocator=allocator)


# ---- places in a sorted array


def _packed_as(a, dtype, stream) -> GPUArray:
    """The array, packed and of this dtype: itself or a copy."""
    if a.dtype != dtype:
        a = a.astype(dtype, order="C", stream=stream)
    return as_packed(a, stream)


def _read_sorter(sorter, size: int, stream):
    """searchsorted's sorter as integers on the device; None without elements. ValueError for one out of
    range.
    """
    if not isinstance(sorter, _driver.GPUArray):
        sorter = np.asarray(sorter)
    if sorter.dtype.kind not in "iub":
        raise TypeError("sorter must only contain integers")
    if sorter.ndim != 1 or sorter.size != size:
        raise ValueError("sorter.size must equal a.size")
    if size == 0:
        return None
    if isinstance(sorter, _driver.GPUArray):
        sorter = _packed_as(sorter, INDEX, stream)
        # Under capture the host cannot read whether an index is out of bounds, which is clipped instead.
        if captures.is_captured(stream):
            return sorter.clip(0, size - 1, stream=stream)
        minimum, maximum = (int(each(stream=stream).get(stream=stream)) for each in (sorter.min, sorter.max))
    else:
        minimum, maximum = sorter.min(), sorter.max()
    if minimum < 0 or maximum >= size:
        raise ValueError("Sorter index out of range.")
    return sorter if isinstance(sorter, _driver.GPUArray) else on_device(sorter.astype(INDEX), stream)


@takes_arrays
def searchsorted(
    a: Array,
    v: Any,
    side: str = "left",
    sorter: HostOrDevice | None = None,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[np.intp]:
    """Find the indices at which values would be inserted into a sorted array, as numpy.searchsorted.

    Parameters
    ----------
    a : GPUArray
        A 1-D array.
    v : GPUArray, array or number
    side : {"left", "right"}, optional
        Before or after equal elements.
    sorter : GPUArray or array of int, optional
        The indices that sort `a`. If it is on the device the call waits for the stream, unless that is
        captured.
    stream : Stream, optional
    allocator : callable, optional
        For the result.

    Returns
    -------
    GPUArray
        Its dtype is int64, its shape that of `v`.
    """
    from pycuda._kernels.builtin import search
    from pycuda._kernels.builtin import sort as kernels

    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    if a.ndim != 1:
        raise ValueError("object too deep for desired array")
    values = v if isinstance(v, _driver.GPUArray) else np.asarray(v)
    dtype = np.promote_types(a.dtype, values.dtype)
    order = kernels.order(dtype)
    if not isinstance(values, _driver.GPUArray):
        values = on_device(values.astype(dtype), stream)
    if sorter is not None:
        sorter = _read_sorter(sorter, a.size, stream)
    result = new(values.shape, INDEX, allocator or a.allocator)
    if not a.size:
        result.fill(0, stream)
    elif result.size:
        table, values = _packed_as(a, dtype, stream), _packed_as(values, dtype, stream)
        search.find_places(order, side == "right", table, sorter, values, result, stream)
    return result


def read_count(k, length: int) -> int:
    """k as an int. ValueError unless it is from 0 to the length of the axis."""
    k = operator.index(k)
    if not 0 <= k <= length:
        raise ValueError(f"k is {k}, but the axis has length {length}")
    return k
