"""Pools of memory on the device and on the host, and memory that both see."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.gpuarray import GPUArray
from pycuda.tools import DeviceMemoryPool, PageLockedMemoryPool, PooledDeviceAllocation


def total(pool: DeviceMemoryPool, values: NDArray[np.int32]) -> int:
    array = gpuarray.to_gpu(values, allocator=pool.allocate)
    assert_type(array, GPUArray[np.int32])
    scratch = pool.allocate(array.nbytes)
    assert_type(scratch, PooledDeviceAllocation)
    drv.memcpy_dtod(scratch, array.gpudata, array.nbytes)
    assert pool.active_blocks >= 2
    return int(gpuarray.sum(array))


def main() -> None:
    pool = DeviceMemoryPool()
    assert total(pool, np.arange(10, dtype=np.int32)) == 45
    assert_type(pool.held_blocks, int)
    pool.stop_holding()

    locked = PageLockedMemoryPool().allocate((2, 3), np.float32)
    assert_type(locked, NDArray[np.float32])
    locked[...] = 1
    assert_type(drv.pagelocked_empty(3, np.int8), NDArray[np.int8])
    assert_type(drv.pagelocked_zeros(3, "f4"), NDArray[Any])
    assert_type(drv.pagelocked_empty_like(locked), NDArray[np.float32])
    managed = drv.managed_zeros((4,), np.float64, mem_flags=drv.mem_attach_flags.GLOBAL)
    assert_type(managed, NDArray[np.float64])
    assert managed.sum() == 0

    on_device = gpuarray.to_gpu(locked)
    host = drv.from_device(on_device.gpudata, on_device.shape, np.float32)
    assert_type(host, NDArray[np.float32])
    np.testing.assert_array_equal(host, locked)
    free, whole = drv.mem_get_info()
    assert 0 < free <= whole


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
