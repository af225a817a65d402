"""Three faults that a GPU does not report, found by the CPU device: where, by which thread, and why."""

import os

os.environ["PYCUDA_DEVICE"] = "cpu"
os.environ["PYCUDA_CPU_CHECK"] = "racecheck,initcheck"  # read when the driver is initialized

import numpy as np

import pycuda.driver as drv
from pycuda.compiler import SourceModule

SOURCE = """
__global__ void past_the_end(float *a)
{
    a[threadIdx.x + 1] = 0; // one too far
}
__global__ void race(float *a)
{
    __shared__ float part[64];
    part[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = part[63 - threadIdx.x]; // a barrier is missing before this line
}
__global__ void never_written(float *a)
{
    a[threadIdx.x] += 1; // a was never filled
}
"""


def find(name, prepare):
    """Runs a kernel on memory that prepare(memory) may fill, and prints its fault. A fault ends its context,
    so each kernel gets a context of its own.
    """
    context = drv.Device(0).make_context()
    try:
        kernel = SourceModule(SOURCE).get_function(name)
        memory = drv.mem_alloc(4 * 64)
        prepare(memory)
        kernel(memory, block=(64, 1, 1))
        context.synchronize()
        raise SystemExit(f"{name}: nothing was found")
    except drv.LaunchError as error:
        print(f"{name}:\n  {str(error).replace(os.path.dirname(__file__) + os.sep, '')}\n")
    finally:
        context.pop()


drv.init()
zeros = np.zeros(64, np.float32)
find("past_the_end", lambda memory: None)
find("race", lambda memory: drv.memcpy_htod(memory, zeros))
find("never_written", lambda memory: None)
