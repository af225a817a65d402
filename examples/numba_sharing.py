"""A kernel of Numba on an array of ours, and a kernel of ours on an array of Numba: nothing is copied."""

import pycuda.driver as drv

try:
    import numba
    from numba import cuda
except ImportError:
    print("this example needs Numba: pip install numba-cuda[cu13]")
    raise SystemExit from None
if not cuda.is_available():
    print("this example needs a GPU that Numba can use")
    raise SystemExit

import numpy as np

import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # about grids as small as these
drv.init()  # the primary context is shared with Numba


@cuda.jit
def add_one(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += 1


array = gpuarray.to_gpu(np.arange(8, dtype=np.float32))
add_one[1, 32](cuda.as_cuda_array(array))
print("our array after Numba's kernel:", array.get())
assert (array.get() == np.arange(1, 9)).all()

scale = SourceModule("""
__global__ void scale(float *a, float by) { a[threadIdx.x] *= by; }
""").get_function("scale")
theirs = cuda.to_device(np.arange(8, dtype=np.float32))
scale(theirs, np.float32(10), block=(8, 1, 1))
print("Numba's array after our kernel:", theirs.copy_to_host())
assert (theirs.copy_to_host() == 10 * np.arange(8)).all()
