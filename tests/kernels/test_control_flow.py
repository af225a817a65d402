"""Divergence: loops of different lengths, early exits, recursion, calls, local arrays, locks."""

import os

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule


def run(source, name, out, *args, block=(64, 1, 1), grid=(4, 1), **options):
    """Launches a kernel with `out` as its first argument, and returns `out`. options: of SourceModule."""
    SourceModule(source, **options).get_function(name)(drv.InOut(out), *args, block=block, grid=grid)
    return out


def test_loops_of_different_lengths():
    out = run(
        """
    __global__ void collatz(int *out)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x, steps = 0;
        for (long long n = i + 1; n != 1; n = n % 2 ? 3 * n + 1 : n / 2)
            steps++;
        out[i] = steps;
    }
    """,
        "collatz",
        np.empty(256, np.int32),
    )

    def steps(n):
        count = 0
        while n != 1:
            n, count = (3 * n + 1 if n % 2 else n // 2), count + 1
        return count

    assert (out == [steps(i + 1) for i in range(256)]).all()


def test_early_return_before_a_barrier():
    out = run(
        """
    __global__ void leave(int *out)
    {
        __shared__ int seen;
        if (threadIdx.x == 0)
            seen = 0;
        __syncthreads();
        if (threadIdx.x % 3 == 0)
            return;
        atomicAdd(&seen, 1);
        __syncthreads();
        out[blockIdx.x * blockDim.x + threadIdx.x] = seen;
    }
    """,
        "leave",
        np.full(256, -1, np.int32),
    )
    inside = np.arange(256) % 64 % 3 != 0
    assert (out == np.where(inside, inside[:64].sum(), -1)).all()


def test_recursion_and_calls():
    out = run(
        """
    __device__ __noinline__ int ackermann(int m, int n)
    {
        if (m == 0) return n + 1;
        if (n == 0) return ackermann(m - 1, 1);
        return ackermann(m - 1, ackermann(m, n - 1));
    }
    __global__ void deep(int *out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x % 5); }
    """,
        "deep",
        np.empty(32, np.int32),
        block=(32, 1, 1),
        grid=(1, 1),
    )

    def ackermann(m, n):
        if m == 0:
            return n + 1
        return ackermann(m - 1, ackermann(m, n - 1) if n else 1)

    assert (out == [ackermann(t % 3, t % 5) for t in range(32)]).all()


def test_local_arrays_and_switch():
    out = run(
        """
    __global__ void sort(int *out)
    {
        int mine[8], t = threadIdx.x;
        for (int k = 0; k < 8; k++)
            mine[k] = (t * 37 + k * 101) % 97;
        for (int a = 0; a < 8; a++)
            for (int b = 0; b < 7; b++)
                if (mine[b] > mine[b + 1]) { int s = mine[b]; mine[b] = mine[b + 1]; mine[b + 1] = s; }
        switch (t % 4) {
        case 0: out[t] = mine[0]; break;
        case 1: out[t] = mine[7]; break;
        case 2: out[t] = mine[t % 8]; break;
        default: out[t] = -1;
        }
    }
    """,
        "sort",
        np.empty(64, np.int32),
        grid=(1, 1),
    )
    wanted = []
    for t in range(64):
        mine = sorted((t * 37 + k * 101) % 97 for k in range(8))
        wanted.append([mine[0], mine[7], mine[t % 8], -1][t % 4])
    assert (out == wanted).all()


def test_spin_lock_between_lanes_of_a_warp():
    """A lane holds the lock while other lanes of its warp wait for it: this deadlocks unless diverged lanes
    all make progress."""
    out = run(
        """
    __device__ int lock = 0;
    __global__ void count(int *out)
    {
        bool done = false;
        while (!done) {
            if (atomicCAS(&lock, 0, 1) == 0) {
                ((volatile int *)out)[0] += 1;
                __threadfence();
                atomicExch(&lock, 0);
                done = true;
            }
        }
    }
    """,
        "count",
        np.zeros(1, np.int32),
        block=(64, 1, 1),
        grid=(4, 1),
    )
    assert out[0] == 256


def test_two_and_three_dimensions():
    out = np.zeros((2, 3, 4, 5, 6, 7), np.int32)
    run(
        """
    __global__ void index(int *out)
    {
        int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
            blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z
            + 1000 * threadIdx.x + 10000 * threadIdx.y + 100000 * threadIdx.z;
    }
    """,
        "index",
        out,
        block=(7, 6, 5),
        grid=(4, 3, 2),
    )
    z, y, x, tz, ty, tx = np.indices(out.shape)
    assert (out == x + 10 * y + 100 * z + 1000 * tx + 10000 * ty + 100000 * tz).all()


def test_structures_and_templates():
    out = run(
        """
    struct Pair { double x; int n; };
    template <typename T> __device__ T twice(T value) { return value + value; }
    extern "C" __global__ void pairs(double *out, Pair p)
    {
        out[threadIdx.x] = twice(p.x) * twice(p.n) + threadIdx.x;
    }
    """,
        "pairs",
        np.empty(32),
        np.array((1.5, 7), np.dtype([("x", "f8"), ("n", "i4")], align=True)),
        block=(32, 1, 1),
        grid=(1, 1),
        no_extern_c=True,
    )
    assert (out == 42 + np.arange(32)).all()


def test_constant_memory_and_globals():
    module = SourceModule("""
    __constant__ float table[16];
    __device__ int counter = 5;
    __global__ void read(float *out) { out[threadIdx.x] = table[threadIdx.x] + counter; }
    """)
    address, size = module.get_global("table")
    assert size == 64
    drv.memcpy_htod(address, np.arange(16, dtype=np.float32))
    out = np.empty(16, np.float32)
    module.get_function("read")(drv.Out(out), block=(16, 1, 1))
    assert (out == np.arange(16) + 5).all()


# short_branches: branches of few instructions, which lanes skip. Threads whose condition is false must not
# read out of bounds: `nowhere` is no valid address. short_branch_astray: one thread reads there.
SHORT_BRANCHES = """
extern "C" __global__ void short_branches(int *out, const int *a, const int *nowhere, int which)
{
    const int t = threadIdx.x;
    int x = a[t], y = 3;
    // The element beyond the end is not read by a thread with a false condition.
    if (t % 3 == 1) x += a[t + 1] * 5;
    if (t % 7 != which) y = x - t;
    if (t == which) {
        out[1024 + t] = *(const volatile int *)(t < 2000 ? a + t : nowhere) + x;
        y *= 2;
    }
    if (x & 1)
        if (y > 9) x = -x;
    __syncwarp();
    out[t] = x * 31 + y;
}

extern "C" __global__ void short_branch_astray(int *out, const int *a, const int *nowhere, int which)
{
    const int t = threadIdx.x;
    int x = t;
    if (t == which) x = *nowhere;
    out[t] = x;
}
"""


@pytest.mark.parametrize("threads", [7, 32, 100, 256])
@pytest.mark.parametrize("which", [0, 5, 31, 70])
def test_lanes_that_skip_a_short_branch_do_not_run_its_instructions(threads, which):
    a = np.arange(3, 3 + 257, dtype=np.int32) ** 2 % 101
    out = np.full(2048, -1, np.int32)
    kernel = SourceModule(SHORT_BRANCHES, no_extern_c=True).get_function("short_branches")
    kernel(drv.InOut(out), drv.In(a), np.intp(0), np.int32(which), block=(threads, 1, 1))
    expected = np.full(2048, -1, np.int32)
    for t in range(threads):
        x = int(a[t]) + (int(a[t + 1]) * 5 if t % 3 == 1 else 0)
        y = x - t if t % 7 != which else 3
        if t == which:
            expected[1024 + t] = a[t] + x
            y *= 2
        if x & 1 and y > 9:
            x = -x
        expected[t] = x * 31 + y
    np.testing.assert_array_equal(out, expected)


ASTRAY = """
import sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
sys.path.insert(0, {folder!r})
from test_control_flow import SHORT_BRANCHES, SourceModule
kernel = SourceModule(SHORT_BRANCHES, no_extern_c=True).get_function("short_branch_astray")
out = drv.mem_alloc(1024)
try:
    kernel(out, out, np.intp(16), np.int32({which}), block=(128, 1, 1))
    drv.Context.synchronize()
    print("nothing")
except drv.Error as error:
    print(error)
"""


@pytest.mark.parametrize("which, message", [(77, "thread (77,0,0)"), (128, "nothing")])
def test_a_fault_in_a_short_branch_names_its_thread(run_python, which, message):
    if "CPU" not in drv.Context.get_device().name():
        pytest.skip("the text of a fault is the CPU device's")
    code = ASTRAY.format(folder=os.path.dirname(__file__), which=which)
    done = run_python(code)
    assert message in done.stdout, done.stdout + done.stderr
