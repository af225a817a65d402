"""ExternalMemoryPool: memory of other libraries' allocators; which calls they get, with which streams, and
when memory is returned to them."""

import gc
import sys
import threading
import types

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray, tools
from pycuda._base.allocators import StreamHandle
from pycuda.compiler import SourceModule
from pycuda.gpuarray import GPUArray


class Book:
    """A memory resource with the methods of RMM's, which records its calls as (bytes, stream handle).

    memory: {address: what is allocated}.
    """

    def __init__(self):
        self.memory, self.asked, self.returned = {}, [], []

    def allocate(self, nbytes, stream):
        memory = drv.mem_alloc(nbytes)
        self.memory[int(memory)] = memory
        self.asked.append((nbytes, stream.handle))
        return int(memory)

    def deallocate(self, address, nbytes, stream):
        self.returned.append((nbytes, stream.handle))
        self.memory.pop(address).free()


@pytest.fixture
def book():
    return Book()


@pytest.fixture
def pool(book):
    return drv.ExternalMemoryPool(book)


def test_allocate_and_deallocate_get_the_size_and_the_stream(book, pool):
    stream = drv.Stream()
    first, second = pool.allocate(1000), pool.allocate(500, stream)
    assert book.asked == [(1000, 0), (500, stream.handle)] and pool.resource is book
    assert set(book.memory) == {int(first), int(second)}
    assert type(first) is drv.PooledDeviceAllocation and len(second) == 500
    assert (pool.active_blocks, pool.managed_bytes, pool.active_bytes) == (2, 1500, 1500)
    first.free()
    del second
    assert book.returned == [(1000, 0), (500, stream.handle)] and not book.memory
    assert (pool.active_blocks, pool.held_blocks, pool.managed_bytes) == (0, 0, 0)
    pool.allocate(0)
    assert book.returned[-1] == (1, 0)


def test_arrays_with_a_resource_or_a_pool_as_allocator(book):
    host = np.arange(100, dtype=np.float32)
    array = gpuarray.to_gpu(host, allocator=book)
    assert array.allocator.__self__.resource is book
    result = (array * 2).get()
    assert (result == 2 * host).all() and [size for size, _ in book.asked] == [400, 400]
    array = GPUArray(10, np.float32, allocator=drv.DeviceMemoryPool())
    assert type(array.gpudata) is drv.PooledDeviceAllocation
    with pytest.raises(TypeError, match="resource is a int: it must have allocate"):
        GPUArray(10, np.float32, allocator=3)


@pytest.fixture
def default(primary_context):
    """After the test pycuda's own pool is the default again."""
    yield
    gc.collect()
    tools.set_allocator(None)


def test_a_resource_as_the_default(book, default):
    """The default pool calls it with the current stream; when another one is set, live memory keeps its
    own."""
    tools.set_allocator(book)
    stream = drv.Stream()
    with stream:
        array = gpuarray.zeros(100, np.float32)
    assert book.asked == [(400, stream.handle)]
    assert type(tools.default_memory_pool()) is drv.ExternalMemoryPool
    assert tools.default_memory_pool().active_bytes == 400
    tools.set_allocator()
    assert not array.get().any()
    del array
    assert book.returned == [(400, stream.handle)]
    assert GPUArray(5, np.float32).size == 5 and len(book.asked) == 1


def test_a_callable_as_the_default(default):
    tools.set_allocator(drv.mem_alloc)
    array = gpuarray.to_gpu(np.arange(5))
    assert (array + 1).get().tolist() == [1, 2, 3, 4, 5]
    assert tools.default_memory_pool().resource is drv.mem_alloc


def test_a_subclass_of_a_pool_as_the_default(default):
    class Counting(drv.DeviceMemoryPool):
        asked = 0

        def allocate(self, size, stream=None):
            self.asked += 1
            return super().allocate(size, stream)

    pool = Counting()
    tools.set_allocator(pool)
    array = gpuarray.to_gpu(np.arange(5, dtype=np.int32))
    assert pool.asked == 1 and pool.active_bytes == 20
    del array
    assert pool.active_blocks == 0 and pool.held_blocks == 1


# Writes odd numbers after `turns` steps of a loop, which delay the stores.
LATE = """
__global__ void write_late(unsigned *out, int n, int turns, unsigned *state)
{
    unsigned x = *state;
    for (int i = 0; i < turns; i++) x = x * 1664525u + 1013904223u;
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = x | 1;
}
"""


class OnOneStream:
    """A resource with one block, which the next request gets as soon as it is returned: it is in order in the
    stream with which it was returned, `last`."""

    def __init__(self):
        self.memory, self.free = drv.mem_alloc(400), True

    def allocate(self, nbytes, stream):
        assert self.free
        self.free = False
        return int(self.memory)

    def deallocate(self, address, nbytes, stream):
        self.free = True
        self.last = stream.handle


@pytest.mark.parametrize("uses", [1, 2])
def test_memory_is_returned_with_a_stream_that_follows_all_uses(uses):
    """A fill in that stream is not overwritten by kernels of the streams that used the block before."""
    late = SourceModule(LATE).get_function("write_late")
    pool, state = drv.ExternalMemoryPool(OnOneStream()), drv.to_device(np.uint32([1]))
    streams = [drv.Stream(drv.stream_flags.NON_BLOCKING) for _ in range(uses)]
    block = pool.allocate(400)
    for stream in streams:
        late(block, np.int32(100), np.int32(200_000), state, block=(32, 1, 1), stream=stream)
    block.free()
    last = pool.resource.last
    assert last in {stream.handle for stream in streams}
    again = pool.allocate(400, next(stream for stream in streams if stream.handle == last))
    drv.memset_d32_async(again, 0, 100, streams[0])
    drv.Context.synchronize()
    assert not drv.from_device(again, 100, np.uint32).any()
    del again


def test_memory_used_in_a_foreign_stream_is_returned_with_the_default_stream(book, pool):
    stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
    foreign = StreamHandle(stream.handle)
    block = pool.allocate(400, foreign)
    drv.memset_d32_async(block, 1, 100, foreign)
    block.free()
    assert book.returned == [(400, 0)]  # the default stream waits for an event of the foreign one


# ---- What allocators return


class Owner:
    """An object that owns memory; names: {attribute: function of the address that makes its value}."""

    def __init__(self, size, **names):
        self.memory, self.closed = drv.mem_alloc(size), None
        for name, make in names.items():
            setattr(self, name, make(int(self.memory)))


class Closing(Owner):
    """An owner with close(), as cuda.core's buffers have."""

    def close(self, stream):
        self.closed = stream


@pytest.mark.parametrize(
    "names",
    [
        {"ptr": int},
        {"handle": int},
        {"device_ctypes_pointer": lambda address: types.SimpleNamespace(value=address)},
        {"__cuda_array_interface__": lambda address: {"data": (address, False)}},
    ],
    ids=lambda names: next(iter(names)),
)
@pytest.mark.parametrize("kind", [Owner, Closing])
def test_an_allocator_may_return_objects_that_own_memory(names, kind):
    """The address is read from any of these attributes; an owner that has close() is closed in the end."""
    owners = []

    class Resource:
        @staticmethod
        def allocate(size, stream):
            owners.append(kind(size, **names))
            return owners[-1]

    pool = drv.ExternalMemoryPool(Resource())
    block = pool.allocate(100)
    assert int(block) == int(owners[0].memory)
    drv.memset_d8(block, 3, 100)
    block.free()
    assert (owners[0].closed is not None) == (kind is Closing) and not pool.resource.__dict__


@pytest.mark.parametrize(
    "answer, message", [(7, "has no deallocate"), (None, "it must return an address"), ("x", "address")]
)
def test_wrong_results_of_an_allocator(answer, message):
    pool = drv.ExternalMemoryPool(lambda size: answer)
    with pytest.raises(TypeError, match=message):
        pool.allocate(100)
    assert pool.active_blocks == 0


@pytest.mark.parametrize("error", [MemoryError, drv.MemoryError])
def test_an_allocator_that_is_out_of_memory_is_called_again(book, error):
    """After other pools have freed their held blocks; if it fails again, its error is raised."""
    held, kept = drv.DeviceMemoryPool(), []
    held.allocate(100)

    def allocate(nbytes, stream):
        if held.held_blocks:
            raise error("no more")
        return Book.allocate(book, nbytes, stream)

    book.allocate = allocate
    kept.append(drv.ExternalMemoryPool(book).allocate(100))
    assert held.held_blocks == 0 and len(book.asked) == 1

    def never(nbytes, stream):
        raise error("never")

    book.allocate = never
    pool = drv.ExternalMemoryPool(book)
    with pytest.raises(error, match="never"):
        pool.allocate(100)
    assert pool.active_blocks == 0


def test_other_errors_are_raised(pool, book):
    def allocate(nbytes, stream):
        raise KeyError("of the allocator")

    book.allocate = allocate
    with pytest.raises(KeyError, match="of the allocator"):
        drv.ExternalMemoryPool(book).allocate(100)


def test_an_error_of_deallocate_is_reported(pool, book):
    block, reported = pool.allocate(100), []
    before, sys.unraisablehook = sys.unraisablehook, lambda problem: reported.append(repr(problem.exc_value))
    memory = dict(book.memory)
    try:
        book.memory.clear()  # so that deallocate raises KeyError
        del block
    finally:
        sys.unraisablehook = before
    assert len(reported) == 1 and "KeyError" in reported[0] and pool.active_blocks == 0 and memory


def test_a_limit(pool, book):
    pool.limit = 1000
    block = pool.allocate(600)
    with pytest.raises(
        drv.MemoryError, match="500 bytes requested, 600 bytes of the pool's limit of 1000 bytes"
    ):
        pool.allocate(500)
    assert len(book.asked) == 1 and len(pool.snapshot().active) == 1 and len(block) == 600


def test_memory_of_a_destroyed_context_is_not_returned(book):
    context = drv.Device(0).make_context()
    pool = drv.ExternalMemoryPool(book)
    block = pool.allocate(100)
    context.pop()
    context.detach()
    block.free()
    assert not book.returned and pool.active_blocks == 0
    book.memory.clear()


@pytest.mark.parametrize("method", ["allocate", "deallocate"])
def test_the_allocator_may_wait_for_the_end_of_the_context(book, method):
    """While its method runs, another thread can destroy the context, which it does not wait for."""
    context, ended, waits = drv.Device(0).make_context(), [], []
    original = getattr(book, method)

    def wait(*arguments):
        answer = original(*arguments)
        if waits:
            thread = threading.Thread(target=context.detach)
            thread.start()
            thread.join(20)
            ended.append(not thread.is_alive())
        return answer

    setattr(book, method, wait)
    pool = drv.ExternalMemoryPool(book)
    block = pool.allocate(100)
    waits.append(True)
    if method == "allocate":
        with pytest.raises(drv.LogicError, match="its context is gone"):
            pool.allocate(100)
    block.free()
    assert ended == [True] and pool.active_blocks == 0
    drv.Context.pop()


def test_a_kernels_fault_is_not_reported_again_when_memory_is_returned(run_python):
    done = run_python(FAULT)
    assert done.returncode == 0 and done.stdout == "caught\n", done.stdout + done.stderr
    assert "Resource" not in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_memory_freed_in_a_host_function_is_returned_later(pool, book):
    """A host function may make no driver call: the next call of another thread does it."""
    stream, blocks = drv.Stream(), [pool.allocate(100)]
    stream.launch_host_func(blocks.clear)
    stream.synchronize()
    drv.mem_get_info()
    assert len(book.returned) == 1 and not book.memory


FAULT = """
import numpy as np

import pycuda.driver as drv
from pycuda.compiler import SourceModule

drv.init()
context = drv.Device(0).make_context()
fault = SourceModule("__global__ void fault(int *a) { *a = 1; }").get_function("fault")


class Owner:
    def __init__(self, nbytes):
        self.memory = drv.mem_alloc(nbytes)
        self.ptr = int(self.memory)


pools = [drv.ExternalMemoryPool(drv.mem_alloc), drv.ExternalMemoryPool(Owner)]
blocks = [pool.allocate(100) for pool in pools]
fault(np.intp(64), block=(1, 1, 1))
try:
    drv.Context.synchronize()
except drv.Error:
    print("caught")
del blocks, pools
"""


# ---- Libraries that accept streams of their own only, by stand-ins for rmm and cuda.core


class LibraryStream:
    """Made of an object with __cuda_stream__, or of a handle."""

    def __init__(self, other):
        self.handle = other.__cuda_stream__()[1]

    @classmethod
    def from_handle(cls, handle):
        return cls(StreamHandle(handle))


class RmmResource(Book):
    """__module__ is what pycuda recognizes a library's resource by."""

    __module__ = "rmm.pylibrmm.memory_resource"

    def allocate(self, nbytes, stream=None):
        assert type(stream) is LibraryStream
        return super().allocate(nbytes, stream)

    def deallocate(self, address, nbytes, stream=None):
        assert type(stream) is LibraryStream
        super().deallocate(address, nbytes, stream)


class CoreResource(RmmResource):
    """allocate() takes keywords and returns a buffer with close()."""

    __module__ = "cuda.core"

    def allocate(self, size, *, stream):
        address = super().allocate(size, stream)

        def close(stream):
            self.deallocate(address, size, stream)

        return types.SimpleNamespace(handle=address, close=close)


@pytest.mark.parametrize("resource", [RmmResource, CoreResource])
@pytest.mark.parametrize("subclass", [False, True])
def test_a_library_gets_its_own_streams(monkeypatch, resource, subclass):
    """Its modules are stand-ins in sys.modules that have the stream type."""
    library = types.SimpleNamespace(Stream=LibraryStream)
    for name in ("rmm.pylibrmm.stream", "cuda.core"):
        monkeypatch.setitem(sys.modules, name, library)
    monkeypatch.setitem(sys.modules, "rmm", types.ModuleType("rmm"))
    monkeypatch.setitem(sys.modules, "rmm.pylibrmm", types.ModuleType("rmm.pylibrmm"))
    book, stream = type("Mine", (resource,), {})() if subclass else resource(), drv.Stream()
    pool = drv.ExternalMemoryPool(book)
    pool.allocate(100, stream)
    pool.allocate(200)
    assert book.asked == book.returned == [(100, stream.handle), (200, 0)]


def test_a_memory_resource_of_rmm():
    rmm = pytest.importorskip("rmm")
    pool = drv.ExternalMemoryPool(rmm.mr.CudaAsyncMemoryResource())
    array = gpuarray.to_gpu(np.arange(1000, dtype=np.float32), allocator=pool)
    result = (array * 2).get()
    assert (result == 2 * np.arange(1000)).all() and pool.active_bytes == 4000
