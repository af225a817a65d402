"""Memory and graphs: how arrays are allocated under capture, what a graph keeps alive and how long."""

import gc
import threading
import weakref

import numpy as np
import pytest
from graph_kernels import COUNT, KINDS, SHAPE, kinds, u32, value

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.tools import DeviceMemoryPool, ExternalMemoryPool, ManagedMemoryPool, StreamOrderedMemoryPool

pytestmark = pytest.mark.driver(12030, "captures into a graph")


# ---- new memory under capture


@pytest.mark.parametrize("mode", ["global", "thread_local", drv.stream_capture_mode.RELAXED])
def test_new_arrays_in_every_mode(stream, data, mode):
    """A pool may allocate memory during a capture, also in modes that forbid that to the program."""
    data * 2  # compiles
    drv.Context.synchronize()
    with stream.capture(mode=mode) as graph:
        results = [data * 2 for _ in range(5)]
    data.fill(4)
    drv.Context.synchronize()
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert [value(result) for result in results] == 5 * [8]


class Resource:
    """An allocator of another library; owned: its live blocks, streams: the streams it was called with."""

    def __init__(self):
        self.owned, self.streams = {}, []

    def allocate(self, size, stream):
        memory = drv.mem_alloc(size)
        self.owned[int(memory)] = memory
        self.streams.append(int(stream))
        return int(memory)

    def deallocate(self, address, size, stream):
        del self.owned[address]


ALLOCATORS = {
    "DeviceMemoryPool": DeviceMemoryPool,
    "ManagedMemoryPool": ManagedMemoryPool,
    "StreamOrderedMemoryPool": StreamOrderedMemoryPool,
    "ExternalMemoryPool": lambda: ExternalMemoryPool(Resource()),
    "mem_alloc": lambda: drv.mem_alloc,
    "a function": lambda: lambda size: drv.mem_alloc(size),
}


@pytest.mark.parametrize("mode", ["relaxed", "thread_local", "global"])
@pytest.mark.parametrize("flags", [0, 1], ids=["blocking", "non_blocking"])
@pytest.mark.parametrize("make", ALLOCATORS.values(), ids=ALLOCATORS)
def test_new_arrays_of_every_allocator(primary_context, make, flags, mode):
    """Neither the capture's mode nor held blocks that another stream used prevent an allocation, and no array
    made after the capture gets the memory of the graph's arrays."""
    stream, other = drv.Stream(flags), drv.Stream(flags)
    data = gpuarray.zeros(COUNT, np.uint32, allocator=make())
    (data * 2) + 1  # compiles
    with other:
        [data * 3 for _ in range(5)]  # leaves held blocks
    drv.Context.synchronize()
    with stream.capture(mode=mode) as graph:
        results = [data * 2 + 1 for _ in range(3)]
    assert kinds(graph) == 6 * [KINDS.KERNEL]
    ready = graph.instantiate()
    for number in (4, 5):
        data.fill(number)
        with other:
            others = [gpuarray.empty_like(data).fill(77) for _ in range(9)]
        drv.Context.synchronize()
        ready.launch(stream)
        stream.synchronize()
        assert [value(result) for result in results] == 3 * [2 * number + 1]
        assert {value(array) for array in others} == {77}


def test_an_allocator_is_not_passed_a_captured_stream(stream):
    """It gets another stream, since what it queued in a captured one would become part of the graph."""
    resource = Resource()
    pool = ExternalMemoryPool(resource)
    first = pool.allocate(64, stream)
    with stream.capture() as graph:
        second = pool.allocate(64, stream)
    assert resource.streams[0] == stream.handle != resource.streams[1] != 0
    assert graph.nodes == ()
    del first, second
    assert not resource.owned


def test_a_pool_as_allocator_is_passed_the_stream_of_the_operation(primary_context):
    first, second, pool = drv.Stream(), drv.Stream(), DeviceMemoryPool()
    arrays = []
    for stream in (first, second):
        with stream:
            arrays.append(gpuarray.empty(COUNT, np.uint32, allocator=pool))
    assert {block.stream for block in pool.snapshot().blocks} == {first.handle, second.handle}


def test_eager_work_is_not_drawn_into_a_capture(affine, data):
    """Eager work in another stream may use an array, and held blocks, that the captured stream used before:
    no event is recorded in the captured stream, which would make the other one part of the capture."""
    stream, other = drv.Stream(1), drv.Stream(1)
    data * 2  # compiles
    with stream:
        [data * 2 for _ in range(3)]
        array = gpuarray.empty_like(data).fill(2)
        held = [data * 2 for _ in range(3)]
        del held
    drv.Context.synchronize()
    with stream.capture() as graph:
        with other:
            results = [array * 2 for _ in range(3)]
        assert not other.is_capturing
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
    assert kinds(graph) == [KINDS.KERNEL]
    other.synchronize()
    assert [value(result) for result in results] == [4, 4, 4]


@pytest.mark.parametrize("flags", [0, 1])
def test_memory_of_several_streams_is_freed_under_capture(affine, data, flags):
    """The pool must not record events in the streams that used the memory, which would make them part of the
    capture."""
    stream, other = drv.Stream(flags), drv.Stream(flags)
    array = gpuarray.zeros(COUNT, np.uint32)
    affine(array, u32(1), u32(1), stream=other, **SHAPE)
    affine(array, u32(1), u32(1), stream=stream, **SHAPE)
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
        del array
        gc.collect()
        affine(data, u32(2), u32(0), stream=stream, **SHAPE)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert value(data) == 2


# ---- what a graph keeps


def test_arrays_live_as_long_as_the_graph(affine, stream):
    array = gpuarray.zeros(COUNT, np.uint32)
    gone = weakref.ref(array.gpudata)
    result = drv.pagelocked_zeros(COUNT, np.uint32)
    with stream.capture() as graph:
        affine(array, u32(1), u32(4), stream=stream, **SHAPE)
        drv.memcpy_dtoh_async(result, array.gpudata, stream)
    ready = graph.instantiate()
    del array, graph
    gc.collect()
    others = [gpuarray.zeros(COUNT, np.uint32) for _ in range(10)]
    ready.launch(stream)
    ready.launch(stream)
    stream.synchronize()
    assert result[0] == 8 and gone() is not None
    assert all(value(other) == 0 for other in others)
    del ready
    gc.collect()
    assert gone() is None


def test_host_functions_live_as_long_as_the_graph(stream):
    seen = []

    def call():
        seen.append(1)

    gone = weakref.ref(call)
    with stream.capture() as graph:
        stream.launch_host_func(call)
    ready = graph.instantiate()
    del call, graph
    for _ in range(3):
        ready.launch(stream)
    stream.synchronize()
    assert seen == [1, 1, 1] and gone() is not None
    del ready
    gc.collect()
    assert gone() is None


def test_a_graph_in_a_cycle_is_collected(stream):
    graph = drv.Graph()
    graph.add_host(print, graph)
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


def test_replaced_arguments_live_as_long_as_they_are_in_use(affine, stream, data):
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
    (node,) = graph.nodes
    ready = graph.instantiate()
    arrays = [gpuarray.zeros(COUNT, np.uint32) for _ in range(4)]
    alive = [weakref.ref(array) for array in arrays]

    def living():
        return [array() is not None for array in alive]

    def give(target, number):
        """Passes the array to the node, or to the node of the executable graph, and drops it here."""
        prefix = (node,) if target is ready else ()
        target.set_args(*prefix, arrays[number], u32(1), u32(3))
        arrays[number] = None

    give(node, 0)
    later = graph.instantiate()
    give(node, 1)  # the graph and the executable one no longer have the same arguments
    assert living() == [True, True, True, True]
    give(ready, 2)
    give(ready, 3)
    assert living() == [True, True, False, True]
    ready.launch(stream)
    ready.set_args(node, data, u32(1), u32(3))
    assert living() == [True, True, False, True]  # the launch may still need it
    stream.synchronize()
    assert living() == [True, True, False, False]
    del later
    assert living() == [False, True, False, False]


def test_memory_of_a_replaced_argument_is_reused_after_the_launch_only(affine, stream, data):
    """Arrays made while the launch runs do not get the memory of an argument that set_args passed."""
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
    (node,) = graph.nodes
    ready = graph.instantiate()
    for start in range(100):
        array = gpuarray.full(COUNT, start, np.uint32, stream=stream)
        ready.set_args(node, array, u32(2), u32(1))
        ready.launch(stream)
        result = gpuarray.empty_like(array)
        drv.memcpy_dtod_async(result.gpudata, array.gpudata, array.nbytes, stream)
        del array
        others = [gpuarray.full(COUNT, 77, np.uint32) for _ in range(3)]
        stream.synchronize()
        assert value(result) == 2 * start + 1, start
        del others


def test_launches_keep_what_they_use_until_they_are_done(affine, stream, data):
    """Executable graphs live until their launches are done, also one that was launched several times. A wait
    in between releases the references of the launches before it."""
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
    graphs = [graph.instantiate(), graph.instantiate()]
    for count in (1, 3):
        for _ in range(count):
            for ready in graphs:
                ready.launch(stream)
        stream.synchronize()
    for ready in graphs:
        ready.launch(stream)
    alive = [weakref.ref(ready) for ready in graphs]
    del graphs, ready
    assert all(ready() is not None for ready in alive)
    stream.synchronize()
    assert all(ready() is None for ready in alive)
    assert value(data) == 10


def test_a_graph_keeps_the_arguments_that_its_node_was_given_last(affine, stream, data):
    """They are the node's, whichever of its Python objects set them. The executable graph has its own until
    the next update()."""
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
    ready = graph.instantiate()
    arrays = [gpuarray.zeros(COUNT, np.uint32) for _ in range(3)]
    alive = [weakref.ref(array) for array in arrays]

    def give(node, number, add):
        """data = add, in the array of that number, from the next launch on."""
        node.set_args(arrays[number], u32(0), u32(add))
        ready.update(graph)

    (node,), (again,) = graph.nodes, graph.nodes  # two objects of one node
    give(node, 0, 4)
    give(again, 1, 5)
    give(node, 1, 6)
    give(again, 0, 7)
    give(node, 0, 8)
    ready.launch(stream)
    node.set_args(arrays[2], u32(0), u32(9))
    del arrays[:]
    gc.collect()
    assert [array() is not None for array in alive] == [True, False, True]
    stream.synchronize()
    assert value(alive[0]()) == 8  # the executable graph still has it
    ready.update(graph)
    assert alive[0]() is None
    ready.launch(stream)
    again.set_args(data, u32(0), u32(1))
    ready.update(graph)
    stream.synchronize()
    assert alive[2]() is None


def test_a_wait_of_another_thread_releases_nothing_that_the_next_launch_uses(affine, stream, data):
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
    (node,) = graph.nodes
    ready, over = graph.instantiate(), threading.Event()

    def wait():
        while not over.is_set():
            stream.synchronize()

    waiter = threading.Thread(target=wait)
    waiter.start()
    try:
        for start in range(200):
            array = gpuarray.full(COUNT, start, np.uint32, stream=stream)
            ready.set_args(node, array, u32(2), u32(1))
            ready.launch(stream)
            ready.launch(stream)
            result = gpuarray.empty_like(array)
            drv.memcpy_dtod_async(result.gpudata, array.gpudata, array.nbytes, stream)
            del array
            ready.set_args(node, data, u32(1), u32(0))
            others = [gpuarray.full(COUNT, 77, np.uint32) for _ in range(3)]
            stream.synchronize()
            assert value(result) == 4 * start + 3, start
            del others
    finally:
        over.set()
        waiter.join()
