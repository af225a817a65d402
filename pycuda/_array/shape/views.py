"""Views of arrays with axes added, removed, moved and split; copies where strides cannot express the
result."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from pycuda import _driver
from pycuda._array.core.axes import normalized_axes, one_axis
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.memory import new
from pycuda._array.core.operands import as_array
from pycuda._driver import _forbid_writing

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Scalar
    from pycuda.gpuarray import GPUArray


def strided(a, shape, strides) -> GPUArray:
    """A view of the memory of `a` with another shape and strides."""
    if 0 in shape:
        return new(shape, a.dtype, a.allocator)
    return _driver.GPUArray(shape, a.dtype, a.allocator, base=a, gpudata=a, strides=strides)


def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False) -> GPUArray:
    """A view of the windows of this shape at every place along the axes, read-only unless `writeable`."""
    tricks = np.lib.stride_tricks
    # NumPy computes shape and strides, of an array of this form that has memory for one element only.
    form = tricks.as_strided(np.empty((), x.dtype), x.shape, x.strides)
    form = tricks.sliding_window_view(form, window_shape, axis)
    view = strided(x, form.shape, form.strides)
    return view if writeable else _forbid_writing(view)


def at(axis: int, item) -> tuple:
    """The index that applies `item` to one axis."""
    return (slice(None),) * axis + (item,)


# ---- memory order


def _is_fortran(a) -> bool:
    return a.flags.f_contiguous and not a.flags.c_contiguous


def _axes_by_distance(a) -> list[int]:
    """The axes from the outermost in memory to the innermost. An axis of length 1 or stride 0 has no place in
    memory: it stays before the axis after it, as in the results of elementwise functions.
    """
    steps, last_step = [0] * a.ndim, 0
    for axis in reversed(range(a.ndim)):
        if a.shape[axis] > 1 and a.strides[axis]:
            last_step = abs(a.strides[axis])
        steps[axis] = last_step
    return sorted(range(a.ndim), key=lambda axis: -steps[axis])


def in_order(a, order) -> GPUArray:
    """A view whose elements in C order are those of `a` in this order ("C", "F", "A" or "K")."""
    if order == "F" or (order in ("A", "K") and _is_fortran(a)):
        return a.T
    if order != "K" or a.flags.c_contiguous:
        return a
    return a.transpose(_axes_by_distance(a))


@takes_arrays
def ravel(a: Array[Scalar], order="C", stream=None) -> GPUArray[Scalar]:
    """The elements along one axis, read in this order: a view where strides allow it."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return in_order(a, order).reshape(a.size, stream=stream)


def copy(a: Array[Scalar], order="K", subok=False) -> GPUArray[Scalar]:
    """A new array with the elements, in this order in memory."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return a.copy() if order == "K" else a.astype(a.dtype, order=order)


@takes_arrays
def reshaped(a, *shape, order="C", copy=None, stream=None) -> GPUArray:
    """GPUArray.reshape with the parameters that only NumPy has, order="A" and copy=."""
    if order == "A":
        order = "F" if _is_fortran(a) else "C"
    result = a.reshape(*shape, order=order, stream=stream)
    shared = result is a or not a.size or result._address == a._address
    if copy is False and not shared:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return result.copy(stream=stream) if copy and shared else result


# ---- axes


def squeeze(a: Array[Scalar], axis=None) -> GPUArray[Scalar]:
    """A view without axes of length 1: all of them, or these."""
    if axis is None:
        return a.squeeze()
    axes = normalized_axes(axis, a.ndim)
    if any(a.shape[each] != 1 for each in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return a[tuple(0 if each in axes else slice(None) for each in range(a.ndim))]


def expand_dims(a: Array[Scalar], axis) -> GPUArray[Scalar]:
    """A view with new axes of length 1, which are these of the result."""
    axis = axis if isinstance(axis, tuple | list) else (axis,)
    axes = normalize_axis_tuple(axis, a.ndim + len(axis))
    return a[tuple(None if each in axes else slice(None) for each in range(a.ndim + len(axes)))]


@takes_arrays
def swapaxes(a: Array[Scalar], axis1: int, axis2: int) -> GPUArray[Scalar]:
    """A view with two axes swapped.

    Parameters
    ----------
    a : GPUArray
    axis1, axis2 : int
    """
    order = list(range(a.ndim))
    first, second = one_axis(axis1, a.ndim, "axis1"), one_axis(axis2, a.ndim, "axis2")
    order[first], order[second] = second, first
    return a.transpose(order)


def moveaxis(a: Array[Scalar], source, destination) -> GPUArray[Scalar]:
    """A view with these axes in these places, and the others in their order."""
    source = normalize_axis_tuple(source, a.ndim, "source")
    destination = normalize_axis_tuple(destination, a.ndim, "destination")
    if len(source) != len(destination):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(a.ndim) if axis not in source]
    for place, axis in sorted(zip(destination, source, strict=True)):
        order.insert(place, axis)
    return a.transpose(order)


def rollaxis(a: Array[Scalar], axis, start=0) -> GPUArray[Scalar]:
    """A view with an axis moved before the one at `start`."""
    axis = one_axis(axis, a.ndim)
    place = start + a.ndim if start < 0 else start
    if not 0 <= place <= a.ndim:
        raise np.exceptions.AxisError(
            f"'start' arg requires {-a.ndim} <= start < {a.ndim + 1}, but {start} was passed in"
        )
    return moveaxis(a, axis, place - (axis < place))


def matrix_transpose(x: Array[Scalar], /) -> GPUArray[Scalar]:
    """A view with the last two axes swapped."""
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


def _at_least(place):
    """The function atleast_1d, atleast_2d or atleast_3d. place: returns one array with the axes that it
    lacks.
    """

    @overload
    def function(ary: Array[Scalar], /) -> GPUArray[Scalar]: ...
    @overload
    def function(*arys: Any) -> GPUArray | tuple[GPUArray, ...]: ...

    def function(*arys) -> GPUArray | tuple[GPUArray, ...]:
        found = tuple(place(as_array(each)) for each in arys)
        return found[0] if len(found) == 1 else found

    return function


def _with_three_axes(a):
    if a.ndim > 2:
        return a
    return a[:, :, None] if a.ndim == 2 else (a[None, :, None] if a.ndim else a.reshape(1, 1, 1))


atleast_1d = _at_least(lambda a: a if a.ndim else a.reshape(1))
atleast_2d = _at_least(lambda a: a if a.ndim > 1 else a.reshape(1, -1))
atleast_3d = _at_least(_with_three_axes)


def rot90(m: Array[Scalar], k=1, axes=(0, 1)) -> GPUArray[Scalar]:
    """A view turned by k right angles in the plane of two axes."""
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    if not all(-m.ndim <= axis < m.ndim for axis in axes):
        raise ValueError(f"Axes={tuple(axes)} out of range for array of ndim={m.ndim}.")
    first, second = (axis % m.ndim for axis in axes)
    back = slice(None, None, -1)
    k %= 4
    if k == 0:
        return m[:]
    if k == 2:
        return m[at(first, back)][at(second, back)]
    if k == 1:
        return swapaxes(m[at(second, back)], first, second)
    return swapaxes(m, first, second)[at(second, back)]


def _flip_function(axis, min_ndim):
    """The function flipud or fliplr: a view of arrays with at least `min_ndim` axes, one reversed."""

    def function(m: Array[Scalar]) -> GPUArray[Scalar]:
        if m.ndim < min_ndim:
            raise ValueError(f"Input must be >= {min_ndim}-d.")
        return m[at(axis, slice(None, None, -1))]

    return function


flipud, fliplr = _flip_function(0, 1), _flip_function(1, 2)


def broadcast_arrays(*args: Array[Scalar], subok=False) -> tuple[GPUArray[Scalar], ...]:
    """Views of one shape, to be read only."""
    arrays = [as_array(each) for each in args]
    shape = np.broadcast_shapes(*(each.shape for each in arrays))
    return tuple(each if each.shape == shape else broadcast_to(each, shape) for each in arrays)


# ---- cuts


# An axis is split into at most so many parts, or as many as it has elements: each part is a Python object,
# and more of them would fill the memory.
_MAX_PARTS = 1 << 24


def _places_of_parts(length: int, count: int) -> list[int]:
    """The start of each part but the first, when an axis is split into `count` nearly equal parts."""
    if count > sys.maxsize:
        raise OverflowError(f"{count} sections are too many")
    if count > max(length, _MAX_PARTS):
        raise MemoryError(f"{count} sections of an axis of length {length}")
    each, longer = divmod(length, count)
    return [part * each + min(part, longer) for part in range(1, count)]


def array_split(ary: Array[Scalar], indices_or_sections, axis=0) -> list[GPUArray[Scalar]]:
    """Views of nearly equal parts along an axis, whose number is given, or of parts cut at these places."""
    axis = one_axis(axis, ary.ndim)
    length = ary.shape[axis]
    try:
        edges = [0, *indices_or_sections, None]
    except TypeError:
        count = int(indices_or_sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        edges = [0, *_places_of_parts(length, count), None]
    return [ary[at(axis, slice(start, end))] for start, end in itertools.pairwise(edges)]


def split(ary: Array[Scalar], indices_or_sections, axis=0) -> list[GPUArray[Scalar]]:
    """Views of equal parts along an axis, whose number is given, or of parts cut at these places."""
    if not hasattr(indices_or_sections, "__len__"):
        count, length = int(indices_or_sections), ary.shape[one_axis(axis, ary.ndim)]
        if count <= 0 or length % count:
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary: Array[Scalar], indices_or_sections) -> list[GPUArray[Scalar]]:
    """Cut along the second axis, or the only one."""
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary: Array[Scalar], indices_or_sections) -> list[GPUArray[Scalar]]:
    """Cut along the first axis."""
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Array[Scalar], indices_or_sections) -> list[GPUArray[Scalar]]:
    """Cut along the third axis."""
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


def unstack(x: Array[Scalar], /, *, axis=0) -> tuple[GPUArray[Scalar], ...]:
    """Views of the parts along an axis, without that axis."""
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    axis = one_axis(axis, x.ndim)
    return tuple(x[at(axis, number)] for number in range(x.shape[axis]))
