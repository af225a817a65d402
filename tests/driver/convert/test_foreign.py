"""Arrays and streams of other libraries, by __cuda_array_interface__ and __cuda_stream__: all calls accept
them, and run after the work that is queued on the stream which the array's interface names."""

from pathlib import Path

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

PTX = Path(__file__).parents[1].joinpath("late.ptx").read_bytes()
N = 16
NON_BLOCKING = 1
SPIN_NS = np.uint64(2e8)  # how long the kernel that delays a stream runs


class Array:
    """An array of another library, with an __index__ that raises, as torch's tensors have. stream: the
    interface's "stream"; ...: the interface has no such key."""

    def __init__(self, memory, stream=None, version=3):
        self.memory = memory
        self.__cuda_array_interface__ = {
            "shape": (N,),
            "typestr": "<i4",
            "data": (int(memory), False),
            "version": version,
        }
        if stream is not ...:
            self.__cuda_array_interface__["stream"] = stream

    def __index__(self):
        raise TypeError("only integer tensors of a single element can be converted to an index")


class ForeignStream:
    """A stream of another library."""

    def __init__(self, stream):
        self.stream = stream

    def __cuda_stream__(self):
        return 0, self.stream.handle


@pytest.fixture(scope="module")
def code():
    return drv.module_from_buffer(PTX)


@pytest.fixture
def late(code):
    """An array of zeros whose owner has queued `+= 7`, delayed, on a non-blocking stream."""
    stream, memory = drv.Stream(NON_BLOCKING), drv.to_device(np.zeros(N, np.int32))
    drv.Context.synchronize()
    code.get_function("spin")(SPIN_NS, block=(1, 1, 1), stream=stream)
    code.get_function("add")(memory, np.int32(7), block=(N, 1, 1), stream=stream)
    yield Array(memory, stream.handle)
    drv.Context.synchronize()


def values_of(array):
    """The set of the array's elements, once all work is done."""
    drv.Context.synchronize()
    return set(drv.from_device(array.memory, N, np.int32).tolist())


def test_every_copy_takes_foreign_arrays():
    array, other = Array(drv.mem_alloc(4 * N)), Array(drv.mem_alloc(4 * N), stream=..., version=2)
    start, out = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    stream = drv.Stream()
    drv.memcpy_htod(array, start)
    drv.memcpy_dtod(other, array, 4 * N)
    drv.memcpy_dtoh(out, other)
    assert (out == start).all()
    drv.memset_d32(array, 5, N)
    drv.memcpy_dtod_async(other, array, 4 * N, stream)
    drv.memcpy_dtoh_async(out, other, stream)
    stream.synchronize()
    assert (out == 5).all()
    drv.memcpy_htod_async(other, start, stream)
    drv.memset_d32_async(array, 6, N // 2, stream)
    stream.synchronize()
    assert (drv.from_device(other, N, np.int32) == start).all()
    assert drv.from_device_like(array, out).tolist() == [6] * (N // 2) + [5] * (N // 2)
    assert (gpuarray.GPUArray(N, np.int32, gpudata=other).get() == start).all()


def test_launch_waits_for_the_owner(code, late):
    add = code.get_function("add")
    add(late, np.int32(10), block=(N, 1, 1), stream=drv.Stream(NON_BLOCKING))
    assert values_of(late) == {17}


def test_launch_on_the_default_stream_waits_for_the_owner(code, late):
    code.get_function("add")(late, np.int32(10), block=(N, 1, 1))
    assert values_of(late) == {17}


def test_prepared_launch_waits_for_the_owner(code, late):
    add = code.get_function("add").prepare("Pi")
    add.prepared_async_call((1, 1), (N, 1, 1), drv.Stream(NON_BLOCKING), late, 10)
    assert values_of(late) == {17}


def test_work_of_the_default_stream_is_waited_for(code):
    """1 in the interface is the legacy default stream, for which a non-blocking stream does not wait by
    itself."""
    memory = drv.to_device(np.zeros(N, np.int32))
    code.get_function("spin")(SPIN_NS, block=(1, 1, 1))
    code.get_function("add")(memory, np.int32(7), block=(N, 1, 1))
    array, stream = Array(memory, stream=1), drv.Stream(NON_BLOCKING)
    code.get_function("add")(array, np.int32(10), block=(N, 1, 1), stream=stream)
    assert values_of(array) == {17}


def test_blocking_copy_waits_for_the_owner(late):
    out = np.zeros(N, np.int32)
    drv.memcpy_dtoh(out, late)
    assert set(out) == {7}


def test_queued_copy_waits_for_the_owner(late):
    out, stream = drv.pagelocked_zeros(N, np.int32), drv.Stream(NON_BLOCKING)
    drv.memcpy_dtoh_async(out, late, stream)
    stream.synchronize()
    assert set(out.tolist()) == {7}


def test_fill_waits_for_the_owner(late):
    drv.memset_d32_async(late, 3, N, drv.Stream(NON_BLOCKING))
    assert values_of(late) == {3}


def test_a_stream_of_another_context_is_waited_for(code):
    """A stream cannot wait for an event of another context: the host waits instead."""
    drv.init()
    other = drv.Device(0).make_context()
    stream, memory = drv.Stream(NON_BLOCKING), drv.mem_alloc(4 * N)
    spin = drv.module_from_buffer(PTX).get_function("spin")
    spin(SPIN_NS, block=(1, 1, 1), stream=stream)
    drv.Context.pop()
    mine = drv.to_device(np.zeros(N, np.int32))
    code.get_function("add")(Array(mine, stream.handle), np.int32(1), block=(N, 1, 1))
    assert stream.is_done()
    del stream, memory, spin
    other.detach()
    assert values_of(Array(mine)) == {1}


def test_the_events_of_such_waits_are_released(code, late):
    before = drv._live_objects()
    for _ in range(50):
        code.get_function("add")(late, np.int32(0), block=(N, 1, 1))
    assert drv._live_objects() == before


@pytest.mark.parametrize(
    "interface", [5, None, {}, {"data": None}, {"data": ()}, {"data": ("x", False)}, {"data": (1.5, False)}]
)
def test_malformed_interfaces(code, interface):
    array = Array(drv.mem_alloc(16))
    array.__cuda_array_interface__ = interface
    for call in (
        lambda: drv.memcpy_dtoh(np.zeros(4), array),
        lambda: code.get_function("add")(array, np.int32(1), block=(1, 1, 1)),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("stream", ["1", -1, 1.0])
def test_malformed_streams(code, stream):
    array = Array(drv.mem_alloc(4 * N), stream)
    with pytest.raises((TypeError, OverflowError)):
        code.get_function("add")(array, np.int32(1), block=(N, 1, 1))


def test_foreign_streams(code):
    """A stream of another library is accepted by fills, launches, copies and events."""
    stream = drv.Stream()
    memory, out = drv.mem_alloc(4 * N), drv.pagelocked_zeros(N, np.int32)
    foreign, event = ForeignStream(stream), drv.Event()
    drv.memset_d32_async(memory, 4, N, foreign)
    code.get_function("add")(memory, np.int32(1), block=(N, 1, 1), stream=foreign)
    drv.memcpy_dtoh_async(out, memory, foreign)
    event.record(foreign)
    event.synchronize()
    assert set(out.tolist()) == {5}
    drv.Context.synchronize()


def test_streams_have_the_stream_protocol():
    stream = drv.Stream()
    assert stream.__cuda_stream__() == (0, stream.handle)


@pytest.mark.parametrize("answer", [5, (0,), (0, "x"), None])
def test_malformed_foreign_streams(answer):
    class Bad:
        def __cuda_stream__(self):
            return answer

    with pytest.raises(TypeError):
        drv.memset_d8_async(drv.mem_alloc(4), 0, 4, Bad())
