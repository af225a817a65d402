"""An array filled by a kernel whose threads walk over it, a grid at a time."""

import numpy as np

import pycuda.autoinit  # noqa: F401
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

fill = SourceModule("""
__global__ void fill(float *array, float value, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        array[i] = value + i;
}
""").get_function("fill")

array = gpuarray.empty((100, 1000), np.float32)
grid, block = gpuarray.splay(array.size)
fill(array, np.float32(0.5), np.int32(array.size), block=block, grid=grid)

result = array.get()
print(result)
print("right" if np.array_equal(result.ravel(), 0.5 + np.arange(array.size, dtype=np.float32)) else "wrong")
