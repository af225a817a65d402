"""Kernels that the CPU device does not run warp by warp: it runs elementwise kernels for whole blocks at
once, and kernels that sum in loops with all warps of a block in lockstep.

Results must be those of single threads, even if indices wrap around, arrays overlap, blocks are not full or a
bound is within a block. A fault must name the first thread that has it.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

SOURCE = """
typedef unsigned long long u64;

extern "C" __global__ void sums(float *out, const float *a, const float *b, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" __global__ void quads(float4 *out, const float4 *a, const float4 *b, int n, float factor)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 x = a[i], y = b[i];
    out[i] = make_float4(x.x * factor - y.x, x.y * factor - y.y, x.z * factor - y.z, x.w * factor - y.w);
}

// The parts of a vector are swapped, so that there is no single operation for all of them.
extern "C" __global__ void parts_swapped(float4 *out, const float4 *a, float4 *)
{
    const float4 x = a[threadIdx.x];
    out[threadIdx.x] = make_float4(x.y + 1, x.x + 1, x.w + 1, x.z + 1);
}

extern "C" __global__ void doubles(double2 *out, const double2 *a, long long n)
{
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = make_double2(-a[i].x / 3, -a[i].y / 3);
}

extern "C" __global__ void swapped(int *a, int *b)
{
    const int i = threadIdx.x, x = a[i], y = b[i];
    a[i] = y;
    b[i] = x;
}

extern "C" __global__ void several(int *a, int *b, int *c)
{
    const int i = threadIdx.x, x = a[i], y = b[i];
    a[i] = x + y;
    b[i] = x - y;
    c[i] = 7;
}

extern "C" __global__ void read_again(volatile int *, int *a, int *b)
{
    const int i = threadIdx.x;
    a[i] = b[i] + 1;
    b[i] = a[i] * 3; // reads what the statement before stored
}

extern "C" __global__ void copied(float4 *out, const float4 *a)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i];
}

extern "C" __global__ void filled(float4 *out, float value)
{
    out[threadIdx.x] = make_float4(value, value, value, value);
}

// The index wraps around in the middle of the block.
extern "C" __global__ void wraps(int *out, const int *a, unsigned first)
{
    const u64 i = first + threadIdx.x, at = i >= 0x80000000u ? i - 0x80000000u : i + 100;
    out[at] = a[at] + 1;
}

extern "C" __global__ void wraps_by_width(int *out, const int *a, unsigned first)
{
    const unsigned i = first + threadIdx.x;
    out[(u64)i % 0x100000000ull & 0xff] = a[threadIdx.x] - 1;
}

// Bounds between a block's first thread and its last.
extern "C" __global__ void bounded(int *out, const int *a, int least, u64 most)
{
    const int i = (int)threadIdx.x - 100;
    if (i < least) return;
    if ((u64)(long long)i > most) return;
    out[threadIdx.x] = a[threadIdx.x] * 5 + 2;
}

// One thread does not take part, but its neighbors do.
extern "C" __global__ void one_left_out(int *out, const int *a, unsigned which)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i != which) out[i] = a[i] ^ 0x55;
}

// Each thread adds up vectors of 4 elements, then single ones: their loops end in different rounds.
extern "C" __global__ void gathered(float *out, const float4 *a, int n, int more)
{
    float sum = 0;
    int i = threadIdx.x;
#pragma unroll 1
    for (int first = 0; first + blockDim.x <= n; first += blockDim.x, i += blockDim.x) {
        const float4 x = a[i];
        sum += (x.x + x.y) + (x.z + x.w);
    }
#pragma unroll 1
    for (; i < n; i += blockDim.x) sum -= a[i].w;
#pragma unroll 1
    for (int k = threadIdx.x % 5; k < more; k++) sum += k * i;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// After a loop lanes exchange values, over distances within a warp and within parts of a warp.
extern "C" __global__ void exchanged(int *out, const int *a, int rounds)
{
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < rounds; k++) sum += a[k * blockDim.x + threadIdx.x];
    sum += 3 * __shfl_xor_sync(~0u, sum, 1);
    sum += 5 * __shfl_xor_sync(~0u, sum, 16);
    sum += 7 * __shfl_xor_sync(~0u, sum, 2, 4);
    if (threadIdx.x % 32 == 3) sum = -sum;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum + threadIdx.x / 32;
}

// Pairs of doubles. The distance by which `from` has advanced, which is uniform, is read after the loop.
extern "C" __global__ void pairs(double *out, const double2 *a, int rounds, u64 apart)
{
    double low = 1, high = 2;
    const double2 *from = a + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < rounds; k++, from += apart) {
        const double2 x = *from;
        low = low * 0.5 + x.x;
        high = k == 1 ? low : high - x.y;
    }
    const long long places = from - a;
    out[threadIdx.x] = low + high * places;
}
"""


@pytest.fixture(scope="module")
def kernels():
    """The function that returns a kernel of SOURCE by its name."""
    module = SourceModule(SOURCE, no_extern_c=True)
    return module.get_function


RESULT_NAN = 0x7FFFFFFF  # the bits of every NaN that an addition computes, whatever its operands are


def floats(n, seed=1):
    """n normally distributed numbers, among them a few of NaN, infinity and -0."""
    rng = np.random.default_rng(seed)
    out = rng.normal(size=n).astype(np.float32)
    out[rng.integers(0, n, 3)] = [np.nan, np.inf, -0.0]
    out.view(np.uint32)[n // 2] = 0xFFC12345  # a NaN with other bits than RESULT_NAN
    return out


@pytest.mark.parametrize("threads", [1, 31, 32, 33, 100, 256, 1024])
@pytest.mark.parametrize("offset", [0, 1])
def test_sums(kernels, threads, offset):
    """The last block is not full: its last threads are out of bounds. The arrays begin `offset` elements
    after an aligned address. Nothing before or after the `n` results is written.
    """
    blocks = 5
    n = blocks * threads - threads // 3
    a, b = floats(n + offset, 1), floats(n + offset, 2)
    out = np.zeros(blocks * threads + offset, np.float32)
    to, left, right = (drv.to_device(x) for x in (out, a, b))
    addresses = [np.intp(int(memory) + offset * out.itemsize) for memory in (to, left, right)]
    kernels("sums")(*addresses, np.uint32(n), block=(threads, 1, 1), grid=(blocks, 1))
    result = drv.from_device_like(to, out)
    expected = a[offset:] + b[offset:]
    np.testing.assert_array_equal(result[offset : offset + n], expected)
    nans = result[offset : offset + n][np.isnan(expected)]
    assert set(nans.view(np.uint32).tolist()) == {RESULT_NAN}
    assert not result[offset + n :].any() and not result[:offset].any()


@pytest.mark.parametrize("threads", [16, 64, 96, 1024])
def test_vectors(kernels, threads):
    """Threads that each load and store vectors of 4 floats; those past the n-th vector store nothing."""
    blocks, factor = 3, 1.5
    n = blocks * threads - 5
    a, b = floats(4 * n, 1), floats(4 * n, 2)
    out = np.zeros(4 * blocks * threads, np.float32)
    kernels("quads")(
        drv.InOut(out), drv.In(a), drv.In(b), np.int32(n), np.float32(factor), block=(threads, 1, 1),
        grid=(blocks, 1),
    )  # fmt: skip
    # The compiler makes one fused operation of product and difference, which rounds once.
    exact = a.astype(np.float64) * factor - b
    np.testing.assert_allclose(out[: 4 * n], exact.astype(np.float32), rtol=1e-6, atol=1e-6)
    assert not out[4 * n :].any()


def test_elements_are_swapped_within_a_vector(kernels):
    a = floats(4 * 64)
    out = np.zeros_like(a)
    kernels("parts_swapped")(drv.Out(out), drv.In(a), drv.In(a), block=(64, 1, 1))
    np.testing.assert_array_equal(out, (a.reshape(-1, 4)[:, [1, 0, 3, 2]] + 1).ravel())


def test_vectors_of_doubles(kernels):
    """Threads past the n-th vector of two doubles, in a last block that is not full, store nothing."""
    n, threads, blocks = 300, 128, 3
    a = floats(2 * n).astype(np.float64)
    out = np.zeros(2 * threads * blocks)
    kernels("doubles")(drv.InOut(out), drv.In(a), np.int64(n), block=(threads, 1, 1), grid=(blocks, 1))
    np.testing.assert_array_equal(out[: 2 * n], -a / 3)
    assert not out[2 * n :].any()


def test_a_kernel_that_swaps_two_arrays(kernels):
    a, b = np.arange(256, dtype=np.int32), np.arange(1000, 1256, dtype=np.int32)
    x, y = a.copy(), b.copy()
    kernels("swapped")(drv.InOut(x), drv.InOut(y), block=(256, 1, 1))
    np.testing.assert_array_equal(x, b)
    np.testing.assert_array_equal(y, a)


def test_several_results(kernels):
    a, b = np.arange(192, dtype=np.int32), np.arange(192, dtype=np.int32)[::-1] * 3
    x, y, z = a.copy(), b.copy(), np.zeros_like(a)
    kernels("several")(drv.InOut(x), drv.InOut(y), drv.Out(z), block=(192, 1, 1))
    np.testing.assert_array_equal(x, a + b)
    np.testing.assert_array_equal(y, a - b)
    assert (z == 7).all()


def test_a_load_reads_what_the_thread_stored_before(kernels):
    a, b = np.zeros(64, np.int32), np.arange(64, dtype=np.int32)
    kernels("read_again")(drv.In(b), drv.InOut(a), drv.InOut(b), block=(64, 1, 1))
    np.testing.assert_array_equal(a, np.arange(1, 65))
    np.testing.assert_array_equal(b, a * 3)


def test_copies_and_fills(kernels):
    a = floats(4 * 512)
    out = np.zeros_like(a)
    kernels("copied")(drv.Out(out), drv.In(a), block=(256, 1, 1), grid=(2, 1))
    assert out.tobytes() == a.tobytes()
    kernels("filled")(drv.InOut(out), np.float32(2.5), block=(100, 1, 1))
    assert (out[:400] == 2.5).all()
    assert out[400:].tobytes() == a[400:].tobytes()


def test_an_index_that_wraps_around(kernels):
    a = np.arange(400, dtype=np.int32)
    out = np.zeros_like(a)
    kernels("wraps")(drv.InOut(out), drv.In(a), np.uint32(0x80000000), block=(128, 1, 1))
    np.testing.assert_array_equal(out[:128], a[:128] + 1)
    first = 0xFFFFFFFF - 99  # thread 100 is at index 0 again, which becomes 100
    out[:] = 0
    kernels("wraps_by_width")(drv.InOut(out), drv.In(a), np.uint32(first), block=(128, 1, 1))
    expected = np.zeros_like(a)
    expected[(first + np.arange(128)) % 2**32 & 0xFF] = a[:128] - 1
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("minimum", [-1000, -100, -37, 0, 155, 156])
@pytest.mark.parametrize("maximum", [0, 60, 155, 2**63, 2**64 - 1, 2**64 - 64])
def test_bounds_within_a_block(kernels, minimum, maximum):
    a = np.arange(256, dtype=np.int32)
    out = np.full_like(a, -9)
    kernels("bounded")(drv.InOut(out), drv.In(a), np.int32(minimum), np.uint64(maximum), block=(256, 1, 1))
    in_bounds = [minimum <= i and i % 2**64 <= maximum for i in range(-100, 156)]
    np.testing.assert_array_equal(out, np.where(in_bounds, a * 5 + 2, -9))


@pytest.mark.parametrize("which", [0, 1, 31, 32, 255, 256, 300, 511, 1000])
def test_one_thread_that_is_left_out(kernels, which):
    a = np.arange(512, dtype=np.int32)
    out = np.full_like(a, -9)
    kernels("one_left_out")(drv.InOut(out), drv.In(a), np.uint32(which), block=(256, 1, 1), grid=(2, 1))
    np.testing.assert_array_equal(out, np.where(a == which, -9, a ^ 0x55))


def test_operands_and_result_are_one_array(kernels):
    a = floats(256)
    x = drv.to_device(a)
    kernels("sums")(x, x, x, np.uint32(256), block=(128, 1, 1), grid=(2, 1))
    np.testing.assert_array_equal(drv.from_device_like(x, a), a + a)


def test_arrays_that_overlap(kernels):
    """a[i + 1] = 2 * a[i] by blocks of one warp, which run one after another: each block reads one element
    that the block before stored, and stores only after all its loads."""
    a = np.arange(200, dtype=np.float32)
    if "CPU" not in drv.Context.get_device().name():
        pytest.skip("the order of blocks is the CPU device's")
    if os.environ.get("PYCUDA_CPU_SCHEDULE") or os.environ.get("PYCUDA_CPU_THREADS") != "1":
        pytest.skip("blocks run in order only with one thread and without a random schedule")
    x = drv.to_device(a)
    kernels("sums")(np.intp(int(x) + 4), x, x, np.uint32(160), block=(32, 1, 1), grid=(5, 1))
    expected = a.copy()
    for first in range(0, 160, 32):
        expected[first + 1 : first + 33] = 2 * expected[first : first + 32]
    np.testing.assert_array_equal(drv.from_device_like(x, a), expected)


@pytest.mark.parametrize("threads", [32, 128, 144, 256, 1024])
@pytest.mark.parametrize("rounds, more", [(0, 0), (1, 0), (3, 4), (7, 9)])
@pytest.mark.parametrize("rest", [0, 1, 31])
def test_sums_of_loops(kernels, threads, rounds, more, rest):
    n = rounds * threads + rest
    a = np.random.default_rng(n).integers(-99, 99, 4 * n + 4).astype(np.float32)
    out = np.zeros(2 * threads, np.float32)
    kernels("gathered")(
        drv.Out(out), drv.In(a), np.int32(n), np.int32(more), block=(threads, 1, 1), grid=(2, 1)
    )
    quads = a[: 4 * n].reshape(-1, 4)
    expected = quads[: rounds * threads].sum(1).reshape(rounds, threads).sum(0)
    expected[:rest] -= quads[rounds * threads :, 3]
    for t in range(threads):
        i = t + rounds * threads + (threads if t < rest else 0)
        expected[t] += sum(k * i for k in range(t % 5, more))
    np.testing.assert_array_equal(out, np.tile(expected, 2))


@pytest.mark.parametrize("threads", [32, 128, 512])
@pytest.mark.parametrize("rounds", [1, 6])
def test_shuffles_after_a_loop(kernels, threads, rounds):
    a = np.random.default_rng(rounds).integers(-999, 999, rounds * threads).astype(np.int32)
    out = np.zeros(3 * threads, np.int32)
    kernels("exchanged")(drv.Out(out), drv.In(a), np.int32(rounds), block=(threads, 1, 1), grid=(3, 1))
    lane = np.arange(threads)
    total = a.reshape(rounds, threads).sum(0)
    total = total + 3 * total[lane ^ 1]
    total = total + 5 * total[lane ^ 16]
    total = total + 7 * total[lane ^ 2]
    expected = np.where(lane % 32 == 3, -total, total) + lane // 32
    np.testing.assert_array_equal(out, np.tile(expected, 3))


@pytest.mark.parametrize("rounds, apart", [(0, 128), (1, 128), (2, 0), (5, 128), (5, 129)])
def test_pairs_of_doubles(kernels, rounds, apart):
    a = np.random.default_rng(rounds).normal(size=(rounds * 129 + 128, 2))
    out = np.zeros(128)
    kernels("pairs")(drv.Out(out), drv.In(a), np.int32(rounds), np.uint64(apart), block=(128, 1, 1))
    low, high = np.ones(128), np.full(128, 2.0)
    for k in range(rounds):
        x = a[k * apart : k * apart + 128]
        low = low * 0.5 + x[:, 0]
        high = low if k == 1 else high - x[:, 1]
    np.testing.assert_allclose(out, low + high * (rounds * apart + np.arange(128)), rtol=1e-14)


FAULT = """
import sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
sys.path.insert(0, {folder!r})
from test_whole_blocks import SOURCE, SourceModule
kernel = SourceModule(SOURCE, no_extern_c=True).get_function({name!r})
a, b = drv.mem_alloc(4096), drv.mem_alloc(4096)
try:
    arrays = (b,) if {name!r} == "gathered" else (b, b)
    kernel(np.intp(int(a) + {shift}), *arrays, np.int32({n}), *{more}, block=(256, 1, 1), grid=(2, 1))
    drv.Context.synchronize()
except drv.Error as error:
    print(error)
"""


# shift: of the result's address in bytes. The result has 4096 bytes; message: in the error, "" if there is
# none.
@pytest.mark.parametrize(
    "name, shift, n, more, message",
    [
        ("sums", 2048 + 4, 512, "()", "thread (255,0,0)"),
        ("sums", 2048, 512, "()", ""),
        ("sums", 2, 512, "()", "misaligned"),
        ("quads", 4, 256, "(np.float32(1),)", "misaligned"),
        ("quads", 16, 256, "(np.float32(1),)", "thread (255,0,0)"),
        ("gathered", 0, 256, "(np.int32(3),)", ""),
        ("gathered", 0, 512, "(np.int32(3),)", "thread (0,0,0)"),
        ("gathered", 0, 257, "(np.int32(3),)", "thread (0,0,0)"),
    ],
)
def test_faults_name_the_first_thread(run_python, name, shift, n, more, message):
    if "CPU" not in drv.Context.get_device().name():
        pytest.skip("the text of a fault is the CPU device's")
    code = FAULT.format(folder=os.path.dirname(__file__), name=name, shift=shift, n=n, more=more)
    done = run_python(code, env={"PYCUDA_CPU_SCHEDULE": "", "PYCUDA_CPU_THREADS": "1"})
    assert message in done.stdout and bool(done.stdout) == bool(message), done.stdout + done.stderr


@pytest.mark.parametrize("isa", ["v2", "v3", "v4"])
def test_each_instruction_set(isa, tmp_path):
    """Runs this file again, with code for another instruction set of the host."""
    name = drv.Context.get_device().name()
    if "CPU" not in name or isa in name or "PYCUDA_CPU_ISA" in os.environ:
        pytest.skip("the tests above have run with it")
    env = {**os.environ, "PYCUDA_CPU_ISA": isa, "PYCUDA_CPU_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    # Not in the current folder, since "-m" would look for packages there.
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
