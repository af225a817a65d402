"""A structure as an argument: a record of NumPy has the layout of C, and is passed to the kernel by value."""

import numpy as np

import pycuda.driver as drv
from pycuda.compiler import SourceModule

plan = np.dtype([("count", np.int32), ("scale", np.float64), ("shift", np.float32, 3)], align=True)

apply = SourceModule("""
struct Plan {
    int count;
    double scale;
    float shift[3];
};
__global__ void apply(float *out, Plan plan)
{
    int i = threadIdx.x;
    if (i < plan.count) out[i] = plan.scale * i + plan.shift[i % 3];
}
""").get_function("apply")

record = np.zeros((), plan)
record["count"], record["scale"], record["shift"] = 8, 0.5, [100, 200, 300]
out = np.zeros(10, np.float32)
apply(drv.InOut(out), record[()], block=(10, 1, 1))
print(f"{plan.itemsize} bytes by value:", out)
assert (out[:8] == np.arange(8) * 0.5 + [100, 200, 300, 100, 200, 300, 100, 200]).all() and not out[8:].any()
