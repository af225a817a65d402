"""Products of sparse matrices in compressed rows by cuSPARSE."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pycuda import _driver

from .blas import CUDA_DATA_TYPES
from .finding import problem
from .handles import Handles
from .shortage import no_room

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

# Enumerators of cusparse.h.
VECTOR_ALGORITHMS = {"CSR_ALG1": 2, "CSR_ALG2": 3}  # cusparseSpMVAlg_t
MATRIX_ALGORITHMS = {"CSR_ALG1": 4, "CSR_ALG2": 6, "CSR_ALG3": 12}  # cusparseSpMMAlg_t
_INDEX_TYPES = {4: 2, 8: 3}  # cusparseIndexType_t by itemsize
_BASE_ZERO = 0  # cusparseIndexBase_t
_BY_ROWS = 2  # cusparseOrder_t
_AS_IT_IS = 0  # cusparseOperation_t

_TYPES = {name: CUDA_DATA_TYPES[name] for name in ("float32", "float64", "complex64", "complex128")}
_handle = Handles("cusparse").of


@functools.cache
def _function(name: str) -> Any:
    return _driver._LibraryFunction(name)


@functools.cache
def _constants(name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(1, 0) in arrays of this dtype, for alpha and beta."""
    return np.ones(1, name), np.zeros(1, name)


def has(dtype: np.dtype[Any]) -> bool:
    """Whether the library is there and has products of this dtype."""
    return dtype.name in _TYPES and problem("cusparse") is None


class Rows(NamedTuple):
    """A matrix in compressed rows."""

    shape: tuple[int, int]
    starts: GPUArray  # the first element of each row, and the number of elements
    columns: GPUArray
    values: GPUArray


@contextlib.contextmanager
def _described(create: str, destroy: str, *arguments: Any) -> Iterator[int]:
    """A descriptor, made by the function `create` and destroyed at the end of the block. It has memory on the
    host alone, so queued work does not need it."""
    made = np.zeros(1, np.uint64)
    _function(create)(made, *arguments)
    try:
        yield int(made[0])
    finally:
        _function(destroy)(int(made[0]))


def _matrix(a: Rows) -> contextlib.AbstractContextManager[int]:
    index = _INDEX_TYPES[a.starts.itemsize]
    return _described(
        "cusparseCreateCsr", "cusparseDestroySpMat", *a.shape, a.values.size,
        a.starts.ptr, a.columns.ptr, a.values.ptr, index, index, _BASE_ZERO, _TYPES[a.values.dtype.name],
    )  # fmt: skip


def _vector(x: GPUArray) -> contextlib.AbstractContextManager[int]:
    kind = _TYPES[x.dtype.name]
    return _described("cusparseCreateDnVec", "cusparseDestroyDnVec", x.size, x.ptr, kind)


def _dense(x: GPUArray) -> contextlib.AbstractContextManager[int]:
    pitch = x.strides[0] // x.itemsize
    return _described(
        "cusparseCreateDnMat", "cusparseDestroyDnMat", *x.shape, pitch, x.ptr, _TYPES[x.dtype.name], _BY_ROWS
    )


def _queue(name: str, a: Rows, x: GPUArray, y: GPUArray, arguments: tuple[Any, ...]) -> None:
    """Calls the function of this name with a workspace of the size that it needs. a, x, y: the arrays in
    use."""
    stream = _driver.current_stream()
    handle, size = _handle(stream), np.zeros(1, np.uint64)
    _function(f"{name}_bufferSize")(handle, *arguments, size)
    try:
        workspace = _driver.GPUArray(max(int(size[0]), 1), np.uint8)
    except _driver.MemoryError as error:
        raise no_room(name, int(size[0])) from error
    _driver._library_uses(stream, (a.starts, a.columns, a.values, x, y, workspace))
    _function(name)(handle, *arguments, workspace.ptr)


def multiply_vector(a: Rows, x: GPUArray, y: GPUArray, algorithm: str) -> None:
    """y = A x for contiguous vectors, on the current stream."""
    kind, (one, zero) = _TYPES[y.dtype.name], _constants(y.dtype.name)
    number = VECTOR_ALGORITHMS[algorithm]
    with _matrix(a) as matrix, _vector(x) as given, _vector(y) as result:
        _queue("cusparseSpMV", a, x, y, (_AS_IT_IS, one, matrix, given, zero, result, kind, number))


def multiply_matrix(a: Rows, x: GPUArray, y: GPUArray, algorithm: str) -> None:
    """y = A x for matrices whose rows are contiguous, on the current stream."""
    kind, (one, zero) = _TYPES[y.dtype.name], _constants(y.dtype.name)
    number = MATRIX_ALGORITHMS[algorithm]
    with _matrix(a) as matrix, _dense(x) as given, _dense(y) as result:
        _queue(
            "cusparseSpMM", a, x, y, (_AS_IT_IS, _AS_IT_IS, one, matrix, given, zero, result, kind, number)
        )
