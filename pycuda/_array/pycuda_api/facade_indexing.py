"""take, put and their multiples with PyCUDA's signatures: flat, several arrays at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.memory import new
from pycuda._array.indexing import take_put
from pycuda._kernels.plans.sharing import check_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pycuda._array.core.types import Array, Arrays, HostOrDevice, Shape, Stream
    from pycuda.gpuarray import GPUArray


@takes_arrays
def take(a: Array, indices: HostOrDevice, out: Array | None = None, stream: Stream = None) -> GPUArray:
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


def _outputs(arrays, count_of_out, out, shape):
    """The arrays to be filled. ValueError when their number is wrong."""
    if out is None:
        return [new(shape, array.dtype, array.allocator) for array in arrays]
    if len(out) != count_of_out:
        raise ValueError(f"{len(out)} arrays in out for {count_of_out} arrays")
    for array, target in zip(arrays, out, strict=True):
        check_writable(target)
        if array.dtype != target.dtype:
            raise TypeError(f"out has the dtype {target.dtype}, the array {array.dtype}")
    return list(out)


def _smallest_first(arrays) -> list[int]:
    """The order in which arrays are indexed: what the first has, all have, so that nothing is written to one
    where another refuses.
    """
    return sorted(range(len(arrays)), key=lambda k: arrays[k].size)


def _check_flat(name, indices) -> None:
    if len(indices.shape) != 1:
        raise ValueError(f"{name} must be 1-d, not {len(indices.shape)}-d")


@takes_arrays
def multi_take(
    arrays: Arrays, indices: HostOrDevice, out: Arrays | None = None, stream: Stream = None
) -> list[GPUArray]:
    """take(array, indices) for each of the arrays."""
    if not len(arrays):
        return []
    _check_flat("indices", indices)
    outputs = _outputs(arrays, len(arrays), out, indices.shape)
    for k in _smallest_first(arrays):
        take(arrays[k], indices, outputs[k], stream)
    return outputs


@takes_arrays
def multi_take_put(
    arrays: Arrays,
    dest_indices: Array,
    src_indices: Array,
    dest_shape: Shape | None = None,
    out: Arrays | None = None,
    stream: Stream = None,
    src_offsets: Sequence[int] | None = None,
) -> list[GPUArray]:
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
    outputs = _outputs(arrays, len(arrays), out, dest_shape)
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
    arrays: Arrays,
    dest_indices: Array,
    dest_shape: Shape | None = None,
    out: Arrays | None = None,
    stream: Stream = None,
) -> list[GPUArray]:
    """out[k].flat[dest_indices[i]] = arrays[k].flat[i] for each of the arrays.

    Without `out` arrays of dest_shape are made, whose other elements are not set.
    """
    if not len(arrays):
        return []
    _check_flat("dest_indices", dest_indices)
    if out is None and dest_shape is None:
        raise ValueError("dest_shape or out is needed")
    outputs = _outputs(arrays, len(arrays), out, dest_shape)
    for array in arrays:
        if array.size != dest_indices.size:
            raise ValueError(f"an array of {array.size} elements for {dest_indices.size} dest_indices")
    for k in _smallest_first(outputs):
        take_put.put(outputs[k], dest_indices, arrays[k], stream=stream)
    return outputs
