"""Least squares by gradient descent on all GPUs of the machine: each has a part of the rows and computes its
part of the gradient, and NCCL adds the parts on every GPU. Without NCCL it runs on one device.
"""

import numpy as np

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray

try:
    import pycuda.nccl

    communicators = pycuda.nccl.init_all()
except (ImportError, RuntimeError):  # no nccl4py, or no GPU: one device
    communicators = None

ROWS, COLUMNS, STEPS = 4096, 8, 60

rng = np.random.default_rng(1)
A = rng.standard_normal((ROWS, COLUMNS))
y = A @ np.arange(COLUMNS) + 0.1 * rng.standard_normal(ROWS)

drv.init()
count = len(communicators) if communicators else 1
contexts = [drv.Device(n).retain_primary_context() for n in range(count)]
parts = []  # of each device: its rows, their transpose, its part of y, x
for context, rows, values in zip(contexts, np.array_split(A, count), np.array_split(y, count), strict=True):
    with context:
        there = gpuarray.to_gpu(rows)
        parts.append((there, there.T.copy(), gpuarray.to_gpu(values), gpuarray.zeros(COLUMNS, float)))

for _ in range(STEPS):
    gradients = []
    for context, (rows, transposed, values, x) in zip(contexts, parts, strict=True):
        with context:
            gradients.append(transposed @ (rows @ x - values))
    if communicators:
        with pycuda.nccl.group():
            for comm, context, gradient in zip(communicators, contexts, gradients, strict=True):
                with context:
                    comm.allreduce(gradient, gradient, 0)  # ncclSum
    for context, (_, _, _, x), gradient in zip(contexts, parts, gradients, strict=True):
        with context:
            x -= gradient / ROWS

for context, (_, _, _, x) in zip(contexts, parts, strict=True):
    with context:
        np.testing.assert_allclose(x.get(), np.linalg.lstsq(A, y)[0], atol=1e-9)
print(f"devices: {count}, as NumPy's lstsq after {STEPS} steps")
for comm in communicators or ():
    comm.destroy()
