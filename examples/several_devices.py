"""All devices at work, each in a thread with a context of its own; without a GPU two virtual devices."""

import os
import threading

import numpy as np

os.environ.setdefault("PYCUDA_CPU_DEVICES", "2")  # no effect on GPUs

import pycuda.driver as drv
from pycuda.compiler import SourceModule

COUNT = 1 << 16
SOURCE = """
__global__ void sums(const float *x, int count, float *sum)
{
    float mine = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) mine += x[i] * x[i];
    atomicAdd(sum, mine);
}
"""


def run(ordinal, part, results):
    """A thread's function: stores the sum of squares of `part`, computed by a device, in results[ordinal]."""
    context = drv.Device(ordinal).make_context()  # current in this thread
    try:
        sums = SourceModule(SOURCE).get_function("sums")
        total = np.zeros(1, np.float32)
        sums(drv.In(part), np.int32(part.size), drv.InOut(total), block=(256, 1, 1))
        results[ordinal] = float(total[0])
    finally:
        context.pop()
        context.detach()


drv.init()
count = drv.Device.count()
values = np.random.default_rng(0).random(COUNT).astype(np.float32)
results = [None] * count
threads = [
    threading.Thread(target=run, args=(ordinal, part, results))
    for ordinal, part in enumerate(np.array_split(values, count))
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for ordinal, result in enumerate(results):
    print(f"device {ordinal}, {drv.Device(ordinal).name()}: {result:.1f}")
expected = float((values.astype(float) ** 2).sum())
print(f"together {sum(results):.1f}, by NumPy {expected:.1f}")
assert abs(sum(results) - expected) < 1e-4 * expected
