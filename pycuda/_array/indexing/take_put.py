"""take, put and the like: elements by their indices along an axis, or in the flattened array."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import _driver
from pycuda._array.core.assign import values_for
from pycuda._array.core.axes import INDEX, normalized_axes
from pycuda._array.core.creation import arange
from pycuda._array.core.decorators import takes_arrays, writes_array
from pycuda._array.core.elementwise import apply
from pycuda._array.core.gather import (
    Positions,
    axes_along,
    axes_of_take,
    host_indices,
    indexed_copy,
    is_remembered_take,
    read_mode,
    take_along,
    take_axis,
)
from pycuda._array.core.memory import new, on_device, overlap, write_back
from pycuda._array.indexing.getitem import is_mask_of_all
from pycuda._array.indexing.mask import coordinates_of_true, take_true
from pycuda._driver import _check_writable

if TYPE_CHECKING:
    from pycuda._array.core.types import Allocator, Array, HostOrDevice, Scalar, Stream
    from pycuda.gpuarray import GPUArray


def _as_indices(indices) -> GPUArray | np.ndarray:
    """The indices as an array of integers; those of the host stay there. TypeError for other dtypes."""
    if not isinstance(indices, _driver.GPUArray):
        indices = np.asarray(indices)
        indices = indices.astype(np.intp) if indices.size == 0 else indices
    if indices.dtype.kind not in "iu":
        raise TypeError(f"arrays used as indices must be of integer (or boolean) type, not {indices.dtype}")
    return indices


def _positions_along(indices, a, axis: int, mode: str, stream) -> Positions:
    """Indices along an axis as positions on the device."""
    length, step = a.shape[axis], a.strides[axis]
    if length == 0 and indices.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if isinstance(indices, _driver.GPUArray):
        return Positions(indices, mode, length, step)
    return Positions(on_device(host_indices(indices, length, mode, axis) * step, stream), "OFFSET", step=step)


def _copy_to_out(result, out, stream):
    """`out`, to which the result was copied. TypeError or ValueError if it does not fit."""
    if not isinstance(out, _driver.GPUArray):
        raise TypeError(f"out must be a GPUArray, not {type(out).__name__}")
    if out.shape != result.shape:
        raise ValueError("output array does not match result of ndarray.take")
    return write_back(result, out, stream)


@takes_arrays
def take(
    self: Array[Scalar],
    indices: HostOrDevice | int,
    axis: int | None = None,
    out: Array | None = None,
    mode: str = "raise",
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]:
    """Elements by index along an axis, or of the flattened array, as numpy.take. Indices on the device are
    checked there, which waits for the stream; mode "wrap" and "clip" do not.

    Parameters
    ----------
    indices : int, array of int or GPUArray
    axis : int, optional
        The flattened array by default.
    out : GPUArray, optional
        The array for the result.
    mode : {"raise", "wrap", "clip"}, optional
        What becomes of indices out of bounds.
    stream : Stream, optional
    allocator : callable, optional
        For the result.
    """
    indices, mode = _as_indices(indices), read_mode(mode)
    if axis is None or self.ndim == 0:
        self, axis = self.ravel(), axis or 0
    (axis,) = normalized_axes(operator.index(axis), self.ndim)
    if out is None and is_remembered_take(self, indices, allocator or self.allocator):
        return take_axis(self, indices, axis, mode, stream)
    shape = (*self.shape[:axis], *indices.shape, *self.shape[axis + 1 :])
    if out is None and 0 in self.shape[:axis]:  # NumPy does not look at the indices
        return new(shape, self.dtype, allocator or self.allocator)
    positions = _positions_along(indices, self, axis, mode, stream)
    if isinstance(out, _driver.GPUArray):
        _check_writable(out)
    # Elements are moved to `out` directly if it fits and no index can turn out to be invalid while they are
    # moved: then `out` must not have changed.
    no_error = positions.mode != "RAISE"
    fits = no_error and isinstance(out, _driver.GPUArray) and out.shape == shape and out.dtype == self.dtype
    direct = fits and not overlap(out, self) and not overlap(out, positions.array)
    result = out if direct else new(shape, self.dtype, allocator or self.allocator)
    axes = axes_of_take(self, axis, positions.array, result.strides)
    indexed_copy(self, positions, axes, result, put=False, stream=stream)
    return result if direct or out is None else _copy_to_out(result, out, stream)


def _values_along(a, indices, axis):
    """(array, axis counted from 0) for take_along_axis() and put_along_axis(): `a` is flattened if axis is
    None.
    """
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        return a.ravel(), 0
    (axis,) = normalized_axes(operator.index(axis), a.ndim)
    if indices.ndim != a.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return a, axis


@takes_arrays
def take_along_axis(
    a: Array[Scalar],
    indices: HostOrDevice,
    axis: int | None = -1,
    *,
    mode: str = "raise",
    stream: Stream = None,
) -> GPUArray[Scalar]:
    """The elements along an axis whose indices are in `indices`, as numpy.take_along_axis: one array of
    indices for each place along the other axes. mode as for take().
    """
    try:
        indices, mode = _as_indices(indices), read_mode(mode)
    except TypeError:
        raise IndexError("`indices` must be an integer array") from None
    a, axis = _values_along(a, indices, axis)
    others = np.broadcast_shapes(
        *(
            tuple(1 if each == axis else n for each, n in enumerate(shape))
            for shape in (a.shape, indices.shape)
        )
    )
    shape = tuple(indices.shape[axis] if each == axis else n for each, n in enumerate(others))
    if is_remembered_take(a, indices, a.allocator):
        return take_along(a, indices, axis, mode, shape, stream)
    positions = _positions_along(indices, a, axis, mode, stream)
    result = new(shape, a.dtype, a.allocator)
    axes = axes_along(a, axis, positions.array, shape, result.strides)
    indexed_copy(a, positions, axes, result, put=False, stream=stream)
    return result


@writes_array
def put(
    self: Array, indices: HostOrDevice, values: Any, mode: str = "raise", *, stream: Stream = None
) -> None:
    """Assigns to elements of the flattened array by index, values repeated as needed, as numpy.put. In place
    for any strides.

    Parameters
    ----------
    indices : int, array of int or GPUArray
    values : array or number
    mode : {"raise", "wrap", "clip"}, optional
        What becomes of indices out of bounds.
    stream : Stream, optional
    """
    _check_writable(self)
    indices = _as_indices(indices)
    if not isinstance(values, _driver.GPUArray):
        values = np.asarray(values, self.dtype)
    if indices.size == 0 or values.size == 0:
        return
    flat = self if self.ndim == 1 else self.ravel()
    positions = _positions_along(indices.reshape(-1), flat, 0, read_mode(mode), stream)
    values = values.reshape(-1)
    if values.size not in (1, indices.size):
        repeated = np.arange(indices.size) % values.size
        values = (
            take(values, repeated, stream=stream)
            if isinstance(values, _driver.GPUArray)
            else values[repeated]
        )
    values = values_for(values, flat, (indices.size,), stream)
    step = 0 if values.size == 1 else values.strides[0]
    axes = [(indices.size, 0, positions.array.strides[0], step)]
    indexed_copy(flat, positions, axes, values, put=True, stream=stream)
    if not overlap(flat, self):
        apply("copy", flat.reshape(self.shape), out=self, stream=stream)


def put_along_axis(arr, indices, values, axis) -> None:
    """Assigns along an axis by index: one array of indices for each place along the other axes."""
    indices = _as_indices(indices)
    _, axis = _values_along(arr, indices, axis)
    if arr.ndim == 1 or indices.ndim != arr.ndim:
        put(arr, indices, values)
        return
    grid = []
    for each in range(arr.ndim):
        if each == axis:
            grid.append(indices)
            continue
        shape = tuple(-1 if other == each else 1 for other in range(arr.ndim))
        grid.append(arange(arr.shape[each], dtype=INDEX).reshape(shape))
    arr[tuple(grid)] = values


@takes_arrays
def compress(
    condition: HostOrDevice,
    a: Array[Scalar],
    axis: int | None = None,
    out: Array | None = None,
    *,
    stream: Stream = None,
) -> GPUArray[Scalar]:
    """The elements along an axis where the condition is true, as numpy.compress.

    Parameters
    ----------
    condition : GPUArray or array
        A 1-D array.
    a : GPUArray
    axis : int, optional
        The flattened array by default.
    out : GPUArray, optional
        The array for the result.
    stream : Stream, optional
        The call waits for it: the length of the result depends on the condition.
    """
    condition = condition if isinstance(condition, _driver.GPUArray) else np.asarray(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if isinstance(condition, _driver.GPUArray) and out is None and (axis is None or a.ndim == 1):
        flat = a.ravel()
        if is_mask_of_all(condition, flat):
            normalized_axes(
                operator.index(axis or 0), 1
            )  # AxisError for an axis that a 1-D array does not have
            return take_true(flat, condition, stream, what="compress()")
    if isinstance(condition, _driver.GPUArray):
        (indices,) = coordinates_of_true(condition, stream, what="compress()")
    else:
        (indices,) = np.nonzero(condition)
    return take(a, indices, axis, out, stream=stream)


@takes_arrays
def extract(condition: HostOrDevice, arr: Array[Scalar], *, stream: Stream = None) -> GPUArray[Scalar]:
    """The elements of the flattened array where the condition is true, as numpy.extract.

    Parameters
    ----------
    condition : GPUArray or array
    arr : GPUArray
    stream : Stream, optional
    """
    condition = condition if isinstance(condition, _driver.GPUArray) else np.asarray(condition)
    return compress(condition.ravel(), arr.ravel(), 0, stream=stream)
