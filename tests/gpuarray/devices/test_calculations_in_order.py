"""Calculations with an array of another context come after the work that is queued on it there, and before
what is queued there later; its memory goes to others after them.
"""

import contextlib
import time
import weakref

import numpy as np
import pytest
import scipy.sparse

import pycuda.driver as drv
from pycuda import curandom, gpuarray, sparse
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

DELAY = 0.05  # s: longer than it takes to queue what must wait
SIZE = 4000
HOST = np.random.default_rng(8).permutation(SIZE).astype(np.float32) + 1
MANY = (HOST.astype(np.intp) * 7) % SIZE

SOURCE = """
__global__ void negate(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= -1; }
__global__ void first(float **x, float *y) { y[threadIdx.x] = x[threadIdx.x][threadIdx.x]; }
"""
GRID, BLOCK = (SIZE // 100, 1, 1), (100, 1, 1)

MODULES = weakref.WeakKeyDictionary()  # of contexts: a kernel that is loaded does not wait for work


def kernel(name):
    context = drv.Context.get_current()
    if context not in MODULES:
        MODULES[context] = SourceModule(SOURCE)
    return MODULES[context].get_function(name)


def call_prepared(a):
    kernel("negate").prepare("P").prepared_call(GRID, BLOCK, a.gpudata)


def read_list(a):
    result = gpuarray.empty(2, np.float32)
    kernel("first")([a, a], result, grid=(1, 1), block=(2, 1, 1))
    return result


def launch_graph(a):
    with drv.Stream() as stream:
        with stream.capture() as graph:
            a *= 3
        graph.instantiate().launch(stream)


def copy_within(a):
    result = gpuarray.empty(SIZE, np.float32, allocator=drv.mem_alloc)
    drv.memcpy_dtod(result.gpudata, a.gpudata, a.nbytes)
    return result


def copy_queued(a):
    result = gpuarray.empty(SIZE, np.float32, allocator=drv.mem_alloc)
    with drv.Stream() as stream:
        drv.memcpy_dtod_async(result.gpudata, a.gpudata, a.nbytes, stream)
        stream.synchronize()
    return result


def copy_to_host(a):
    result = np.empty(SIZE, np.float32)
    drv.memcpy_dtoh(result, a.gpudata)
    return result


def scan(a):
    InclusiveScanKernel(np.float32, "a > b ? a : b")(a)


def random(a):
    curandom.Philox4x32_10RandomNumberGenerator(5).fill_uniform(a)


def imported(a):
    return gpuarray.from_dlpack(a) + 1


def put(a):
    a.put([3, 4], gpuarray.to_gpu(np.zeros(2, np.float32)))


def set_items(a):
    a[gpuarray.to_gpu(MANY[:9])] = 5


def set_slice(a):
    a[1::2] = a[::2]


# Each gives a result, or changes the array; both are compared with what it does to an array of its context.
CALCULATIONS = {
    "add": lambda a: a + a,
    "add_in_place": lambda a: a.__iadd__(3),
    "ufunc": lambda a: np.sin(a),
    "out": lambda a: np.multiply(2, a, out=a) is None,
    "sum": lambda a: np.sum(a),
    "mean_of_rows": lambda a: a.reshape(40, 100).mean(axis=1),
    "max": lambda a: gpuarray.max(a),
    "cumsum": lambda a: np.cumsum(a),
    "sort": lambda a: np.sort(a),
    "sort_in_place": lambda a: a.sort(),
    "argsort": lambda a: np.argsort(a),
    "partition": lambda a: np.partition(a, 9)[9],
    "median": lambda a: np.median(a),
    "unique": lambda a: np.unique(a),
    "nonzero": lambda a: np.flatnonzero(a > 100),
    "take": lambda a: gpuarray.take(a, gpuarray.to_gpu(MANY)),
    "put": put,
    "product": lambda a: a.reshape(40, 100) @ gpuarray.to_gpu(np.eye(100, dtype=np.float32)),
    "dot": lambda a: gpuarray.dot(a, gpuarray.to_gpu(HOST)),
    "slice": lambda a: a[10:20].copy(),
    "mask": lambda a: a[a > 100],
    "indices": lambda a: a[gpuarray.to_gpu(MANY[:9])],
    "set_item": lambda a: a.__setitem__(7, 8),
    "set_items": set_items,
    "set_slice": set_slice,
    "copy": lambda a: a.copy(),
    "transposed": lambda a: a.reshape(40, 100).T.copy("C"),
    "astype": lambda a: a.astype(np.float64),
    "fill": lambda a: a.fill(2),
    "where": lambda a: gpuarray.if_positive(a, a, a * 0),
    "random": random,
    "fft": lambda a: np.fft.fft(a),
    "sparse": lambda a: sparse.csr_array(scipy.sparse.eye_array(SIZE, dtype=np.float32, format="csr")) @ a,
    "elementwise": lambda a: ElementwiseKernel("float *x", "x[i] = x[i] + 1")(a),
    "reduction": lambda a: ReductionKernel(np.float32, "0", "a + b", "x[i]", "float *x")(a),
    "scan": scan,
    "kernel": lambda a: kernel("negate")(a, grid=GRID, block=BLOCK),
    "kernel_of_memory": lambda a: kernel("negate")(a.gpudata, grid=GRID, block=BLOCK),
    "prepared": call_prepared,
    "list": read_list,
    "graph": launch_graph,
    "memcpy_dtod": copy_within,
    "memcpy_dtod_async": copy_queued,
    "memcpy_dtoh": copy_to_host,
    "memset": lambda a: drv.memset_d32(a.gpudata, 0x3F800000, SIZE),
    "memset_async": lambda a: drv.memset_d32_async(a.gpudata, 0x3F800000, SIZE),
    "dlpack": imported,
    "histogram": lambda a: np.histogram(a, bins=8, range=(-SIZE, SIZE))[0],
}


def delay(context):
    """Work in the context waits, on its default stream."""
    with context:
        drv.Stream().launch_host_func(time.sleep, DELAY)


def host_of(value):
    return value.get() if isinstance(value, gpuarray.GPUArray) else np.asarray(value)


def wanted(context, calculate):
    """The result, and the array afterwards, where all work is in one context; the kernels are loaded then."""
    with context:
        array = gpuarray.to_gpu(-HOST)
        result = calculate(array)
        return None if result is None else host_of(result), array.get()


def check_one(context, other, allocate, name):
    """The context changes the array, the other one calculates with it, and then the context reads it; one of
    them is late.
    """
    calculate = CALCULATIONS[name]
    want, changed = wanted(other, calculate)
    for late in context, other:
        with context:
            array = gpuarray.to_gpu(HOST, allocator=allocate)
            array *= 1
            context.synchronize()
            delay(late)
            array *= -1
        with other:
            result = calculate(array)
        with context:
            np.testing.assert_array_equal((array + 0).get(), changed, name)
        if want is not None:
            with other:
                np.testing.assert_array_equal(host_of(result), want, name)
        del array, result


def check_reuse(context, other, allocate):
    """Memory that is dropped while another context has work on it to do is not overwritten before that."""
    with other:
        double = ElementwiseKernel("float *x, float *y", "y[i] = 2 * x[i]")
        double(gpuarray.to_gpu(HOST), gpuarray.empty(SIZE, np.float32))
    for _ in range(2):
        with context:
            array = gpuarray.to_gpu(HOST, allocator=allocate)
            context.synchronize()
        with other:
            result = gpuarray.empty(SIZE, np.float32)
            delay(other)
            double(array, result)
        del array
        with context:
            others = [gpuarray.to_gpu(np.zeros(SIZE, np.float32), allocator=allocate) for _ in range(3)]
        with other:
            assert (result.get() == 2 * HOST).all()
        del others


def check_memory_of_the_other(context, other, allocate):
    """Memory that a pool gives out in another context comes after the work of its earlier owner."""
    with context:
        array, result = gpuarray.to_gpu(HOST, allocator=allocate), gpuarray.empty(SIZE, np.float32)
        result.fill(0)
        result += array
        delay(context)
        result += array
        del array
    with other:
        others = [gpuarray.empty(SIZE, np.float32, allocator=allocate) for _ in range(3)]
        for each in others:
            each.fill(9)
    with context:
        assert (result.get() == 2 * HOST).all()


def check_streams_that_follow(context, other, allocate):
    """Streams that follow the other context's default stream wait, too."""
    with context:
        array = gpuarray.to_gpu(HOST, allocator=allocate)
        array *= 1
        context.synchronize()
        delay(context)
        array *= -1
    with other:
        first, second = drv.Stream(), drv.Stream()
        for stream in first, second:
            with stream:
                assert ((array * 2).get() == -2 * HOST).all()
        array += 1
    with context, drv.Stream():
        assert (array.get() == 1 - HOST).all()


def check_a_third_context(context, other, third, allocate):
    """Work goes from context to context, without one of them in between."""
    with context:
        array = gpuarray.to_gpu(HOST, allocator=allocate)
        array *= 1
        context.synchronize()
    for place in other, third, other, context, third:
        delay(place)
        with place:
            array += HOST[0]
            array *= 2
    with other:
        late = array * 1
    expected = HOST.copy()
    for _ in range(5):
        expected += HOST[0]
        expected *= 2
    with other:
        assert (late.get() == expected).all()
    with context:
        assert (array.get() == expected).all()


def check_copy_to_another_device(context, other, allocate):
    """to_device comes after the work elsewhere."""
    with context:
        array = gpuarray.to_gpu(HOST, allocator=allocate)
        context.synchronize()
    with other:
        array *= 1
        delay(other)
        array *= 2
    moved = array.to_device(1)
    with drv.Device(1).retain_primary_context():
        assert (moved.get() == 2 * HOST).all()


@contextlib.contextmanager
def made_contexts():
    drv.init()
    context, other = drv.Device(0).retain_primary_context(), drv.Device(0).make_context()
    drv.Context.pop()
    try:
        yield context, other
    finally:
        other.detach()


@pytest.fixture(scope="module")
def contexts():
    with made_contexts() as made:
        for context in made:
            with context:
                kernel("first")
        yield made


@pytest.fixture
def two_contexts(contexts):
    """The primary context, and another one; what their work has used is released after the test."""
    yield contexts
    for context in contexts:
        with context:
            context.synchronize()


POOLS = [drv.DeviceMemoryPool, drv.ManagedMemoryPool, drv.StreamOrderedMemoryPool]


@pytest.mark.parametrize("name", CALCULATIONS)
def test_two_contexts_of_a_device(two_contexts, name):
    with two_contexts[0]:
        allocate = drv.DeviceMemoryPool().allocate
    check_one(*two_contexts, allocate, name)
    check_one(*two_contexts, drv.mem_alloc, name)


@pytest.mark.parametrize("kind", POOLS)
def test_pools_of_two_contexts(two_contexts, kind):
    with two_contexts[0]:
        allocate = kind().allocate
    check_reuse(*two_contexts, allocate)
    check_memory_of_the_other(*two_contexts, allocate)
    check_streams_that_follow(*two_contexts, allocate)


def test_a_third_context(two_contexts):
    third = drv.Device(0).make_context()
    drv.Context.pop()
    with two_contexts[0]:
        check_a_third_context(*two_contexts, third, drv.DeviceMemoryPool().allocate)
    third.detach()


def check_on_two_devices(kind):
    """With memory of this kind of the first device, used on the second one."""
    from pairs import FIRST, SECOND

    if kind != "managed":
        if not drv.Device(1).can_access_peer(drv.Device(0)):
            print("skipped")
            return
        with SECOND:
            SECOND.enable_peer_access(FIRST)
    with FIRST:
        pools = {"managed": drv.ManagedMemoryPool, "pool": drv.DeviceMemoryPool}
        allocate = pools[kind]().allocate if kind in pools else drv.mem_alloc
        for name in CALCULATIONS:
            check_one(FIRST, SECOND, allocate, name)
        check_reuse(FIRST, SECOND, allocate)
        check_memory_of_the_other(FIRST, SECOND, allocate)
        check_streams_that_follow(FIRST, SECOND, allocate)


@pytest.mark.parametrize("kind", ["managed", "pool", "mem_alloc"])
def test_two_devices(on_two_devices, kind):
    on_two_devices(check_on_two_devices, kind)


def check_copies_to_another_device():
    drv.Context.pop()
    with made_contexts() as (context, other):
        for allocate in None, drv.mem_alloc:
            check_copy_to_another_device(context, other, allocate)
    drv.Device(0).retain_primary_context().push()


def test_to_device(on_two_devices):
    on_two_devices(check_copies_to_another_device)
