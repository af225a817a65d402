"""Small things about the memory of arrays: new ones, whether two share some, results by way of another
array."""

from __future__ import annotations

from pycuda._driver import GPUArray, _share_memory
from pycuda._kernels.user.operands import check_writable as check_writable


def new(shape, dtype, allocator=None, order="C") -> GPUArray:
    """An array that is not set yet."""
    return GPUArray(shape, dtype, allocator, order=order)


def overlap(a, b) -> bool:
    """Whether elements of two arrays may share memory."""
    return _share_memory(a, b)


def write_back(result, out, stream=None):
    """out, after the elements of result were cast into it."""
    from pycuda._array.core.elementwise import apply

    return apply("copy", result, out=out, stream=stream, casting="unsafe")
