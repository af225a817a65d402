"""Fourier transforms of the memory of the CPU device, with cuFFT's layouts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pycuda._libraries import host

from ._memory import address_of, array_at
from ._streams import queued_on

INVALID_VALUE = 4  # CUFFT_INVALID_VALUE


class HostTransform(NamedTuple):
    """The transform of a plan.

    A layout is (embed, stride, distance), in elements: the lengths of the axes in memory, the distance of
    elements along the last axis, the distance of transforms. It is None if the elements are contiguous.
    """

    sizes: tuple[int, ...]  # of the axes of one transform
    batch: int
    dtypes: tuple[type, type]  # of the input and of the output
    source: tuple | None  # the layout of the input
    result: tuple | None  # the layout of the output

    def _halved(self) -> tuple[int, ...]:
        """The shape of a real transform's complex numbers: half of the last axis, the rest is redundant."""
        return *self.sizes[:-1], self.sizes[-1] // 2 + 1

    def _shape(self, dtype) -> tuple[int, ...]:
        """The shape of the input or output that has this dtype, of one transform."""
        is_half = np.dtype(dtype).kind == "c" and self.dtypes[0] is not self.dtypes[1]
        return self._halved() if is_half else self.sizes

    def _array(self, memory, dtype, layout, in_place: bool):
        """A view of the elements of all transforms, of the shape (batch, *shape)."""
        shape = self._shape(dtype)
        if layout is None:
            embed = shape
            # In place, rows of real numbers are padded to the bytes of the complex numbers of the other side.
            if in_place and np.dtype(dtype).kind == "f":
                embed = *shape[:-1], 2 * self._halved()[-1]
            layout = embed, 1, int(np.prod(embed))
        embed, stride, distance = layout
        strides = [stride]
        for length in reversed(embed[1:]):
            strides.insert(0, strides[0] * length)
        return array_at(memory, (self.batch, *shape), (distance, *strides), dtype)

    def queue(self, idata, odata, inverse: bool, stream) -> None:
        """Queue the transform from one place in memory to another, which may be the same."""
        in_place = address_of(idata) == address_of(odata)
        source = self._array(idata, self.dtypes[0], self.source, in_place)
        result = self._array(odata, self.dtypes[1], self.result, in_place)
        with queued_on(stream):
            host.queue(self._compute, (source,), (result,), inverse)

    def _compute(self, source, result, inverse: bool) -> None:
        """The transform of NumPy arrays. Unlike NumPy's inverse, neither direction divides by the size."""
        axes = tuple(range(1, source.ndim))
        if source.dtype.kind == "f":
            result[...] = np.fft.rfftn(source, axes=axes)
        elif result.dtype.kind == "f":
            result[...] = np.fft.irfftn(source, s=self.sizes, axes=axes, norm="forward")
        elif inverse:
            result[...] = np.fft.ifftn(source, axes=axes, norm="forward")
        else:
            result[...] = np.fft.fftn(source, axes=axes)
