"""a[index] for an index with arrays of integers or booleans, as NumPy has it.

Indices that are on the device are checked there: see pycuda._array.core.gather.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._array.core.broadcast import fit
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.gather import (
    Positions,
    combined_offsets,
    host_indices,
    indexed_copy,
    is_remembered_take,
    take_axis,
)
from pycuda._array.core.memory import new, on_device
from pycuda._array.core.numpy_errors import shape_text
from pycuda._array.indexing.mask import offsets_of_true, take_true
from pycuda._driver import _BAD_INDEX
from pycuda._kernels.plans.axes import broadcast_strides

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


class _Index(NamedTuple):
    """A parsed index: the view that its slices and integers make, and the arrays that index axes of the
    view."""

    view: GPUArray
    picked: list  # (axes of the view, array of integers or booleans, its first axis of the array)
    place: int  # the axis of the result where the axes of the arrays are


def _read_item(item):
    """Slices, None, ... as they are; integers as int; anything else as an array of integers or booleans."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool | np.bool_):
        return np.asarray(item)
    if not isinstance(item, _driver.GPUArray):
        if isinstance(item, int | np.integer) or (
            hasattr(item, "__index__") and not hasattr(item, "__array__")
        ):
            return operator.index(item)
        if isinstance(item, str | bytes | float | complex):
            raise IndexError(f"{_BAD_INDEX}, not {type(item).__name__}")
        item = np.asarray(item)
        item = item.astype(np.intp) if item.size == 0 and item.dtype == np.float64 else item
    if item.dtype.kind == "U":
        raise IndexError("multi-field indexing is not supported: index one field at a time")
    if item.dtype.kind not in "biu":
        raise IndexError(f"arrays used as indices must be of integer (or boolean) type, not {item.dtype}")
    return item


def _axes_taken(item) -> int:
    if item is None or item is Ellipsis:
        return 0
    is_mask = isinstance(item, _driver.GPUArray | np.ndarray) and item.dtype.kind == "b"
    return item.ndim if is_mask else 1


def _fill_ellipsis(items, ndim: int) -> list:
    """The items with slices in place of the ellipsis, or after the last item if there is none. An ellipsis
    that stands for no axis stays: NumPy counts index arrays that it separates as not adjacent.
    """
    taken = sum(map(_axes_taken, items))
    dots = [position for position, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if taken > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {taken} were indexed")
    at = dots[0] if dots else len(items)
    slices = [slice(None)] * (ndim - taken)
    return [*items[:at], *(slices or items[at : at + 1]), *items[at + 1 :]]


def _parse_index(a, index) -> _Index:
    """Parses an index with arrays: slices are applied, arrays are paired with the axes that they index."""
    items = _fill_ellipsis(
        [_read_item(item) for item in (index if isinstance(index, tuple) else (index,))], a.ndim
    )
    # The next axis of the view; of the result, without the axes of index arrays; and of the array itself.
    axis, outside, own = 0, 0, 0
    basic, picked = [], []  # the index that makes the view; _Index.picked
    # The axis of the result where the first array is; how often arrays are not adjacent; the last one's
    # position.
    place, gaps, last = None, 0, None
    for position, item in enumerate(items):
        if item is Ellipsis:
            continue
        if item is None or isinstance(item, slice):
            basic.append(item)
            axis, outside, own = axis + 1, outside + 1, own + (item is not None)
            continue
        # Integers count as arrays here. The arrays' axes come first in the result unless all are adjacent.
        if last is not None and position != last + 1:
            gaps += 1
        place, last = outside if place is None else place, position
        if isinstance(item, int):
            basic.append(item)
            own += 1
            continue
        if item.dtype.kind == "b" and item.ndim == 0:
            # A boolean without axes is an axis of length 1 or 0.
            basic.append(None)
            is_true = bool(item.get() if isinstance(item, _driver.GPUArray) else item)
            picked.append(((axis,), np.zeros(int(is_true), np.intp), own))
            axis += 1
            continue
        taken = _axes_taken(item)
        basic += [slice(None)] * taken
        picked.append((tuple(range(axis, axis + taken)), item, own))
        axis, own = axis + taken, own + taken
    return _Index(a[tuple(basic)], picked, 0 if gaps else place or 0)


def check_mask(mask, view, axes) -> None:
    """IndexError unless the mask has the lengths of the view's axes that it indexes."""
    for number, axis in enumerate(axes):
        if mask.shape[number] != view.shape[axis]:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis}; size of axis is "
                f"{view.shape[axis]} "
                f"but size of corresponding boolean axis is {mask.shape[number]}"
            )


def _index_positions(read: _Index, stream) -> tuple[list[Positions], tuple[int, ...]]:
    """The arrays of an index as positions on the device, and the shape that they broadcast to."""
    view, parts, host = read.view, [], []
    grain = math.gcd(*(view.strides[axis] for axes, *_ in read.picked for axis in axes))
    for axes, item, own in read.picked:
        strides = [view.strides[axis] for axis in axes]
        if item.dtype.kind == "b":
            check_mask(item, view, axes)
        if isinstance(item, _driver.GPUArray):
            if item.dtype.kind == "b":
                parts.append(Positions(offsets_of_true(item, strides, stream), "OFFSET", step=grain))
            else:
                parts.append(Positions(item, "RAISE", view.shape[axes[0]], strides[0]))
        else:
            found = np.nonzero(item) if item.dtype.kind == "b" else [item]
            for number, (indices, axis, stride) in enumerate(zip(found, axes, strides, strict=True), own):
                host.append(host_indices(indices, view.shape[axis], "RAISE", number) * stride)
    try:
        shape = np.broadcast_shapes(*(part.array.shape for part in parts), *(each.shape for each in host))
        offsets = sum(host[1:], host[0]) if host else None
    except ValueError:
        shapes = [part.array.shape for part in parts] + [each.shape for each in host]
        if fit(*shapes):
            raise
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            + " ".join(map(shape_text, shapes))
        ) from None
    if offsets is not None:
        parts.append(Positions(on_device(offsets, stream), "OFFSET", step=grain))
    return parts, shape


class IndexTarget(NamedTuple):
    """The elements that an index with arrays selects."""

    view: GPUArray
    positions: Positions
    shape: tuple[int, ...]
    strides: tuple[tuple[int, int], ...]  # of each axis of the shape: in the view, in the positions

    def axes(self, other):
        """The axes for indexed_copy, with the strides of `other` broadcast to this shape."""
        steps = broadcast_strides(other, self.shape)
        return [
            (length, *strides, step)
            for length, strides, step in zip(self.shape, self.strides, steps, strict=True)
        ]


def resolve(a, index, stream=None) -> IndexTarget:
    """The elements that an index with arrays selects, and the axes of the result."""
    read = _parse_index(a, index)
    parts, shape = _index_positions(read, stream)
    positions = combined_offsets(parts, shape, stream)
    used = {axis for axes, *_ in read.picked for axis in axes}
    view = read.view
    kept = [(view.shape[axis], (view.strides[axis], 0)) for axis in range(view.ndim) if axis not in used]
    steps = broadcast_strides(positions.array, shape)
    middle = [(length, (0, step)) for length, step in zip(shape, steps, strict=True)]
    whole = kept[: read.place] + middle + kept[read.place :]
    return IndexTarget(view, positions, tuple(each[0] for each in whole), tuple(each[1] for each in whole))


def is_mask_of_all(mask, a) -> bool:
    """Whether take_true() can take a[mask]: the mask has the shape of `a`, whose elements are contiguous and
    aligned.
    """
    aligned = a.size and a._address % min(a.itemsize & -a.itemsize, 8) == 0
    return bool(aligned) and mask.shape == a.shape and a.ndim > 0 and a.flags.c_contiguous


def _indices_of_one_axis(a, index):
    """(axis, indices) if the index is an array on the device after slices of whole axes. For any other index
    the indices are None.
    """
    items = index if isinstance(index, tuple) else (index,)
    for axis, item in enumerate(items):
        if isinstance(item, _driver.GPUArray):
            is_last = axis < a.ndim and axis == len(items) - 1
            return axis, item if is_last else None
        if not isinstance(item, slice) or item != _WHOLE:
            break
    return 0, None


_WHOLE = slice(None)


@takes_arrays
def getitem(a, index) -> GPUArray:
    """a[index] for an index with arrays: a new array."""
    axis, numbers = _indices_of_one_axis(a, index)
    if is_remembered_take(a, numbers, a.allocator):
        return take_axis(a, numbers, axis)
    mask = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if isinstance(mask, _driver.GPUArray) and mask.dtype.kind == "b" and is_mask_of_all(mask, a):
        return take_true(a, mask)
    target = resolve(a, index)
    result = new(target.shape, a.dtype, a.allocator)
    indexed_copy(target.view, target.positions, target.axes(result), result)
    return result
