"""Clusters of blocks: launches, cooperative groups' cluster_group, the shared memory of other blocks."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

SOURCE = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each block reads its neighbor's part, backwards.
extern "C" __global__ void __cluster_dims__(4, 1, 1) ring(const float *in, float *out)
{
    __shared__ float part[64];
    auto cluster = cg::this_cluster();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = in[i];
    cluster.sync();
    float *other = cluster.map_shared_rank(part, next);
    out[i] = other[63 - threadIdx.x] + 1000 * cluster.query_shared_rank(other);
    cluster.sync();
}

// Bins are spread over the blocks of a cluster.
extern "C" __global__ void histogram(const unsigned *in, unsigned *out, int n, int each)
{
    extern __shared__ unsigned bins[];
    auto cluster = cg::this_cluster();
    for (int b = threadIdx.x; b < each; b += blockDim.x)
        bins[b] = 0;
    cluster.sync();
    for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads())
        atomicAdd(cluster.map_shared_rank(bins, in[i] / each) + in[i] % each, 1u);
    auto token = cluster.barrier_arrive();
    cluster.barrier_wait(static_cast<decltype(token) &&>(token));
    for (int b = threadIdx.x; b < each; b += blockDim.x)
        out[cluster.block_rank() * each + b] = bins[b];
}

// Rounds of sums over the cluster; in each, a block reads a value of every block of the cluster.
extern "C" __global__ void rounds(int *out, int count)
{
    __shared__ int value;
    auto cluster = cg::this_cluster();
    int sum = 0;
    if (threadIdx.x == 0)
        value = blockIdx.x + 1;
    for (int k = 0; k < count; k++) {
        cluster.sync();
        int part = 0;
        for (unsigned r = 0; r < cluster.num_blocks(); r++)
            part += *cluster.map_shared_rank(&value, r);
        cluster.sync();
        if (threadIdx.x == 0)
            value += part % 7;
        sum += part;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// What a block learns of its place in the cluster and of the cluster's in the grid.
extern "C" __global__ void places(unsigned *out)
{
    auto cluster = cg::this_cluster();
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z), *to = out + 8 * block;
    dim3 index = cluster.block_index(), size = cluster.dim_blocks();
    if (threadIdx.x)
        return;
    to[0] = cluster.block_rank();
    to[1] = cluster.num_blocks();
    to[2] = index.x + 10 * index.y + 100 * index.z;
    to[3] = size.x + 10 * size.y + 100 * size.z;
    to[4] = __clusterIdx().x + 10 * __clusterIdx().y + 100 * __clusterIdx().z;
    to[5] = __clusterGridDimInClusters().x + 10 * __clusterGridDimInClusters().y
            + 100 * __clusterGridDimInClusters().z;
    to[6] = cluster.num_threads();
    to[7] = __clusterDimIsSpecified();
}

// Each block waits until the one before it has written to its shared memory.
extern "C" __global__ void relay(int *out)
{
    __shared__ volatile int ready;
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    if (threadIdx.x == 0)
        ready = rank == 0;
    cluster.sync();
    if (threadIdx.x == 0) {
        while (!ready) {
        }
        out[blockIdx.x] = ready * 10 + rank;
        if (rank + 1 < cluster.num_blocks())
            *(volatile int *)cluster.map_shared_rank((int *)&ready, rank + 1) = ready + 1;
    }
    cluster.sync();
}
"""


def load(name):
    """A kernel of SOURCE, compiled for the current device."""
    return SourceModule(SOURCE, no_extern_c=True).get_function(name)


def check_ring():
    """Each block reads the shared memory of the next in its cluster."""
    x = np.random.default_rng(1).integers(0, 1000, 64 * 12).astype(np.float32)
    out = np.zeros_like(x)
    load("ring")(drv.In(x), drv.Out(out), block=(64, 1, 1), grid=(12, 1))
    parts, ranks = x.reshape(3, 4, 64), np.arange(4, dtype=np.float32)
    expected = np.roll(parts, -1, axis=1)[:, :, ::-1] + 1000 * np.roll(ranks, -1)[None, :, None]
    assert (out.reshape(3, 4, 64) == expected).all()


def check_histogram():
    """Clusters whose size is given at the launch, in plain and in prepared calls."""
    function, values = load("histogram"), np.random.default_rng(2).integers(0, 256, 5000).astype(np.uint32)
    expected = np.bincount(values, minlength=256)
    function.prepare("PPii")
    for blocks in (1, 2, 8):
        each = 256 // blocks
        out = np.zeros(256, np.uint32)
        arguments = (drv.In(values), drv.Out(out), np.int32(values.size), np.int32(each))
        function(*arguments, block=(96, 1, 1), grid=(blocks, 1), cluster=(blocks, 1, 1), shared=4 * each)
        assert (out == expected).all()
        given, taken = drv.to_device(values), drv.mem_alloc(out.nbytes)
        function.prepared_call(
            (blocks,), (96, 1, 1), given, taken, values.size, each, cluster=(blocks,), shared_size=4 * each
        )
        assert (drv.from_device_like(taken, out) == expected).all()


def check_rounds():
    """Each block reads all blocks of its cluster, in several rounds with barriers between them."""
    blocks, threads, count = 24, 40, 5
    values, sums = np.arange(1, blocks + 1).reshape(-1, 3), 0
    for _ in range(count):
        part = values.sum(axis=1, keepdims=True)
        sums = sums + part
        values = values + part % 7
    out = np.zeros((blocks // 3, 3, threads), np.int32)
    load("rounds")(drv.Out(out), np.int32(count), block=(threads, 1, 1), grid=(blocks, 1), cluster=(3, 1, 1))
    assert (out == sums[:, :, None]).all()


def digits(x, y, z):
    """Three small numbers as one, as the kernel `places` packs them."""
    return x + 10 * y + 100 * z


def check_places():
    """Ranks, indices and sizes in a grid of clusters, and in a launch without clusters."""
    grid, cluster = (4, 6, 2), (2, 3, 1)
    function = load("places")
    out = np.zeros((*grid[::-1], 8), np.uint32)
    function(drv.Out(out), block=(33, 1, 1), grid=grid, cluster=cluster)
    z, y, x = np.indices(grid[::-1])
    assert (out[..., 0] == x % 2 + 2 * (y % 3)).all()
    assert (out[..., 1] == 6).all()
    assert (out[..., 2] == digits(x % 2, y % 3, 0 * z)).all()
    assert (out[..., 3] == digits(*cluster)).all()
    assert (out[..., 4] == digits(x // 2, y // 3, z)).all()
    assert (out[..., 5] == digits(2, 2, 2)).all()
    assert (out[..., 6] == 6 * 33).all()
    assert (out[..., 7] == 1).all()
    function(drv.Out(out), block=(33, 1, 1), grid=grid)
    assert (out[..., [0, 1, 2, 7]] == [0, 1, 0, 0]).all()
    assert (out[..., 4] == digits(x, y, z)).all()


def check_relay():
    out = np.zeros(8, np.int32)
    load("relay")(drv.Out(out), block=(32, 1, 1), grid=(8, 1), cluster=(8, 1, 1))
    assert out.tolist() == [10 * (rank + 1) + rank for rank in range(8)]


def check_graph():
    """A captured launch keeps its cluster."""
    function, stream = load("rounds"), drv.Stream()
    plain, replayed = drv.mem_alloc(4 * 8 * 32), drv.mem_alloc(4 * 8 * 32)
    shape = {"block": (32, 1, 1), "grid": (8, 1), "cluster": (4, 1, 1)}
    drv.memset_d32(replayed, 0, 8 * 32)
    function(plain, np.int32(3), **shape)
    with stream.capture() as graph:
        function(replayed, np.int32(3), stream=stream, **shape)
    graph.instantiate().launch(stream)
    stream.synchronize()
    one, other = (drv.from_device(x, 8 * 32, np.int32) for x in (plain, replayed))
    assert (one == other).all()
    assert one.any()


def refused(message, kernel, *arguments, **shape):
    """Asserts that the launch fails with this message."""
    with pytest.raises(drv.Error) as found:
        kernel(*arguments, block=(32, 1, 1), **shape)
    assert message in str(found.value)


def check_refusals():
    """Launches whose clusters do not fit the grid, the kernel or the device."""
    ring, histogram = load("ring"), load("histogram")
    x = drv.mem_alloc(4096)
    refused("grid.x is 6, which is not a multiple of its cluster's, 4", ring, x, x, grid=(6, 1))
    refused(
        "compiled for clusters of (4, 1, 1), cluster is (2, 1, 1)", ring, x, x, grid=(8, 1), cluster=(2, 1, 1)
    )
    arguments = x, x, np.int32(0), np.int32(1)
    refused("NON_PORTABLE_CLUSTER_SIZE_ALLOWED", histogram, *arguments, grid=(16, 1), cluster=(16, 1, 1))


def check_more_than_8_blocks():
    """Clusters larger than every GPU guarantees need a kernel's consent, and a device that has them."""
    function, values = load("histogram"), np.random.default_rng(3).integers(0, 64, 999).astype(np.uint32)
    out = np.zeros(64, np.uint32)
    assert function.max_potential_cluster_size(64) <= 8
    function.set_attribute(drv.function_attribute.NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
    assert function.non_portable_cluster_size_allowed == 1
    max_cluster = function.max_potential_cluster_size(64, shared=16)
    if max_cluster < 16:
        pytest.skip("this device has no clusters of 16 blocks")
    arguments = drv.In(values), drv.Out(out), np.int32(999), np.int32(4)
    function(*arguments, block=(64, 1, 1), grid=(16, 1), cluster=(16, 1, 1), shared=16)
    assert (out == np.bincount(values, minlength=64)).all()


def check_attributes():
    """What functions and the device report of clusters."""
    ring, rounds = load("ring"), load("rounds")
    assert (ring.required_cluster_width, ring.required_cluster_height, ring.required_cluster_depth) == (
        4,
        1,
        1,
    )
    assert rounds.required_cluster_width == 0
    assert drv.Context.get_device().get_attribute(drv.device_attribute.CLUSTER_LAUNCH) == 1
    alone, pairs = (rounds.max_active_clusters(64, (size, 1, 1)) for size in (1, 2))
    assert 0 < pairs <= alone // 2
    assert rounds.max_active_clusters(64, cluster=(2,), shared=32 << 10) < pairs
    assert rounds.max_potential_cluster_size(64) == 8
    with pytest.raises(drv.Error, match="cuOccupancyMaxActiveClusters failed"):
        rounds.max_active_clusters(64, (64, 1, 1))
    with pytest.raises(ValueError, match="block_size must be positive"):
        rounds.max_active_clusters(0, (1, 1, 1))
    with pytest.raises(TypeError, match="cluster must be a sequence"):
        rounds.max_active_clusters(64, 2)


def check_all():
    for check in CHECKS:
        check()


CHECKS = [check_ring, check_histogram, check_rounds, check_places, check_relay, check_graph,
          check_refusals, check_more_than_8_blocks, check_attributes]  # fmt: skip
pytestmark = pytest.mark.driver(12000, "clusters")


def test_cluster_groups_and_their_launches(at_capability):
    at_capability((9, 0), check_all)


def check_memory():
    """The checks whose kernels access other blocks' shared memory."""
    for check in (check_ring, check_histogram, check_rounds, check_relay):
        check()


@pytest.mark.cpu("checks that only the CPU device makes")
def test_checks_report_nothing_in_correct_programs(at_capability, monkeypatch):
    monkeypatch.setenv("PYCUDA_CPU_CHECK", "racecheck, initcheck-shared, synccheck")
    at_capability((9, 0), check_memory)


@pytest.mark.cpu("sets the CPU device's schedule")
def test_clusters_when_lanes_run_one_by_one(at_capability, monkeypatch):
    monkeypatch.setenv("PYCUDA_CPU_SCHEDULE", "random:5")
    at_capability((9, 0), check_memory)


FAULTS = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2, 1, 1) race(int *out)
{
    __shared__ int value[64];
    cg::cluster_group cluster = cg::this_cluster();
    value[threadIdx.x] = 0;
    __syncthreads();
    value[threadIdx.x] = threadIdx.x;
    cluster.barrier_arrive();
    out[threadIdx.x] = value[threadIdx.x ^ 32];
    cluster.barrier_wait();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) unwritten(int *out)
{
    __shared__ int value[64];
    auto cluster = cg::this_cluster();
    if (cluster.block_rank() == 0)
        value[threadIdx.x] = threadIdx.x;
    cluster.sync();
    int *other = cluster.map_shared_rank(value, 1 - cluster.block_rank());
    out[blockIdx.x * 64 + threadIdx.x] = other[threadIdx.x];
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) stuck(int *out)
{
    auto cluster = cg::this_cluster();
    if (cluster.block_rank() == 0 && threadIdx.x < 32)
        asm volatile("barrier.sync 1, 64;");
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) beyond(int *out)
{
    __shared__ int value[64];
    auto cluster = cg::this_cluster();
    value[threadIdx.x] = 0;
    cluster.sync();
    cluster.map_shared_rank(value, 1)[threadIdx.x + 1000000] = 1;
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) rank(int *out)
{
    __shared__ int value[64];
    auto cluster = cg::this_cluster();
    value[threadIdx.x] = 0;
    out[threadIdx.x] = *cluster.map_shared_rank(value, 2);
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) twice(int *out)
{
    cg::cluster_group cluster = cg::this_cluster();
    asm volatile("barrier.cluster.arrive; barrier.cluster.arrive;");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) never(int *out)
{
    asm volatile("barrier.cluster.wait;");
}
"""


MESSAGES = {
    "race": ["race at offset", "shared memory"],
    "unwritten": ["block (0,0,0)", "uninitialized"],
    "stuck": ["deadlock", "wait at barrier 1", "wait at the cluster's barrier", "in block ("],
    "beyond": ["invalid write of 4 bytes"],
    "rank": ["block 2 of a cluster of 2"],
    "twice": ["a second arrival at the cluster's barrier"],
    "never": ["a wait at the cluster's barrier without an arrival"],
}


def check_faults():
    """Every kernel of FAULTS fails with its messages."""
    for name, messages in MESSAGES.items():
        context = drv.Device(0).make_context()
        function = SourceModule(FAULTS, no_extern_c=True).get_function(name)
        out = drv.mem_alloc(4096)
        with pytest.raises(drv.Error) as found:
            function(out, block=(64, 1, 1), grid=(2, 1))
            context.synchronize()
        context.pop()
        for message in messages:
            assert message in str(found.value), str(found.value)


@pytest.mark.cpu("a GPU does not say what was wrong")
def test_the_message_says_what_was_wrong(at_capability, monkeypatch):
    monkeypatch.setenv("PYCUDA_CPU_CHECK", "racecheck, initcheck-shared")
    at_capability((9, 0), check_faults)
