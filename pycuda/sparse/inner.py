"""AsyncInnerProduct: a number that the device computes while the host goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._base.public_names import documented_init as _documented_init
from pycuda.gpuarray import GPUArray


@_documented_init
class AsyncInnerProduct:
    """The sum of the products of two vectors' elements, without conjugation, on its way to the host.

    Parameters
    ----------
    a, b : GPUArray
    pagelocked_allocator : callable, optional
        Returns a page-locked array for a shape and a dtype, as `PageLockedMemoryPool.allocate` and
        `pycuda.driver.pagelocked_empty` (the default) do.

    Attributes
    ----------
    gpu_result : GPUArray
        The sum, 0-d. Kernels of the same stream can use it at once.
    """

    def __init__(
        self,
        a: GPUArray,
        b: GPUArray,
        pagelocked_allocator: Callable[..., np.ndarray[Any, Any]] | None = None,
    ) -> None:
        allocate = drv.pagelocked_empty if pagelocked_allocator is None else pagelocked_allocator
        self.gpu_result = gpuarray.dot(a, b)
        self._host = allocate((), self.gpu_result.dtype)
        self.gpu_result.get_async(ary=self._host)
        self._arrived = drv.Event(drv.event_flags.DISABLE_TIMING).record()

    def get_host_result(self) -> np.ndarray[Any, Any] | None:
        """The sum as a 0-d NumPy array, or None when it has not arrived yet. Does not wait."""
        return self._host if self._arrived.query() else None

    def wait(self) -> np.ndarray[Any, Any]:
        """The sum as a 0-d NumPy array, after it has arrived."""
        self._arrived.synchronize()
        return self._host
