"""An array of torch in a kernel, and an array of ours in torch: the same memory, nothing is copied."""

import pycuda.driver as drv

try:
    import torch
except ImportError:
    print("this example needs torch: pip install torch")
    raise SystemExit from None
if not torch.cuda.is_available():
    print("this example needs a GPU that torch can use")
    raise SystemExit

import numpy as np

import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

torch.cuda.init()
drv.init()  # the primary context is shared with torch
scale = SourceModule("""
__global__ void scale(float *a, float by) { a[threadIdx.x] *= by; }
""").get_function("scale")

tensor = torch.arange(8, dtype=torch.float32, device="cuda")
scale(tensor, np.float32(10), block=(8, 1, 1))
print("torch's tensor after our kernel:", tensor.tolist())
assert tensor.tolist() == [10.0 * k for k in range(8)]

array = gpuarray.to_gpu(np.arange(8, dtype=np.float32))
seen = torch.from_dlpack(array)
seen += 1
print("our array after torch's addition:", array.get())
assert (array.get() == np.arange(1, 9)).all()
