"""What all kinds of memory pools have in common: limits, trimming, high-water marks, snapshots; and what is
special of each."""

import gc
import threading

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray, tools
from pycuda.compiler import SourceModule
from pycuda.gpuarray import GPUArray

KINDS = [drv.DeviceMemoryPool, drv.ManagedMemoryPool, drv.StreamOrderedMemoryPool]
MiB = 1 << 20


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def pool(request):
    return request.param()


@pytest.fixture(params=KINDS[:2], ids=lambda kind: kind.__name__)
def holding_pool(request):
    """A pool that holds freed blocks itself; those of the driver's own pool are not visible."""
    return request.param()


# ---- What they have in common


def test_an_allocation(pool):
    block = pool.allocate(1000)
    assert type(block) is drv.PooledDeviceAllocation and len(block) == 1000 and int(block) % 256 == 0
    assert (pool.active_blocks, pool.active_bytes) == (1, 1000) and pool.managed_bytes >= 1000
    drv.memcpy_htod(block, np.arange(250, dtype=np.float32))
    assert (drv.from_device(block, 250, np.float32) == np.arange(250)).all()
    block.free()
    with pytest.raises(drv.LogicError, match="already freed"):
        block.free()
    assert (pool.active_blocks, pool.active_bytes) == (0, 0)
    assert len(pool.allocate(0)) == 0


def test_held_memory_is_released_by_free_held(pool):
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


def test_high_water_marks(pool):
    blocks = [pool.allocate(MiB) for _ in range(3)]
    del blocks
    pool.trim()
    assert pool.active_bytes_high == 3 * MiB and pool.managed_bytes_high >= 3 * MiB
    kept = pool.allocate(1000)
    pool.reset_high()
    assert pool.active_bytes_high == 1000 and pool.managed_bytes_high == pool.managed_bytes
    assert len(kept) == 1000


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "many"])
def test_wrong_limits(pool, wrong):
    assert pool.limit is None
    with pytest.raises((ValueError, TypeError), match="limit"):
        pool.limit = wrong
    with pytest.raises(AttributeError):
        del pool.limit
    assert pool.limit is None


def test_a_limit(pool):
    """A request beyond it raises, unless freeing held blocks makes room."""
    pool.limit = 4 * MiB
    assert pool.limit == 4 * MiB
    blocks = [pool.allocate(MiB) for _ in range(3)]
    with pytest.raises(
        drv.MemoryError, match=r"2.0 MiB requested, 3.\d MiB of the pool's limit of 4.0 MiB in use"
    ):
        pool.allocate(2 * MiB)
    assert pool.active_blocks == 3
    del blocks[1:]
    block = pool.allocate(2 * MiB)  # the held blocks were freed for it
    assert pool.active_blocks == 2 and pool.active_bytes == 3 * MiB and pool.held_blocks == 0
    with pytest.raises(drv.MemoryError, match="64.0 MiB requested"):
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
    """Four threads allocate and free blocks that fit the limit together: no request fails, and the limit is
    never exceeded."""
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
    assert all(block.capacity >= block.size for block in snapshot.blocks)
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
    """trim(n) frees held blocks, the largest first, until at most n bytes are managed."""
    kept = [holding_pool.allocate(size) for size in (1000, MiB, 4 * MiB)]
    kept = kept[:1]
    everything = holding_pool.managed_bytes
    holding_pool.trim(everything)
    assert holding_pool.held_blocks == 2
    holding_pool.trim(bytes=everything - 1)
    assert holding_pool.held_blocks == 1 and holding_pool.managed_bytes < 2 * MiB
    holding_pool.trim()
    assert (holding_pool.held_blocks, holding_pool.managed_bytes) == (0, 1023)
    with pytest.raises(ValueError):
        holding_pool.trim(-1)
    assert len(kept[0]) == 1000


def test_page_locked_pools_have_limits_snapshots_and_trimming():
    pool = drv.PageLockedMemoryPool()
    pool.limit = MiB
    array = pool.allocate(1000, np.uint8)
    with pytest.raises(drv.MemoryError, match="of the pool's limit of 1.0 MiB"):
        pool.allocate(MiB, np.uint8)
    assert pool.snapshot().active[0].address == array.ctypes.data
    del array
    pool.trim()
    assert pool.managed_bytes == 0 and pool.active_bytes_high == 1000


def test_a_block_freed_while_another_context_is_current(pool):
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
def test_a_pool_of_a_destroyed_context(kind):
    """allocate() raises; releases are accepted."""
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


# ---- Managed memory

# Writes odd numbers after `turns` steps of a loop, which delay the stores.
LATE = """
__global__ void write_late(unsigned *out, int n, int turns, unsigned *state)
{
    unsigned x = *state;
    for (int i = 0; i < turns; i++) x = x * 1664525u + 1013904223u;
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = x | 1;
}
"""


def host_view(block):
    """The block of managed memory as an array of the host."""
    return np.frombuffer(block.as_buffer(len(block)), np.uint32)


def test_the_host_uses_managed_memory():
    pool = drv.ManagedMemoryPool()
    block = pool.allocate(400)
    host_view(block)[:] = np.arange(100)
    assert (drv.from_device(block, 100, np.uint32) == np.arange(100)).all()
    array = gpuarray.GPUArray(100, np.uint32, gpudata=block)
    assert array.get().sum() == 4950 and array.__dlpack_device__()[0] == 13  # kDLCUDAManaged


def test_managed_memory_is_reused_after_the_work_on_it():
    """What the host writes into a reused block is not overwritten by a kernel of its previous owner:
    allocate() waits for that kernel."""
    late = SourceModule(LATE).get_function("write_late")
    pool, stream, state = drv.ManagedMemoryPool(), drv.Stream(), drv.to_device(np.uint32([1]))
    for _ in range(3):
        block = pool.allocate(400)
        address = int(block)
        late(block, np.int32(100), np.int32(200_000), state, block=(32, 1, 1), stream=stream)
        block.free()
        again = pool.allocate(400)
        assert int(again) == address
        host_view(again)[:] = 0
        stream.synchronize()
        assert not host_view(again).any()
        del again


# ---- A pool of the driver


@pytest.fixture
def ordered():
    return drv.StreamOrderedMemoryPool()


def test_statistics_of_the_driver(ordered):
    block = ordered.allocate(1000)
    assert ordered.used_mem_current >= 1000 and ordered.reserved_mem_current >= ordered.used_mem_current
    assert ordered.managed_bytes == ordered.reserved_mem_current
    block.free()
    drv.Context.synchronize()
    assert ordered.used_mem_current == 0 and ordered.used_mem_high >= 1000
    ordered.trim_to(0)
    assert ordered.reserved_mem_current == 0 and ordered.reserved_mem_high >= 1000
    ordered.reset_high()
    assert ordered.used_mem_high == ordered.reserved_mem_high == 0


def test_the_release_threshold(ordered):
    """By default the pool keeps all freed memory; with 0 it keeps none after a synchronization."""
    assert ordered.release_threshold == 2**64 - 1
    ordered.allocate(MiB)
    drv.Context.synchronize()
    assert ordered.reserved_mem_current >= MiB
    ordered.release_threshold = 0
    ordered.allocate(1000)
    drv.Context.synchronize()
    assert ordered.reserved_mem_current == 0
    assert drv.StreamOrderedMemoryPool(release_threshold=5 * MiB).release_threshold == 5 * MiB
    with pytest.raises((TypeError, ValueError, OverflowError)):
        ordered.release_threshold = -1


def test_stop_holding(ordered):
    ordered.allocate(MiB)
    ordered.stop_holding()
    assert ordered.release_threshold == 0 and ordered.reserved_mem_current == 0


def test_reuse_policies(ordered):
    for name in ("follow_event_dependencies", "allow_opportunistic", "allow_internal_dependencies"):
        assert getattr(ordered, f"reuse_{name}") is True
        setattr(ordered, f"reuse_{name}", False)
        assert getattr(ordered, f"reuse_{name}") is False
        setattr(ordered, f"reuse_{name}", 1)
        assert getattr(ordered, f"reuse_{name}") is True


def test_a_stream_reuses_what_it_freed(ordered):
    stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
    first = ordered.allocate(MiB, stream)
    address = int(first)
    drv.memset_d8_async(first, 1, MiB, stream)
    del first
    assert int(ordered.allocate(MiB, stream)) == address


def test_a_subclass_without_a_call_of_init():
    class Pool(drv.StreamOrderedMemoryPool):
        def __init__(self):
            pass

    pool = Pool()
    for use in (
        lambda: pool.allocate(1),
        lambda: pool.release_threshold,
        pool.reset_high,
        pool.trim,
        pool.snapshot,
    ):
        with pytest.raises(drv.LogicError, match="__init__ was not called"):
            use()


# ---- The default pool


@pytest.fixture
def default(primary_context):
    """After the test pycuda's own pool is the default again."""
    yield
    gc.collect()
    tools.set_default_memory_pool(None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pool_becomes_the_default(default, kind):
    """Arrays made while it was the default keep its memory when another pool becomes the default."""
    pool = kind()
    tools.set_default_memory_pool(pool)
    array = GPUArray(1000, np.float32)
    assert pool.active_bytes == 4000 and type(tools.default_memory_pool()) is kind
    assert tools.default_memory_pool() == pool != drv.DeviceMemoryPool() and pool != None  # noqa: E711
    assert {pool: 1}[tools.default_memory_pool()] == 1
    total = (gpuarray.zeros_like(array) + 1).get().sum()
    assert total == 1000
    tools.set_default_memory_pool(drv.DeviceMemoryPool())
    other = gpuarray.zeros(10, np.float32)
    assert pool.active_blocks == 1 and type(tools.default_memory_pool()) is drv.DeviceMemoryPool
    array.fill(3)
    assert (array.get() == 3).all() and not other.get().any()
    tools.set_default_memory_pool(pool)
    assert len(GPUArray(5, np.float32).gpudata) == 20 and type(tools.default_memory_pool()) is kind


def test_the_default_pool_keeps_the_pool(default):
    tools.set_default_memory_pool(drv.ManagedMemoryPool())
    gc.collect()
    assert type(tools.default_memory_pool()) is drv.ManagedMemoryPool
    assert gpuarray.zeros(10, np.float32).get().tolist() == [0] * 10


def test_pools_that_cannot_be_the_default(default):
    for wrong in (3, drv.PageLockedMemoryPool(), drv.DeviceMemoryPool):
        with pytest.raises(TypeError, match="pool must be a DeviceMemoryPool or None"):
            tools.set_default_memory_pool(wrong)
    context = drv.Device(0).make_context()
    try:
        other = drv.DeviceMemoryPool()
    finally:
        context.pop()
    with pytest.raises(drv.LogicError, match="current context"):
        tools.set_default_memory_pool(other)
    del other
    context.detach()


def test_a_default_pool_ends_with_its_context():
    context = drv.Device(0).make_context()
    try:
        tools.set_default_memory_pool(drv.StreamOrderedMemoryPool())
        array = gpuarray.zeros(10, np.float32)
        assert not array.get().any()
        del array
    finally:
        context.pop()
        context.detach()


# ---- The end of the process

# Pools of three kinds, each with a block in use in the default stream and in another one, and a freed block.
ALIVE = """
import os
import sys

import numpy as np

import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray, tools


class Resource:
    def allocate(self, nbytes, stream):
        self.memory = drv.mem_alloc(nbytes)
        return int(self.memory)

    def deallocate(self, address, nbytes, stream):
        self.memory = None


stream = drv.Stream()
kinds = drv.ManagedMemoryPool, drv.StreamOrderedMemoryPool, lambda: drv.ExternalMemoryPool(Resource())
pools = [make() for make in kinds]
kept = [(pool.allocate(100), pool.allocate(100, stream)) for pool in pools]
for pool in pools:
    pool.allocate(1000, stream)
"""


def test_exit_with_live_blocks(run_python):
    text = "tools.set_default_memory_pool(pools[1])\narray = gpuarray.zeros(10, np.float32)"
    done = run_python(ALIVE + text)
    assert (done.returncode, done.stderr) == (0, "")


def test_exit_with_a_pool_in_a_reference_cycle(run_python):
    text = """
class Pool(drv.StreamOrderedMemoryPool):
    pass


pool = Pool()
pool.cycle = pool, pool.allocate(100)
tools.set_default_memory_pool(pool)
array = gpuarray.zeros(10, np.float32)
"""
    done = run_python(ALIVE + text)
    assert (done.returncode, done.stderr) == (0, "")


def test_exit_with_a_resource_in_a_reference_cycle(run_python):
    text = """
pools[2].resource.pool = pools[2]
tools.set_allocator(pools[2])
array = gpuarray.zeros(10, np.float32)
"""
    done = run_python(ALIVE + text)
    assert (done.returncode, done.stderr) == (0, "")


# ---- A pool of the driver is destroyed when no work uses it, and before its context

# check(expected, before) compares the number of driver calls of each kind since before = calls().
ENDS = """
import gc

import pycuda.driver as drv

drv.init()
context = drv.Device(0).make_context()
count = drv._driver._fault_count


def calls():
    waits = "cuCtxSynchronize", "cuStreamSynchronize"
    return [count(name) for name in (*waits, "cuMemFree", "cuMemFreeAsync", "cuMemPoolDestroy")]


def check(expected, before):
    now = calls()
    assert [b - a for a, b in zip(before, now)] == expected, (before, now)


pool, stream = drv.StreamOrderedMemoryPool(), drv.Stream()
blocks = [pool.allocate(100), pool.allocate(100, stream)]
before = calls()
"""


def ends(run_python, text):
    """Runs ENDS and the text; asserts that the program ends well."""
    done = run_python(ENDS + text, env={"PYCUDA_FAULT_CALL": "0"})
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_the_last_block_destroys_the_pool_after_a_wait_for_the_freed_blocks(run_python):
    ends(
        run_python, "del pool\ncheck([0, 0, 0, 0, 0], before)\nblocks.clear()\ncheck([0, 2, 0, 2, 1], before)"
    )


@pytest.mark.parametrize("dropped", ["blocks, pool", "pool, blocks", "stream, pool, blocks"])
def test_the_end_of_a_context_destroys_the_pools_of_the_driver(run_python, dropped):
    """After a wait for all work; dropping the Python objects afterwards makes no call, in whichever order."""
    text = "context.pop()\ncontext.detach()\ncheck([1, 0, 1, 2, 1], before)\n"
    drops = "".join(f"del {name}\ngc.collect()\n" for name in dropped.split(", "))
    ends(run_python, text + drops + "check([1, 0, 1, 2, 1], before)")


def test_the_end_of_a_context_destroys_its_default_pool(run_python):
    """The context has the last reference to it."""
    text = """
drv.set_default_memory_pool(pool)
del pool
context.pop()
context.detach()
blocks.clear()
check([1, 0, 1, 2, 1], before)
"""
    ends(run_python, text)


def test_pools_that_live_until_the_end_of_the_program(run_python):
    ends(run_python, "import atexit, sys\nsys.kept = pool, blocks, stream\ndel pool, blocks, stream")


# ---- Python code that runs inside of allocate()


def test_another_thread_ends_the_context_while_garbage_is_collected():
    """allocate() collects garbage at its limit; a finalizer waits for a thread that destroys the context.
    Neither thread waits for the other, and allocate() raises."""
    context = drv.Device(0).make_context()
    pool, ended = drv.DeviceMemoryPool(), []

    class Garbage:
        def __del__(self):
            thread = threading.Thread(target=context.detach)
            thread.start()
            thread.join(20)
            ended.append(not thread.is_alive())

    pool.limit = MiB
    cycle = [Garbage()]
    cycle.append(cycle)
    del cycle
    with pytest.raises(drv.LogicError, match="context"):
        pool.allocate(2 * MiB)
    assert ended == [True]
    drv.Context.pop()


def test_a_forked_child_leaves_pools_alone(run_python):
    """In the child allocate() raises and releases have no effect; in the parent the blocks are still in
    use."""
    done = run_python(
        ALIVE
        + """
from forking import fork

child = fork()
if not child:
    for pool in pools:
        try:
            pool.allocate(100)
        except drv.LogicError as error:
            assert "fork" in str(error)
        else:
            os._exit(1)
        pool.trim()
        pool.limit = 5
        assert not pool.snapshot().blocks and pool.active_blocks == 2 and pool.limit is None
    kept.clear()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert [pool.active_blocks for pool in pools] == [2, 2, 2]
"""
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_a_reuse_of_managed_memory_waits_without_the_gil():
    """allocate() waits for the stream's work, which includes a host function that needs the GIL."""
    pool, stream, ran = drv.ManagedMemoryPool(), drv.Stream(), []
    block = pool.allocate(100, stream)
    drv.memset_d8_async(block, 1, 100, stream)
    stream.launch_host_func(ran.append, 1)
    block.free()
    assert len(pool.allocate(100)) == 100 and ran == [1]
