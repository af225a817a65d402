"""Memory pools and streams: memory that goes from one stream to another is not written by both."""

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
    """Work on one stream that ends late and writes into a block; then the block goes back to its pool."""

    def __init__(self, kernels):
        self.late, self.fill = kernels.get_function("fill_late"), kernels.get_function("fill")
        self.state = drv.to_device(np.uint32([1]))
        self.fill(drv.mem_alloc(4 * N), np.int32(N), np.int32(0), **SHAPE)  # loaded before it counts
        turns = 1000
        while self.seconds(turns) < 0.02:
            turns *= 2
        self.turns = turns

    def seconds(self, turns):
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
    drv.Context.synchronize()
    return set(drv.from_device(block, N, np.int32).tolist())


def test_without_a_pool_the_late_writer_wins(race, streams):
    # Without a pool that orders them, the late writer wins: what the tests below would see.
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


def test_launches_tell_the_stream(race, streams, pool):
    # No stream is passed, as in programs written for PyCUDA.
    block = pool.allocate(4 * N)
    race.write_late(block, 1, streams[0])
    del block
    block = pool.allocate(4 * N)
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[1])
    assert values(block) == {2}


def test_arrays_tell_the_stream(race, streams, pool):
    array = gpuarray.empty(N, np.int32, allocator=pool.allocate)
    race.write_late(array, 1, streams[0])
    del array
    array = gpuarray.empty(N, np.int32, allocator=pool.allocate)
    host = drv.pagelocked_empty(N, np.int32)
    host[:] = 2
    array.set_async(host, stream=streams[1])
    assert values(array.gpudata) == {2}


def test_views_and_prepared_calls_tell_the_stream(race, streams, pool):
    array = gpuarray.empty(2 * N, np.int32, allocator=pool.allocate)
    race.write_late(array[N:], 1, streams[0])
    del array
    array = gpuarray.empty(2 * N, np.int32, allocator=pool.allocate)
    race.fill.prepare("Pii")
    race.fill.prepared_async_call((1, 1), (N, 1, 1), streams[1], array[N:], N, 2)
    assert values(array.ptr + 4 * N) == {2}


def test_fills_tell_the_stream(race, streams, pool):
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


def test_a_second_stream_waits_for_the_previous_use(race, streams, pool):
    block = pool.allocate(4 * N, streams[0])
    race.write_late(block, 1, streams[0])
    block.free()
    block = pool.allocate(4 * N, streams[1])
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[2])
    assert values(block) == {2}


def test_a_stream_that_is_gone_is_waited_for(race, pool):
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
    race.write_late(np.intp(int(block)), 1, streams[1])  # an address, of which the pool does not know
    block.free(streams[1])
    block = pool.allocate(4 * N, streams[0])
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[0])
    assert values(block) == {2}


def test_a_block_keeps_its_stream(pool):
    stream = drv.Stream()
    gone = weakref.ref(stream)
    block = pool.allocate(100, stream)
    del stream
    assert gone() is not None
    block.free()
    assert gone() is None
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
    # The late writer is on the default stream, which non-blocking streams do not wait for by themselves.
    stream = drv.Stream(flags)
    block = pool.allocate(4 * N, stream)
    race.fill(block, np.int32(N), np.int32(0), **SHAPE, stream=stream)
    race.write_late(block, 1, None)
    block.free()
    block = pool.allocate(4 * N, streams[1])
    race.fill(block, np.int32(N), np.int32(2), **SHAPE, stream=streams[1])
    assert values(block) == {2}
