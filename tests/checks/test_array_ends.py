"""The CPU device reports accesses past the end of an array, and to an array that was freed to its pool."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

pytestmark = pytest.mark.cpu("on a GPU only compute-sanitizer reports it")

SOURCE = """
__global__ void fill(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void slowly(float *a, int n, int rounds)
{
    float sum = 0;
    for (int k = 0; k < rounds; k++) sum += sinf(sum + k);
    a[threadIdx.x] = a[n - 1] = sum;
}
"""


@pytest.fixture
def context():
    """A context of the test's own, which a fault may end."""
    context = drv.Device(0).make_context()
    yield context
    context.pop()
    context.detach()


@pytest.fixture
def module(context):
    return SourceModule(SOURCE)


def fault(context):
    """Waits for the kernel that was launched, which must fail. Returns the fault's message."""
    with pytest.raises(drv.LaunchError) as caught:
        context.synchronize()
    return str(caught.value)


@pytest.mark.parametrize("count", [1, 100, 1001, 100_000, 1_000_000])
def test_writes_past_the_end_of_an_array(context, module, count):
    array = gpuarray.zeros(count, np.float32)
    module.get_function("fill")(array, block=(256, 1, 1), grid=(-(-count // 256), 1))
    message = fault(context)
    assert f"past the end of the device memory at {array.ptr:#x} of {4 * count} bytes" in message


@pytest.mark.parametrize("kind", [drv.DeviceMemoryPool, drv.ManagedMemoryPool])
def test_writes_past_the_end_of_a_pools_block(context, module, kind):
    pool = kind()
    pool.allocate(1020).free()
    block = pool.allocate(1000)
    module.get_function("fill")(np.uintp(int(block)), block=(256, 1, 1))
    assert f"at {int(block):#x} of 1000 bytes" in fault(context)
    block.free()


def test_writes_past_the_end_of_page_locked_memory(context, module):
    pool = drv.PageLockedMemoryPool()
    block = pool.allocate((250,), np.float32)
    module.get_function("fill")(np.uintp(block.ctypes.data), block=(256, 1, 1))
    assert "of 1000 bytes" in fault(context)


def test_a_view_ends_with_its_array(context, module):
    array = gpuarray.zeros(1000, np.float32)
    fill = module.get_function("fill")
    fill(array[744:], block=(256, 1, 1))
    context.synchronize()
    fill(array[745:], block=(256, 1, 1))
    assert "of 4000 bytes" in fault(context)


def test_writes_to_an_array_that_was_freed(context, module):
    array = gpuarray.zeros(256, np.float32)
    fill, address = module.get_function("fill"), array.ptr
    fill(array, block=(256, 1, 1))
    del array
    fill(np.uintp(address), block=(256, 1, 1))
    assert f"the freed device memory at {address:#x} of 1024 bytes" in fault(context)


@pytest.mark.parametrize("stream_kind", ["default", "blocking", "non_blocking"])
def test_kernels_in_flight_keep_what_they_were_given(context, module, stream_kind):
    """Arrays die while kernels that use them wait, and arrays of other sizes get their memory. The kernels
    see the sizes from when they were launched, so there is no fault.
    """
    flags = {"non_blocking": drv.stream_flags.NON_BLOCKING}.get(stream_kind, 0)
    stream = None if stream_kind == "default" else drv.Stream(flags)
    slowly, random = module.get_function("slowly"), np.random.default_rng(3)
    for _ in range(60):
        count = int(random.integers(1009, 1024))  # one bin of the pool
        array = gpuarray.empty(count, np.float32)
        slowly(array, np.int32(count), np.int32(300), block=(32, 1, 1), stream=stream)
        del array
    context.synchronize()


def test_streams_by_turns(context, module):
    """Memory that goes from stream to stream at other sizes: no kernel faults."""
    streams = [None, drv.Stream(), drv.Stream(drv.stream_flags.NON_BLOCKING)]
    slowly, random = module.get_function("slowly"), np.random.default_rng(4)
    arrays = [None] * 3
    for k in range(120):
        count = int(random.integers(1009, 1024))
        arrays[k % 3] = gpuarray.empty(count, np.float32)
        for stream in random.permutation(3)[:2]:
            slowly(arrays[k % 3], np.int32(count), np.int32(100), block=(32, 1, 1), stream=streams[stream])
    context.synchronize()


def test_a_graph_keeps_its_arrays(context, module):
    """A graph's kernel may use an array that died after the capture, whatever was allocated since."""
    stream, slowly = drv.Stream(), module.get_function("slowly")
    with stream.capture() as graph:
        array = gpuarray.empty(1010, np.float32)
        slowly(array, np.int32(1010), np.int32(100), block=(32, 1, 1), stream=stream)
        del array
    executable = graph.instantiate()
    for count in (1020, 1000, 1023):
        executable.launch(stream)
        gpuarray.zeros(count, np.float32)
    context.synchronize()


def test_copies_and_fills_of_all_sizes(context):
    """Copies, fills and kernels of arrays are no faults, of empty arrays neither."""
    for count in (0, 1, 1001, 1_000_000):
        array = gpuarray.to_gpu(np.arange(count, dtype=np.float32))
        assert np.array_equal((array + 1)[::-1].get(), np.arange(count, dtype=np.float32)[::-1] + 1)
    drv.mem_get_info()
