"""Captures that other libraries begin by calls of the driver, as torch and cuda.core do: arrays are captured
as in a StreamCapture, and live as long as the other library's graph.
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


class OtherLibrary:
    """A library that calls the driver without pycuda; result: that of the last end()."""

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
        """The executable graph; the graph is destroyed."""
        made = ctypes.c_void_p()
        flags = ctypes.c_ulonglong(0)
        assert self.call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, flags) == 0
        assert self.call("cuGraphDestroy", graph) == 0
        return made

    def launch(self, made, stream):
        assert self.call("cuGraphLaunch", made, ctypes.c_void_p(stream.handle)) == 0

    def destroy(self, made):
        assert self.call("cuGraphExecDestroy", made) == 0


class ForeignStream:
    """The stream as an object of another library, with __cuda_stream__ alone."""

    def __init__(self, stream):
        self.handle = stream.handle

    def __cuda_stream__(self):
        return 0, self.handle


@pytest.fixture
def library(primary_context, driver_library):
    """An OtherLibrary; after the test no object of pycuda's must be left."""
    before = live()
    yield OtherLibrary(driver_library)
    assert becomes(lambda: live() == before)


@pytest.fixture
def stream(primary_context):
    return drv.Stream(1)


def live():
    """{type: number of live objects}, without streams, which fixtures hold, and without what the first use of
    an operation leaves: modules, and scratch memory of a stream.
    """
    kept = {"Stream", "Module", "DeviceAllocation"}
    return {name: count for name, count in drv._live_objects().items() if name not in kept}


def becomes(condition):
    """Whether the condition holds within a second: the driver reports a graph's end on a thread of its
    own."""
    drv.Context.synchronize()
    for _ in range(100):
        gc.collect()
        if condition():
            return True
        time.sleep(0.01)
    return False


def released(reference):
    return becomes(lambda: reference() is None)


# Three ways to queue work in a captured stream; each returns the result, an array.


def in_a_block(stream, x):
    """The stream is the current one."""
    with stream:
        return gpuarray.cumsum(x + 1) * 2


def by_a_foreign_stream(stream, x):
    """The stream is passed as another library's object."""
    affine, theirs = affine_function(), ForeignStream(stream)
    between, result = gpuarray.empty_like(x), gpuarray.empty_like(x)
    drv.memcpy_dtod_async(between, x, x.nbytes, theirs)
    affine(between, u32(1), u32(1), stream=theirs, **SHAPE)
    drv.memcpy_dtod_async(result, between, x.nbytes, theirs)
    affine(result, u32(2), u32(0), stream=theirs, **SHAPE)
    return result


def by_new_memory(stream, x):
    """The arrays come from an empty pool, which must call the driver for memory."""
    pool, affine = DeviceMemoryPool(), affine_function()
    between, result = (
        gpuarray.GPUArray(x.shape, x.dtype, gpudata=pool.allocate(x.nbytes, stream)) for _ in range(2)
    )
    drv.memcpy_dtod_async(between, x, x.nbytes, stream)
    affine(between, u32(2), u32(2), stream=stream, **SHAPE)
    drv.memcpy_dtod_async(result, between, x.nbytes, stream)
    return result


WAYS = {"with": in_a_block, "foreign stream": by_a_foreign_stream, "new memory": by_new_memory}


@pytest.mark.parametrize("mode", [drv.stream_capture_mode.RELAXED, drv.stream_capture_mode.GLOBAL])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_memory_of_captured_arrays_is_not_reused_while_the_graph_exists(library, stream, way, mode):
    """Arrays made after the capture, the noise, keep their values in a launch."""
    x = gpuarray.zeros(COUNT, np.uint32)
    way(stream, x)  # compiles, and leaves held memory
    drv.Context.synchronize()
    library.begin(stream, mode)
    result = way(stream, x)
    made = library.instantiate(library.end(stream))
    for number in range(1, 4):
        x.fill(number)
        with stream:
            noise = [gpuarray.empty_like(x).fill(77) for _ in range(20)]
        drv.Context.synchronize()
        library.launch(made, stream)
        stream.synchronize()
        expected = 2 * (np.arange(1, COUNT + 1) if way is in_a_block else np.ones(COUNT)) * (number + 1)
        np.testing.assert_array_equal(result.get(), expected)
        assert {value(array) for array in noise} == {77}
    library.destroy(made)


def test_a_captured_array_lives_as_long_as_the_executable_graph(library, stream):
    x, affine = gpuarray.zeros(COUNT, np.uint32), affine_function()
    reference = weakref.ref(x)
    library.begin(stream)
    with stream:
        affine(x, u32(1), u32(1), **SHAPE)
    graph = library.end(stream)
    del x
    drv.Context.synchronize()
    gc.collect()
    assert reference() is not None
    made = library.instantiate(graph)
    library.launch(made, stream)
    stream.synchronize()
    assert value(reference()) == 1
    library.destroy(made)
    assert released(reference)


def test_a_captured_scan_gives_the_right_sums_in_every_replay(library, stream):
    """No block reads values that blocks exchanged in the previous replay."""
    x = gpuarray.zeros(70007, np.int32)
    result = gpuarray.empty_like(x)
    gpuarray.cumsum(x, out=result, stream=stream)
    drv.Context.synchronize()
    library.begin(stream)
    gpuarray.cumsum(x, out=result, stream=stream)
    made = library.instantiate(library.end(stream))
    for number in range(3):
        x.fill(number)
        drv.Context.synchronize()
        library.launch(made, stream)
        stream.synchronize()
        np.testing.assert_array_equal(result.get(), number * np.arange(1, x.size + 1))
    library.destroy(made)


def test_a_host_function(library, stream):
    """A Python function captured into another library's graph runs at each launch."""
    seen = []
    library.begin(stream)
    stream.launch_host_func(seen.append, 1)
    made = library.instantiate(library.end(stream))
    for _ in range(3):
        library.launch(made, stream)
    stream.synchronize()
    assert seen == [1, 1, 1]
    library.destroy(made)


def test_a_capture_that_fails_keeps_nothing(library, stream):
    x, affine = gpuarray.zeros(COUNT, np.uint32), affine_function()
    reference = weakref.ref(x)
    library.begin(stream)
    with stream:
        affine(x, u32(1), u32(1), **SHAPE)
    with pytest.raises(drv.LogicError):
        stream.synchronize()
    assert not library.end(stream) and library.result != 0
    del x
    assert released(reference)


def test_releases_wait_for_the_end_of_the_capture(library, stream):
    """In global mode a release would end it; the next call after the capture's end does it."""
    memory, other = drv.mem_alloc(1 << 20), drv.Stream()
    before = drv._live_objects()
    library.begin(stream, drv.stream_capture_mode.GLOBAL)
    with stream:
        del memory, other
        assert drv._live_objects() == before
    graph = library.end(stream)
    assert library.result == 0
    drv.Event()
    assert drv._live_objects()["Stream"] == before["Stream"] - 1
    library.destroy(library.instantiate(graph))
