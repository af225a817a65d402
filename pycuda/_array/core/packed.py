"""Arrays in C order, for kernels that take rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def packed(a) -> bool:
    """Whether a kernel may take the array as contiguous elements, each aligned to its size."""
    return a.flags.c_contiguous and (a.size == 0 or a._address % a.itemsize == 0)


def packed_copy(a, stream=None, allocator=None) -> GPUArray:
    """A new array in C order with the elements."""
    result = new(a.shape, a.dtype, allocator or a.allocator)
    if a.size:
        apply("copy", a, out=result, stream=stream)
    return result


def as_packed(a, stream=None) -> GPUArray:
    """The array itself, or a packed copy."""
    return a if packed(a) else packed_copy(a, stream)


def axis_last(a, axis: int) -> GPUArray:
    """A view with this axis the last one."""
    if axis == a.ndim - 1:
        return a
    return a.transpose((*range(axis), *range(axis + 1, a.ndim), axis))


def axis_back(a, axis: int) -> GPUArray:
    """The view that undoes axis_last."""
    if axis == a.ndim - 1:
        return a
    last = a.ndim - 1
    return a.transpose((*range(axis), last, *range(axis, last)))
