"""numba-cuda: a kernel in a stream, a reduction with shared memory, an array of records."""

import numpy as np
from numba import cuda, float32


@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit
def block_sums(a, out):
    part = cuda.shared.array(64, float32)
    i, k = cuda.grid(1), cuda.threadIdx.x
    part[k] = a[i] if i < a.size else 0
    cuda.syncthreads()
    width = 32
    while width:
        if k < width:
            part[k] += part[k + width]
        cuda.syncthreads()
        width //= 2
    if k == 0:
        cuda.atomic.add(out, 0, part[0])


@cuda.jit
def scale(points, by):
    i = cuda.grid(1)
    if i < points.size:
        points[i].x *= by
        points[i].n += 1


a = np.arange(1000, dtype=np.float32)
stream = cuda.stream()
there = cuda.to_device(a, stream)
out = cuda.device_array_like(there, stream)
add[16, 64, stream](there, there, out)
stream.synchronize()
assert (out.copy_to_host() == 2 * a).all()

total = np.zeros(1, np.float32)
block_sums[16, 64](a, total)
assert total[0] == a.sum()

points = np.zeros(10, np.dtype([("x", "f8"), ("n", "i4")], align=True))
points["x"] = np.arange(10)
scale[1, 32](points, 3.0)
assert (points["x"] == 3 * np.arange(10)).all() and (points["n"] == 1).all()
print("done")
