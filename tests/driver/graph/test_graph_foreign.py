"""Captures that others begin by calls of the driver, as torch and cuda.core do: arrays are captured as they
are in ours, and live as long as the others' graphs.
"""

import ctypes
import gc
import time
import weakref

import numpy as np
import pytest
from graph_kernels import COUNT, SHAPE, affine_function, u32, value

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.tools import DeviceMemoryPool

pytestmark = pytest.mark.driver(12030, "captures into a graph")


class Others:
    """The driver, without us."""

    def __init__(self, library):
        self.library = ctypes.CDLL(library)

    def call(self, name, *arguments):
        return getattr(self.library, name)(*arguments)

    def begin(self, stream, mode=drv.stream_capture_mode.RELAXED):
        assert self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream.handle), int(mode)) == 0

    def end(self, stream):
        graph = ctypes.c_void_p()
        self.result = self.call("cuStreamEndCapture", ctypes.c_void_p(stream.handle), ctypes.byref(graph))
        return graph

    def instantiate(self, graph):
        """Executable, and the graph is destroyed."""
        made = ctypes.c_void_p()
        flags = ctypes.c_ulonglong(0)
        assert self.call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, flags) == 0
        assert self.call("cuGraphDestroy", graph) == 0
        return made

    def launch(self, made, stream):
        assert self.call("cuGraphLaunch", made, ctypes.c_void_p(stream.handle)) == 0

    def destroy(self, made):
        assert self.call("cuGraphExecDestroy", made) == 0


class TheirStream:
    def __init__(self, stream):
        self.handle = stream.handle

    def __cuda_stream__(self):
        return 0, self.handle


@pytest.fixture
def others(primary_context, driver_library):
    before = live()
    yield Others(driver_library)
    assert becomes(lambda: live() == before)


@pytest.fixture
def stream(primary_context):
    return drv.Stream(1)


def live():
    """What the driver has of ours, but for streams, which fixtures hold, and what stays after a first call:
    modules, and memory that kernels of a stream share.
    """
    kept = {"Stream", "Module", "DeviceAllocation"}
    return {name: count for name, count in drv._live_objects().items() if name not in kept}


def becomes(condition):
    """The driver reports a graph's end on a thread of its own."""
    drv.Context.synchronize()
    for _ in range(100):
        gc.collect()
        if condition():
            return True
        time.sleep(0.01)
    return False


def released(reference):
    return becomes(lambda: reference() is None)


def in_a_block(stream, x):
    with stream:
        return gpuarray.cumsum(x + 1) * 2


def by_a_stream_of_theirs(stream, x):
    affine, theirs = affine_function(), TheirStream(stream)
    between, result = gpuarray.empty_like(x), gpuarray.empty_like(x)
    drv.memcpy_dtod_async(between, x, x.nbytes, theirs)
    affine(between, u32(1), u32(1), stream=theirs, **SHAPE)
    drv.memcpy_dtod_async(result, between, x.nbytes, theirs)
    affine(result, u32(2), u32(0), stream=theirs, **SHAPE)
    return result


def by_new_memory(stream, x):
    """Held memory does not suffice, so that the driver is called."""
    pool, affine = DeviceMemoryPool(), affine_function()
    between, result = (
        gpuarray.GPUArray(x.shape, x.dtype, gpudata=pool.allocate(x.nbytes, stream)) for _ in range(2)
    )
    drv.memcpy_dtod_async(between, x, x.nbytes, stream)
    affine(between, u32(2), u32(2), stream=stream, **SHAPE)
    drv.memcpy_dtod_async(result, between, x.nbytes, stream)
    return result


WAYS = {"with": in_a_block, "stream of others": by_a_stream_of_theirs, "new memory": by_new_memory}


@pytest.mark.parametrize("mode", [drv.stream_capture_mode.RELAXED, drv.stream_capture_mode.GLOBAL])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_memory_of_captured_arrays_goes_to_no_later_array(others, stream, way, mode):
    x = gpuarray.zeros(COUNT, np.uint32)
    way(stream, x)  # compiles, and leaves held memory
    drv.Context.synchronize()
    others.begin(stream, mode)
    result = way(stream, x)
    made = others.instantiate(others.end(stream))
    for number in range(1, 4):
        x.fill(number)
        with stream:
            noise = [gpuarray.empty_like(x).fill(77) for _ in range(20)]
        drv.Context.synchronize()
        others.launch(made, stream)
        stream.synchronize()
        expected = 2 * (np.arange(1, COUNT + 1) if way is in_a_block else np.ones(COUNT)) * (number + 1)
        np.testing.assert_array_equal(result.get(), expected)
        assert {value(array) for array in noise} == {77}
    others.destroy(made)


def test_it_lives_as_long_as_what_was_made_of_the_graph(others, stream):
    x, affine = gpuarray.zeros(COUNT, np.uint32), affine_function()
    gone = weakref.ref(x)
    others.begin(stream)
    with stream:
        affine(x, u32(1), u32(1), **SHAPE)
    graph = others.end(stream)
    del x
    drv.Context.synchronize()
    gc.collect()
    assert gone() is not None
    made = others.instantiate(graph)
    others.launch(made, stream)
    stream.synchronize()
    assert value(gone()) == 1
    others.destroy(made)
    assert released(gone)


def test_a_captured_scan_gives_the_right_sums_in_every_replay(others, stream):
    """No block takes what blocks exchanged in the replay before for that of this one."""
    x = gpuarray.zeros(70007, np.int32)
    result = gpuarray.empty_like(x)
    gpuarray.cumsum(x, out=result, stream=stream)
    drv.Context.synchronize()
    others.begin(stream)
    gpuarray.cumsum(x, out=result, stream=stream)
    made = others.instantiate(others.end(stream))
    for number in range(3):
        x.fill(number)
        drv.Context.synchronize()
        others.launch(made, stream)
        stream.synchronize()
        np.testing.assert_array_equal(result.get(), number * np.arange(1, x.size + 1))
    others.destroy(made)


def test_a_host_function(others, stream):
    seen = []
    others.begin(stream)
    stream.launch_host_func(seen.append, 1)
    made = others.instantiate(others.end(stream))
    for _ in range(3):
        others.launch(made, stream)
    stream.synchronize()
    assert seen == [1, 1, 1]
    others.destroy(made)


def test_a_capture_that_fails_keeps_nothing(others, stream):
    x, affine = gpuarray.zeros(COUNT, np.uint32), affine_function()
    gone = weakref.ref(x)
    others.begin(stream)
    with stream:
        affine(x, u32(1), u32(1), **SHAPE)
    with pytest.raises(drv.LogicError):
        stream.synchronize()
    assert not others.end(stream) and others.result != 0
    del x
    assert released(gone)


def test_releases_wait_for_the_end(others, stream):
    memory, other = drv.mem_alloc(1 << 20), drv.Stream()
    before = drv._live_objects()
    others.begin(stream, drv.stream_capture_mode.GLOBAL)
    with stream:
        del memory, other
        assert drv._live_objects() == before
    graph = others.end(stream)
    assert others.result == 0
    drv.Event()
    assert drv._live_objects()["Stream"] == before["Stream"] - 1
    others.destroy(others.instantiate(graph))
