"""Fourier transforms of arrays by plans."""

from __future__ import annotations

import contextlib
import math

import numpy as np

from . import cufft
from ._streams import queued_on

_TYPES = {
    (np.dtype(source), np.dtype(result)): fft_type
    for fft_type, (source, result) in cufft._DTYPES.items()
}  # fmt: skip
_EXECUTE = {
    getattr(cufft, f"CUFFT_{each}"): getattr(cufft, f"cufftExec{each}")
    for each in ("C2C", "R2C", "C2R", "Z2Z", "D2Z", "Z2D")
}


class Plan:
    """A plan for transforms of one shape, `batch` of them one after another in memory.

    Parameters
    ----------
    shape : int or sequence of int
        Of one transform. If the numbers of one side are real, this is the shape of that side.
    in_dtype, out_dtype : dtype
        float32, float64, complex64 or complex128, of one precision.
    batch : int, optional
    stream : Stream, optional
        Where transforms are queued.
    mode : int, optional
        Not used since CUDA 9.2.
    inembed, onembed : sequence of int, optional
        The elements in memory along each axis, of the input and of the output; both or none.
    istride, ostride : int, optional
        From one element of the last axis to the next.
    idist, odist : int, optional
        From one transform to the next.
    auto_allocate : bool, optional
        If not, `set_work_area` gives the plan `worksize` bytes.
    """

    def __init__(
        self, shape, in_dtype, out_dtype, batch=1, stream=None, mode=1, inembed=None, istride=1, idist=0,
        onembed=None, ostride=1, odist=0, auto_allocate=True,
    ):  # fmt: skip
        self.shape = tuple(map(int, np.atleast_1d(shape)))
        self.in_dtype, self.out_dtype = np.dtype(in_dtype), np.dtype(out_dtype)
        self.batch, self.stream, self.auto_allocate = int(batch), stream, auto_allocate
        self.fft_type = _TYPES.get((self.in_dtype, self.out_dtype))
        if not self.shape or self.batch < 1:
            raise ValueError(f"shape is {shape} and batch {batch}: there must be at least one transform")
        if self.fft_type is None:
            raise ValueError(f"there is no transform from {self.in_dtype} to {self.out_dtype}")
        self.handle = cufft.cufftCreate()
        cufft.cufftSetAutoAllocation(self.handle, auto_allocate)
        self.worksize = cufft.cufftMakePlanMany(
            self.handle, len(self.shape), self.shape, inembed, istride, idist, onembed, ostride, odist,
            self.fft_type, self.batch,
        )  # fmt: skip
        if stream is not None:
            cufft.cufftSetStream(self.handle, stream)

    def set_work_area(self, work_area) -> None:
        """Let the plan's transforms use the memory of this array, which is kept."""
        self.work_area = work_area
        cufft.cufftSetWorkArea(self.handle, work_area)

    def __del__(self):
        if hasattr(self, "handle"):  # not if __init__ raised
            with contextlib.suppress(cufft.cufftError):  # the plan or its context was destroyed
                cufft.cufftDestroy(self.handle)

    def _run(self, x_gpu, y_gpu, direction: int, scale: bool) -> None:
        """Queue a transform; if scale, divide by the number of its elements."""
        for name, array, dtype in ("x_gpu", x_gpu, self.in_dtype), ("y_gpu", y_gpu, self.out_dtype):
            if array.dtype != dtype:
                raise ValueError(f"{name} has the dtype {array.dtype}, the plan {dtype}")
        directions = (direction,) if self.in_dtype == self.out_dtype else ()
        _EXECUTE[self.fft_type](self.handle, x_gpu.gpudata, y_gpu.gpudata, *directions)
        if scale:
            with queued_on(self.handle.stream):
                np.multiply(y_gpu, y_gpu.dtype.type(1 / math.prod(self.shape)), out=y_gpu)


def fft(x_gpu, y_gpu, plan, scale=False) -> None:
    """Transform x_gpu into y_gpu, which has n // 2 + 1 elements along the last axis if x_gpu is real.

    Parameters
    ----------
    x_gpu, y_gpu : GPUArray
    plan : Plan
    scale : bool, optional
        Divide by the number of elements of a transform.
    """
    plan._run(x_gpu, y_gpu, cufft.CUFFT_FORWARD, scale)


def ifft(x_gpu, y_gpu, plan, scale=False) -> None:
    """Transform x_gpu back into y_gpu. Of a real y_gpu x_gpu has n // 2 + 1 elements along the last axis.

    Parameters
    ----------
    x_gpu, y_gpu : GPUArray
    plan : Plan
    scale : bool, optional
        Divide by the number of elements of a transform, so that `ifft` undoes `fft`.
    """
    plan._run(x_gpu, y_gpu, cufft.CUFFT_INVERSE, scale)
