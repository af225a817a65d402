"""What all kinds of memory pools do alike: limits, trimming, high marks, snapshots; and what each does."""

import gc
import threading

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray, tools

KINDS = [drv.DeviceMemoryPool]
MiB = 1 << 20


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def pool(request):
    return request.param()


@pytest.fixture
def holding_pool(pool):
    return pool


# ---- What they share


def test_an_allocation(pool):
    block = pool.allocate(1000)
    assert type(block) is drv.PooledDeviceAllocation and len(block) == 1000 and int(block) % 256 == 0
    assert (pool.active_blocks, pool.active_bytes) == (1, 1000) and pool.managed_bytes >= 1000
    drv.memcpy_htod(block, np.arange(250, dtype=np.float32))
    assert (drv.from_device(block, 250, np.float32) == np.arange(250)).all()
    block.free()
    with pytest.raises(drv.LogicError, match="freed before"):
        block.free()
    assert (pool.active_blocks, pool.active_bytes) == (0, 0)
    assert len(pool.allocate(0)) == 0


def test_memory_comes_back(pool):
    kept = pool.allocate(MiB)
    del kept
    drv.Context.synchronize()
    assert pool.managed_bytes >= MiB
    pool.free_held()
    assert (pool.managed_bytes, pool.held_blocks) == (0, 0)


def test_arrays(pool):
    host = np.arange(1000, dtype=np.float32)
    array = gpuarray.to_gpu(host, allocator=pool.allocate)
    result = (2 * array + 1).get()
    assert (result == 2 * host + 1).all() and pool.active_blocks == 1
    assert pool.active_bytes_high >= 2 * host.nbytes
    del array
    assert pool.active_blocks == 0


@pytest.mark.parametrize("kind", KINDS)
def test_an_allocation_outlives_its_pool(kind):
    block = kind().allocate(100)
    gc.collect()
    drv.memset_d8(block, 7, 100)
    assert (drv.from_device(block, 100, np.uint8) == 7).all()


def test_high_marks(pool):
    blocks = [pool.allocate(MiB) for _ in range(3)]
    del blocks
    pool.trim()
    assert pool.active_bytes_high == 3 * MiB and pool.managed_bytes_high >= 3 * MiB
    kept = pool.allocate(1000)
    pool.reset_high()
    assert pool.active_bytes_high == 1000 and pool.managed_bytes_high == pool.managed_bytes
    assert len(kept) == 1000


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "many"])
def test_a_limit_that_is_none(pool, wrong):
    assert pool.limit is None
    with pytest.raises((ValueError, TypeError), match="limit"):
        pool.limit = wrong
    with pytest.raises(AttributeError):
        del pool.limit
    assert pool.limit is None


def test_a_limit(pool):
    pool.limit = 4 * MiB
    assert pool.limit == 4 * MiB
    blocks = [pool.allocate(MiB) for _ in range(3)]
    with pytest.raises(
        drv.MemoryError, match=r"2.0 MiB asked, 3.\d MiB of the pool's limit of 4.0 MiB in use"
    ):
        pool.allocate(2 * MiB)
    assert pool.active_blocks == 3
    del blocks[1:]
    block = pool.allocate(2 * MiB)  # what was held went first
    assert pool.active_blocks == 2 and pool.active_bytes == 3 * MiB and pool.held_blocks == 0
    with pytest.raises(drv.MemoryError, match="64.0 MiB asked"):
        pool.allocate(64 * MiB)
    pool.limit = None
    assert len(pool.allocate(64 * MiB)) == 64 * MiB and len(block) == 2 * MiB


def test_garbage_is_collected_at_the_limit(pool):
    pool.limit = 4 * MiB
    gc.disable()
    try:
        cycle = [pool.allocate(3 * MiB)]
        cycle.append(cycle)
        del cycle
        assert len(pool.allocate(2 * MiB)) == 2 * MiB
    finally:
        gc.enable()


def test_a_limit_among_threads(pool):
    """However the threads come in between each other, the limit holds."""
    pool.limit, problems = 8 * MiB, []

    def work(seed):
        sizes = np.random.default_rng(seed).integers(1, MiB, 200)
        for size in sizes:
            try:
                block = pool.allocate(int(size))
            except drv.MemoryError:
                problems.append("memory is short")
            else:
                if pool.active_bytes > pool.limit:
                    problems.append("beyond the limit")
                del block

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and pool.active_blocks == 0


def test_a_snapshot(pool):
    stream = drv.Stream()
    kept = [pool.allocate(1000), pool.allocate(1000, stream), pool.allocate(2 * MiB)]
    pool.limit = 64 * MiB
    snapshot = pool.snapshot()
    assert type(snapshot) is tools.PoolSnapshot and len(snapshot.active) == 3
    assert snapshot.active_bytes == pool.active_bytes == 2 * MiB + 2000
    assert {block.address for block in snapshot.active} == {int(block) for block in kept}
    assert {block.stream for block in snapshot.active} == {0, stream.handle}
    assert all(block.room >= block.size for block in snapshot.blocks)
    assert [bin[2:] for bin in snapshot.bins()] == [(2, 0), (1, 0)]
    lines = str(snapshot).splitlines()
    assert lines[0].startswith(type(pool).__name__ + ": 2.") and lines[0].endswith("of at most 64.0 MiB")
    assert lines[1].split() == ["in", "use", "3", "2.0", "MiB"] and len(lines) == 6


def test_a_snapshot_of_held_blocks(holding_pool):
    kept = holding_pool.allocate(1000)
    holding_pool.allocate(1000)
    holding_pool.allocate(5000)
    snapshot = holding_pool.snapshot()
    held = [block for block in snapshot.blocks if not block.active]
    assert held == snapshot.held and [block.size for block in held] == [0, 0]
    assert snapshot.held_bytes == holding_pool.managed_bytes - 1023
    assert snapshot.managed_bytes == holding_pool.managed_bytes
    assert [bin[2:] for bin in snapshot.bins()] == [(1, 1), (0, 1)] and len(kept) == 1000
    assert str(tools.PoolSnapshot("Pool", [])).splitlines()[0] == "Pool: 0 bytes in 0 blocks"


def test_trimming(holding_pool):
    kept = [holding_pool.allocate(size) for size in (1000, MiB, 4 * MiB)]
    kept = kept[:1]
    everything = holding_pool.managed_bytes
    holding_pool.trim(everything)
    assert holding_pool.held_blocks == 2
    holding_pool.trim(bytes=everything - 1)  # the largest goes first
    assert holding_pool.held_blocks == 1 and holding_pool.managed_bytes < 2 * MiB
    holding_pool.trim()
    assert (holding_pool.held_blocks, holding_pool.managed_bytes) == (0, 1023)
    with pytest.raises(ValueError):
        holding_pool.trim(-1)
    assert len(kept[0]) == 1000


def test_page_locked_pools_have_it_all():
    pool = drv.PageLockedMemoryPool()
    pool.limit = MiB
    array = pool.allocate(1000, np.uint8)
    with pytest.raises(drv.MemoryError, match="of the pool's limit of 1.0 MiB"):
        pool.allocate(MiB, np.uint8)
    assert pool.snapshot().active[0].address == array.ctypes.data
    del array
    pool.trim()
    assert pool.managed_bytes == 0 and pool.active_bytes_high == 1000


def test_freed_in_another_context(pool):
    block = pool.allocate(100)
    context = drv.Device(0).make_context()
    try:
        del block
        assert pool.active_blocks == 0
        pool.trim()
    finally:
        context.pop()
        context.detach()


@pytest.mark.parametrize("kind", KINDS)
def test_a_context_that_is_gone(kind):
    context = drv.Device(0).make_context()
    pool = kind()
    block, held = pool.allocate(100), pool.allocate(200)
    held.free()
    context.pop()
    context.detach()
    with pytest.raises(drv.LogicError, match="memory_pool::allocate failed: .*context"):
        pool.allocate(100)
    block.free()
    pool.trim()
    assert pool.active_blocks == 0


def test_not_before_it_is_initialised():
    class Pool(drv.DeviceMemoryPool):
        def __init__(self):
            pass

    pool = Pool()
    for use in (lambda: pool.allocate(1), lambda: pool.limit, pool.reset_high, pool.trim, pool.snapshot):
        with pytest.raises(drv.LogicError, match="__init__ was not called"):
            use()
