"""Memory pools: bins, statistics, reuse, shortage of memory, the end of pools, contexts and processes."""

import gc
import io
import os
import threading
import weakref

import numpy as np
import pytest
from devices import on_cpu_device, tries
from hypothesis import given, settings
from hypothesis import strategies as st

import pycuda.driver as drv
from pycuda import gpuarray, tools
from pycuda.compiler import SourceModule

BITS = 4  # how many bits after the leading one a bin distinguishes, by default


def model_bin(size, bits=BITS):
    """The number of the bin for a size, as PyCUDA computes it."""
    exponent = max(size.bit_length() - 1, 0)
    return exponent << bits | ((size << bits) >> exponent) & ((1 << bits) - 1)


def model_room(number, bits=BITS):
    """The size of the blocks of that bin: the largest size that it is for."""
    exponent, leading = number >> bits, number & ((1 << bits) - 1) | 1 << bits
    rest = exponent - bits
    return (leading << rest) + (1 << rest) - 1 if rest > 0 else leading >> -rest


def statistics(pool):
    return pool.held_blocks, pool.active_blocks, pool.managed_bytes, pool.active_bytes


def count(kind):
    """The number of live objects of that type."""
    return drv._live_objects()[kind]


@pytest.fixture
def pool():
    return drv.DeviceMemoryPool()


# ---- Bins ----

SIZES = st.one_of(st.integers(0, 2**16), st.integers(0, 2**63 - 1), st.integers(0, 62).map(lambda e: 2**e))


@settings(deadline=None)
@given(size=SIZES, bits=st.integers(0, 8))
def test_bins_are_those_of_the_model(size, bits):
    for pool in drv.DeviceMemoryPool(bits), drv.PageLockedMemoryPool(leading_bits_in_bin_id=bits):
        number = pool.bin_number(size)
        room = pool.alloc_size(number)
        assert number == model_bin(size, bits) and room == model_room(number, bits)
        assert room >= max(size, 1) and pool.bin_number(room) == number
        assert size == 0 or room - size <= size >> bits


def test_known_bins(pool):
    """PyCUDA has 16 bins for each power of two."""
    assert [pool.bin_number(n) for n in (0, 1, 2, 3, 16, 17, 32, 33, 34, 4096)] == [
        0, 0, 16, 24, 64, 65, 80, 80, 81, 192
    ]  # fmt: skip
    assert [pool.alloc_size(n) for n in (0, 16, 24, 64, 80, 81, 192)] == [1, 2, 3, 16, 33, 35, 4351]
    assert pool.alloc_size(63 * 16 + 15) == 2**64 - 1


def test_wrong_bins_and_sizes(pool):
    with pytest.raises(ValueError, match="bin is 1024: this pool has 1024 bins"):
        pool.alloc_size(1024)
    with pytest.raises(ValueError, match="must not be negative"):
        pool.bin_number(-1)
    with pytest.raises(ValueError, match="leading_bits_in_bin_id is 9"):
        drv.DeviceMemoryPool(9)
    with pytest.raises(TypeError):
        pool.bin_number(1.5)


@pytest.mark.parametrize("n, log", [(0, 0), (1, 0), (2, 1), (3, 1), (1023, 9), (1024, 10), (2**64 - 1, 63)])
def test_bitlog2(n, log):
    assert drv.bitlog2(n) == tools.bitlog2(n) == log


# ---- Statistics ----


class Model:
    """PyCUDA's pool: the blocks of a bin are reused, the last one that was freed first.

    held: {bin: addresses}, active: [(size, address)].
    """

    def __init__(self):
        self.held, self.active, self.stopped = {}, [], False

    def statistics(self):
        held = sum(len(blocks) for blocks in self.held.values())
        bins = [number for number, blocks in self.held.items() for _ in blocks]
        bins += [model_bin(size) for size, _ in self.active]
        return held, len(self.active), sum(map(model_room, bins)), sum(size for size, _ in self.active)

    def allocate(self, size, address):
        """Records an allocation; asserts that the pool reused the block that the model would."""
        held = self.held.get(model_bin(size))
        assert not held or held.pop() == address
        self.active.append((size, address))

    def free(self, i):
        """Records that the i-th active block was freed."""
        size, address = self.active.pop(i)
        if not self.stopped:
            self.held.setdefault(model_bin(size), []).append(address)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("allocate"), st.one_of(st.integers(0, 40), st.integers(0, 100_000))),
        st.tuples(st.just("free"), st.integers(0, 1000)),
        st.tuples(st.just("free_held"), st.just(0)),
        st.tuples(st.just("stop_holding"), st.just(0)),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=60)
@given(steps=STEPS)
def test_any_sequence_of_calls_has_the_models_statistics(steps):
    pool, model, blocks = drv.DeviceMemoryPool(), Model(), []
    for what, number in steps:
        if what == "allocate":
            blocks.append(pool.allocate(number))
            assert len(blocks[-1]) == number
            model.allocate(number, int(blocks[-1]))
        elif what == "free" and blocks:
            model.free(number % len(blocks))
            blocks.pop(number % len(blocks)).free()
        elif what == "free_held":
            pool.free_held()
            model.held = {}
        elif what == "stop_holding":
            pool.stop_holding()
            model.held, model.stopped = {}, True
        assert statistics(pool) == model.statistics()


def test_statistics(pool):
    """(held blocks, active blocks, managed bytes, active bytes); 1000 and 1001 bytes are of a bin for
    1023."""
    assert statistics(pool) == (0, 0, 0, 0)
    block = pool.allocate(1000)
    assert statistics(pool) == (0, 1, 1023, 1000)
    del block
    assert statistics(pool) == (1, 0, 1023, 0)
    block = pool.allocate(1001)
    assert statistics(pool) == (0, 1, 1023, 1001)
    block.free()
    pool.free_held()
    assert statistics(pool) == (0, 0, 0, 0)


def test_held_memory_is_the_drivers_again(pool):
    size = 1 << 26
    for _ in tries():
        free = drv.mem_get_info()[0]
        pool.allocate(size)
        held = drv.mem_get_info()[0]
        pool.free_held()
        if held <= free - size and drv.mem_get_info()[0] >= held + size:
            return
    pytest.fail("held memory never was the driver's again")


def test_the_end_of_a_pool_frees_its_memory():
    size = 1 << 26
    for _ in tries():
        pool = drv.DeviceMemoryPool()
        pool.allocate(size)
        held = drv.mem_get_info()[0]
        del pool
        if drv.mem_get_info()[0] >= held + size:
            return
    pytest.fail("the memory was never freed")


def test_stop_holding(pool):
    block, other = pool.allocate(100), pool.allocate(100)
    other.free()
    pool.stop_holding()
    assert statistics(pool) == (0, 1, 103, 100)
    block.free()
    assert statistics(pool) == (0, 0, 0, 0)
    pool.allocate(100)
    assert pool.held_blocks == 0


# ---- Allocations ----


def test_an_allocation(pool):
    block = pool.allocate(100)
    address = int(block)
    assert type(block) is drv.PooledDeviceAllocation is tools.PooledDeviceAllocation
    assert len(block) == block.size == 100 and address and address % 256 == 0
    assert block.__index__() == block.__long__() == address and np.intp(block) == address
    assert "100 bytes" in repr(block)
    with pytest.raises(TypeError):
        drv.PooledDeviceAllocation()


@pytest.mark.parametrize("size", [np.int32(100), np.uint64(100), True])
def test_sizes_are_integers(pool, size):
    assert len(pool.allocate(size)) == int(size)


@pytest.mark.parametrize(
    "size, error", [(-1, ValueError), (1.5, TypeError), ("1", TypeError), (1 << 70, OverflowError)]
)
def test_bad_sizes(pool, size, error):
    with pytest.raises(error, match="size"):
        pool.allocate(size)
    assert statistics(pool) == (0, 0, 0, 0)


def test_zero_bytes(pool):
    first, second = pool.allocate(0), pool.allocate(0)
    assert int(first) and int(first) != int(second) and len(first) == 0
    assert pool.active_bytes == 0 and pool.managed_bytes == 2
    drv.memcpy_htod(first, b"")


def test_free_twice(pool):
    block = pool.allocate(100)
    block.free()
    with pytest.raises(drv.LogicError, match="pooled_device_allocation::free failed.*already freed"):
        block.free()
    assert statistics(pool) == (1, 0, 103, 0)


@pytest.mark.parametrize(
    "use",
    [
        lambda block: int(block),
        lambda block: drv.memcpy_htod(block, b"1"),
        lambda block: drv.memset_d8(block, 1, 1),
        lambda block: gpuarray.GPUArray((4,), np.uint8, gpudata=block),
    ],
)
def test_freed_memory_is_not_used(pool, use):
    block = pool.allocate(100)
    block.free()
    with pytest.raises(drv.LogicError, match="the PooledDeviceAllocation was freed"):
        use(block)


def test_weak_references(pool):
    block = pool.allocate(4)
    reference, of_pool = weakref.ref(block), weakref.ref(pool)
    assert reference() is block and of_pool() is pool
    del block
    assert reference() is None


def test_an_allocation_outlives_its_pool():
    pool = drv.DeviceMemoryPool()
    block = pool.allocate(100)
    del pool
    gc.collect()
    drv.memcpy_htod(block, bytes(range(100)))
    assert drv.from_device(block, 100, np.uint8).tolist() == list(range(100))


def test_a_pool_with_its_own_allocation_as_an_attribute_is_released():
    """Without a garbage collection."""

    class Pool(drv.DeviceMemoryPool):
        pass

    before = count("PooledDeviceAllocation"), count("MemoryPool")
    pool = Pool()
    pool.kept = pool.allocate(100)
    del pool
    assert (count("PooledDeviceAllocation"), count("MemoryPool")) == before


def test_a_subclass_must_initialize():
    class Pool(drv.DeviceMemoryPool):
        def __init__(self):
            pass

    with pytest.raises(drv.LogicError, match="__init__ was not called"):
        Pool().allocate(4)
    with pytest.raises(drv.LogicError, match="__init__ was not called"):
        Pool().held_blocks  # noqa: B018


FILL = """
__global__ void fill(int *out, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}
"""
N = 64
SHAPE = {"block": (N, 1, 1), "grid": (1, 1)}


def test_a_pooled_allocation_is_accepted_where_a_device_allocation_is(pool):
    fill = SourceModule(FILL).get_function("fill")
    block, other = pool.allocate(4 * N), pool.allocate(4 * N)
    fill(block, np.int32(N), np.int32(7), **SHAPE)
    drv.memcpy_dtod(other, block, 4 * N)
    assert (drv.from_device(other, N, np.int32) == 7).all()
    fill.prepare("Pii")
    fill.prepared_call((1, 1), (N, 1, 1), block, N, 8)
    fill.prepared_async_call((1, 1), (N, 1, 1), None, other, N, 9)
    assert (drv.from_device(block, N, np.int32) == 8).all()
    assert (drv.from_device(other, N, np.int32) == 9).all()
    drv.memset_d32(block, 5, N)
    assert (gpuarray.GPUArray((N,), np.int32, gpudata=block).get() == 5).all()
    with pytest.raises(ValueError, match="the allocation has 256"):
        drv.memset_d32(block, 5, N + 1)


def test_arrays_take_their_memory_from_a_pool(pool):
    host = np.arange(1000, dtype=np.float32)
    array = gpuarray.to_gpu(host, allocator=pool.allocate)
    assert type(array.gpudata) is drv.PooledDeviceAllocation and pool.active_bytes == 4000
    copy = array.copy()
    assert (
        pool.active_blocks == 2 and (copy.get() == host).all() and (array[10:20].get() == host[10:20]).all()
    )
    address = array.ptr
    del array
    again = gpuarray.zeros(1000, np.float32, allocator=pool.allocate)
    assert again.ptr == address and (again.get() == 0).all() and (copy.get() == host).all()


# ---- Contexts and threads ----


def test_a_pool_is_used_while_another_context_is_current(pool):
    """It works in its own context, except for a stream of the other one."""
    block = pool.allocate(100)
    context = drv.Device(0).make_context()
    try:
        del block
        assert statistics(pool) == (1, 0, 103, 0)
        pool.free_held()
        assert len(pool.allocate(50)) == 50
        own = drv.DeviceMemoryPool()
        with pytest.raises(drv.LogicError, match="different contexts"):
            pool.allocate(10, stream=drv.Stream())
        del own
    finally:
        context.pop()
        context.detach()


def test_a_pool_of_a_destroyed_context():
    """Uses raise; releases are accepted."""
    context = drv.Device(0).make_context()
    pool = drv.DeviceMemoryPool()
    block, held = pool.allocate(100), pool.allocate(200)
    held.free()
    context.pop()
    context.detach()
    with pytest.raises(drv.LogicError, match="memory_pool::allocate failed: .*context"):
        pool.allocate(100)
    with pytest.raises(drv.LogicError):
        int(block)
    block.free()
    pool.free_held()
    assert statistics(pool) == (0, 0, 0, 0)


def test_threads():
    """Six threads allocate from one pool, each in its stream: no block is shared, and the statistics add
    up."""
    pool, problems = drv.DeviceMemoryPool(), []

    def work(number):
        stream, random = drv.Stream(), np.random.default_rng(number)
        for turn in range(100):
            blocks = [pool.allocate(int(size), stream) for size in random.integers(16, 2000, 4)]
            for block in blocks:
                drv.memset_d8_async(block, number, len(block), stream)
            if turn % 10 == 0:
                stream.synchronize()
                for block in blocks:
                    if (drv.from_device(block, len(block), np.uint8) != number).any():
                        problems.append((number, turn))
            if turn == 50:
                pool.free_held()
        drv.Context.synchronize()

    def guarded(number):
        try:
            work(number)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    held, active, managed, used = statistics(pool)
    assert held > 0 and active == used == 0 and managed >= 16 * held
    pool.free_held()
    assert statistics(pool) == (0, 0, 0, 0)


def test_freed_in_another_thread(pool):
    blocks = [pool.allocate(100) for _ in range(10)]
    thread = threading.Thread(target=blocks.clear)
    thread.start()
    thread.join()
    assert statistics(pool) == (10, 0, 1030, 0)


# ---- Shortage ----

# nearly_all(): how much of the device's memory can still be requested, without the last 64 MiB.
SHORTAGE = """
    import gc
    import numpy as np
    import pycuda.driver as drv
    from pycuda import gpuarray

    def nearly_all(keep=1 << 26):
        return drv.mem_get_info()[0] - keep

    pool, other = drv.DeviceMemoryPool(), drv.DeviceMemoryPool()
"""
MEMORY = {"PYCUDA_CPU_MEMORY": str(1 << 29)}


def run_short_of_memory(run_python, body):
    """Runs SHORTAGE and the body, on the CPU device with 512 MiB of memory; returns stdout."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1 and not on_cpu_device():
        pytest.skip("fills the GPU's memory, which other tests need: for a run with one worker")
    done = run_python(SHORTAGE + body, env=MEMORY)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    return done.stdout


def test_mem_alloc_makes_pools_free_what_they_hold(run_python):
    body = """
    pool.allocate(nearly_all() // 2)
    other.allocate(nearly_all() // 2)
    assert pool.held_blocks == other.held_blocks == 1
    memory = drv.mem_alloc(nearly_all() + (1 << 27))
    assert pool.held_blocks == other.held_blocks == 0 and pool.managed_bytes == 0
    """
    run_short_of_memory(run_python, body)


def test_a_pool_that_is_short_frees_its_largest_held_block_first(run_python):
    body = """
    sizes = [1 << 20, nearly_all() // 2, 1 << 21]
    blocks = [pool.allocate(size) for size in sizes]
    del blocks
    assert pool.held_blocks == 3
    block = pool.allocate(nearly_all() + (1 << 27))
    assert pool.held_blocks == 2 and pool.active_blocks == 1
    """
    run_short_of_memory(run_python, body)


def test_a_pool_that_is_short_makes_other_pools_free_what_they_hold(run_python):
    body = """
    other.allocate(nearly_all() // 2)
    pool.allocate(1 << 20)
    block = pool.allocate(nearly_all() + (1 << 27))
    assert other.held_blocks == pool.held_blocks == 0 and pool.active_blocks == 1
    """
    run_short_of_memory(run_python, body)


def test_a_pool_that_is_short_collects_garbage(run_python):
    body = """
    gc.disable()
    cycle = [pool.allocate(nearly_all() * 3 // 4)]
    cycle.append(cycle)
    size = len(cycle[0])
    del cycle
    assert pool.active_blocks == 1
    block = pool.allocate(size)
    assert pool.active_blocks == 1 and pool.held_blocks == 0
    """
    run_short_of_memory(run_python, body)


def test_too_much_is_an_error(run_python):
    body = """
    block = pool.allocate(1 << 20)
    for size in 1 << 45, (1 << 63) - 1:
        try:
            pool.allocate(size)
        except drv.MemoryError as error:
            print(error)
        else:
            raise AssertionError
    assert (pool.held_blocks, pool.active_blocks, pool.active_bytes) == (0, 1, 1 << 20)
    gpuarray.zeros(100, np.float32, allocator=pool.allocate)
    """
    first, second = run_short_of_memory(run_python, body).splitlines()
    assert first.startswith("memory_pool::allocate failed: out of memory - 32.0 TiB requested, ")
    assert first.endswith(" free") and "8.0 EiB requested" in second


# ---- The end of the process ----


def test_exit_with_live_blocks(run_python):
    done = run_python(
        """
        import numpy as np
        import pycuda.driver as drv
        from pycuda import gpuarray
        import pycuda.autoinit
        pool, host = drv.DeviceMemoryPool(), drv.PageLockedMemoryPool()
        stream = drv.Stream()
        kept = [pool.allocate(100), pool.allocate(100, stream), host.allocate(10, "f4")]
        pool.allocate(1000, stream)
        array = gpuarray.zeros(10, np.float32, allocator=pool.allocate)
        """
    )
    assert done.returncode == 0 and done.stderr == ""


def test_a_forked_child_leaves_pools_alone(run_python):
    """In the child allocate() raises and releases have no effect; the parent's pool is as before."""
    done = run_python(
        """
        import os
        import pycuda.driver as drv
        from forking import fork
        pool = drv.DeviceMemoryPool()
        block, held = pool.allocate(100), pool.allocate(100)
        held.free()
        child = fork()
        if not child:
            try:
                pool.allocate(100)
            except drv.LogicError as error:
                assert "fork" in str(error)
            else:
                os._exit(1)
            assert pool.held_blocks == 1
            pool.free_held()
            block.free()
            del block, pool
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert pool.held_blocks == 1 and pool.active_blocks == 1
        block.free()
        """
    )
    assert done.returncode == 0, done.stderr


# ---- Page-locked memory ----


@pytest.fixture
def host_pool():
    return drv.PageLockedMemoryPool()


@pytest.mark.parametrize("shape", [(3, 4), 12, [2, 3], (), (0, 5)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_host_arrays(host_pool, shape, order):
    array, like = host_pool.allocate(shape, np.float64, order), np.empty(shape, np.float64, order)
    assert type(array) is np.ndarray and array.shape == like.shape and array.dtype == np.float64
    assert (array.strides == like.strides or not array.size) and array.flags.writeable
    assert type(array.base) is drv.PooledHostAllocation is tools.PooledHostAllocation
    assert len(array.base) == array.nbytes and isinstance(array.base, drv.HostPointer)
    array[...] = 3
    assert (array == 3).all()


def test_host_memory_is_reused(host_pool):
    array = host_pool.allocate(1000, np.uint8)
    address = array.ctypes.data
    assert statistics(host_pool) == (0, 1, 1023, 1000)
    view = array[5:]
    del array
    assert host_pool.active_blocks == 1
    del view
    assert statistics(host_pool) == (1, 0, 1023, 0)
    again = host_pool.allocate((250,), np.float32)
    assert again.ctypes.data == address
    again.base.free()
    with pytest.raises(drv.LogicError, match="already freed"):
        again.base.free()
    host_pool.stop_holding()
    assert statistics(host_pool) == (0, 0, 0, 0)


def test_asynchronous_copies_keep_host_memory(host_pool):
    array = host_pool.allocate(1000, np.uint8)
    memory, stream = drv.mem_alloc(1000), drv.Stream()
    array[:] = np.arange(1000) % 251
    drv.memcpy_htod_async(memory, array, stream)
    del array  # the copy keeps it
    assert host_pool.active_blocks == 1
    stream.synchronize()
    assert host_pool.active_blocks == 0
    assert (drv.from_device(memory, 1000, np.uint8) == np.arange(1000) % 251).all()


def test_allocators():
    allocator = drv.PageLockedAllocator(drv.host_alloc_flags.PORTABLE | drv.host_alloc_flags.DEVICEMAP)
    assert allocator.flags == 3 and drv.PageLockedAllocator().flags == 0
    array = drv.PageLockedMemoryPool(allocator).allocate(4, np.int32)
    assert array.base.get_device_pointer()
    with pytest.raises(TypeError, match="must be a PageLockedAllocator"):
        drv.PageLockedMemoryPool(3)
    with pytest.raises(drv.LogicError, match="invalid argument"):
        drv.PageLockedMemoryPool(drv.PageLockedAllocator(0xFFFF)).allocate(4, np.int32)


def test_wrong_shapes_orders_and_dtypes(host_pool):
    for wrong in [((2, -1), "f4", "C"), ((2,), "f4", "Q"), ((2,), "nonsense", "C")]:
        with pytest.raises((ValueError, TypeError, drv.LogicError)):
            host_pool.allocate(*wrong)
    assert statistics(host_pool) == (0, 0, 0, 0)


# ---- DebugMemoryPool ----


def test_debug_pool():
    log = io.StringIO()
    pool = tools.DebugMemoryPool(interactive=False, logfile=log)
    kept = [pool.allocate(100) for _ in range(2)]
    gpuarray.zeros(10, np.float32, allocator=pool.allocate)
    text = log.getvalue().splitlines()
    assert text[0].startswith("[pool] 100 bytes for ") and os.path.basename(__file__) in text[0]
    assert text[-1].strip().startswith("2 x 100 bytes for ") and "[pool] 40 bytes" in text[-2]
    assert pool.active_blocks == len(kept) == 2


def test_page_locked_blocks_hold_their_context(run_python):
    """The context stays while memory is in it, however many blocks of a page-locked pool came and went."""
    run_python(
        """
        import pycuda.driver as drv
        from pycuda import _driver, tools

        drv.init()
        context = drv.Device(0).make_context()
        count = _driver._live_objects()["Context"]
        memory, pool = drv.mem_alloc(16), tools.PageLockedMemoryPool()
        for _ in range(2):
            pool.allocate(8, "u1")
        context.pop()
        del context, pool
        assert _driver._live_objects()["Context"] == count
        del memory
        assert _driver._live_objects()["Context"] == count - 1
        """,
        check=True,
    )
