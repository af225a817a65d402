"""The default pool of a context: arrays without an allocator get their memory from it and return it to it; it
is freed with the context."""

import gc
import random
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.gpuarray import GPUArray
from pycuda.tools import DeviceMemoryPool, default_memory_pool


@pytest.fixture
def pool(primary_context):
    """The default pool, without held blocks."""
    gc.collect()
    found = default_memory_pool()
    found.free_held()
    return found


def test_arrays_take_their_memory_from_the_pool(pool):
    active = pool.active_blocks
    array = GPUArray(1000, np.float32)
    assert type(array.gpudata) is drv.PooledDeviceAllocation
    assert (pool.active_blocks, pool.held_blocks) == (active + 1, 0)
    address = array.ptr
    del array
    assert (pool.active_blocks, pool.held_blocks) == (active, 1)
    assert gpuarray.zeros(1000, np.float32).ptr == address


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a + a,
        lambda a: a.copy(),
        lambda a: gpuarray.zeros_like(a),
        lambda a: gpuarray.to_gpu(a.get()),
        lambda a: gpuarray.arange(100, dtype=np.int32),
        lambda a: gpuarray.full(100, 7, np.int32),
        lambda a: gpuarray.concatenate([a, a]),
        lambda a: a.sum(),
        lambda a: a[a > 3],
        lambda a: gpuarray.take(a, gpuarray.to_gpu(np.int32([1, 2]))),
    ],
)
def test_results_take_their_memory_from_the_pool(pool, make):
    result = make(gpuarray.to_gpu(np.arange(100, dtype=np.float32)))
    assert type(result.gpudata) is drv.PooledDeviceAllocation and result.allocator is drv.default_allocate
    assert result.gpudata in {result.gpudata} and pool.active_bytes >= result.nbytes


def test_results_use_their_operands_allocator(pool):
    own = DeviceMemoryPool()
    array = gpuarray.to_gpu(np.arange(100, dtype=np.float32), allocator=own.allocate)
    active = pool.active_blocks
    results = [array + 1, array.copy(), gpuarray.empty_like(array)]
    assert pool.active_blocks == active and own.active_blocks == 1 + len(results)
    raw = gpuarray.to_gpu(np.arange(100, dtype=np.float32), allocator=drv.mem_alloc)
    assert type((raw + 1).gpudata) is drv.DeviceAllocation and raw.allocator is drv.mem_alloc


def test_each_context_has_its_own_pool(pool):
    active = pool.active_blocks
    context = drv.Device(0).make_context()
    try:
        array = gpuarray.to_gpu(np.arange(10))
        other = default_memory_pool()
        assert other.active_blocks == 1 and pool.active_blocks == active
        assert (array + 1).get().tolist() == list(range(1, 11))
    finally:
        context.pop()
    del array, other
    context.detach()
    assert pool.active_blocks == active


def test_a_context_ends_with_its_pool():
    """A context is destroyed by detach() although arrays exist, and by the end of its last reference."""
    before = drv._live_objects()["Context"]
    context = drv.Device(0).make_context()
    array, held = gpuarray.zeros(100, np.float32), gpuarray.zeros(100, np.float32) + 1
    pool = default_memory_pool()
    del held
    context.pop()
    context.detach()
    with pytest.raises(drv.LogicError):
        array.get()
    assert pool.held_blocks == 0
    del array, pool, context
    context = drv.Device(0).make_context()
    array = gpuarray.zeros(100, np.float32)
    context.pop()
    del array, context
    gc.collect()
    assert drv._live_objects()["Context"] == before


def test_free_held_frees_memory_of_the_primary_context():
    """Other libraries use the primary context too: after free_held() its memory is the driver's again."""
    context = drv.Device(0).retain_primary_context()
    context.push()
    try:
        array = gpuarray.zeros(64 << 20, np.uint8)
        kept = gpuarray.zeros(1 << 20, np.uint8)
        address, pool = int(array.gpudata), default_memory_pool()
        before = pool.managed_bytes
        del array
        assert pool.held_blocks >= 1 and pool.managed_bytes == before
        assert drv.mem_get_address_range(address)[1] >= 64 << 20  # still allocated
        pool.free_held()
        assert pool.managed_bytes <= before - (64 << 20)
        with pytest.raises(drv.Error):
            drv.mem_get_address_range(address)
    finally:
        del kept
        drv.Context.pop()


def test_stop_holding(run_python):
    """After stop_holding() a block is freed with its array."""
    done = run_python(
        """
        import numpy as np
        import pycuda.autoinit
        from pycuda import gpuarray
        from pycuda.tools import default_memory_pool

        pool = default_memory_pool()
        pool.stop_holding()
        a = gpuarray.zeros(1000, np.float32)
        a = a + 1
        del a
        print(pool.active_blocks, pool.held_blocks, pool.managed_bytes)
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("0 0 0\n", "", 0)


def test_a_long_loop_needs_two_blocks(pool):
    array = gpuarray.zeros(1000, np.float32)
    active = pool.active_blocks
    for _ in range(1000):
        array = array + 1
    assert (array.get() == 1000).all()
    assert pool.active_blocks == active and pool.held_blocks == 1


def keep_their_numbers(streams, count, seed):
    """Makes `count` arrays, each filled with its own number on a random stream, and drops them in random
    order. Returns whether each array still had its number when it was dropped."""
    choose, live, right = random.Random(seed), [], True
    for number in range(count):
        stream = choose.choice(streams)
        array = GPUArray(choose.choice((1, 7, 300, 300, 5000)), np.int32)
        array.fill(number, stream=stream)
        live.append((array, number, stream))
        while len(live) > choose.choice((4, 12)):
            array, number, stream = live.pop(choose.randrange(len(live)))
            right = right and (array.get(stream=stream) == number).all()
    return right


def test_no_block_has_two_owners(pool):
    """Four threads make and drop arrays, on their own streams and on a shared one: no array changes
    another."""
    shared, answers = drv.Stream(), []
    context = drv.Context.get_current()

    def work(seed):
        context.push()
        try:
            streams = [None, shared, drv.Stream(), drv.Stream(1)]
            answers.append(keep_their_numbers(streams, 400, seed))
        finally:
            drv.Context.pop()

    active = pool.active_blocks
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 4
    assert pool.active_blocks == active
    pool.free_held()
    assert pool.held_blocks == 0


def test_a_request_that_is_too_large_raises_and_leaves_the_pool_usable(pool):
    kept = gpuarray.to_gpu(np.arange(100))
    with pytest.raises(drv.MemoryError, match="free"):
        GPUArray(1 << 50, np.uint8)
    assert ((kept + 1).get() == np.arange(1, 101)).all()


def test_a_short_soak(pool):
    """tests/soak/pool.py with few allocations."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "soak"))
    from pool import soak

    wrong, ratio = soak(20_000)
    assert not wrong and ratio < 2
