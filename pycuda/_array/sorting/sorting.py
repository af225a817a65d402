"""Sorting, the methods of GPUArray: NumPy's, always stable, so that there is one result."""

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
from pycuda._array.sorting.row_sort import Work
from pycuda._kernels.builtin import sort as kernels
from pycuda._kernels.plans.sharing import check_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pycuda._array.core.types import Allocator, Array, HostOrDevice, Stream
    from pycuda.gpuarray import GPUArray


# ---- arguments, with NumPy's errors


def check_kind(kind, order, stable=None) -> None:
    """Kinds of sorting are names for one thing here, which is stable."""
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind is None:
        return
    if stable is not None:
        raise ValueError(
            "`kind` and keyword parameters can't be provided at the same time. Use only one of them."
        )
    if not isinstance(kind, str):
        raise TypeError(f"sort kind must be str, not {type(kind).__name__}")
    if kind[:1].lower() not in tuple("qhsm"):
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")


def check_partition(kth, length: int, kind: str, order) -> None:
    """Whether kth names elements of an axis of this length."""
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
    """Whether the order asked for is the ascending one of the negated numbers: NaNs come last in both."""
    return bool(descending) and dtype.kind not in "biu"


def sort_rows(keys, out, descending, stream, allocator=None) -> None:
    """Sort packed rows into others, which may be the same."""
    negated = negates(keys.dtype, descending)
    if negated:
        keys = apply("negative", keys, out=out, stream=stream)
    Work(keys, out, descending=bool(descending) and not negated).run(stream, allocator)
    if negated:
        apply("negative", out, out=out, stream=stream)


# ---- methods


def sort(self, axis=-1, kind=None, order=None, *, stable=None, descending=None, stream=None) -> None:
    """In place, along an axis, as numpy.ndarray.sort."""
    check_kind(kind, order, stable)
    axis = one_axis(axis, self.ndim)
    check_writable(self)
    kernels.order(self.dtype)
    if self.size == 0 or self.shape[axis] == 1:
        return
    rows = axis_last(self, axis)
    keys = rows if packed(rows) else packed_copy(rows, stream)
    sort_rows(keys, keys, descending, stream)
    if keys is not rows:
        apply("copy", keys, out=rows, stream=stream)


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
) -> GPUArray:
    """The indices that sort along an axis, as numpy.argsort; of equal elements the first comes first.

    Parameters
    ----------
    a : GPUArray
    axis : int or None, optional
        None: the flattened array.
    kind : {"quicksort", "heapsort", "mergesort", "stable"}, optional
        All sort alike.
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
        Of int64.
    """
    check_kind(kind, order, stable)
    return ordered(a, axis, descending, stream, allocator)


def ordered(a, axis, descending, stream, allocator) -> GPUArray:
    """argsort, also with the greatest first."""
    a, axis = flat_or_axis(a, axis, scalars=True)
    allocator = allocator or a.allocator
    kernels.order(a.dtype)
    rows = axis_last(a, axis)
    if negates(a.dtype, descending):
        rows, descending = apply("negative", rows, stream=stream), False
    rows = as_packed(rows, stream)
    result = new(rows.shape, INDEX, allocator)
    Work(rows, values_out=result, descending=bool(descending)).run(stream, allocator)
    return in_c_order(axis_back(result, axis), stream)


def in_c_order(a, stream) -> GPUArray:
    """The array itself where it is in C order, or a copy."""
    return a if a.flags.c_contiguous or not a.size else packed_copy(a, stream)


def partition(self, kth, axis=-1, kind="introselect", order=None, *, stream=None) -> None:
    """In place: element kth is where sorting would bring it. The array is sorted."""
    axis = one_axis(axis, self.ndim)
    check_partition(kth, self.shape[axis], kind, order)
    sort(self, axis, stream=stream)


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
) -> GPUArray:
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
    return ordered(a, axis, False, stream, allocator)


# ---- places in a sorted array


def _as(a, dtype, stream) -> GPUArray:
    """Packed, of this dtype."""
    if a.dtype != dtype:
        a = a.astype(dtype, order="C", stream=stream)
    return as_packed(a, stream)


def _read_sorter(sorter, size: int, stream):
    if not isinstance(sorter, _driver.GPUArray):
        sorter = np.asarray(sorter)
    if sorter.dtype.kind not in "iub":
        raise TypeError("sorter must only contain integers")
    if sorter.ndim != 1 or sorter.size != size:
        raise ValueError("sorter.size must equal a.size")
    if size == 0:
        return None
    if isinstance(sorter, _driver.GPUArray):
        sorter = _as(sorter, INDEX, stream)
        if captures.is_captured(stream):  # a wrong index cannot be reported: it is clipped
            return sorter.clip(0, size - 1, stream=stream)
        least, most = (int(each(stream=stream).get(stream=stream)) for each in (sorter.min, sorter.max))
    else:
        least, most = sorter.min(), sorter.max()
    if least < 0 or most >= size:
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
) -> GPUArray:
    """Where values belong in a sorted array, as numpy.searchsorted.

    Parameters
    ----------
    a : GPUArray
        With one axis.
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
        Of int64, in the shape of `v`.
    """
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
    if result.size:
        function = kernels.search(order, side == "right")
        function.prepared_async_call(
            kernels.grid(result.size), (kernels.SEARCH_THREADS, 1, 1), stream, _as(a, dtype, stream),
            a.size, 0 if sorter is None else sorter, _as(values, dtype, stream), result, result.size,
        )  # fmt: skip
    return result


def read_count(k, length: int) -> int:
    """How many of an axis of this length."""
    k = operator.index(k)
    if not 0 <= k <= length:
        raise ValueError(f"k is {k}, but the axis has length {length}")
    return k
