"""Fourier transforms by NumPy, on the CPU device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda._libraries import host

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def _complex(source, result, axes, forward) -> None:
    # NumPy transforms the last of its axes first.
    if forward:
        np.fft.fftn(source, axes=axes[::-1], out=result)
    else:
        np.fft.ifftn(source, axes=axes[::-1], norm="forward", out=result)


def _from_real(source, result, axes) -> None:
    np.fft.rfftn(source, axes=axes[::-1], out=result)


def _to_real(source, result, axis) -> None:
    np.fft.irfft(source, n=result.shape[axis], axis=axis, norm="forward", out=result)


class ByNumPy:
    """Transforms that multiply by no factor, of arrays whose dtypes and shapes fit. They return [None]: the
    methods of ByLibrary return steps that can be repeated, of which NumPy has none.
    """

    @staticmethod
    def transform(source: GPUArray, result: GPUArray, axes: tuple[int, ...], forward: bool) -> list[None]:
        """The complex transform along these axes, in their order; `result` may be `source`."""
        host.queue(_complex, (source,), (result,), axes, forward)
        return [None]

    @staticmethod
    def transform_from_real(source: GPUArray, result: GPUArray, axes: tuple[int, ...]) -> list[None]:
        """The transform of real numbers. The result has the non-redundant half of the first of the axes."""
        host.queue(_from_real, (source,), (result,), axes)
        return [None]

    @staticmethod
    def transform_to_real(source: GPUArray, result: GPUArray, axis: int) -> list[None]:
        """The inverse of transform_from_real along one axis. `source` is overwritten."""
        host.queue(_to_real, (source,), (result,), axis)
        return [None]
