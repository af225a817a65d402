"""Kernels whose blocks wait for each other without a cooperative launch: as many blocks as can be resident by
max_active_blocks_per_multiprocessor() run at the same time, however they wait."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

ROUNDS = 3
# How thread 0 of a block waits until all blocks have counted themselves.
WAITS = {
    "volatile": "while (*(volatile unsigned *)count < wanted) { }",
    "atomic": "while (atomicAdd(count, 0) < wanted) { }",
    "compare": "while (atomicCAS(count, wanted, wanted) != wanted) { }",
    "past_l1": "while (__ldcg(count) < wanted) __threadfence();",
    "fence": "while (*count < wanted) __threadfence();",
    "sleep": "while (*(volatile unsigned *)count < wanted) __nanosleep(200);",
    "short_sleep": "while (*(volatile unsigned *)count < wanted) __nanosleep(2);",
}
# A weak read without a fence: for a GPU the assembler may move it out of the loop, which then never ends; the
# CPU device reads each time.
WEAK = "while (__ldcg(count) < wanted) { }"
KERNEL = """
extern "C" __global__ void by_%(name)s(unsigned *counts, int *sums, int rounds)
{
    const unsigned wanted = gridDim.x;
    for (int r = 0; r < rounds; r++) {
        unsigned *count = counts + r;
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(count, 1);
            %(wait)s
            __threadfence();
        }
        __syncthreads();
        sums[blockIdx.x * blockDim.x + threadIdx.x] += *(volatile unsigned *)counts;
    }
}
"""


@pytest.fixture(scope="module")
def module():
    """A kernel by_NAME for each of WAITS."""
    return SourceModule("".join(KERNEL % {"name": name, "wait": wait} for name, wait in WAITS.items()))


@pytest.mark.parametrize("threads", [32, 256])
@pytest.mark.parametrize("name", WAITS)
def test_all_resident_blocks_wait_for_each_other(module, name, threads):
    kernel = module.get_function(f"by_{name}")
    device = drv.Context.get_device()
    blocks = kernel.max_active_blocks_per_multiprocessor(threads) * device.multiprocessor_count
    counts = np.zeros(ROUNDS, np.uint32)
    sums = np.zeros(blocks * threads, np.int32)
    kernel(drv.InOut(counts), drv.InOut(sums), np.int32(ROUNDS), block=(threads, 1, 1), grid=(blocks, 1))
    assert (counts == blocks).all()
    assert (sums == ROUNDS * blocks).all()


PROGRAM = """
import numpy as np
import pycuda.driver as drv
from pycuda.compiler import SourceModule

drv.init()
context = drv.Device(0).make_context()
kernel = SourceModule(%r).get_function("by_weak")
blocks = kernel.max_active_blocks_per_multiprocessor(32) * context.get_device().multiprocessor_count
for launch in range(10):
    counts, sums = np.zeros(2, np.uint32), np.zeros(blocks * 32, np.int32)
    kernel(drv.InOut(counts), drv.InOut(sums), np.int32(2), block=(32, 1, 1), grid=(blocks, 1))
    assert (counts == blocks).all() and (sums == 2 * blocks).all()
context.pop()
"""


@pytest.mark.cpu("worker threads, checks and schedulers of the CPU device")
@pytest.mark.parametrize(
    "setting",
    [{"THREADS": "1"}, {"THREADS": "4"}, {"THREADS": "7"}, {"CHECK": "racecheck"}, {"SCHEDULE": "random:5"}],
    ids=lambda setting: "-".join(*setting.items()),
)
def test_any_number_of_worker_threads_and_any_schedule(run_python, setting):
    source = KERNEL % {"name": "weak", "wait": WEAK}
    run_python(
        PROGRAM % source, env={"PYCUDA_CPU_" + name: value for name, value in setting.items()}, check=True
    )
