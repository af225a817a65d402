"""Functions of pycuda.gpuarray in PyCUDA's signatures and by its rules, where those differ from NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda._array.core.decorators import array_function, takes_arrays
from pycuda._array.core.memory import new
from pycuda._array.indexing import take_put
from pycuda._array.reduction.reduce import plan_reduction, reduce, reduce_by, reduce_products
from pycuda._array.shape import views
from pycuda._driver import _check_writable
from pycuda._kernels.plans.caches import launches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Array, Arrays, HostOrDevice, Number, Scalar, Shape, Stream
    from pycuda.gpuarray import GPUArray

_COUNT = np.dtype(np.int64)


# ---- reductions: of all elements, in the array's dtype, maxima past NaNs. Results are 0-d arrays, nothing is
# copied to the host.


def _sum_dtype(dtype) -> np.dtype:
    """The dtype of sums of this dtype: sums of booleans are counts."""
    return _COUNT if dtype.kind == "b" else dtype


def _plan_sum(a):
    return plan_reduction("sum", None, _sum_dtype(a.dtype), keepdims=False, parameter=0.0, a=a)


_SUMS = _plan_sum, 1


def _quick_sum(function):
    return array_function(function, launches[_SUMS])


@_quick_sum
def sum(
    a: Array[Number], dtype: DTypeLike | None = None, stream: Stream = None, allocator: Allocator = None
) -> GPUArray[Number]:
    """The sum of the elements.

    Parameters
    ----------
    a : GPUArray
    dtype : dtype, optional
        What is summed in and results; that of `a` by default, also for small integers. Of booleans the true
        ones are counted, as int64.
    stream : pycuda.driver.Stream, optional
    allocator : callable, optional
        Makes the memory of the result; by default the array's.

    Returns
    -------
    GPUArray
        Without axes. 0 when there are no elements.

    Notes
    -----
    Floats are added by pairs in an order that depends on shape and strides alone, float16 in float32.
    """
    if dtype is not None:
        return reduce("sum", a, None, dtype, None, keepdims=False, stream=stream, allocator=allocator)
    result = launches[_SUMS].launch((a,), stream, allocator)
    return reduce_by(_SUMS, (a,), stream, allocator) if result is None else result


def _min_or_max(name):
    """PyCUDA's function max or min: without axes, and NaNs are ignored."""

    def extreme(a: Array[Scalar], stream: Stream = None) -> GPUArray[Scalar]:
        if a.dtype.kind == "c":
            raise TypeError(f"{name} is not supported for complex numbers")
        return reduce(f"nan{name}", a, None, None, None, keepdims=False, stream=stream)

    extreme.__name__ = name
    extreme.__doc__ = f"""The {name}imum of the elements that are numbers.

    Parameters
    ----------
    a : GPUArray
    stream : pycuda.driver.Stream, optional

    Returns
    -------
    GPUArray
        Without axes, of the array's dtype. NaN where all elements are; a.{name}() is NaN where one is.

    Raises
    ------
    TypeError
        For complex numbers.
    ValueError
        Without elements.
    """
    return takes_arrays(extreme)


max, min = _min_or_max("max"), _min_or_max("min")


@takes_arrays
def any(a: Array, stream: Stream = None, allocator: Allocator = None) -> GPUArray[np.bool_]:
    """Whether an element is not 0: a 0-d bool array."""
    return reduce("any", a, None, None, None, keepdims=False, stream=stream, allocator=allocator)


@takes_arrays
def all(a: Array, stream: Stream = None, allocator: Allocator = None) -> GPUArray[np.bool_]:
    """Whether no element is 0: a 0-d bool array."""
    return reduce("all", a, None, None, None, keepdims=False, stream=stream, allocator=allocator)


@takes_arrays
def dot(
    a: Array[Number],
    b: Array[Number],
    dtype: DTypeLike | None = None,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Number]:
    """The sum of the products of elements, in C order, without conjugation.

    Parameters
    ----------
    a, b : GPUArray
        It has the same number of elements.
    dtype : dtype, optional
        What is summed in and results; by default what both dtypes promote to, for booleans int64.
    stream : pycuda.driver.Stream, optional
    allocator : callable, optional

    Returns
    -------
    GPUArray
        Without axes.

    Raises
    ------
    ValueError
        When the numbers of elements differ.
    """
    if a.size != b.size:
        raise ValueError(f"shapes {a.shape} and {b.shape} not aligned")
    result = _sum_dtype(np.result_type(a.dtype, b.dtype)) if dtype is None else np.dtype(dtype)
    return reduce_products(a, b, result, stream, allocator)


@takes_arrays
def subset_sum(
    subset: Array,
    a: Array[Number],
    dtype: DTypeLike | None = None,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Number]:
    """sum() of the elements whose numbers, in C order, are in `subset`."""
    return sum(take(a, subset, stream=stream), dtype, stream, allocator)


@takes_arrays
def subset_dot(
    subset: Array,
    a: Array[Number],
    b: Array[Number],
    dtype: DTypeLike | None = None,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Number]:
    """dot() of the elements whose numbers, in C order, are in `subset`."""
    return dot(take(a, subset, stream=stream), take(b, subset, stream=stream), dtype, stream, allocator)


@takes_arrays
def subset_max(subset: Array, a: Array[Scalar], stream: Stream = None) -> GPUArray[Scalar]:
    """max() of the elements whose numbers, in C order, are in `subset`."""
    return max(take(a, subset, stream=stream), stream)


@takes_arrays
def subset_min(subset: Array, a: Array[Scalar], stream: Stream = None) -> GPUArray[Scalar]:
    """min() of the elements whose numbers, in C order, are in `subset`."""
    return min(take(a, subset, stream=stream), stream)


# ---- elements of the flattened array, of several arrays at once


@takes_arrays
def take(
    a: Array[Scalar], indices: HostOrDevice, out: Array | None = None, stream: Stream = None
) -> GPUArray[Scalar]:
    """The elements of the flattened array whose numbers are in `indices`; negative ones count from the end.

    Parameters
    ----------
    a : GPUArray
    indices : GPUArray or numpy array of integers
    out : GPUArray, optional
    stream : pycuda.driver.Stream, optional

    Raises
    ------
    IndexError
        For an index out of bounds. Indices on the device are checked there, so the call waits for the stream;
        a.take(indices, mode="wrap") does not.
    """
    return take_put.take(a, indices, None, out, stream=stream)


def _outputs(arrays, out, shape):
    """A list with an output for each array: those of `out` or, if that is None, new arrays of this shape.
    ValueError or TypeError if an output cannot take elements of its array.
    """
    if out is None:
        return [new(shape, array.dtype, array.allocator) for array in arrays]
    if len(out) != len(arrays):
        raise ValueError(f"{len(out)} arrays in out for {len(arrays)} arrays")
    for array, target in zip(arrays, out, strict=True):
        _check_writable(target)
        if array.dtype != target.dtype:
            raise TypeError(f"out has the dtype {target.dtype}, the array {array.dtype}")
    return list(out)


def _smallest_first(arrays) -> list[int]:
    """The order in which to index arrays with the same indices: if they are in bounds for the first, the
    smallest array, they are for all, so that either all outputs are written or none.
    """
    return sorted(range(len(arrays)), key=lambda k: arrays[k].size)


def _check_flat(name, indices) -> None:
    if len(indices.shape) != 1:
        raise ValueError(f"{name} must be 1-d, not {len(indices.shape)}-d")


@takes_arrays
def multi_take(
    arrays: Arrays[Scalar], indices: HostOrDevice, out: Arrays | None = None, stream: Stream = None
) -> list[GPUArray[Scalar]]:
    """take(array, indices) for each of the arrays."""
    if not len(arrays):
        return []
    _check_flat("indices", indices)
    outputs = _outputs(arrays, out, indices.shape)
    for k in _smallest_first(arrays):
        take(arrays[k], indices, outputs[k], stream)
    return outputs


@takes_arrays
def multi_take_put(
    arrays: Arrays[Scalar],
    dest_indices: Array,
    src_indices: Array,
    dest_shape: Shape | None = None,
    out: Arrays | None = None,
    stream: Stream = None,
    src_offsets: Sequence[int] | None = None,
) -> list[GPUArray[Scalar]]:
    """out[k].flat[dest_indices[i]] = arrays[k].flat[src_indices[i] + src_offsets[k]] for each of the arrays.

    Without `out` arrays of dest_shape are made, whose other elements are not set.
    """
    if not len(arrays):
        return []
    _check_flat("src_indices", src_indices)
    _check_flat("dest_indices", dest_indices)
    if src_indices.dtype != dest_indices.dtype:
        raise TypeError(f"src_indices are {src_indices.dtype}, dest_indices {dest_indices.dtype}")
    if src_indices.shape != dest_indices.shape:
        raise ValueError(f"{src_indices.size} src_indices for {dest_indices.size} dest_indices")
    if src_offsets is not None and len(src_offsets) != len(arrays):
        raise ValueError(f"{len(src_offsets)} src_offsets for {len(arrays)} arrays")
    if out is None and dest_shape is None:
        raise ValueError("dest_shape or out is needed")
    outputs = _outputs(arrays, out, dest_shape)
    offsets = [0] * len(arrays) if src_offsets is None else [int(offset) for offset in src_offsets]
    values = [
        take(array.ravel()[offset:] if offset else array, src_indices, None, stream)
        for array, offset in zip(arrays, offsets, strict=True)
    ]
    for k in _smallest_first(outputs):
        take_put.put(outputs[k], dest_indices, values[k], stream=stream)
    return outputs


@takes_arrays
def multi_put(
    arrays: Arrays[Scalar],
    dest_indices: Array,
    dest_shape: Shape | None = None,
    out: Arrays | None = None,
    stream: Stream = None,
) -> list[GPUArray[Scalar]]:
    """out[k].flat[dest_indices[i]] = arrays[k].flat[i] for each of the arrays.

    Without `out` arrays of dest_shape are made, whose other elements are not set.
    """
    if not len(arrays):
        return []
    _check_flat("dest_indices", dest_indices)
    if out is None and dest_shape is None:
        raise ValueError("dest_shape or out is needed")
    outputs = _outputs(arrays, out, dest_shape)
    for array in arrays:
        if array.size != dest_indices.size:
            raise ValueError(f"an array of {array.size} elements for {dest_indices.size} dest_indices")
    for k in _smallest_first(outputs):
        take_put.put(outputs[k], dest_indices, arrays[k], stream=stream)
    return outputs


# ---- views


@takes_arrays
def transpose(a: Array[Scalar], axes: Sequence[int] | None = None) -> GPUArray[Scalar]:
    """a.transpose(axes): a view with the axes in another order, reversed by default."""
    return a.transpose(axes)


@takes_arrays
def reshape(a: Array[Scalar], *shape: Any, order: str = "C", stream: Stream = None) -> GPUArray[Scalar]:
    """``a.reshape(*shape, order=order)``: the elements in another shape, a view where strides allow it."""
    return a.reshape(*shape, order=order, stream=stream)


@takes_arrays
def split(a: Array[Scalar], parts: int | Sequence[int], axis: int = 0) -> list[GPUArray[Scalar]]:
    """Views of the parts along an axis: `parts` equal ones, or cut at these places, as numpy.split."""
    return views.split(a, parts, axis)
