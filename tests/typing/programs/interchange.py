"""Arrays between libraries: DLPack, the array interface, arrays on the host."""

from typing import Any, Protocol, assert_type

import numpy as np
from numpy.typing import NDArray

import pycuda.numpy as xp
from pycuda import gpuarray
from pycuda.gpuarray import GPUArray


class OfAnotherLibrary:
    """An array on the device that is not a GPUArray."""

    def __init__(self, array: GPUArray) -> None:
        self.array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.array.__cuda_array_interface__


class HasDLPack(Protocol):
    def __dlpack__(self, *, stream: int | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


def owner(a: HasDLPack) -> tuple[int, int]:
    return a.__dlpack_device__()


def main() -> None:
    a = gpuarray.to_gpu(np.arange(3, dtype=np.float32))
    assert_type(gpuarray.from_dlpack(a), GPUArray)
    owner(a)
    assert gpuarray.from_dlpack(a).ptr == a.ptr

    other = OfAnotherLibrary(a)
    assert_type(gpuarray.sum(other), GPUArray)
    assert float(gpuarray.sum(other)) == 3
    assert_type(gpuarray.concatenate([other, a]), GPUArray)
    assert_type(xp.asarray(other), GPUArray)
    np.testing.assert_array_equal((a + other).get(), [0, 2, 4])

    assert_type(xp.asarray(np.ones(2)), GPUArray[np.float64])
    assert_type(xp.asarray([1, 2]), GPUArray)
    assert_type(xp.asarray([1, 2], dtype=np.int8), GPUArray[np.int8])
    assert_type(xp.asnumpy(a), NDArray[np.float32])
    assert_type(a.to_device("cpu"), NDArray[np.float32])
    assert_type(a.to_device(a.device), GPUArray[np.float32])
    assert_type(a.__cuda_array_interface__, dict[str, Any])


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
