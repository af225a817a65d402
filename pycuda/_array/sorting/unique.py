"""The distinct elements of an array: unique, and the array standard's forms of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from pycuda._array.core.axes import INDEX, one_axis
from pycuda._array.core.creation import arange
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.packed import as_packed, packed_copy
from pycuda._array.indexing import mask
from pycuda._array.indexing.take_put import take
from pycuda._array.sorting.sorting import lexsort
from pycuda._kernels.builtin import select
from pycuda._kernels.plans.axes import packed_axes

if TYPE_CHECKING:
    from typing import Literal

    from pycuda._array.core.types import Allocator, Array, Scalar, Stream
    from pycuda.gpuarray import GPUArray


@overload
def unique(
    ar: Array[Scalar],
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]: ...
@overload
def unique(
    ar: Any,
    return_index: Literal[True],
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    stream: Stream = None,
    allocator: Allocator = None,
) -> tuple[GPUArray, ...]: ...
@overload
def unique(
    ar: Any,
    return_index: bool = False,
    *,
    return_inverse: Literal[True],
    return_counts: bool = False,
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
    stream: Stream = None,
    allocator: Allocator = None,
) -> tuple[GPUArray, ...]: ...
@overload
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    *,
    return_counts: Literal[True],
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
    stream: Stream = None,
    allocator: Allocator = None,
) -> tuple[GPUArray, ...]: ...
@overload
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    stream: Stream = None,
    allocator: Allocator = None,
) -> Any: ...


@takes_arrays
def unique(
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    stream: Stream = None,
    allocator: Allocator = None,
) -> Any:
    """The distinct elements of an array, sorted, as numpy.unique.

    Parameters
    ----------
    ar : GPUArray
    return_index : bool, optional
        Also the indices at which each is first.
    return_inverse : bool, optional
        Also the indices into the result which give the array, in its shape.
    return_counts : bool, optional
        Also how often each occurs.
    axis : int, optional
        Of what is compared as a whole, which takes a sort for each of its elements; by default the flattened
        array's elements.
    equal_nan : bool, optional
        False: every NaN is distinct.
    sorted : bool, optional
        The result is sorted in any case.
    stream : Stream, optional
        The call waits for it: the length of the result depends on the elements.
    allocator : callable, optional
        For the results.

    Returns
    -------
    GPUArray or tuple of GPUArray
    """
    from pycuda._array.sorting.row_sort import Work
    from pycuda._kernels.builtin import sort as kernels

    allocator = allocator or ar.allocator
    if axis is not None:
        axis = one_axis(axis, ar.ndim)
        if ar.ndim > 1:
            found = _unique_parts(ar, axis, return_index, return_inverse, return_counts, stream, allocator)
            return found[0] if len(found) == 1 else found
    flat = as_packed(ar.ravel(), stream)
    order = kernels.order(ar.dtype)
    keys = new(flat.shape, ar.dtype, allocator)
    places = new(flat.shape, INDEX, allocator) if return_index or return_inverse else None
    Work(flat, keys, values_out=places).run(stream, allocator)
    if not flat.size:
        found = [keys]
        for is_wanted, shape in ((return_index, (0,)), (return_inverse, ar.shape), (return_counts, (0,))):
            if is_wanted:
                found.append(new(shape, INDEX, allocator))
        return keys if len(found) == 1 else tuple(found)
    if not (return_index or return_inverse or return_counts):
        return mask.take_changes(order, keys, bool(equal_nan), stream, allocator)
    function = select.mark_changes(order, bool(equal_nan))
    marked = mask.mark(function, flat.size, keys, what="unique()", stream=stream, allocator=allocator)
    values = new((marked.total,), ar.dtype, allocator)
    starts = _room_for_starts(marked, allocator) if return_counts else None
    firsts = new((marked.total,), INDEX, allocator) if return_index else None
    arguments = starts, places if return_index else None, firsts
    marked.write(
        select.write_elements(order.raw), keys, values,
        *(0 if each is None else each for each in arguments), marked.total, stream=stream,
    )  # fmt: skip
    found = [values]
    if return_index:
        found.append(firsts)
    if return_inverse:
        found.append(_inverse_indices(marked, places, stream, allocator).reshape(ar.shape))
    if return_counts:
        found.append(_lengths(starts, flat.size, stream, allocator))
    return tuple(found)


def _room_for_starts(marked, allocator) -> GPUArray:
    """Memory for the start of each unique element, and for the end of the last one."""
    return new((marked.total + 1,), INDEX, allocator)


def _lengths(starts, end, stream, allocator) -> GPUArray:
    """How often each unique element occurs. starts: of _room_for_starts(), to which `end`, the number of all
    elements, is added.
    """
    starts[-1:].fill(end, stream)
    return apply("subtract", starts[1:], starts[:-1], stream=stream, allocator=allocator)


def _inverse_indices(marked, places, stream, allocator) -> GPUArray:
    """For each element of the array the index of its equal in the result of unique(). marked: the elements
    that differ from the one before them, after sorting; places: their indices before sorting.
    """
    result = new(places.shape, INDEX, allocator)
    marked.write(select.write_numbers(), places.size, places, result, stream=stream)
    return result


def _no_parts(ar, return_index, return_inverse, return_counts, allocator):
    """The results of unique() along an axis of length 0."""
    wanted = return_index, return_inverse, return_counts
    indices = (new((0,), INDEX, allocator) for is_wanted in wanted if is_wanted)
    return (new(ar.shape, ar.dtype, allocator), *indices)


def _unique_parts(ar, axis, return_index, return_inverse, return_counts, stream, allocator):
    """The results of unique() along an axis, as a tuple. Its parts are taken as rows, which are sorted by all
    of their elements: the first element counts most.
    """
    first = ar.transpose((axis, *range(axis), *range(axis + 1, ar.ndim)))
    rows = as_packed(first, stream).reshape(len(first), math.prod(first.shape[1:]))
    count, width = rows.shape
    if not count:
        return _no_parts(ar, return_index, return_inverse, return_counts, allocator)
    if width:
        places = lexsort([rows[:, column] for column in range(width - 1, -1, -1)], stream=stream)
    else:  # parts of no elements are all equal
        places = arange(count, dtype=INDEX, allocator=allocator, stream=stream)
    ordered = take(rows, places, 0, stream=stream, mode="clip", allocator=allocator)
    differs = apply("not_equal", ordered[1:], ordered[:-1], stream=stream)
    begins = new((count,), np.bool_, allocator)
    begins[:1].fill(True, stream)
    if count > 1:
        differs.any(axis=1, out=begins[1:], stream=stream)
    marked = mask.mark_true(begins, stream)
    starts = _room_for_starts(marked, allocator)
    axes = select.element_axes((count,), (1,), (1,))
    marked.write(select.write_offsets(len(axes)), starts, packed_axes(axes, len(axes)), stream=stream)
    values = take(ordered, starts[:-1], 0, stream=stream, mode="clip").reshape(marked.total, *first.shape[1:])
    back = values.transpose((*range(1, axis + 1), 0, *range(axis + 1, ar.ndim)))
    found = [packed_copy(back, stream, allocator)]
    if return_index:
        found.append(take(places, starts[:-1], stream=stream, mode="clip", allocator=allocator))
    if return_inverse:
        found.append(_inverse_indices(marked, places, stream, allocator))
    if return_counts:
        found.append(_lengths(starts, count, stream, allocator))
    return tuple(found)


class UniqueAll(NamedTuple):
    """The result of unique_all."""

    values: GPUArray
    indices: GPUArray[np.intp]
    inverse_indices: GPUArray[np.intp]
    counts: GPUArray[np.intp]


class UniqueCounts(NamedTuple):
    """The result of unique_counts."""

    values: GPUArray
    counts: GPUArray[np.intp]


class UniqueInverse(NamedTuple):
    """The result of unique_inverse."""

    values: GPUArray
    inverse_indices: GPUArray[np.intp]


def unique_all(x: Array) -> UniqueAll:
    """The distinct elements, the index at which each occurs first, for each element of `x` the index of its
    equal among them, and how often each occurs.
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Array) -> UniqueCounts:
    """The distinct elements, and how often each occurs."""
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Array) -> UniqueInverse:
    """The distinct elements, and for each element of `x` the index of its equal among them."""
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Array[Scalar]) -> GPUArray[Scalar]:
    """The distinct elements."""
    return unique(x, equal_nan=False)
