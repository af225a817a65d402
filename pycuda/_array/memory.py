"""Small things about the memory of arrays: new ones, whether two share some, results by way of another
array."""

from __future__ import annotations

from pycuda._driver import GPUArray
from pycuda._kernels.operands import check_writable as check_writable


def new(shape, dtype, allocator=None, order="C") -> GPUArray:
    """An array that is not set yet."""
    return GPUArray(shape, dtype, allocator, order=order)


def extent(a) -> tuple[int, int]:
    """The addresses that an array touches: [low, high). (0, 0) without elements."""
    if not a.size:
        return 0, 0
    low = high = a.ptr
    for length, stride in zip(a.shape, a.strides, strict=True):
        if stride < 0:
            low += stride * (length - 1)
        else:
            high += stride * (length - 1)
    return low, high + a.itemsize


def overlap(a, b) -> bool:
    """Whether two arrays may share memory."""
    (a_low, a_high), (b_low, b_high) = extent(a), extent(b)
    return a_low < b_high and b_low < a_high


def write_back(result, out, stream=None):
    """out, after the elements of result were cast into it."""
    from pycuda._array.elementwise import apply

    return apply("copy", result, out=out, stream=stream, casting="unsafe")
