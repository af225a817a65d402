"""Functions that expect an address take arrays: an array of one element means its address, not its
number, and no stream waits.
"""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.gpuarray import GPUArray

PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .entry store(.param .u64 a)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [a];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u64 %rd3, 7;
    st.global.u64 [%rd2], %rd3;
    ret;
}
"""
ONE = dict(block=(1, 1, 1))


def store():
    """A kernel that stores 7."""
    return drv.module_from_buffer(PTX).get_function("store")


def shaped_copy(to, source, size, stream):
    """A copy of `size` bytes from address to address, as one row of a Memcpy2D."""
    copy = drv.Memcpy2D()
    copy.set_src_device(source)
    copy.set_dst_device(to)
    copy.src_pitch = copy.dst_pitch = copy.width_in_bytes = size
    copy.height = 1
    copy(stream)


# Functions of (to, seven, host, stream), which queue work that stores 7 in the array `to`. seven: an array on
# the device, and host one in page-locked memory, whose element is 7.
PLACES = {
    "memcpy_dtod_async": lambda to, seven, host, s: drv.memcpy_dtod_async(to, seven, 8, s),
    "memcpy_htod_async": lambda to, seven, host, s: drv.memcpy_htod_async(to, host, s),
    "memcpy_peer_async": lambda to, seven, host, s: drv.memcpy_peer_async(to, seven, 8, stream=s),
    "memset_d32_async": lambda to, seven, host, s: drv.memset_d32_async(to, 7, 1, s),
    "memset_d8_async": lambda to, seven, host, s: drv.memset_d8_async(to, 7, 1, s),
    "Memcpy2D": lambda to, seven, host, s: shaped_copy(to, seven, 8, s),
    "a launch": lambda to, seven, host, s: store()(to, stream=s, **ONE),
    "a prepared launch": lambda to, seven, host, s: (
        store().prepare("P").prepared_async_call((1, 1), (1, 1, 1), s, to)
    ),
    "GPUArray(gpudata=)": lambda to, seven, host, s: drv.memcpy_dtod_async(
        GPUArray((1,), np.int64, gpudata=to).gpudata, GPUArray((1,), np.int64, gpudata=seven).gpudata, 8, s
    ),
    "broadcast_to": lambda to, seven, host, s: drv.memcpy_dtod_async(
        to, gpuarray.broadcast_to(seven, (3, 1)), 8, s
    ),
}


@pytest.mark.parametrize("flags", [0, 1], ids=["blocking", "non_blocking"])
@pytest.mark.parametrize("shape", [(1,), ()], ids=["1-d", "0-d"])
@pytest.mark.parametrize("place", PLACES)
def test_arrays_are_addresses(primary_context, place, shape, flags):
    stream = drv.Stream(flags)
    to, seven = gpuarray.zeros(shape, np.int64), gpuarray.full(shape, 7, np.int64)
    host = drv.pagelocked_empty(shape, np.int64)
    host[...] = 7
    drv.Context.synchronize()
    PLACES[place](to, seven, host, stream)
    stream.synchronize()
    assert to.get() == 7


@pytest.mark.driver(12030, "captures into a graph")
@pytest.mark.parametrize("flags", [0, 1], ids=["blocking", "non_blocking"])
@pytest.mark.parametrize("place", PLACES)
def test_arrays_are_addresses_under_capture(primary_context, place, flags):
    """The graph has one node: taking an array as an address queues no wait for another stream."""
    stream = drv.Stream(flags)
    to, seven = gpuarray.zeros((1,), np.int64), gpuarray.full((1,), 7, np.int64)
    host = drv.pagelocked_empty((1,), np.int64)
    host[...] = 7
    drv.Context.synchronize()
    with stream.capture() as graph:
        PLACES[place](to, seven, host, stream)
    assert len(graph.nodes) == 1
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert to.get() == 7


def test_an_array_that_is_too_short_is_refused(primary_context):
    array = gpuarray.zeros(4, np.int64)
    with pytest.raises(ValueError, match="dest: 40 bytes are requested, but the allocation has 32"):
        drv.memcpy_dtod(array, array, 40)
    with pytest.raises(ValueError, match="src: 24 bytes are requested, but the allocation has 16"):
        drv.memcpy_dtod(array, array[2:], 24)
    array.gpudata.free()
    with pytest.raises(drv.LogicError, match="freed"):
        drv.memset_d8(array, 0, 1)
