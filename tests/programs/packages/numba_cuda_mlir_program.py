"""numba-cuda-mlir: a kernel, and one with shared memory."""

import numpy as np
from numba_cuda_mlir import cuda


@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit
def reverse(a):
    part = cuda.shared.array(64, np.int32)
    i = cuda.threadIdx.x
    part[i] = a[i]
    cuda.syncthreads()
    a[i] = part[63 - i]


a = np.arange(1000, dtype=np.float32)
out = np.zeros_like(a)
add[16, 64](a, a, out)
assert (out == 2 * a).all()

numbers = np.arange(64, dtype=np.int32)
reverse[1, 64](numbers)
assert (numbers == np.arange(64)[::-1]).all()
print("done")
