"""Reads what the constructors of sparse arrays are given: moves it to the device, and checks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from pycuda import gpuarray
from pycuda._array.core.decorators import takes_arrays
from pycuda._kernels.sparse import rows as kernels
from pycuda.gpuarray import GPUArray
from pycuda.sparse._compressed import Compressed, Placed
from pycuda.sparse._operands import is_aligned, packed

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

# Greater indices take 64 bits. The margin is there because kernels count a little beyond the last index.
_MAX_INDEX = np.iinfo(np.int32).max - 1024


@takes_arrays
def _viewed(given: Any) -> tuple[Any]:
    """The argument as takes_arrays passes it, in a tuple: the decorator reads arrays of other libraries."""
    return (given,)


def on_device_or_host(given: Any) -> GPUArray | np.ndarray[Any, Any]:
    """An array of any library as a GPUArray of its memory, if that is on the device, or as NumPy's array."""
    found = given if isinstance(given, GPUArray | np.ndarray) else _viewed(given)[0]
    return found if isinstance(found, GPUArray) else np.asarray(found)


def read_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype; ValueError, as SciPy's, when there are no kernels for it."""
    found = np.dtype(dtype)
    if not kernels.is_supported(found):
        raise ValueError(
            f"sparse arrays of dtype {found} are not supported: use bool, integers, float32, float64, "
            "complex64 or complex128"
        )
    return found


def read_shape(shape: Any) -> tuple[int, int]:
    """A shape of two axes."""
    found = tuple(int(length) for length in shape)
    if len(found) != 2:
        raise ValueError(f"a sparse array has two axes, not the shape {found}")
    if min(found) < 0:
        raise ValueError("'shape' elements cannot be negative")
    return found


def is_shape(given: Any) -> TypeGuard[tuple[int, int]]:
    """Whether the argument of a constructor is the shape of an empty array: a tuple of two integers."""
    return (
        isinstance(given, tuple) and len(given) == 2 and all(isinstance(n, int | np.integer) for n in given)
    )


def read_values(given: Any, dtype: DTypeLike | None, copy: bool) -> GPUArray:
    """The values of elements as a contiguous array on the device."""
    values = on_device_or_host(given)
    found = read_dtype(values.dtype if dtype is None else dtype)
    if values.ndim != 1:
        raise ValueError(f"data has {values.ndim} axes: values of elements have one")
    if not isinstance(values, GPUArray):
        return gpuarray.to_gpu(values.astype(found))
    if values.dtype != found:
        return values.astype(found)
    return _contiguous(values, copy)


def _contiguous(array: GPUArray, copy: bool) -> GPUArray:
    """The array if kernels can take it as it is and `copy` is False, otherwise a contiguous copy."""
    return array if not copy and array.flags.c_contiguous and is_aligned(array) else packed(array)


def _is_wide(indices: GPUArray | np.ndarray[Any, Any]) -> bool:
    """Whether indices are kept in 64 bits: those on the device if they have 64 bits (whether they need them,
    the host would have to wait for), those on the host if they need them."""
    if isinstance(indices, GPUArray) or indices.dtype == np.int32:
        return bool(indices.itemsize == 8)
    return bool(indices.size and (indices.max() > _MAX_INDEX or indices.min() < -_MAX_INDEX))


def read_indices(
    names: Sequence[str], given: Sequence[Any], copy: bool, max_index: int = 0
) -> list[GPUArray]:
    """Arrays of indices on the device, in one dtype: int64 if max_index or one of the arrays needs it, else
    int32. `names`: what errors call the arrays."""
    arrays = [on_device_or_host(each) for each in given]
    for name, each in zip(names, arrays, strict=True):
        if each.ndim != 1:
            raise ValueError(f"{name} has {each.ndim} axes: indices of elements have one")
        if each.dtype.kind not in "iu" and each.size:
            raise TypeError(f"{name} must be of integers, not of {each.dtype}")
    is_wide = max_index > _MAX_INDEX or any(map(_is_wide, arrays))
    dtype = np.dtype(np.int64 if is_wide else np.int32)
    return [_indices(each, dtype, copy) for each in arrays]


def _indices(array: GPUArray | np.ndarray[Any, Any], dtype: np.dtype[Any], copy: bool) -> GPUArray:
    if not isinstance(array, GPUArray):
        return gpuarray.to_gpu(array.astype(dtype))
    if array.dtype != dtype:
        return array.astype(dtype)
    return _contiguous(array, copy)


def _length(indices: GPUArray) -> int:
    """The smallest length of an axis that has these indices, which the host waits for."""
    if not indices.size:
        raise ValueError("cannot infer dimensions from zero sized index arrays")
    return int(indices.max().get()) + 1


# ---- compressed rows


def read_compressed(
    given: tuple[Any, Any, Any], shape: tuple[int, int] | None, dtype: DTypeLike | None, copy: bool,
    check: bool,
) -> tuple[Compressed, GPUArray]:  # fmt: skip
    """(structure, values) of a matrix given as (data, indices, indptr) of compressed rows. Without a shape it
    has the smallest one possible."""
    data, indices, indptr = given
    values = read_values(data, dtype, copy)
    max_index = max(values.size, *(shape or (0,)))
    columns, starts = read_indices(("indices", "indptr"), (indices, indptr), copy, max_index)
    if columns.size != values.size:
        raise ValueError("indices and data should have the same size")
    if not starts.size or (shape is not None and starts.size != shape[0] + 1):
        raise ValueError(
            f"index pointer size {starts.size} should be {shape[0] + 1 if shape else 'at least 1'}"
        )
    if shape is None:
        shape = int(starts.size) - 1, _length(columns)
    found = Compressed(starts, columns, shape)
    return _checked(found, values) if check else (found, values)


def _checked(found: Compressed, values: GPUArray) -> tuple[Compressed, GPUArray]:
    """The matrix and its values, without values beyond the last row. ValueError if the matrix is not
    valid."""
    facts = found.facts()
    if facts.bad_starts:
        raise ValueError("index pointer values must start with 0 and form a non-decreasing sequence")
    if facts.count > values.size:
        raise ValueError("Last value of index pointer should be less than the size of index and data arrays")
    if facts.bad_places:
        raise ValueError(f"indices must be >= 0 and < {found.shape[1]}: {facts.bad_places} are not")
    if facts.count == values.size:
        return found, values
    whole = slice(None, facts.count)
    return Compressed(found.starts, found.columns[whole], found.shape, None, facts), values[whole]


# ---- rows and columns


def read_placed(
    given: tuple[Any, Any], shape: tuple[int, int] | None, dtype: DTypeLike | None, copy: bool, check: bool
) -> tuple[Placed, GPUArray]:
    """(structure, values) of a matrix given as (data, (row, col)). Without a shape it has the smallest one
    possible."""
    data, places = given
    if len(places) != 2:
        raise ValueError(f"{len(places)} arrays of indices: a sparse array has two axes")
    values = read_values(data, dtype, copy)
    rows, columns = read_indices(("row", "col"), places, copy, max(values.size, *(shape or (0,))))
    if not rows.size == columns.size == values.size:
        raise ValueError("all index and data arrays must have the same length")
    if shape is None:
        shape = _length(rows), _length(columns)
    found = Placed(rows, columns, shape)
    if check and found.facts().bad_places:
        raise ValueError(
            f"indices must be >= 0 and less than the shape {shape}: {found.facts().bad_places} are not"
        )
    return found, values


def read_dense(given: Any, dtype: DTypeLike | None) -> tuple[Placed, GPUArray]:
    """(structure, values) of the elements of a dense matrix that are not 0, row by row. The host waits for
    their number."""
    dense = on_device_or_host(given)
    if dense.ndim != 2:
        raise ValueError(f"the dense array has the shape {dense.shape}: a sparse array has two axes")
    wanted = read_dtype(dense.dtype if dtype is None else dtype)
    if not isinstance(dense, GPUArray):
        dense = gpuarray.to_gpu(np.ascontiguousarray(dense))
    rows, columns = gpuarray.nonzero(dense)
    values = dense[dense != 0].astype(wanted)
    index = np.int64 if max(*dense.shape, values.size) > _MAX_INDEX else np.int32
    shape = int(dense.shape[0]), int(dense.shape[1])
    return Placed(rows.astype(index), columns.astype(index), shape), values
