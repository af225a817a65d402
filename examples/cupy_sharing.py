"""An array of CuPy in a kernel, and an array of ours in CuPy: the same memory, nothing is copied."""

import pycuda.driver as drv

try:
    import cupy
except ImportError:
    print("this example needs CuPy: pip install cupy-cuda13x")
    raise SystemExit from None
if not cupy.cuda.is_available():
    print("this example needs a GPU that CuPy can use")
    raise SystemExit

import numpy as np

import pycuda.gpuarray as gpuarray
from pycuda import cumath
from pycuda.compiler import SourceModule

drv.init()  # the primary context is shared with CuPy
scale = SourceModule("""
__global__ void scale(float *a, float by) { a[threadIdx.x] *= by; }
""").get_function("scale")

theirs = cupy.arange(8, dtype=np.float32)
scale(theirs, np.float32(10), block=(8, 1, 1))
print("CuPy's array after our kernel:", theirs)
assert (theirs == 10 * cupy.arange(8)).all()
assert np.allclose(cumath.sqrt(theirs).get(), np.sqrt(theirs.get()))

array = gpuarray.to_gpu(np.arange(8, dtype=np.float32))
seen = cupy.from_dlpack(array)
seen += 1
print("our array after CuPy's addition:", array.get())
assert (array.get() == np.arange(1, 9)).all()
