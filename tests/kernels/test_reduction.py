"""Reductions and scans in shared memory, with barriers, compared with NumPy."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

TREE = """
__global__ void reduce(const int *a, int *out, int n)
{
    extern __shared__ int part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    part[t] = i < n ? a[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}
"""
WARP = """
__global__ void reduce(const float *a, float *out, int n)
{
    __shared__ float part[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += a[i];
    for (int step = 16; step; step >>= 1)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        for (int step = 16; step; step >>= 1)
            sum += __shfl_down_sync(0xffffffff, sum, step);
        if (threadIdx.x == 0)
            atomicAdd(out, sum);
    }
}
"""
SCAN = """
__global__ void scan(const unsigned *a, unsigned *z)
{
    __shared__ unsigned buffer[2][256];
    int t = threadIdx.x, from = 0;
    buffer[0][t] = a[t];
    for (int step = 1; step < 256; step *= 2) {
        __syncthreads();
        buffer[1 - from][t] = buffer[from][t] + (t >= step ? buffer[from][t - step] : 0);
        from = 1 - from;
    }
    z[t] = buffer[from][t];
}
"""


@pytest.mark.parametrize("n", [1, 255, 256, 257, 10_000])
@pytest.mark.parametrize("block", [32, 64, 256, 1024])
def test_tree_in_shared_memory(n, block):
    a = np.random.default_rng(n).integers(-1000, 1000, n).astype(np.int32)
    blocks = -(-n // block)
    out = np.empty(blocks, np.int32)
    SourceModule(TREE).get_function("reduce")(
        drv.In(a), drv.Out(out), np.int32(n), block=(block, 1, 1), grid=(blocks, 1), shared=4 * block
    )
    assert (out == [part.sum() for part in np.split(a, range(block, n, block))]).all()


def test_shuffles_then_shared_memory():
    a = np.random.default_rng(1).integers(0, 16, 100_000).astype(np.float32)
    out = np.zeros(1, np.float32)
    SourceModule(WARP).get_function("reduce")(
        drv.In(a), drv.InOut(out), np.int32(a.size), block=(256, 1, 1), grid=(13, 1)
    )
    assert out[0] == a.sum()


def test_scan():
    a = np.random.default_rng(2).integers(0, 2**32, 256, dtype=np.uint32)
    z = np.empty_like(a)
    SourceModule(SCAN).get_function("scan")(drv.In(a), drv.Out(z), block=(256, 1, 1))
    assert (z == np.cumsum(a, dtype=np.uint32)).all()


def test_barriers_with_results():
    """__syncthreads_count(), __syncthreads_and() and __syncthreads_or()."""
    out = np.empty((3, 96), np.int32)
    SourceModule("""
    __global__ void count(int *out)
    {
        int t = threadIdx.x;
        out[t] = __syncthreads_count(t % 3 == 0);
        out[96 + t] = __syncthreads_and(t < 96);
        out[192 + t] = __syncthreads_or(t == 1000);
    }
    """).get_function("count")(drv.Out(out), block=(96, 1, 1))
    assert (out == np.array([[32], [1], [0]])).all()
