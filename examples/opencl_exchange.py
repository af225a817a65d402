"""An array goes to PyOpenCL and comes back, through host memory: OpenCL and CUDA share no device memory."""

import numpy as np

import pycuda.gpuarray as gpuarray

try:
    import pyopencl as cl
    import pyopencl.array
except ImportError:
    print("this example needs PyOpenCL: pip install pyopencl")
    raise SystemExit from None
try:
    device = cl.get_platforms()[0].get_devices()[0]
except (cl.Error, IndexError):
    print("this example needs a platform of OpenCL, for instance pip install pocl-binary-distribution")
    raise SystemExit from None

queue = cl.CommandQueue(cl.Context([device]))
array = gpuarray.to_gpu(np.arange(8, dtype=np.float32))
host = array.get(pagelocked=True)

theirs = cl.array.to_device(queue, host)
theirs *= 10
theirs.get(ary=host)
array.set(host)
print("times ten by OpenCL on", device.name.strip() + ":", array.get())
assert (array.get() == 10 * np.arange(8)).all()
