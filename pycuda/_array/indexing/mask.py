"""Boolean masks on the device: the number of true elements, their indices, and the elements that they select.

The number depends on the values, so each of these functions waits for its stream once, and none can be
captured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.memory import new
from pycuda._array.core.packed import packed_copy
from pycuda._array.reduction.scans import scan
from pycuda._kernels.builtin import elements
from pycuda._kernels.builtin import select as kernels
from pycuda._kernels.plans import scratch
from pycuda._kernels.plans.axes import ceil_div, packed_axes

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Stream
    from pycuda.gpuarray import GPUArray


_BLOCK = (kernels.THREADS, 1, 1)


class Marked(NamedTuple):
    """The result of a kernel that marks elements, such as the true ones of a mask."""

    words: GPUArray  # a bit for each element: whether it is marked
    ends: GPUArray  # the number of marked elements up to the end of each tile
    total: int  # the number of marked elements

    def write(self, function, *arguments, stream=None) -> None:
        """Run a kernel that writes something for each marked element; arguments: those after words and
        ends.
        """
        grid = self.ends.size, 1
        function.prepared_async_call(grid, _BLOCK, stream, self.words, self.ends, *arguments)


def refuse_capture(what: str, stream=None) -> None:
    """LogicError under capture."""
    captures.refuse(what, "the size of the result depends on values", stream)


def mark(function, count: int, *arguments, what="a[mask]", stream=None, allocator=None) -> Marked:
    """Run a kernel that marks some of `count` elements, at least one, and wait for their number. arguments:
    those of the kernel after `count`. what: the operation, for messages.
    """
    refuse_capture(what, stream)
    tiles = ceil_div(count, kernels.TILE)
    words = new((tiles * kernels.THREADS,), np.uint32, allocator)
    counts = new((tiles,), np.int64, allocator)
    function.prepared_async_call((tiles, 1), _BLOCK, stream, words, counts, count, *arguments)
    ends = scan("sum", counts, stream=stream) if tiles > 1 else counts
    return Marked(words, ends, int(ends[-1].get(stream=stream)))


def take_changes(order, keys, equal_nan, stream=None, allocator=None) -> GPUArray:
    """The different elements of a sorted array of at least one element: each that is not equal to the one
    before it. order: the C++ order of the elements, as for keep_changes(). Waits for the stream.
    """
    refuse_capture("unique()", stream)
    tiles = ceil_div(keys.size, kernels.THREADS * kernels.changes_rows(keys.itemsize))
    found, total = new(keys.shape, keys.dtype, allocator), new((1,), np.int64, allocator)
    function = kernels.keep_changes(order, equal_nan)
    max_blocks = kernels.CHANGES_RESIDENT * _driver.Context.get_device().multiprocessor_count
    shared = scratch.states(stream, scratch.partials_of_tiles(1, tiles), 8)
    function.prepared_async_call(
        (min(tiles, max_blocks), 1), _BLOCK, stream, keys, keys.size, tiles, found, total, *shared
    )
    count = int(total.get(stream=stream)[0])
    if count == keys.size:
        return found
    # A view keeps the memory for all elements alive: if only few were found they are copied.
    return found[:count] if 2 * count > keys.size else packed_copy(found[:count], stream, allocator)


def mark_true(mask, stream, what="a[mask]") -> Marked:
    """The elements of a mask, at least one, that are not 0."""
    axes = kernels.element_axes(mask.shape, mask.strides)
    function = kernels.mark_true(elements.stored(mask.dtype), len(axes))
    packed = packed_axes(axes, len(axes))
    return mark(function, mask.size, mask, packed, what=what, stream=stream, allocator=mask.allocator)


def coordinates_of_true(mask, stream=None, what="nonzero()") -> tuple[GPUArray, ...]:
    """The index along each axis of the elements that are true, in C order."""
    if mask.size == 0:
        return tuple(new((0,), np.int64, mask.allocator) for _ in mask.shape)
    marked = mark_true(mask, stream, what)
    found = new((mask.ndim, marked.total), np.int64, mask.allocator)
    if marked.total:
        axes = kernels.coordinate_axes(mask.shape)
        function = kernels.write_coordinates(len(axes))
        marked.write(function, found, marked.total, packed_axes(axes, len(axes)), stream=stream)
    return tuple(found[axis] for axis in range(mask.ndim))


def offsets_of_true(mask, strides, stream=None) -> GPUArray:
    """The sum of coordinate x stride of each true element."""
    if mask.size == 0:
        return new((0,), np.int64, mask.allocator)
    marked = mark_true(mask, stream)
    found = new((marked.total,), np.int64, mask.allocator)
    if marked.total:
        axes = kernels.element_axes(mask.shape, mask.strides, strides)
        marked.write(kernels.write_offsets(len(axes)), found, packed_axes(axes, len(axes)), stream=stream)
    return found


def take_true(a, mask, stream=None, what="a[mask]") -> GPUArray:
    """The elements of a packed array where a mask of its shape is true, in C order."""
    if mask.size == 0:
        return new((0,), a.dtype, a.allocator)
    marked = mark_true(mask, stream, what)
    found = new((marked.total,), a.dtype, a.allocator)
    if marked.total:
        function = kernels.write_elements(elements.raw(a.dtype))
        starts = places = firsts = 0  # not wanted
        marked.write(function, a, found, starts, places, firsts, marked.total, stream=stream)
    return found


@takes_arrays
def nonzero(a: Array, *, stream: Stream = None) -> tuple[GPUArray[np.intp], ...]:
    """The indices of the elements that are not 0, one array of int64 for each axis, as numpy.nonzero.
    Waits for the stream.

    Parameters
    ----------
    a : GPUArray
    stream : Stream, optional
    """
    if a.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead."
        )
    return coordinates_of_true(a, stream)


@takes_arrays
def flatnonzero(a: Array, *, stream: Stream = None) -> GPUArray[np.intp]:
    """The indices of the elements of the flattened array that are not 0, as numpy.flatnonzero.

    Parameters
    ----------
    a : GPUArray
    stream : Stream, optional
    """
    return coordinates_of_true(a.ravel(), stream, what="flatnonzero()")[0]
