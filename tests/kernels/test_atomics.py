"""Atomics on 32 and 64 bits, in global and in shared memory, from many blocks at once."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

BLOCKS, THREADS = 37, 96
N = BLOCKS * THREADS
CTYPES = {
    "i": "int", "I": "unsigned", "L": "unsigned long long", "q": "long long", "l": "long long", "f": "float",
    "d": "double",
}  # fmt: skip


def run(body, initial, out_count=N):
    """(cell, out) after every thread i has run the body, C++ over the arrays `cell`, which begins as
    `initial`, and `out`, which begins as zeros."""
    ctype = CTYPES[initial.dtype.char]
    cell, out = initial.copy(), np.zeros(out_count, initial.dtype)
    SourceModule(f"""
    __global__ void atomics({ctype} *cell, {ctype} *out)
    {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i == {N})
            return;
        {body}
    }}
    """).get_function("atomics")(drv.InOut(cell), drv.InOut(out), block=(THREADS, 1, 1), grid=(BLOCKS, 1))
    return cell, out


@pytest.mark.parametrize(
    "dtype", [np.int32, np.uint32, np.uint64, np.float32, np.float64], ids=lambda t: t.__name__
)
def test_add(dtype):
    cell, out = run("out[i] = atomicAdd(cell, 1);", np.zeros(1, dtype))
    assert cell[0] == N
    assert (np.sort(out) == np.arange(N)).all()  # each thread got another value


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64], ids=lambda t: t.__name__)
def test_min_max(dtype):
    cell, _ = run("atomicMin(cell, i); atomicMax(cell + 1, i);", np.array([N, 0], dtype))
    assert (cell == [0, N - 1]).all()


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64], ids=lambda t: t.__name__)
def test_bitwise_atomics(dtype):
    bits = dtype().itemsize * 8
    one = "1ull" if bits == 64 else "1u"
    cell, _ = run(
        f"atomicOr(cell, {one} << i % {bits}); atomicAnd(cell + 1, ~({one} << i % 7));"
        f"atomicXor(cell + 2, {one});",
        np.array([0, 2**bits - 1, 0], dtype),
    )
    assert (cell == [2**bits - 1, 2**bits - 1 - 127, N % 2]).all()


@pytest.mark.parametrize("dtype", [np.int32, np.uint64], ids=lambda t: t.__name__)
def test_exchange(dtype):
    cell, out = run("out[i] = atomicExch(cell, i + 1);", np.zeros(1, dtype))
    assert (np.sort(np.append(out, cell)) == np.arange(N + 1)).all()


@pytest.mark.parametrize("dtype", [np.int32, np.uint64], ids=lambda t: t.__name__)
def test_compare_and_swap_as_lock_free_sum(dtype):
    ctype = "int" if dtype is np.int32 else "unsigned long long"
    cell, _ = run(
        f"{ctype} seen = *cell, old;"
        "do { old = seen; seen = atomicCAS(cell, old, old + 2); } while (seen != old);",
        np.zeros(1, dtype),
    )
    assert cell[0] == 2 * N


def test_increment_and_decrement_wrap():
    cell, _ = run("atomicInc(cell, 99); atomicDec(cell + 1, 99);", np.zeros(2, np.uint32))
    assert (cell == [N % 100, (-N) % 100]).all()


def test_histogram_in_shared_memory():
    values = np.random.default_rng(0).integers(0, 64, N).astype(np.int32)
    counts = np.zeros(64, np.int32)
    SourceModule("""
    __global__ void histogram(const int *a, int *counts)
    {
        __shared__ int mine[64];
        if (threadIdx.x < 64)
            mine[threadIdx.x] = 0;
        __syncthreads();
        atomicAdd(&mine[a[blockIdx.x * blockDim.x + threadIdx.x]], 1);
        __syncthreads();
        if (threadIdx.x < 64)
            atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
    }
    """).get_function("histogram")(drv.In(values), drv.InOut(counts), block=(THREADS, 1, 1), grid=(BLOCKS, 1))
    assert (counts == np.bincount(values, minlength=64)).all()


def test_the_last_block_sums_the_results_of_all():
    """The programming guide's example for __threadfence(): the last block to arrive adds the blocks' sums."""
    a = np.arange(N, dtype=np.int64)
    out = np.zeros(BLOCKS + 1, np.int64)
    SourceModule("""
    __device__ unsigned arrived = 0;
    __global__ void sum(const long long *a, long long *out)
    {
        __shared__ bool last;
        unsigned long long value = a[blockIdx.x * blockDim.x + threadIdx.x];
        atomicAdd((unsigned long long *)&out[blockIdx.x], value);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            last = atomicAdd(&arrived, 1) == gridDim.x - 1;
        __syncthreads();
        if (last && threadIdx.x == 0)
            for (int b = 0; b < gridDim.x; b++)
                out[gridDim.x] += ((volatile long long *)out)[b];
    }
    """).get_function("sum")(drv.In(a), drv.InOut(out), block=(THREADS, 1, 1), grid=(BLOCKS, 1))
    assert out[-1] == a.sum()
