"""numpy.fft.fftshift and its inverse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.shape.joining import roll

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def _shifted(x, axes, part) -> GPUArray:
    """Rolled along each axis by part(its length)."""
    if axes is None:
        axes = tuple(range(x.ndim))
    if isinstance(axes, int | np.integer):
        return roll(x, part(x.shape[axes]), axes)
    return roll(x, [part(x.shape[axis]) for axis in axes], axes)


def fftshift(x, axes=None) -> GPUArray:
    """numpy.fft.fftshift"""
    return _shifted(x, axes, lambda length: length // 2)


def ifftshift(x, axes=None) -> GPUArray:
    """numpy.fft.ifftshift"""
    return _shifted(x, axes, lambda length: -(length // 2))
