"""__nanosleep: threads sleep about as long as they ask for, and other threads run meanwhile."""

import numpy as np
import pytest

import pycuda.driver as drv

MILLISECOND = 1_000_000

SOURCE = """
extern "C" {
__device__ unsigned long long now()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}
__global__ void sleep_for(unsigned long long *took, int times, unsigned ns)
{
    unsigned long long start = now();
    for (int i = 0; i < times; i++) __nanosleep(ns);
    took[blockIdx.x * blockDim.x + threadIdx.x] = now() - start;
}
/* Some lanes of each warp sleep, for different times; the warp converges afterwards. */
__global__ void some(unsigned *out)
{
    int i = threadIdx.x;
    if (i % 3 == 0) __nanosleep(1000 * i);
    unsigned together = __ballot_sync(~0u, i & 1);
    __syncthreads();
    out[i] = together + i;
}
/* Threads of the whole grid take a lock, with pauses that grow. */
__global__ void count(unsigned *lock, unsigned *counter)
{
    unsigned ns = 8;
    while (atomicCAS(lock, 0, 1)) {
        __nanosleep(ns);
        if (ns < 256) ns *= 2;
    }
    __threadfence();
    *(volatile unsigned *)counter += 1;
    __threadfence();
    atomicExch(lock, 0);
}
/* The first thread sleeps until the last one, which may be in another block, sets the flag. */
__global__ void wait(volatile int *flag, int *rounds)
{
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == blockDim.x - 1) {
        __threadfence();
        *flag = 1;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        int n = 0;
        while (!*flag) { __nanosleep(1000000); n++; }
        *rounds = n;
    }
}
/* The second warp works while the first one sleeps. */
__global__ void work(volatile int *done, unsigned *steps)
{
    if (threadIdx.x == 0) {
        for (int i = 0; i < 20; i++) __nanosleep(1000000);
        *done = 1;
    }
    if (threadIdx.x == 32) {
        unsigned n = 0;
        while (!*done) n++;
        *steps = n;
    }
}
}
"""


def call(programs, name, *args, **shape):
    """Launches a kernel of SOURCE."""
    programs.get_function(name)(*args, **shape)


@pytest.mark.parametrize(
    ("grid", "block"), [((1, 1), (1, 1, 1)), ((3, 1), (64, 1, 1)), ((100, 1), (32, 1, 1))]
)
def test_a_sleep_takes_time(programs, grid, block):
    """PTX allows a sleep to end early: 20 of a millisecond take at least 4."""
    took = np.zeros(grid[0] * block[0], np.uint64)
    call(programs, "sleep_for", drv.InOut(took), np.int32(20), np.uint32(MILLISECOND), grid=grid, block=block)
    assert (took > 4 * MILLISECOND).all()


@pytest.mark.cpu("a GPU may sleep for twice as long")
def test_a_sleep_ends(programs):
    """Sleeps of no time, little time, and more than a millisecond, the longest that PTX has."""
    for ns, max_milliseconds in ((0, 100), (100, 100), (2**32 - 1, 1000)):
        took = np.zeros(64, np.uint64)
        call(programs, "sleep_for", drv.InOut(took), np.int32(10), np.uint32(ns), block=(64, 1, 1))
        assert (took < max_milliseconds * MILLISECOND).all()


def test_lanes_that_slept_converge(programs):
    out = np.zeros(128, np.uint32)
    call(programs, "some", drv.InOut(out), block=(128, 1, 1))
    assert (out == 0xAAAAAAAA + np.arange(128)).all()


@pytest.mark.parametrize(
    ("grid", "block"), [((1, 1), (64, 1, 1)), ((40, 1), (33, 1, 1)), ((300, 1), (1, 1, 1))]
)
def test_a_lock_with_a_pause(programs, grid, block):
    lock, counter = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    call(programs, "count", drv.InOut(lock), drv.InOut(counter), grid=grid, block=block)
    assert counter[0] == grid[0] * block[0] and lock[0] == 0


@pytest.mark.parametrize(("grid", "block"), [((1, 1), (64, 1, 1)), ((20, 1), (32, 1, 1))])
def test_other_threads_run_meanwhile(programs, grid, block):
    flag, rounds = np.zeros(1, np.int32), np.full(1, -1, np.int32)
    call(programs, "wait", drv.InOut(flag), drv.InOut(rounds), grid=grid, block=block)
    assert flag[0] == 1 and 0 <= rounds[0] < 1000


def test_another_warp_works_meanwhile(programs):
    done, steps = np.zeros(1, np.int32), np.zeros(1, np.uint32)
    call(programs, "work", drv.InOut(done), drv.InOut(steps), block=(64, 1, 1))
    assert done[0] == 1 and steps[0] > 100
