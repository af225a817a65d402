"""Memory pools and streams: when a block is reused in another stream, the work of the previous one on it
comes first."""

import ctypes
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

MODULE = """
__global__ void fill(int *out, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}

// Writes late: the loop ends when the data says so, which no compiler knows.
__global__ void fill_late(int *out, int n, int value, int turns, unsigned *state)
{
    unsigned x = *state;
    for (int i = 0; i < turns; i++) x = x * 1664525u + 1013904223u;
    if (x == *state) value++;
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = value;
}
"""


@pytest.fixture(scope="module")
def kernels():
    return SourceModule(MODULE)


N = 64
SHAPE = {"block": (N, 1, 1), "grid": (1, 1)}


@pytest.fixture(params=["DeviceMemoryPool", "ManagedMemoryPool", "StreamOrderedMemoryPool"])
def pool(request):
    return getattr(drv, request.param)()


class Race:
    """Kernels for a race between two writers of one block: write_late(), about 20 ms after its launch, and
    fill.

    A test queues write_late(1) in a stream, frees the block, allocates it again and fills it with 2 in
    another stream. The block has 2 in the end only if the second stream waits for the first.
    """

    def __init__(self, kernels):
        self.late, self.fill = kernels.get_function("fill_late"), kernels.get_function("fill")
        self.state = drv.to_device(np.uint32([1]))
        self.fill(drv.mem_alloc(4 * N), np.int32(N), np.int32(0), **SHAPE)  # loads the code before the tests
        turns = 1000
        while self.seconds(turns) < 0.02:
            turns *= 2
        self.turns = turns

    def seconds(self, turns):
        """How long write_late takes with so many turns of its loop."""
        scratch = drv.mem_alloc(4 * N)
        start = time.perf_counter()
        self.write_late(scratch, 0, None, turns)
        drv.Context.synchronize()
        return time.perf_counter() - start

    def write_late(self, block, value, stream, turns=None):
        self.late(block, np.int32(N), np.int32(value), np.int32(turns or self.turns), self.state, **SHAPE,
                  stream=stream)  # fmt: skip


@pytest.fixture
def race(kernels):
    return Race(kernels)


@pytest.fixture
def streams():
    return [drv.Stream(drv.stream_flags.NON_BLOCKING) for _ in range(3)]


def values(block):
    """The set of the block's elements, once all work is done."""
    drv.Context.synchronize()
    return set(drv.from_device(block, N, np.int32).tolist())


def test_without_a_pool_the_late_writer_wins(race, streams):
    """The race is real: without a pool the block has 1."""
    block = drv.mem_alloc(4 * N)
    race.write_late(block, 1, streams[0], 10 * race.turns)
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[1])
    assert values(block) == {1}


def test_another_stream_waits(race, streams, pool):
    block = pool.allocate(4 * N, streams[0])
    address = int(block)
    race.write_late(block, 1, streams[0])
    block.free()
    block = pool.allocate(4 * N, stream=streams[1])
    assert int(block) == address or type(pool) is drv.StreamOrderedMemoryPool
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[1])
    assert values(block) == {2}


@pytest.mark.parametrize("pool", ["DeviceMemoryPool", "StreamOrderedMemoryPool"], indirect=True)
def test_the_same_stream_does_not_wait(race, streams, pool):
    """allocate() returns while the work on the freed block is still waiting: the stream's order suffices."""
    gate = threading.Event()
    block = pool.allocate(4 * N, streams[0])
    streams[0].launch_host_func(gate.wait, 10)
    race.write_late(block, 1, streams[0])
    block.free()
    block = pool.allocate(4 * N, stream=streams[0])
    assert not streams[0].is_done()
    gate.set()
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[0])
    assert values(block) == {2}


# In the next four tests allocate() is passed no stream, as in programs written for PyCUDA: the pool learns
# from each use of a block which stream it must wait for.


def test_launches_mark_the_block_with_their_stream(race, streams, pool):
    block = pool.allocate(4 * N)
    race.write_late(block, 1, streams[0])
    del block
    block = pool.allocate(4 * N)
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[1])
    assert values(block) == {2}


def test_copies_to_arrays_mark_the_block_with_their_stream(race, streams, pool):
    array = gpuarray.empty(N, np.int32, allocator=pool.allocate)
    race.write_late(array, 1, streams[0])
    del array
    array = gpuarray.empty(N, np.int32, allocator=pool.allocate)
    host = drv.pagelocked_empty(N, np.int32)
    host[:] = 2
    array.set_async(host, stream=streams[1])
    assert values(array.gpudata) == {2}


def test_views_and_prepared_calls_mark_the_block_with_their_stream(race, streams, pool):
    array = gpuarray.empty(2 * N, np.int32, allocator=pool.allocate)
    race.write_late(array[N:], 1, streams[0])
    del array
    array = gpuarray.empty(2 * N, np.int32, allocator=pool.allocate)
    race.fill.prepare("Pii")
    race.fill.prepared_async_call((1, 1), (N, 1, 1), streams[1], array[N:], N, 2)
    assert values(array.ptr + 4 * N) == {2}


def test_fills_mark_the_block_with_their_stream(race, streams, pool):
    block = pool.allocate(4 * N)
    race.write_late(block, 1, streams[0])
    del block
    block = pool.allocate(4 * N)
    drv.memset_d32_async(block, 2, N, streams[1])
    assert values(block) == {2}


def test_several_streams_are_waited_for(race, streams, pool):
    block = pool.allocate(4 * N, streams[0])
    race.fill(block, np.int32(N), np.int32(0), **SHAPE, stream=streams[0])
    race.write_late(block, 1, streams[1])
    block.free()
    block = pool.allocate(4 * N, streams[2])
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[2])
    assert values(block) == {2}


def test_a_second_stream_of_the_new_owner_waits(race, streams, pool):
    """Not only the stream for which the block was allocated again."""
    block = pool.allocate(4 * N, streams[0])
    race.write_late(block, 1, streams[0])
    block.free()
    block = pool.allocate(4 * N, streams[1])
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[2])
    assert values(block) == {2}


def test_a_destroyed_stream_is_waited_for(race, pool):
    stream, other = drv.Stream(1), drv.Stream(1)
    block = pool.allocate(4 * N, stream)
    race.write_late(block, 1, stream)
    block.free()
    del stream
    block = pool.allocate(4 * N, other)
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=other)
    assert values(block) == {2}


class ForeignStream:
    """A stream of which pycuda only knows the handle."""

    def __init__(self):
        maps = Path("/proc/self/maps").read_text().splitlines()
        self.library = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libcuda.so" in line))
        self.handle = ctypes.c_void_p()
        drv.Context.synchronize()  # in a thread that has no context this makes the default one current
        assert self.library.cuStreamCreate(ctypes.byref(self.handle), 1) == 0

    def __cuda_stream__(self):
        return 0, self.handle.value

    def destroy(self):
        assert self.library.cuStreamDestroy_v2(self.handle) == 0


def test_a_stream_of_another_library(race, pool):
    first, second = ForeignStream(), ForeignStream()
    block = pool.allocate(4 * N, first)
    race.write_late(block, 1, first)
    del block
    first.destroy()
    block = pool.allocate(4 * N, second)
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=second)
    assert values(block) == {2}
    block.free()
    second.destroy()
    assert len(pool.allocate(4 * N)) == 4 * N


def test_free_names_the_stream(race, streams, pool):
    block = pool.allocate(4 * N, streams[0])
    race.write_late(np.intp(int(block)), 1, streams[1])  # the pool does not learn of uses of a bare address
    block.free(streams[1])
    block = pool.allocate(4 * N, streams[0])
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[0])
    assert values(block) == {2}


def test_a_block_keeps_its_stream(pool):
    stream = drv.Stream()
    reference = weakref.ref(stream)
    block = pool.allocate(100, stream)
    del stream
    assert reference() is not None
    block.free()
    assert reference() is None
    assert len(pool.allocate(100, drv.Stream())) == 100


def test_bad_streams(pool):
    with pytest.raises(TypeError, match="stream must be a Stream"):
        pool.allocate(100, stream=3)
    block = pool.allocate(100)
    with pytest.raises(TypeError, match="stream must be a Stream"):
        block.free(3)
    assert pool.active_blocks == 1 and pool.held_blocks == 0


TWOS = np.full(N, 2, np.int32)


@pytest.mark.parametrize(
    "write",
    [
        lambda block: drv.memcpy_htod(block, TWOS),
        lambda block: drv.memset_d32(block, 2, N),
        lambda block: drv.memcpy_dtod(block, drv.to_device(TWOS), TWOS.nbytes),
        lambda block: gpuarray.GPUArray((N,), np.int32, gpudata=block).set(TWOS),
        lambda block: gpuarray.GPUArray((N,), np.int32, gpudata=block).set(gpuarray.to_gpu(TWOS)),
    ],
    ids=["htod", "memset", "dtod", "set", "set from an array"],
)
def test_copies_on_the_default_stream_wait(race, streams, pool, write):
    block = pool.allocate(4 * N, streams[0])
    race.write_late(block, 1, streams[0])
    block.free()
    block = pool.allocate(4 * N, streams[1])
    write(block)
    assert values(block) == {2}


@pytest.mark.parametrize("flags", [0, 1], ids=["blocking", "non-blocking"])
def test_work_on_the_default_stream_is_waited_for(race, streams, pool, flags):
    """The late writer is in the default stream, for which non-blocking streams do not wait by themselves."""
    stream = drv.Stream(flags)
    block = pool.allocate(4 * N, stream)
    race.fill(block, np.int32(N), np.int32(0), **SHAPE, stream=stream)
    race.write_late(block, 1, None)
    block.free()
    block = pool.allocate(4 * N, streams[1])
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[1])
    assert values(block) == {2}
