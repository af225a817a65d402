"""An array of ours in TensorFlow, and a tensor of TensorFlow in a kernel, by DLPack: nothing is copied."""

import os

import pycuda.driver as drv

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")  # otherwise TensorFlow allocates all memory
try:
    import tensorflow as tf
except ImportError:
    print("this example needs TensorFlow: pip install tensorflow[and-cuda]")
    raise SystemExit from None
if not tf.config.list_physical_devices("GPU"):
    print("this example needs a GPU that TensorFlow can use")
    raise SystemExit

import numpy as np

import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

drv.init()  # the primary context is shared with TensorFlow

array = gpuarray.to_gpu(np.arange(8, dtype=np.float32))
drv.Context.synchronize()  # TensorFlow's own stream does not wait for ours
tensor = tf.experimental.dlpack.from_dlpack(array.__dlpack__())
print("TensorFlow's sum of our squares:", float(tf.reduce_sum(tensor**2)))
assert float(tf.reduce_sum(tensor**2)) == 140

scale = SourceModule("""
__global__ void scale(const float *a, float by, float *out) { out[threadIdx.x] = a[threadIdx.x] * by; }
""").get_function("scale")
with tf.device("/GPU:0"):
    theirs = tf.range(8, dtype=tf.float32) + 1
view = gpuarray.from_dlpack(tf.experimental.dlpack.to_dlpack(theirs))
out = gpuarray.empty_like(view)
scale(view, np.float32(10), out, block=(8, 1, 1))
print("TensorFlow's tensor times 10:", out.get())
assert (out.get() == 10 * np.arange(1, 9)).all()
