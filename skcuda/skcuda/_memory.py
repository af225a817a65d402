"""Device memory that a caller gives by its address or its owner, as arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pycuda.gpuarray import GPUArray


def address_of(value) -> int:
    """The address of what a caller gives for device memory."""
    if value is None:
        return 0
    if isinstance(value, np.ndarray):  # where the library wants host memory
        return value.ctypes.data
    return value.ptr if isinstance(value, GPUArray) else int(value)


def array_at(memory, shape, strides, dtype) -> GPUArray:
    """An array of device memory, which is its address or owns it; strides in elements."""
    if 0 in shape:
        return GPUArray(shape, dtype)
    itemsize = np.dtype(dtype).itemsize
    owner = memory.gpudata if isinstance(memory, GPUArray) else memory
    return GPUArray(shape, dtype, gpudata=owner, strides=tuple(each * itemsize for each in strides))


class Memory:
    """Device memory of the dtype of a function, as arrays with BLAS's layouts."""

    def __init__(self, dtype, real, refuse: Callable[[], None]):
        self.dtype, self.real = np.dtype(dtype), np.dtype(real)
        self._refuse = refuse

    def require(self, condition: bool) -> None:
        """Refuse a value unless the condition holds."""
        if not condition:
            self._refuse()

    def array(self, memory, shape, strides, dtype=None) -> GPUArray:
        """An array at an address; strides in elements."""
        self.require(min(shape) >= 0)
        self.require(0 in shape or address_of(memory) != 0)
        return array_at(memory, shape, strides, dtype or self.dtype)

    def matrix(self, memory, rows: int, columns: int, leading: int, dtype=None) -> GPUArray:
        """A view of a matrix that is stored column by column."""
        self.require(leading >= max(rows, 1))
        return self.array(memory, (rows, columns), (1, leading), dtype)

    def vector(self, memory, count: int, step: int = 1, dtype=None) -> GPUArray:
        """A vector; with a negative step its first element is the last one there."""
        if step < 0 and count > 1:
            memory = address_of(memory) - (count - 1) * step * np.dtype(dtype or self.dtype).itemsize
        return self.array(memory, (max(count, 0),), (step,), dtype)

    def pointers(self, memory, count: int) -> list[int]:
        """The addresses in an array of them, as they are now."""
        return self.vector(memory, count, 1, np.uint64).get().tolist()
