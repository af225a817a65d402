"""Device memory that a caller gives by its address or its owner, as arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pycuda.gpuarray import GPUArray


def address_of(value) -> int:
    """The address of memory that a caller gives as an array, an allocation or a number; of None 0."""
    if value is None:
        return 0
    if isinstance(value, np.ndarray):  # for parameters that are in host memory
        return value.ctypes.data
    return value.ptr if isinstance(value, GPUArray) else int(value)


def array_at(memory, shape, strides, dtype) -> GPUArray:
    """A view of device memory, with strides in elements. `memory` is an address, or an object that owns the
    memory, to which the view holds a reference.
    """
    if 0 in shape:
        return GPUArray(shape, dtype)
    itemsize = np.dtype(dtype).itemsize
    owner = memory.gpudata if isinstance(memory, GPUArray) else memory
    return GPUArray(shape, dtype, gpudata=owner, strides=tuple(each * itemsize for each in strides))


class Memory:
    """Makes views of the device memory that a library's function gets, with BLAS's layouts.

    Parameters
    ----------
    dtype : dtype
        Of the function, and of a view if no other is given for it.
    real : dtype
        Of real numbers of that precision.
    refuse : callable
        Raises the library's exception for an invalid value.
    """

    def __init__(self, dtype, real, refuse: Callable[[], None]):
        self.dtype, self.real = np.dtype(dtype), np.dtype(real)
        self._refuse = refuse

    def require(self, condition: bool) -> None:
        """Refuse a value unless the condition holds."""
        if not condition:
            self._refuse()

    def array(self, memory, shape, strides, dtype=None) -> GPUArray:
        """A view of this shape, with strides in elements. Memory for any element must have an address."""
        self.require(min(shape) >= 0)
        self.require(0 in shape or address_of(memory) != 0)
        return array_at(memory, shape, strides, dtype or self.dtype)

    def matrix(self, memory, rows: int, columns: int, leading: int, dtype=None) -> GPUArray:
        """A view of a matrix that is stored column by column, with columns `leading` elements apart."""
        self.require(leading >= max(rows, 1))
        return self.array(memory, (rows, columns), (1, leading), dtype)

    def vector(self, memory, count: int, step: int = 1, dtype=None) -> GPUArray:
        """A view of a vector. As in BLAS `memory` is the lowest address: with a negative step the vector's
        first element is the last one in memory.
        """
        if step < 0 and count > 1:
            memory = address_of(memory) - (count - 1) * step * np.dtype(dtype or self.dtype).itemsize
        return self.array(memory, (max(count, 0),), (step,), dtype)

    def pointers(self, memory, count: int) -> list[int]:
        """The `count` addresses stored in device memory, copied to the host now."""
        return self.vector(memory, count, 1, np.uint64).get().tolist()
