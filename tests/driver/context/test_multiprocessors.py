"""How many multiprocessors the CPU device reports. Cooperative grids are bounded by them, and not by the
number of threads that run blocks."""

import pytest

pytestmark = pytest.mark.cpu("PYCUDA_CPU_MULTIPROCESSORS")

COUNT = """
import pycuda.driver as drv
drv.init()
print(drv.Device(0).multiprocessor_count)
"""

# Every block adds one and waits until all have, so that all must be resident at once. %s: numbers of blocks.
MEETING = """
import numpy as np
import pycuda.driver as drv
from pycuda.compiler import SourceModule

drv.init()
context = drv.Device(0).make_context()
meet = SourceModule('''
__global__ void meet(unsigned *arrived, unsigned *seen)
{
    __shared__ unsigned there;
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        do there = *(volatile unsigned *)arrived; while (there < gridDim.x);
    }
    __syncthreads();
    seen[blockIdx.x * blockDim.x + threadIdx.x] = there;
}''').get_function("meet")
for blocks in (%s):
    arrived, seen = np.zeros(1, np.uint32), np.zeros(64 * blocks, np.uint32)
    try:
        meet(drv.InOut(arrived), drv.InOut(seen), block=(64, 1, 1), grid=(blocks, 1), cooperative=True)
        print(blocks, arrived[0], (seen == blocks).all())
    except drv.Error as error:
        print(blocks, error.name)
context.pop()
"""
BLOCKS_OF_64 = 32  # how many blocks of 64 threads a multiprocessor of compute capability 9.0 holds


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_default_does_not_follow_the_threads(run_python, threads):
    environment = {"PYCUDA_CPU_THREADS": threads, "PYCUDA_CPU_MULTIPROCESSORS": None}
    assert run_python(COUNT, env=environment, check=True).stdout == "40\n"


@pytest.mark.parametrize("wanted", ["1", "132", "1024"])
def test_the_setting(run_python, wanted):
    assert run_python(COUNT, env={"PYCUDA_CPU_MULTIPROCESSORS": wanted}, check=True).stdout == wanted + "\n"


@pytest.mark.parametrize("wanted", ["0", "1025", "-3", "many", "4.5", "8 "])
def test_other_values_are_an_error(run_python, wanted):
    done = run_python(COUNT, env={"PYCUDA_CPU_MULTIPROCESSORS": wanted})
    assert done.returncode != 0 and "cuInit failed" in done.stderr
    assert f'PYCUDA_CPU_MULTIPROCESSORS is "{wanted}": it must be a number from 1 to 1024' in done.stderr


@pytest.mark.parametrize("threads", ["1", "2"])
def test_hundreds_of_blocks_are_resident_at_once(run_python, threads):
    """With one or two threads a cooperative grid may have as many blocks as the 40 multiprocessors hold."""
    max_blocks = 40 * BLOCKS_OF_64
    environment = {"PYCUDA_CPU_THREADS": threads, "PYCUDA_CPU_MULTIPROCESSORS": None}
    done = run_python(MEETING % f"300, {max_blocks}, {max_blocks + 1}", env=environment, check=True)
    refused = f"{max_blocks + 1} CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
    assert done.stdout.splitlines() == ["300 300 True", f"{max_blocks} {max_blocks} True", refused]


def test_the_setting_bounds_cooperative_grids(run_python):
    max_blocks = 2 * BLOCKS_OF_64
    done = run_python(
        MEETING % f"{max_blocks}, {max_blocks + 1}", env={"PYCUDA_CPU_MULTIPROCESSORS": "2"}, check=True
    )
    refused = f"{max_blocks + 1} CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
    assert done.stdout.splitlines() == [f"{max_blocks} {max_blocks} True", refused]
