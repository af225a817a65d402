"""CUB's block primitives: sort, scan, reduce, exchange, histogram, merge sort, run-length, look-back."""

import numpy as np
import pytest

import pycuda.driver as drv

THREADS, ITEMS = 128, 5
TILE = THREADS * ITEMS

SOURCE = r"""
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>

constexpr int threads = 128, items = 5, tile = threads * items;

template <typename T> __device__ void load(const T *in, T (&values)[items])
{
    for (int k = 0; k < items; k++)
        values[k] = in[blockIdx.x * tile + threadIdx.x * items + k];
}
template <typename T> __device__ void store(T *out, const T (&values)[items])
{
    for (int k = 0; k < items; k++)
        out[blockIdx.x * tile + threadIdx.x * items + k] = values[k];
}

template <typename Key>
__device__ void radix_sort(const Key *in, const unsigned *value, Key *out, unsigned *moved, bool down)
{
    using Sort = cub::BlockRadixSort<Key, threads, items, unsigned>;
    __shared__ typename Sort::TempStorage room;
    Key keys[items];
    unsigned values[items];
    load(in, keys);
    load(value, values);
    if (down)
        Sort(room).SortDescending(keys, values);
    else
        Sort(room).Sort(keys, values);
    store(out, keys);
    store(moved, values);
}
extern "C" __global__ void sort_int(const int *in, const unsigned *value, int *out, unsigned *moved)
{
    radix_sort(in, value, out, moved, false);
}
extern "C" __global__ void sort_float_down(const float *in, const unsigned *value, float *out,
                                           unsigned *moved)
{
    radix_sort(in, value, out, moved, true);
}

struct Less { template <typename T> __device__ bool operator()(T a, T b) const { return a < b; } };
extern "C" __global__ void merge_sort(const double *in, double *out)
{
    using Sort = cub::BlockMergeSort<double, threads, items>;
    __shared__ typename Sort::TempStorage room;
    double keys[items];
    load(in, keys);
    Sort(room).Sort(keys, Less());
    store(out, keys);
}

template <cub::BlockScanAlgorithm how> __device__ void scan(const int *in, int *out, int *totals)
{
    using Scan = cub::BlockScan<int, threads, how>;
    __shared__ typename Scan::TempStorage room;
    int values[items], total;
    load(in, values);
    Scan(room).ExclusiveSum(values, values, total);
    store(out, values);
    if (threadIdx.x == 0)
        totals[blockIdx.x] = total;
}
extern "C" __global__ void scan_raking(const int *in, int *out, int *totals)
{
    scan<cub::BLOCK_SCAN_RAKING>(in, out, totals);
}
extern "C" __global__ void scan_warps(const int *in, int *out, int *totals)
{
    scan<cub::BLOCK_SCAN_WARP_SCANS>(in, out, totals);
}
struct Larger { __device__ int operator()(int a, int b) const { return a > b ? a : b; } };
extern "C" __global__ void scan_max(const int *in, int *out)
{
    using Scan = cub::BlockScan<int, threads>;
    __shared__ typename Scan::TempStorage room;
    int values[items];
    load(in, values);
    Scan(room).InclusiveScan(values, values, Larger());
    store(out, values);
}

template <cub::BlockReduceAlgorithm how> __device__ long long reduce(const int *in, int valid)
{
    using Reduce = cub::BlockReduce<long long, threads, how>;
    __shared__ typename Reduce::TempStorage room;
    return Reduce(room).Sum(in[blockIdx.x * tile + threadIdx.x], valid);
}
extern "C" __global__ void reduce_all(const int *in, long long *out, int valid)
{
    long long a = reduce<cub::BLOCK_REDUCE_RAKING>(in, valid);
    long long b = reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, valid);
    long long c = reduce<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(in, valid);
    if (threadIdx.x == 0) {
        out[blockIdx.x * 3] = a;
        out[blockIdx.x * 3 + 1] = b;
        out[blockIdx.x * 3 + 2] = c;
    }
}

extern "C" __global__ void exchange(const int *in, int *striped, int *back)
{
    using Exchange = cub::BlockExchange<int, threads, items>;
    __shared__ typename Exchange::TempStorage room;
    int values[items];
    load(in, values);
    Exchange(room).BlockedToStriped(values);
    store(striped, values);
    __syncthreads();
    Exchange(room).StripedToBlocked(values);
    __syncthreads();
    Exchange(room).BlockedToWarpStriped(values);
    __syncthreads();
    Exchange(room).WarpStripedToBlocked(values);
    store(back, values);
}

template <cub::BlockHistogramAlgorithm how> __device__ void histogram(const unsigned char *in, unsigned *out)
{
    using Histogram = cub::BlockHistogram<unsigned char, threads, items, 256, how>;
    __shared__ typename Histogram::TempStorage room;
    __shared__ unsigned counts[256];
    unsigned char samples[items];
    load(in, samples);
    Histogram(room).Histogram(samples, counts);
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += threads)
        out[blockIdx.x * 256 + k] = counts[k];
}
extern "C" __global__ void histogram_sort(const unsigned char *in, unsigned *out)
{
    histogram<cub::BLOCK_HISTO_SORT>(in, out);
}
extern "C" __global__ void histogram_atomic(const unsigned char *in, unsigned *out)
{
    histogram<cub::BLOCK_HISTO_ATOMIC>(in, out);
}

extern "C" __global__ void run_length(const int *values, const int *lengths, int *out, int *total)
{
    using Decode = cub::BlockRunLengthDecode<int, threads, 1, items>;
    __shared__ typename Decode::TempStorage room;
    int value[1] = {values[threadIdx.x]}, length[1] = {lengths[threadIdx.x]}, size = 0, decoded[items];
    Decode decode(room, value, length, size);
    for (int from = 0; from < size; from += tile) {
        decode.RunLengthDecode(decoded, from);
        for (int k = 0; k < items; k++) {
            int at = from + threadIdx.x * items + k;
            if (at < size)
                out[at] = decoded[k];
        }
    }
    if (threadIdx.x == 0)
        *total = size;
}

struct Differ { template <typename T> __device__ bool operator()(T a, T b) const { return a != b; } };
struct Minus { template <typename T> __device__ T operator()(T a, T b) const { return a - b; } };
extern "C" __global__ void neighbors(const int *in, int *heads, int *differences)
{
    using Edges = cub::BlockDiscontinuity<int, threads>;
    using Difference = cub::BlockAdjacentDifference<int, threads>;
    __shared__ typename Edges::TempStorage room;
    __shared__ typename Difference::TempStorage second;
    int values[items], flags[items], steps[items];
    load(in, values);
    Edges(room).FlagHeads(flags, values, Differ());
    Difference(second).SubtractLeft(values, steps, Minus());
    store(heads, flags);
    store(differences, steps);
}

template <cub::BlockLoadAlgorithm in_how, cub::BlockStoreAlgorithm out_how>
__device__ void copy(const short *in, short *out, int valid)
{
    using Load = cub::BlockLoad<short, threads, items, in_how>;
    using Store = cub::BlockStore<short, threads, items, out_how>;
    __shared__ union { typename Load::TempStorage load; typename Store::TempStorage store; } room;
    short values[items];
    Load(room.load).Load(in, values, valid, short(-1));
    __syncthreads();
    for (int k = 0; k < items; k++)
        values[k] += threadIdx.x;
    Store(room.store).Store(out, values);
}
extern "C" __global__ void copy_transposed(const short *in, short *out, int valid)
{
    copy<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(in, out, valid);
}
"""


@pytest.fixture
def random():
    """The generator of the inputs."""
    return np.random.default_rng(7)


def launch(programs, name, *args, grid=(3, 1)):
    """Runs a kernel of SOURCE, with a tile for each block."""
    programs.get_function(name)(*args, block=(THREADS, 1, 1), grid=grid)


def tiles(values):
    """The values with a row for each block."""
    return values.reshape(-1, TILE)


def check_sort(programs, name, keys, down=False):
    """The kernel sorts each tile's keys, stably, and moves the values with them; down: largest first."""
    values = np.arange(keys.size, dtype=np.uint32)
    out, moved = np.empty_like(keys), np.empty_like(values)
    launch(programs, name, drv.In(keys), drv.In(values), drv.Out(out), drv.Out(moved))
    key = -tiles(keys) if down else tiles(keys)  # a stable order of the negated keys is descending and stable
    order = np.argsort(key, axis=1, kind="stable")
    assert (tiles(out) == np.take_along_axis(tiles(keys), order, 1)).all()
    assert (tiles(moved) == np.take_along_axis(tiles(values), order, 1)).all()


def test_radix_sort(programs, random):
    check_sort(
        programs, "sort_int", random.integers(-(2**31), 2**31, 3 * TILE, dtype=np.int64).astype(np.int32)
    )
    check_sort(programs, "sort_int", random.integers(-3, 3, 3 * TILE).astype(np.int32))
    floats = random.normal(size=3 * TILE).astype(np.float32) * 1e30
    floats[::17] = np.inf
    floats[5::17] = -np.inf
    check_sort(programs, "sort_float_down", floats, down=True)


def test_merge_sort(programs, random):
    keys = random.normal(size=3 * TILE)
    out = np.empty_like(keys)
    launch(programs, "merge_sort", drv.In(keys), drv.Out(out))
    assert (tiles(out) == np.sort(tiles(keys), axis=1)).all()


@pytest.mark.parametrize("name", ["scan_raking", "scan_warps"])
def test_exclusive_sum(programs, random, name):
    values = random.integers(-(2**30), 2**30, 3 * TILE).astype(np.int32)
    out, totals = np.empty_like(values), np.empty(3, np.int32)
    launch(programs, name, drv.In(values), drv.Out(out), drv.Out(totals))
    sums = np.cumsum(tiles(values), axis=1, dtype=np.int32)
    assert (tiles(out) == sums - tiles(values)).all()
    assert (totals == sums[:, -1]).all()


def test_running_maximum(programs, random):
    values = random.integers(-(2**30), 2**30, 3 * TILE).astype(np.int32)
    out = np.empty_like(values)
    launch(programs, "scan_max", drv.In(values), drv.Out(out))
    assert (tiles(out) == np.maximum.accumulate(tiles(values), axis=1)).all()


@pytest.mark.parametrize("valid", [THREADS, 1, 33, 95, 127])
def test_reduce(programs, random, valid):
    values = random.integers(-(2**31), 2**31, 3 * TILE, dtype=np.int64).astype(np.int32)
    out = np.empty((3, 3), np.int64)
    launch(programs, "reduce_all", drv.In(values), drv.Out(out), np.int32(valid))
    assert (out == tiles(values)[:, :valid].sum(axis=1, dtype=np.int64)[:, None]).all()


def test_exchange(programs, random):
    values = random.integers(0, 2**31, 3 * TILE).astype(np.int32)
    striped, back = np.empty_like(values), np.empty_like(values)
    launch(programs, "exchange", drv.In(values), drv.Out(striped), drv.Out(back))
    assert (striped.reshape(3, THREADS, ITEMS) == values.reshape(3, ITEMS, THREADS).transpose(0, 2, 1)).all()
    assert (back == values).all()


@pytest.mark.parametrize("name", ["histogram_sort", "histogram_atomic"])
def test_histogram(programs, random, name):
    samples = random.integers(0, 256, 3 * TILE).astype(np.uint8)
    samples[:TILE] //= 50
    out = np.empty((3, 256), np.uint32)
    launch(programs, name, drv.In(samples), drv.Out(out))
    assert (out == [np.bincount(tile, minlength=256) for tile in tiles(samples)]).all()


def test_run_length(programs, random):
    values = random.integers(0, 1000, THREADS).astype(np.int32)
    lengths = random.integers(1, 20, THREADS).astype(np.int32)
    wanted = np.repeat(values, lengths)
    out, total = np.empty_like(wanted), np.empty(1, np.int32)
    launch(programs, "run_length", drv.In(values), drv.In(lengths), drv.Out(out), drv.Out(total), grid=(1, 1))
    assert total[0] == wanted.size
    assert (out == wanted).all()


def test_neighbors(programs, random):
    values = random.integers(0, 3, 3 * TILE).astype(np.int32)
    heads, differences = np.empty_like(values), np.empty_like(values)
    launch(programs, "neighbors", drv.In(values), drv.Out(heads), drv.Out(differences))
    steps = np.diff(tiles(values), axis=1)
    assert (tiles(heads)[:, 0] == 1).all()
    assert (tiles(heads)[:, 1:] == (steps != 0)).all()
    assert (tiles(differences)[:, 0] == tiles(values)[:, 0]).all()
    assert (tiles(differences)[:, 1:] == steps).all()


@pytest.mark.parametrize("valid", [TILE, 0, 1, 333])
def test_load_and_store(programs, random, valid):
    values = random.integers(-1000, 1000, TILE).astype(np.int16)
    out = np.empty_like(values)
    launch(programs, "copy_transposed", drv.In(values), drv.Out(out), np.int32(valid), grid=(1, 1))
    wanted = np.where(np.arange(TILE) < valid, values, -1) + np.repeat(np.arange(THREADS), ITEMS)
    assert (out == wanted).all()
