# pycuda.gpuarray: GPUArray
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray

a = gpuarray.to_gpu(np.arange(6, dtype=np.float32).reshape(2, 3))
b = gpuarray.empty((2, 3), np.float32)
b.fill(2)
c = 2 * a + b  # computed on the device; nothing is copied
assert c.get().tolist() == [[2, 4, 6], [8, 10, 12]]  # a NumPy array on the host
assert c[:, 1:].sum().get() == 32 and c.T.shape == (3, 2) and isinstance(c, gpuarray.GPUArray)

# pycuda.gpuarray: vec
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.compiler import SourceModule

module = SourceModule("__global__ void add(float3 *a, float3 b) { a[threadIdx.x].x += b.x; }")
a = gpuarray.zeros(4, gpuarray.vec.float3)
module.get_function("add")(a, gpuarray.vec.make_float3(1, 2, 3), block=(4, 1, 1))
assert a.get()["x"].tolist() == [1, 1, 1, 1]
