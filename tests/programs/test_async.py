"""Copies to shared memory, barriers in it: cooperative groups, cuda::barrier, cuda::pipeline."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

SOURCE = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;
constexpr int tile = 128;

// Sums of neighbors in a tile that the group copies.
extern "C" __global__ void by_groups(const int *in, int *out, int n)
{
    __shared__ int near[tile];
    auto block = cg::this_thread_block();
    for (int first = 0; first < n; first += tile) {
        cg::memcpy_async(block, near, in + first, sizeof(int) * tile);
        cg::wait(block);
        int t = threadIdx.x;
        out[first + t] = near[t] + near[(t + 1) % tile];
        block.sync();
    }
}

// The same with two tiles, one copied while the other is used.
extern "C" __global__ void by_groups_ahead(const int *in, int *out, int n)
{
    __shared__ int near[2][tile];
    auto block = cg::this_thread_block();
    int t = threadIdx.x;
    cg::memcpy_async(block, near[0], in, sizeof(int) * tile);
    for (int k = 0; k < n / tile; k++) {
        if (k + 1 < n / tile) {
            cg::memcpy_async(block, near[(k + 1) % 2], in + (k + 1) * tile, sizeof(int) * tile);
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        out[k * tile + t] = near[k % 2][t] + near[k % 2][(t + 1) % tile];
        block.sync();
    }
}

extern "C" __global__ void by_barrier(const int *in, int *out, int n)
{
    __shared__ int near[2][tile];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar[2];
    auto block = cg::this_thread_block();
    if (block.thread_rank() < 2)
        init(&bar[block.thread_rank()], block.size());
    block.sync();
    int t = threadIdx.x;
    cuda::memcpy_async(block, near[0], in, cuda::aligned_size_t<16>(sizeof(int) * tile), bar[0]);
    for (int k = 0; k < n / tile; k++) {
        if (k + 1 < n / tile)
            cuda::memcpy_async(block, near[(k + 1) % 2], in + (k + 1) * tile, sizeof(int) * tile,
                               bar[(k + 1) % 2]);
        bar[k % 2].arrive_and_wait();
        out[k * tile + t] = near[k % 2][t] + near[k % 2][(t + 1) % tile];
        block.sync();
    }
}

// Half of the block produces tiles, the other half consumes them; each tile has a barrier for either step.
extern "C" __global__ void by_halves(const int *in, int *out, int n)
{
    __shared__ int near[2][tile];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready[2], taken[2];
    auto block = cg::this_thread_block();
    int rank = block.thread_rank();
    if (rank < 4)
        init(rank < 2 ? &ready[rank] : &taken[rank - 2], block.size());
    block.sync();
    int t = threadIdx.x % tile;
    if (threadIdx.x < tile) {
        for (int k = 0; k < n / tile; k++) {
            taken[k % 2].arrive_and_wait();
            near[k % 2][t] = in[k * tile + t];
            (void)ready[k % 2].arrive();
        }
    } else {
        (void)taken[0].arrive();
        (void)taken[1].arrive();
        for (int k = 0; k < n / tile; k++) {
            ready[k % 2].arrive_and_wait();
            out[k * tile + t] = near[k % 2][t] + near[k % 2][(t + 1) % tile];
            (void)taken[k % 2].arrive();
        }
    }
}

// A quarter of the threads leaves the barrier in each round.
extern "C" __global__ void by_leaving(const int *in, int *out, int n)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int sum;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        sum = 0;
    }
    __syncthreads();
    int t = threadIdx.x;
    for (int k = 0; k < 4; k++) {
        if (t % 4 == k) {
            atomicAdd(&sum, in[t]);
            bar.arrive_and_drop();
            return;
        }
        bar.arrive_and_wait();
        if (t == k + 1)
            out[k] = sum;
        bar.arrive_and_wait();
    }
}

extern "C" __global__ void by_pipeline(const int *in, int *out, int n)
{
    constexpr int stages = 3;
    __shared__ int near[stages][tile];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int count = n / tile, t = threadIdx.x, ahead = 0;
    for (int k = 0; k < count; k++) {
        for (; ahead < count && ahead < k + stages; ahead++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, near[ahead % stages], in + ahead * tile, sizeof(int) * tile, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[k * tile + t] = near[k % stages][t] + near[k % stages][(t + 1) % tile];
        block.sync();
        pipe.consumer_release();
    }
}

// Warps with two roles: some copy, the others use what was copied.
extern "C" __global__ void by_roles(const int *in, int *out, int n)
{
    constexpr int stages = 2;
    __shared__ int near[stages][tile];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto block = cg::this_thread_block();
    bool makes = threadIdx.x < tile;
    auto role = makes ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    int t = threadIdx.x % tile;
    for (int k = 0; k < n / tile; k++) {
        if (makes) {
            pipe.producer_acquire();
            cuda::memcpy_async(&near[k % stages][t], in + k * tile + t, sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            out[k * tile + t] = near[k % stages][t] + near[k % stages][(t + 1) % tile];
            pipe.consumer_release();
        }
    }
}

// Each thread waits for its own copies. All but the first tile fill 4 of 16 bytes with zeros.
extern "C" __global__ void by_primitives(const int *in, int *out, int n)
{
    __shared__ alignas(16) int near[2][4 * tile];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&near[0][4 * t], in + 4 * t, 16);
    __pipeline_commit();
    for (int k = 0; k < n / (4 * tile); k++) {
        if (k + 1 < n / (4 * tile))
            __pipeline_memcpy_async(&near[(k + 1) % 2][4 * t], in + (k + 1) * 4 * tile + 4 * t, 16, 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        for (int i = 0; i < 4; i++)
            out[k * 4 * tile + 4 * t + i] = near[k % 2][4 * t + i];
    }
}

// One thread waits for another's arrival, which never comes: at most 50 ms.
extern "C" __global__ void in_vain(const int *in, int *out, int n)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0)
        init(&bar, 2);
    __syncthreads();
    if (threadIdx.x == 0) {
        auto token = bar.arrive();
        out[0] = bar.try_wait_for(cuda::std::move(token), cuda::std::chrono::milliseconds(50)) ? 1 : 2;
    }
}
"""
TILE, COUNT = 128, 10
# Kernels that add neighbors: how many blocks' worth of threads, in tiles, each takes.
NEIGHBORS = {"by_groups": 1, "by_groups_ahead": 1, "by_barrier": 1}
NEIGHBORS |= {"by_halves": 2, "by_pipeline": 1, "by_roles": 2}


def neighbors(data):
    """What the kernels in NEIGHBORS compute: each element plus the next in its tile."""
    tiles = data.reshape(-1, TILE)
    return (tiles + np.roll(tiles, -1, 1)).ravel()


def check_all():
    """Runs every kernel of SOURCE and checks its result."""
    module = SourceModule(SOURCE, no_extern_c=True)
    data = np.random.default_rng(1).integers(-1000, 1000, TILE * COUNT, np.int32)
    n = np.int32(len(data))

    def run(name, threads, size=TILE * COUNT):
        out = np.full(size, -7, np.int32)
        module.get_function(name)(drv.In(data), drv.InOut(out), n, block=(threads, 1, 1))
        return out

    for name, tiles in NEIGHBORS.items():
        assert (run(name, TILE * tiles) == neighbors(data)).all(), name
    sums = np.cumsum([data[:TILE][k::4].sum() for k in range(4)])
    assert (run("by_leaving", TILE, 4)[:3] == sums[:3]).all()
    copied = data[: len(data) // (4 * TILE) * 4 * TILE].copy()
    copied[4 * TILE :].reshape(-1, 4)[:, 3] = 0  # 4 bytes of each 16 were zeros
    assert (run("by_primitives", TILE, len(copied)) == copied).all()
    assert run("in_vain", 32, 1)[0] == 2


@pytest.mark.parametrize("capability", [(8, 0), (9, 0)])
def test_copies_and_barriers(at_capability, capability):
    at_capability(capability, check_all)


def test_copies_and_barriers_before_compute_capability_8(primary_context):
    """On these devices the threads do the copies themselves."""
    check_all()


@pytest.mark.cpu("sets the CPU device's schedule")
def test_copies_and_barriers_when_lanes_run_one_by_one(at_capability, monkeypatch):
    monkeypatch.setenv("PYCUDA_CPU_SCHEDULE", "random:11")
    at_capability((9, 0), check_all)
