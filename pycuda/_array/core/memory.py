"""The memory of arrays: allocation, whether two arrays share memory, results by way of a temporary array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.elementwise import apply
from pycuda._driver import _share_memory

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def new(shape, dtype, allocator=None, order="C") -> GPUArray:
    """A new array, whose elements are not initialized."""
    return _driver.GPUArray(shape, dtype, allocator, order=order)


def overlap(a, b) -> bool:
    """Whether elements of two arrays may share memory."""
    return _share_memory(a, b)


def write_back(result, out, stream=None):
    """out, after the elements of result were cast into it."""
    return apply("copy", result, out=out, stream=stream, casting="unsafe")


def _copy(host, stream=None) -> GPUArray:
    result = _driver.GPUArray(host.shape, host.dtype)
    result.set(host, stream=stream)
    return result


def on_device(host, stream=None) -> GPUArray:
    """A copy of a host array. The copy is complete when this returns, so the host array may change then."""
    host = np.asarray(host, order="C")
    return (
        captures.in_own_stream(stream, _copy, host) if captures.is_captured(stream) else _copy(host, stream)
    )
