"""Arrays joined, flipped and rolled: views where strides can express the result, copies otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import normalized_axes, one_axis
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.core.packed import packed
from pycuda._array.shape.views import in_order
from pycuda._kernels.plans.caches import launched, launches

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Array, Arrays, Axes, Scalar, Stream
    from pycuda.gpuarray import GPUArray


def _check_arrays(arrays) -> None:
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    for array in arrays:
        if not isinstance(array, _driver.GPUArray):
            raise TypeError(f"only GPUArrays can be concatenated, not {type(array).__name__}")


def _find_launch(stacked: bool, arrays, axis, out, dtype, stream, allocator):
    """(key of the single launch that joins these arrays, its result if it is remembered). The key is None if
    the arguments exclude a single launch; without a remembered launch the result is None."""
    from pycuda._kernels.builtin import rearrange

    if out is not None or dtype is not None or type(axis) is not int or len(arrays) > rearrange.MAX_JOINED:
        return None, None
    key = rearrange.plan_stack if stacked else rearrange.plan_concatenate, len(arrays), axis
    return key, launches[key].launch(arrays, stream, allocator)


# Arrays of up to so many bytes together are joined by one kernel, which moves single elements. More are
# copied one by one, in wide words, which saves more time than the additional launches cost.
_MAX_ONE_LAUNCH = 4 << 20


def _is_one_launch(arrays) -> bool:
    """Whether one kernel joins all of the arrays."""
    dtype, size = arrays[0].dtype, sum(array.size for array in arrays)
    return (
        0 < size * dtype.itemsize <= _MAX_ONE_LAUNCH
        and all(array.dtype == dtype for array in arrays)
        and all(map(packed, arrays))
    )


def _join_target(arrays, shape, dtype, out, allocator):
    """The array that operands are joined into: `out`, or a new one of the common dtype."""
    if out is None:
        dtype = np.result_type(*(array.dtype for array in arrays)) if dtype is None else np.dtype(dtype)
        return new(shape, dtype, allocator or arrays[0].allocator)
    if dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    return out


@takes_arrays
def concatenate(
    arrays: Arrays[Scalar],
    axis: int | None = 0,
    allocator: Allocator = None,
    *,
    out: Array | None = None,
    dtype: DTypeLike | None = None,
    stream: Stream = None,
) -> GPUArray[Scalar]:
    """Arrays one after another along an axis, as numpy.concatenate.

    Parameters
    ----------
    arrays : sequence of GPUArray
        They have the same shape except along this axis, and any dtypes.
    axis : int or None, optional
        None joins the flattened arrays.
    allocator : callable, optional
        Makes the memory of the result; by default the first array's.
    out : GPUArray, optional
    dtype : dtype, optional
        Of the result; by default what all dtypes promote to.
    stream : pycuda.driver.Stream, optional

    Returns
    -------
    GPUArray

    Raises
    ------
    ValueError
        When there is no array, or shapes do not fit.
    """
    arrays = tuple(arrays)
    key, result = _find_launch(False, arrays, axis, out, dtype, stream, allocator)
    if result is not None:
        return result
    _check_arrays(arrays)
    if axis is None:
        return concatenate(
            [array.ravel() for array in arrays], 0, allocator, out=out, dtype=dtype, stream=stream
        )
    first = arrays[0]
    if first.ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = one_axis(axis, first.ndim)
    rest = first.shape[:axis] + first.shape[axis + 1 :]
    for array in arrays:
        if array.ndim != first.ndim or array.shape[:axis] + array.shape[axis + 1 :] != rest:
            raise numpy_error(np.concatenate, arrays, axis)
    if key and _is_one_launch(arrays):
        return launched(key, arrays, stream, allocator)
    shape = (*rest[:axis], sum(array.shape[axis] for array in arrays), *rest[axis:])
    if out is not None and dtype is None and out.shape != shape:
        raise numpy_error(np.concatenate, arrays, axis, out=out)
    result = _join_target(arrays, shape, dtype, out, allocator)
    start, before = 0, (slice(None),) * axis
    for array in arrays:
        end = start + array.shape[axis]
        if array.size:
            apply("copy", array, out=result[(*before, slice(start, end))], stream=stream)
        start = end
    return result


@takes_arrays
def stack(
    arrays: Arrays[Scalar],
    axis: int = 0,
    allocator: Allocator = None,
    *,
    out: Array | None = None,
    dtype: DTypeLike | None = None,
    stream: Stream = None,
) -> GPUArray[Scalar]:
    """Arrays of one shape along a new axis, as numpy.stack. ValueError when shapes differ."""
    arrays = tuple(arrays)
    key, result = _find_launch(True, arrays, axis, out, dtype, stream, allocator)
    if result is not None:
        return result
    _check_arrays(arrays)
    first = arrays[0]
    if any(array.shape != first.shape for array in arrays):
        raise ValueError("all input arrays must have the same shape")
    axis = one_axis(axis, first.ndim + 1)
    if key and _is_one_launch(arrays):
        return launched(key, arrays, stream, allocator)
    place = (slice(None),) * axis + (None,)
    return concatenate(
        [array[place] for array in arrays], axis, allocator, out=out, dtype=dtype, stream=stream
    )


@takes_arrays
def vstack(
    arrays: Arrays[Scalar],
    allocator: Allocator = None,
    *,
    dtype: DTypeLike | None = None,
    stream: Stream = None,
) -> GPUArray[Scalar]:
    """Rows one below the other, as numpy.vstack."""
    arrays = tuple(arrays)
    _check_arrays(arrays)
    arrays = [array if array.ndim > 1 else array.reshape(1, -1) for array in arrays]
    return concatenate(arrays, 0, allocator, dtype=dtype, stream=stream)


@takes_arrays
def hstack(
    arrays: Arrays[Scalar],
    allocator: Allocator = None,
    *,
    dtype: DTypeLike | None = None,
    stream: Stream = None,
) -> GPUArray[Scalar]:
    """Columns side by side, arrays of one axis end to end, as numpy.hstack."""
    arrays = tuple(arrays)
    _check_arrays(arrays)
    arrays = [array if array.ndim else array.reshape(1) for array in arrays]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, allocator, dtype=dtype, stream=stream)


@takes_arrays
def flip(a: Array[Scalar], axis: Axes = None) -> GPUArray[Scalar]:
    """A view with the order along these axes reversed (all by default), as numpy.flip."""
    axes = normalized_axes(axis, a.ndim, scalars=False)
    return a[tuple(slice(None, None, -1) if each in axes else slice(None) for each in range(a.ndim))]


@takes_arrays
def roll(
    a: Array[Scalar],
    shift: int | tuple[int, ...],
    axis: Axes = None,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]:
    """Elements moved along axes; those that are moved beyond the end come in at the start, as numpy.roll. The
    call waits for shifts on the device, which the host reads."""
    shift = shift.get() if isinstance(shift, _driver.GPUArray) else shift
    if axis is None:
        shift = np.sum(shift) if np.ndim(shift) == 1 else shift
        return roll(a.ravel(), shift, 0, stream=stream, allocator=allocator).reshape(*a.shape)
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    steps = np.broadcast(shift, axes)
    if steps.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    moves = [0] * a.ndim
    for step, each in steps:
        moves[one_axis(each, a.ndim)] += int(step)
    result = new(a.shape, a.dtype, allocator or a.allocator)
    if result.size:
        _move(a, result, moves, (), stream)
    return result


def _move(source, target, moves, done, stream) -> None:
    """Copy source to target, moved along each axis. An axis is cut into two parts, which are swapped.

    done: for each axis before the next one, the part that this call copies: (slice of target, slice of
    source).
    """
    axis = len(done)
    if axis == source.ndim:
        to, start = (tuple(each[side] for each in done) for side in (0, 1))
        apply("copy", source[start], out=target[to], stream=stream)
        return
    length = source.shape[axis]
    move = moves[axis] % length
    _move(source, target, moves, (*done, (slice(move, None), slice(0, length - move))), stream)
    if move:
        _move(source, target, moves, (*done, (slice(0, move), slice(length - move, None))), stream)


@takes_arrays
def flatten(self: Array[Scalar], order: str = "C", *, stream: Stream = None) -> GPUArray[Scalar]:
    """The elements along one axis in this order, always a copy, as numpy.ndarray.flatten.

    Parameters
    ----------
    order : {"C", "F", "K", "A"}, optional
    stream : Stream, optional
    """
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    source = in_order(self, order)
    result = new(source.shape, self.dtype, self.allocator)
    if result.size:
        apply("copy", source, out=result, stream=stream)
    return result.reshape(-1) if result.ndim != 1 and result.size else result.reshape(self.size)
