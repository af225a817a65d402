"""numpy.fft.fftshift and its inverse, and the frequencies of a transform's elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.creation import steps
from pycuda._array.core.devices import check_device
from pycuda._array.core.elementwise import apply
from pycuda._array.shape.joining import concatenate, roll

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Scalar
    from pycuda.gpuarray import GPUArray


def _roll_axes(x, axes, shift_of) -> GPUArray:
    """The array rolled along each axis by shift_of(length of the axis)."""
    if axes is None:
        axes = tuple(range(x.ndim))
    if isinstance(axes, int | np.integer):
        return roll(x, shift_of(x.shape[axes]), axes)
    return roll(x, [shift_of(x.shape[axis]) for axis in axes], axes)


def fftshift(x: Array[Scalar], axes=None) -> GPUArray[Scalar]:
    """numpy.fft.fftshift"""
    return _roll_axes(x, axes, lambda length: length // 2)


def ifftshift(x: Array[Scalar], axes=None) -> GPUArray[Scalar]:
    """numpy.fft.ifftshift"""
    return _roll_axes(x, axes, lambda length: -(length // 2))


def _frequencies(first, count, n, d, dtype, device) -> GPUArray:
    """The `count` numbers first, first + 1 and so on, divided by n * d."""
    check_device(device)
    dtype = np.dtype(np.float64 if dtype is None else dtype)
    if dtype.kind != "f":
        raise ValueError(f"dtype is {dtype}: frequencies are floating-point numbers")
    numbers = steps(np.float64(first), np.float64(1), count, np.dtype(np.float64))
    return apply("multiply", numbers, 1.0 / (n * d)).astype(dtype, copy=False)


def _checked_length(n) -> int:
    if not isinstance(n, int | np.integer):
        raise ValueError("n should be an integer")
    return int(n)


def fftfreq(n, d=1.0, device=None, *, dtype=None) -> GPUArray[np.float64]:
    """The frequencies of the elements of a transform, as numpy.fft.fftfreq."""
    n = _checked_length(n)
    positive = (n - 1) // 2 + 1
    not_negative = _frequencies(0, positive, n, d, dtype, device)
    negative = _frequencies(-(n // 2), n // 2, n, d, dtype, device)
    return concatenate((not_negative, negative))


def rfftfreq(n, d=1.0, device=None, *, dtype=None) -> GPUArray[np.float64]:
    """The frequencies of the elements of a transform of real numbers, as numpy.fft.rfftfreq."""
    n = _checked_length(n)
    return _frequencies(0, n // 2 + 1, n, d, dtype, device)
