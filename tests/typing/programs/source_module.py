"""A kernel of the user's own: compiled, found by name, launched, measured."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

SOURCE = """
__constant__ float offset[1];

__global__ void scale(float *result, const float *x, float factor, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        result[i] = factor * x[i] + offset[0];
}
"""


def scale(values: NDArray[np.float32], factor: float) -> NDArray[np.float32]:
    module = SourceModule(SOURCE)
    function = module.get_function("scale")
    assert_type(function, drv.Function)
    address, size = module.get_global("offset")
    assert_type(address, int)
    assert size == 4
    drv.memcpy_htod(address, np.ones(1, np.float32))

    result = np.empty_like(values)
    blocks = (len(values) + 31) // 32
    function(
        drv.Out(result), drv.In(values), np.float32(factor), np.int32(len(values)),
        block=(32, 1, 1), grid=(blocks, 1),
    )  # fmt: skip
    assert_type(function.num_regs, int)
    assert_type(function.get_attribute(drv.function_attribute.MAX_THREADS_PER_BLOCK), int)
    return result


def scale_prepared(values: NDArray[np.float32], factor: float) -> NDArray[np.float32]:
    function = SourceModule(SOURCE).get_function("scale").prepare("PPfi")
    x = gpuarray.to_gpu(values)
    result = gpuarray.empty_like(x)
    function.prepared_call((1, 1), (32, 1, 1), result.gpudata, x.gpudata, factor, x.size)
    assert_type(result.get(), NDArray[np.float32])
    return result.get()


def by_hand(values: NDArray[np.float32]) -> NDArray[np.float32]:
    memory = drv.mem_alloc(values.nbytes)
    assert_type(memory, drv.DeviceAllocation)
    drv.memcpy_htod(memory, values)
    copy = np.empty_like(values)
    drv.memcpy_dtoh(copy, memory)
    memory.free()
    return copy


def main() -> None:
    values = np.arange(20, dtype=np.float32)
    np.testing.assert_array_equal(scale(values, 2.0), 2 * values + 1)
    np.testing.assert_array_equal(scale_prepared(values, 2.0), 2 * values)
    np.testing.assert_array_equal(by_hand(values), values)
    device = drv.Context.get_device()
    assert_type(device.name(), str)
    assert_type(device.compute_capability(), tuple[int, int])


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
