"""Vectors and dense matrices as kernels of sparse matrices take them, copied only if they must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda import gpuarray
from pycuda._array.core.elementwise import apply
from pycuda.gpuarray import GPUArray

if TYPE_CHECKING:
    from pycuda._driver import _Stream


def parts(array: GPUArray) -> GPUArray:
    """A view of complex numbers as real ones, with a further axis of 2; real arrays as they are. A complex
    number may begin at any multiple of half its size, where kernels of complex elements cannot load it."""
    if array.dtype.kind != "c":
        return array
    real = np.dtype(f"f{array.itemsize // 2}")
    strides = (*array.strides, real.itemsize)
    return GPUArray((*array.shape, 2), real, base=array, gpudata=array, strides=strides)


def packed(array: GPUArray, stream: _Stream = None) -> GPUArray:
    """A C-contiguous copy."""
    copied = gpuarray.empty(array.shape, array.dtype, allocator=array.allocator)
    apply("copy", parts(array), out=parts(copied), stream=stream)
    return copied


def is_aligned(array: GPUArray) -> bool:
    """Whether each element is aligned to its size, and all strides are multiples of it."""
    size = array.itemsize
    return not array.size or (array._address % size == 0 and not any(step % size for step in array.strides))


def with_any_stride(vector: GPUArray) -> GPUArray:
    """The vector, or a contiguous copy if it is not aligned."""
    return vector if is_aligned(vector) else packed(vector)


def with_contiguous_rows(matrix: GPUArray) -> GPUArray:
    """The matrix, or a C-contiguous copy if it is not aligned or its rows are not contiguous."""
    contiguous = matrix.shape[1] <= 1 or matrix.strides[1] == matrix.itemsize
    return matrix if contiguous and is_aligned(matrix) else packed(matrix)


def step_of(array: GPUArray) -> int:
    """The stride of the first axis, in elements; 0 if that has one element or none."""
    return int(array.strides[0]) // array.itemsize if array.shape[0] > 1 else 0


def first_of(array: GPUArray) -> GPUArray | int:
    """The array as an argument that stands for its first element; 0 if there is none."""
    return array if array.size else 0
