"""CUB's warp primitives and a single-pass scan over many blocks with decoupled look-back."""

import numpy as np
import pytest

import pycuda.driver as drv

SOURCE = r"""
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/agent/single_pass_scan_operators.cuh>
#include <cuda/std/functional>

constexpr int block = 64;

template <int width> __device__ void warp_scan(const int *in, int *inclusive, int *exclusive, int *totals)
{
    using Scan = cub::WarpScan<int, width>;
    __shared__ typename Scan::TempStorage room[block / width];
    int i = threadIdx.x, a, b, total;
    Scan(room[i / width]).InclusiveSum(in[i], a, total);
    Scan(room[i / width]).ExclusiveScan(in[i], b, 1000000, cuda::std::bit_xor<>());
    inclusive[i] = a;
    exclusive[i] = b;
    totals[i] = total;
}
extern "C" __global__ void scan_32(const int *in, int *a, int *b, int *t) { warp_scan<32>(in, a, b, t); }
extern "C" __global__ void scan_8(const int *in, int *a, int *b, int *t) { warp_scan<8>(in, a, b, t); }

template <int width> __device__ void warp_reduce(const double *in, double *sums, double *heads, int valid)
{
    using Reduce = cub::WarpReduce<double, width>;
    __shared__ typename Reduce::TempStorage room[block / width];
    int i = threadIdx.x;
    double sum = Reduce(room[i / width]).Sum(in[i], valid);
    double segment = Reduce(room[i / width]).HeadSegmentedSum(in[i], i % width % 5 == 0);
    if (i % width == 0)
        sums[i / width] = sum;
    if (i % width % 5 == 0)
        heads[i] = segment;
}
extern "C" __global__ void reduce_32(const double *in, double *s, double *h, int v)
{
    warp_reduce<32>(in, s, h, v);
}
extern "C" __global__ void reduce_16(const double *in, double *s, double *h, int v)
{
    warp_reduce<16>(in, s, h, v);
}

struct Less { __device__ bool operator()(float a, float b) const { return a < b; } };
extern "C" __global__ void merge_sort(float *data)
{
    using Sort = cub::WarpMergeSort<float, 4, 32>;
    __shared__ typename Sort::TempStorage room[block / 32];
    float keys[4];
    for (int k = 0; k < 4; k++)
        keys[k] = data[threadIdx.x * 4 + k];
    Sort(room[threadIdx.x / 32]).Sort(keys, Less());
    for (int k = 0; k < 4; k++)
        data[threadIdx.x * 4 + k] = keys[k];
}

extern "C" __global__ void exchange(int *data)
{
    using Exchange = cub::WarpExchange<int, 4, 16>;
    __shared__ typename Exchange::TempStorage room[block / 16];
    int values[4];
    for (int k = 0; k < 4; k++)
        values[k] = data[threadIdx.x * 4 + k];
    Exchange(room[threadIdx.x / 16]).BlockedToStriped(values, values);
    for (int k = 0; k < 4; k++)
        data[threadIdx.x * 4 + k] = values[k];
}

constexpr int scan_threads = 128, scan_items = 3, scan_tile = scan_threads * scan_items;
using Tiles = cub::ScanTileState<unsigned long long>;

extern "C" __global__ void look_back_prepare(Tiles tiles, int count) { tiles.InitializeStatus(count); }

extern "C" __global__ void look_back_scan(Tiles tiles, const unsigned *in, unsigned long long *out, int n)
{
    using Sum = cuda::std::plus<>;
    using Prefix = cub::TilePrefixCallbackOp<unsigned long long, Sum, Tiles>;
    using Scan = cub::BlockScan<unsigned long long, scan_threads>;
    __shared__ typename Scan::TempStorage room;
    __shared__ typename Prefix::TempStorage prefix_room;
    unsigned long long values[scan_items];
    int tile = blockIdx.x, from = tile * scan_tile + threadIdx.x * scan_items;
    for (int k = 0; k < scan_items; k++)
        values[k] = from + k < n ? in[from + k] : 0;
    if (tile == 0) {
        unsigned long long total;
        Scan(room).InclusiveSum(values, values, total);
        if (threadIdx.x == 0)
            tiles.SetInclusive(0, total);
    } else {
        Prefix prefix(tiles, prefix_room, Sum(), tile);
        Scan(room).InclusiveSum(values, values, prefix);
    }
    for (int k = 0; k < scan_items; k++)
        if (from + k < n)
            out[from + k] = values[k];
}

__device__ unsigned ticket;
struct Slot { unsigned state; unsigned sum; };
extern "C" __global__ void own_look_back(Slot *slots, const unsigned *in, unsigned *out, int n)
{
    __shared__ unsigned mine, before;
    if (threadIdx.x == 0)
        mine = atomicAdd(&ticket, 1);
    __syncthreads();
    unsigned at = mine * blockDim.x + threadIdx.x, total;
    unsigned value = at < n ? in[at] : 0;
    using Scan = cub::BlockScan<unsigned, scan_threads>;
    __shared__ typename Scan::TempStorage room;
    Scan(room).InclusiveSum(value, value, total);
    if (threadIdx.x == 0) {
        volatile Slot *all = slots;
        unsigned sum = 0;
        for (int k = (int)mine - 1; k >= 0; k--) {
            while (all[k].state == 0)
                ;
            __threadfence();
            sum += all[k].sum;
            if (all[k].state == 2)
                break;
        }
        all[mine].sum = sum + total;
        __threadfence();
        all[mine].state = 2;
        before = sum;
    }
    __syncthreads();
    if (at < n)
        out[at] = before + value;
}
"""


@pytest.fixture
def random():
    """The generator of the inputs."""
    return np.random.default_rng(11)


@pytest.mark.parametrize("width", [32, 8])
def test_scan(programs, random, width):
    values = random.integers(0, 1000, 64).astype(np.int32)
    inclusive, exclusive, totals = (np.empty(64, np.int32) for _ in range(3))
    programs.get_function(f"scan_{width}")(
        drv.In(values), drv.Out(inclusive), drv.Out(exclusive), drv.Out(totals), block=(64, 1, 1)
    )
    rows = values.reshape(-1, width)
    assert (inclusive.reshape(rows.shape) == np.cumsum(rows, axis=1)).all()
    assert (totals.reshape(rows.shape) == rows.sum(axis=1, keepdims=True)).all()
    shifted = np.concatenate([np.full((len(rows), 1), 1000000), rows[:, :-1]], axis=1)
    assert (exclusive.reshape(rows.shape) == np.bitwise_xor.accumulate(shifted, axis=1)).all()


@pytest.mark.parametrize("width, valid", [(32, 32), (32, 7), (16, 16), (16, 1)])
def test_reduce(programs, random, width, valid):
    values = random.integers(-1000, 1000, 64).astype(np.float64)
    sums, heads = np.zeros(64 // width), np.zeros(64)
    programs.get_function(f"reduce_{width}")(
        drv.In(values), drv.Out(sums), drv.InOut(heads), np.int32(valid), block=(64, 1, 1)
    )
    rows = values.reshape(-1, width)
    assert (sums == rows[:, :valid].sum(axis=1)).all()
    wanted = np.zeros_like(rows)
    wanted[:, ::5] = np.add.reduceat(rows, np.arange(0, width, 5), axis=1)
    assert (heads.reshape(rows.shape) == wanted).all()


def test_merge_sort(programs, random):
    data = random.normal(size=256).astype(np.float32)
    wanted = np.sort(data.reshape(2, 128), axis=1).ravel()
    programs.get_function("merge_sort")(drv.InOut(data), block=(64, 1, 1))
    assert (data == wanted).all()


def test_exchange(programs, random):
    data = random.integers(0, 1000, 256).astype(np.int32)
    wanted = data.reshape(4, 4, 16).transpose(0, 2, 1).ravel()
    programs.get_function("exchange")(drv.InOut(data), block=(64, 1, 1))
    assert (data == wanted).all()


def test_look_back_of_cub(programs, random):
    """A scan over many blocks with cub::TilePrefixCallbackOp.

    ScanTileState is one pointer, to a pair of status and value for each tile, after 32 tiles of padding.
    """
    values = random.integers(0, 2**32, 20001, dtype=np.uint64).astype(np.uint32)
    tiles = -(-values.size // 384)  # scan_tile
    room = drv.mem_alloc(64 * (tiles + 32))
    state = np.array(np.uint64(int(room)))
    out = np.empty(values.size, np.uint64)
    prepare, scan = (programs.get_function(name) for name in ("look_back_prepare", "look_back_scan"))
    prepare(state, np.int32(tiles), block=(128, 1, 1), grid=(-(-(tiles + 32) // 128), 1))
    scan(state, drv.In(values), drv.Out(out), np.int32(values.size), block=(128, 1, 1), grid=(tiles, 1))
    assert (out == np.cumsum(values, dtype=np.uint64)).all()
    room.free()


def test_look_back_by_ticket(programs, random):
    """A scan whose blocks take their tiles by an atomic ticket and wait for the sums of earlier tiles."""
    values = random.integers(0, 2**32, 10007, dtype=np.uint64).astype(np.uint32)
    blocks = -(-values.size // 128)
    out, slots = np.empty_like(values), np.zeros(2 * blocks, np.uint32)
    drv.memset_d32(programs.get_global("ticket")[0], 0, 1)
    programs.get_function("own_look_back")(
        drv.In(slots),
        drv.In(values),
        drv.Out(out),
        np.int32(values.size),
        block=(128, 1, 1),
        grid=(blocks, 1),
    )
    assert (out == np.cumsum(values, dtype=np.uint32)).all()
