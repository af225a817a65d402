"""Two arrays multiplied on the device; In and Out move them there and back."""

import numpy as np

import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

module = SourceModule("""
__global__ void multiply_them(float *result, const float *a, const float *b)
{
    const int i = threadIdx.x;
    result[i] = a[i] * b[i];
}
""")
multiply_them = module.get_function("multiply_them")

a = np.random.randn(400).astype(np.float32)
b = np.random.randn(400).astype(np.float32)
result = np.empty_like(a)
multiply_them(drv.Out(result), drv.In(a), drv.In(b), block=(400, 1, 1), grid=(1, 1))

print(f"on {pycuda.autoinit.device.name()}: {'equal' if np.array_equal(result, a * b) else 'different'}")
