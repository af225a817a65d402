"""Arrays put together in other ways, and with parts put in or taken out."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import INDEX, flat_or_axis, one_axis
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.creation import arange, full
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new, on_device
from pycuda._array.core.operands import as_array, host_data_error, is_number
from pycuda._array.editing.repeats import tile
from pycuda._array.indexing.mask import coordinates_of_true
from pycuda._array.shape.joining import concatenate
from pycuda._array.shape.views import at, atleast_3d, moveaxis

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Arrays, Scalar
    from pycuda.gpuarray import GPUArray


def _all_arrays(tup) -> list[GPUArray]:
    if isinstance(tup, _driver.GPUArray):
        return list(tup)
    return [as_array(each) for each in tup]


def dstack(tup: Arrays[Scalar]) -> GPUArray[Scalar]:
    """Arrays one after another along the third axis."""
    return concatenate([atleast_3d(each) for each in _all_arrays(tup)], 2)


def column_stack(tup: Arrays[Scalar]) -> GPUArray[Scalar]:
    """Columns side by side; arrays of one axis are columns."""
    arrays = [each if each.ndim > 1 else each.reshape(-1, 1) for each in _all_arrays(tup)]
    return concatenate(arrays, 1)


def append(arr, values, axis=None) -> GPUArray:
    """The values after the array, along an axis or of both flattened."""
    arr, values = as_array(arr), as_array(values)
    if axis is None:
        arr, values, axis = arr.ravel(), values.ravel(), 0
    return concatenate((arr, values), axis)


# ---- blocks


def _depth(blocks) -> int:
    """How deeply the lists of np.block are nested; 0 for what is no list."""
    if isinstance(blocks, tuple):
        raise TypeError(
            "Only lists can be used to arrange blocks, and np.block does not allow implicit conversion "
            "from tuple to list."
        )
    if not isinstance(blocks, list):
        return 0
    if not blocks:
        raise ValueError("List at arrays cannot be empty")
    depths = {_depth(each) for each in blocks}
    if len(depths) > 1:
        raise ValueError(f"List depths are mismatched: {sorted(depths)}")
    return depths.pop() + 1


def _max_ndim(blocks) -> int:
    """The maximum number of axes of the arrays."""
    return max(map(_max_ndim, blocks)) if isinstance(blocks, list) else as_array(blocks).ndim


def _joined(blocks, depth: int, ndim: int) -> GPUArray:
    """The arrays of lists that are nested to this depth, joined; each array first gets `ndim` axes."""
    if depth:
        return concatenate([_joined(each, depth - 1, ndim) for each in blocks], -depth)
    array = as_array(blocks)
    return array.reshape((1,) * (ndim - array.ndim) + array.shape)


def block(arrays) -> GPUArray:
    """Nested lists of arrays put together: the innermost lists along the last axis, and so on outwards."""
    depth = _depth(arrays)
    result = _joined(arrays, depth, max(depth, _max_ndim(arrays)))
    return result if depth else result.copy()


# ---- parts put in and taken out


def _read_places(obj, length: int):
    """The parameter `obj` of delete() and insert(), places along an axis of this length: an int, or an array
    of integers or booleans, in host memory or on the device. Their bounds are not checked.
    """
    if isinstance(obj, slice):
        return arange(*obj.indices(length), dtype=INDEX)
    if not isinstance(obj, _driver.GPUArray):
        obj = np.asarray(obj)
    if obj.dtype.kind == "b":
        return obj
    if obj.size == 0:
        obj = obj.astype(INDEX)
    if obj.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if obj.size == 1 and not isinstance(obj, _driver.GPUArray):
        return int(obj.reshape(()))
    return obj


def _one_place(place: int, length: int, maximum: int, axis: int) -> int:
    """The place, counted from 0. IndexError unless it is from -length to maximum."""
    if not -length <= place <= maximum:
        raise IndexError(f"index {place} is out of bounds for axis {axis} with size {length}")
    return place + length if place < 0 else place


def delete(arr: Array[Scalar], obj, axis=None) -> GPUArray[Scalar]:
    """The array without these parts along an axis, or without these of its elements in C order.

    Where they are given as an array on the device, or as a list of several, the call waits for the stream:
    how many are left depends on which occur twice.
    """
    arr, axis = flat_or_axis(arr, axis)
    length = arr.shape[axis]
    places = _read_places(obj, length)
    if isinstance(places, int):
        place = _one_place(places, length, length - 1, axis)
        return concatenate((arr[at(axis, slice(place))], arr[at(axis, slice(place + 1, None))]), axis)
    if places.dtype.kind == "b":
        if places.shape != (length,):
            raise ValueError(
                "boolean array argument `obj` to delete must be one-dimensional and match the axis length "
                f"of {length}"
            )
        keep = apply("logical_not", places if isinstance(places, _driver.GPUArray) else on_device(places))
    else:
        keep = full((length,), True, np.bool_)
        keep[places] = False
    (numbers,) = coordinates_of_true(keep)
    return arr.take(numbers, axis, mode="clip")


def _values(values, dtype) -> GPUArray:
    """The values of insert() as an array of this dtype. TypeError for data in host memory."""
    if isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.ndim):
        raise host_data_error(values)
    return as_array(np.asarray(values, dtype)[()] if is_number(values) else values).astype(dtype, copy=False)


def insert(arr: Array[Scalar], obj, values, axis=None) -> GPUArray[Scalar]:
    """The array with values put in before these places along an axis, or into the flattened one."""
    arr, axis = flat_or_axis(arr, axis)
    length = arr.shape[axis]
    places = _read_places(obj, length)
    if isinstance(places, int):
        places = _one_place(places, length, length, axis)
    values = _values(values, arr.dtype)
    if isinstance(places, int):
        values = values.reshape((1,) * (arr.ndim - values.ndim) + values.shape)
        if np.ndim(obj) == 0:
            values = moveaxis(values, 0, axis)  # NumPy's rule for an int, but not for a list of one
        shape = (*arr.shape[:axis], values.shape[axis], *arr.shape[axis + 1 :])
        parts = arr[at(axis, slice(places))], broadcast_to(values, shape), arr[at(axis, slice(places, None))]
        return concatenate(parts, axis)
    if places.dtype.kind == "b":
        (places,) = coordinates_of_true(places if isinstance(places, _driver.GPUArray) else on_device(places))
    if places.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    return _insert_many(arr, places, values, axis)


def _insert_many(arr, places, values, axis) -> GPUArray:
    """insert() at several places along an axis: integers, before which the values go."""
    length, count = arr.shape[axis], places.size
    shape = (*arr.shape[:axis], length + count, *arr.shape[axis + 1 :])
    result = new(shape, arr.dtype, arr.allocator)
    numbers = places if isinstance(places, _driver.GPUArray) else on_device(places.astype(INDEX))
    if count:
        numbers = apply("where", apply("less", numbers, 0), apply("add", numbers, length), numbers)
        # Of values in the order of their places, each is moved back by those that were inserted before it.
        order = numbers.argsort()
        moved = new((count,), INDEX)
        moved[order] = apply("add", numbers[order], arange(count, dtype=INDEX))
        result[at(axis, moved)] = values
        numbers = moved
    old = full((length + count,), True, np.bool_)
    old[numbers] = False
    result[at(axis, coordinates_of_true(old)[0])] = arr
    return result


def resize(a: Array[Scalar], new_shape) -> GPUArray[Scalar]:
    """A new array of this shape, filled with the elements over and over again."""
    shape = (new_shape,) if isinstance(new_shape, int | np.integer) else tuple(new_shape)
    count = math.prod(map(operator.index, shape))
    if any(length < 0 for length in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    flat = as_array(a).ravel()
    if not flat.size or not count:
        return full(shape, 0, flat.dtype)
    times = -(-count // flat.size)
    return tile(flat, times)[:count].reshape(shape)


def trim_zeros(filt: Array[Scalar], trim="fb", axis=None) -> GPUArray[Scalar]:
    """A view without the zeros before the first and after the last nonzero element. Waits for the stream."""
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = range(filt.ndim) if axis is None else [one_axis(each, filt.ndim) for each in np.atleast_1d(axis)]
    found = coordinates_of_true(filt)
    result = filt
    for each in axes:
        if not found[each].size:
            return filt[tuple(slice(0, 0) if other in axes else slice(None) for other in range(filt.ndim))]
        first = int(found[each].min()) if "f" in trim else 0
        last = int(found[each].max()) + 1 if "b" in trim else None
        result = result[at(each, slice(first, last))]
    return result
