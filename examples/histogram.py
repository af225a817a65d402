"""A histogram: each block counts in shared memory, then adds its counts to the total. Compared with NumPy."""

import numpy as np

try:
    from matplotlib.image import imsave
except ImportError:
    imsave = None  # nothing is drawn

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

BINS, COUNT = 256, 1 << 18

histogram = SourceModule("""
__global__ void histogram(const unsigned char *values, int count, unsigned *bins)
{
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[values[i]], 1);
    __syncthreads();
    if (mine[threadIdx.x]) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
""").get_function("histogram")

generator = np.random.default_rng(0)
halves = generator.normal(90, 22, COUNT // 2), generator.normal(180, 12, COUNT // 2)
values = np.clip(np.concatenate(halves), 0, 255).astype(np.uint8)
bins = gpuarray.zeros(BINS, np.uint32)
histogram(drv.In(values), np.int32(COUNT), bins, block=(BINS, 1, 1), grid=(16, 1))
counts = bins.get()
assert (counts == np.bincount(values, minlength=BINS)).all()
print(f"{COUNT} values, most often {counts.argmax()}, {counts.max()} times; NumPy counts the same")

if imsave:
    rows = np.arange(160)[::-1, None]
    bars = np.where(rows < 150 * counts / counts.max(), 60, 240)
    imsave("histogram.png", np.repeat(bars, 2, axis=1), cmap="gray", vmin=0, vmax=255)
