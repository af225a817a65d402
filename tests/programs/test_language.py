"""C++ on the device: calls of every kind, the heap, atomics, cuda::std, cooperative groups."""

import ctypes

import devices
import numpy as np
import pytest

import pycuda.driver as drv

SOURCE = r"""
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/utility>
#include <cuda/std/variant>
#include <cuda/std/chrono>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

/* --- calls --- */

struct Shape {
    __device__ virtual double area() const = 0;
    __device__ virtual int corners() const { return 0; }
    __device__ virtual ~Shape() {}
};
struct Circle : Shape {
    double r;
    __device__ Circle(double r) : r(r) {}
    __device__ double area() const override { return 3 * r * r; }
};
struct Box : Shape {
    double a, b;
    __device__ Box(double a, double b) : a(a), b(b) {}
    __device__ double area() const override { return a * b; }
    __device__ int corners() const override { return 4; }
};
extern "C" __global__ void virtual_calls(double *out)
{
    int i = threadIdx.x;
    Shape *shape = i % 3 ? static_cast<Shape *>(new Circle(i)) : new Box(i, 2);
    out[i] = shape->area() + 1000 * shape->corners();
    delete shape;
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int subtract(int a, int b) { return a - b; }
__device__ __noinline__ int loop(int a, int b)
{
    int sum = 0;
    for (int k = 0; k < b; k++)
        sum += a ^ k;
    return sum;
}
__device__ Operation table[3] = {add, subtract, loop};
extern "C" __global__ void function_pointers(int *out, int shift)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[(i + shift) % 3](i, i % 7);
}

__device__ __noinline__ int hanoi(int n, int from, int to, int *moves)
{
    if (n == 0)
        return 0;
    int left = hanoi(n - 1, from, 3 - from - to, moves);
    ++*moves;
    return left + from * to + hanoi(n - 1, 3 - from - to, to, moves);
}
extern "C" __global__ void recursion(int *moves, int *sums)
{
    int i = threadIdx.x, count = 0;
    sums[i] = hanoi(i % 7, 0, 2, &count);
    moves[i] = count;
}

struct Big { int words[40]; char tail; };
__device__ __noinline__ Big turned(Big value, int by)
{
    Big out;
    for (int k = 0; k < 40; k++)
        out.words[k] = value.words[(k + by) % 40];
    out.tail = value.tail + 1;
    return out;
}
extern "C" __global__ void structs(const Big in, Big *out)
{
    out[threadIdx.x] = turned(turned(in, threadIdx.x), 3);
}

/* --- memory --- */

extern "C" __global__ void heap(unsigned *out)
{
    struct Node { Node *next; unsigned value; };
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Node *list = nullptr;
    for (int k = 0; k <= i % 9; k++)
        list = new Node{list, unsigned(i * k)};
    unsigned sum = 0;
    while (list) {
        Node *next = list->next;
        sum = sum * 31 + list->value;
        delete list;
        list = next;
    }
    char *text = static_cast<char *>(malloc(i + 1));
    memset(text, 'a' + i % 26, i + 1);
    sum += text[i];
    free(text);
    out[i] = sum;
}
extern "C" __global__ void heap_full(int *out)
{
    void *p = malloc(size_t(1) << 40);
    *out = p == nullptr;
}

extern __shared__ int dynamic[];
extern "C" __global__ void reverse(const int *in, int *out)
{
    unsigned size;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    dynamic[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x] + (threadIdx.x == 0 ? size : 0);
}

/* --- atomics of libcu++ --- */

__device__ cuda::atomic<long long, cuda::thread_scope_device> device_sum;
extern "C" __global__ void atomics(long long *out, double *doubles)
{
    __shared__ cuda::atomic<int, cuda::thread_scope_block> turn;
    __shared__ int protected_count;
    if (threadIdx.x == 0) {
        new (&turn) cuda::atomic<int, cuda::thread_scope_block>(0);
        protected_count = 0;
    }
    __syncthreads();
    while (turn.load(cuda::memory_order_acquire) != int(threadIdx.x)) /* a ticket lock between lanes */
        ;
    protected_count += threadIdx.x;
    turn.store(threadIdx.x + 1, cuda::memory_order_release);
    device_sum.fetch_add(threadIdx.x, cuda::memory_order_relaxed);
    cuda::atomic_ref<double, cuda::thread_scope_device> total(doubles[0]);
    total.fetch_add(0.5);
    cuda::atomic_ref<double, cuda::thread_scope_system> largest(doubles[1]);
    double seen = largest.load();
    while (seen < threadIdx.x && !largest.compare_exchange_weak(seen, threadIdx.x))
        ;
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = protected_count;
}
extern "C" __global__ void read_sum(long long *out) { *out = device_sum.exchange(0); }

extern "C" __global__ void small_atomics(unsigned char *bytes, unsigned short *halves)
{
    cuda::atomic_ref<unsigned char, cuda::thread_scope_device> byte(bytes[threadIdx.x % 3]);
    cuda::atomic_ref<unsigned short, cuda::thread_scope_device> half(halves[threadIdx.x % 3]);
    byte.fetch_add(1);
    half.fetch_xor(1 << threadIdx.x % 16);
}

/* --- cuda::std --- */

extern "C" __global__ void std_types(double *out)
{
    int i = threadIdx.x;
    cuda::std::array<int, 5> numbers = {5, 4, 3, 2, i};
    cuda::std::complex<double> z(i, 1);
    z = z * z + cuda::std::conj(z) / cuda::std::complex<double>(0, 2);
    cuda::std::optional<int> maybe = i % 2 ? cuda::std::optional<int>(i) : cuda::std::nullopt;
    cuda::std::tuple<int, double> both(i, 0.25);
    cuda::std::variant<int, double> either = 0.5;
    if (i % 3)
        either = i;
    auto [number, fraction] = both;
    int sum = 0;
    for (int value : cuda::std::span<int>(numbers.data(), 5))
        sum += value;
    out[i * 8] = sum;
    out[i * 8 + 1] = z.real();
    out[i * 8 + 2] = z.imag();
    out[i * 8 + 3] = maybe.value_or(-7);
    out[i * 8 + 4] = number + fraction;
    out[i * 8 + 5] = cuda::std::visit([](auto v) { return v * 2.0; }, either);
    out[i * 8 + 6] = cuda::std::popcount(unsigned(i)) * 100 + cuda::std::countl_zero(unsigned(i));
    cuda::std::chrono::milliseconds time = cuda::std::chrono::seconds(i);
    out[i * 8 + 7] = cuda::std::numeric_limits<short>::max() + double(time.count());
}

/* --- cooperative groups --- */

extern "C" __global__ void tiles(const int *in, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    auto warp = cg::tiled_partition<32>(block);
    int i = block.thread_rank(), value = in[i];
    int *mine = out + i * 8;
    mine[0] = cg::reduce(tile, value, cg::plus<int>());
    mine[1] = cg::inclusive_scan(tile, value, cg::plus<int>());
    mine[2] = tile.shfl_xor(value, 3) * 100 + tile.meta_group_rank();
    mine[3] = tile.any(value > 900) * 2 + tile.all(value > 100);
    mine[4] = cg::exclusive_scan(warp, value, cg::greater<int>());
    mine[5] = mine[6] = 0;
    if (value % 2) {
        cg::coalesced_group odd = cg::coalesced_threads();
        if (odd.size() == __popc(__activemask()))
            mine[5] = cg::reduce(odd, 1, cg::plus<int>()) == odd.size();
    } else {
        auto parts = cg::labeled_partition(cg::coalesced_threads(), value / 2 % 3);
        mine[6] = parts.size() > 0 && parts.thread_rank() < parts.size();
    }
    block.sync();
    auto halves = cg::binary_partition(warp, value % 2 == 0);
    mine[7] = cg::reduce(halves, value, cg::plus<int>());
}

extern "C" __global__ void grid_sync(int *data, int n, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    for (int k = 0; k < rounds; k++) {
        int left = data[(i + n - 1) % n], right = data[(i + 1) % n];
        grid.sync();
        data[i] = left + 2 * data[i] + right;
        grid.sync();
    }
}
"""


def launch(programs, name, *args, block=64, grid=1, **more):
    """Runs a kernel of SOURCE with so many threads a block and blocks."""
    programs.get_function(name)(*args, block=(block, 1, 1), grid=(grid, 1), **more)


def test_virtual_calls(programs):
    out = np.empty(64)
    launch(programs, "virtual_calls", drv.Out(out))
    i = np.arange(64.0)
    assert (out == np.where(i % 3 != 0, 3 * i * i, 2 * i + 4000)).all()


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_function_pointers(programs, shift):
    out = np.empty(256, np.int32)
    launch(programs, "function_pointers", drv.Out(out), np.int32(shift), grid=4)
    operations = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: sum(a ^ k for k in range(b))]
    assert (out == [operations[(i + shift) % 3](i, i % 7) for i in range(256)]).all()


def test_recursion(programs):
    moves, sums = np.empty(64, np.int32), np.empty(64, np.int32)
    launch(programs, "recursion", drv.Out(moves), drv.Out(sums))

    def hanoi(n, a, b):
        return hanoi(n - 1, a, 3 - a - b) + [a * b] + hanoi(n - 1, 3 - a - b, b) if n else []

    steps = [hanoi(i % 7, 0, 2) for i in range(64)]
    assert (moves == [len(s) for s in steps]).all()
    assert (sums == [sum(s) for s in steps]).all()


def test_structs_by_value(programs):
    kind = np.dtype([("words", np.int32, 40), ("tail", np.int8)], align=True)
    given = np.zeros((), kind)
    given["words"], given["tail"] = np.arange(40) ** 2, 7
    out = np.zeros(32, kind)
    launch(programs, "structs", given, drv.InOut(out), block=32)
    assert (out["words"] == [np.roll(given["words"], -(i + 3)) for i in range(32)]).all()
    assert (out["tail"] == 9).all()


def test_heap(programs):
    out = np.empty(512, np.uint32)
    launch(programs, "heap", drv.Out(out), block=128, grid=4)
    wanted = []
    for i in range(512):
        total = 0
        for k in range(i % 9, -1, -1):
            total = (total * 31 + i * k) % 2**32
        wanted.append((total + ord("a") + i % 26) % 2**32)
    assert (out == wanted).all()


def test_malloc_of_more_than_the_heap_returns_null(programs):
    out = np.zeros(1, np.int32)
    launch(programs, "heap_full", drv.InOut(out), block=1)
    assert out[0] == 1


def test_dynamic_shared_memory(programs):
    given = np.arange(100, 200, dtype=np.int32)
    out = np.empty_like(given)
    launch(programs, "reverse", drv.In(given), drv.Out(out), block=100, shared=512)
    assert (out == given[::-1] + np.eye(1, 100, dtype=np.int32)[0] * 512).all()


def test_atomics(programs):
    out, doubles, total = np.empty(6, np.int64), np.zeros(2), np.empty(1, np.int64)
    launch(programs, "atomics", drv.Out(out), drv.InOut(doubles), block=96, grid=6)
    launch(programs, "read_sum", drv.Out(total), block=1)
    assert (out == sum(range(96))).all()
    assert total[0] == 6 * sum(range(96))
    assert (doubles == [6 * 96 / 2, 95]).all()


def test_small_atomics(programs):
    octets, halves = np.zeros(4, np.uint8), np.zeros(4, np.uint16)
    launch(programs, "small_atomics", drv.InOut(octets), drv.InOut(halves), block=64, grid=9)
    members = [np.arange(64)[np.arange(64) % 3 == k] for k in range(3)]
    assert (octets == [len(m) * 9 % 256 for m in members] + [0]).all()
    assert (halves == [np.bitwise_xor.reduce(1 << m % 16) for m in members] + [0]).all()


def test_std_types(programs):
    out = np.empty((64, 8))
    launch(programs, "std_types", drv.Out(out))
    i = np.arange(64)
    z = i + 1j
    z = z * z + z.conj() / 2j
    assert (out[:, 0] == 14 + i).all()
    assert (out[:, 1] == z.real).all()
    assert (out[:, 2] == z.imag).all()
    assert (out[:, 3] == np.where(i % 2, i, -7)).all()
    assert (out[:, 4] == i + 0.25).all()
    assert (out[:, 5] == np.where(i % 3, 2.0 * i, 1.0)).all()
    assert (out[:, 6] == [k.bit_count() * 100 + 32 - k.bit_length() for k in range(64)]).all()
    assert (out[:, 7] == 32767 + 1000.0 * i).all()


def test_tiles_of_threads(programs):
    values = np.random.default_rng(3).integers(0, 1000, 64).astype(np.int32)
    out = np.empty((64, 8), np.int32)
    launch(programs, "tiles", drv.In(values), drv.Out(out))
    eights, warps = values.reshape(8, 8), values.reshape(2, 32)
    lanes = np.arange(8)
    assert (out[:, 0] == np.repeat(eights.sum(axis=1), 8)).all()
    assert (out[:, 1] == np.cumsum(eights, axis=1).ravel()).all()
    assert (out[:, 2] == (eights[:, lanes ^ 3] * 100 + np.arange(8)[:, None]).ravel()).all()
    assert (out[:, 3] == np.repeat((eights > 900).any(axis=1) * 2 + (eights > 100).all(axis=1), 8)).all()
    before = np.maximum.accumulate(warps, axis=1)[:, :-1]
    assert (out[:, 4].reshape(2, 32)[:, 1:] == before).all()
    odd = values % 2 == 1
    assert (out[odd, 5] == 1).all()
    assert (out[~odd, 6] == 1).all()
    sums = [[warp[warp % 2 == v % 2].sum() for v in warp] for warp in warps]
    assert (out[:, 7] == np.ravel(sums)).all()


def cooperative(function, blocks, threads, *args):
    """Launches a cooperative grid, by a direct call of the driver in use."""
    driver = ctypes.CDLL(devices.driver_library())
    arrays = [np.atleast_1d(arg) for arg in args]
    pointers = (ctypes.c_void_p * len(args))(*(array.ctypes.data for array in arrays))
    status = driver.cuLaunchCooperativeKernel(
        ctypes.c_void_p(function.handle), blocks, 1, 1, threads, 1, 1, 0, ctypes.c_void_p(0), pointers
    )
    assert status == 0
    drv.Context.synchronize()


def test_grid_sync(programs):
    blocks, n, rounds = 8, 8 * 64, 5
    data = np.random.default_rng(5).integers(0, 100, n).astype(np.int32)
    wanted = data.copy()
    for _ in range(rounds):
        wanted = np.roll(wanted, 1) + 2 * wanted + np.roll(wanted, -1)
    room = drv.to_device(data)
    cooperative(
        programs.get_function("grid_sync"), blocks, 64, np.uint64(int(room)), np.int32(n), np.int32(rounds)
    )
    assert (drv.from_device_like(room, data) == wanted).all()
    room.free()
