"""Graphs: captured and built by hand, launched, updated; what cannot be captured; what a graph keeps."""

import functools
import gc
import random
import threading
import weakref

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import curandom, gpuarray
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel
from pycuda.tools import StreamOrderedMemoryPool

pytestmark = pytest.mark.driver(12030, "captures into a graph")

PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .entry affine(.param .u64 a, .param .u32 factor, .param .u32 add)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [factor];
    ld.param.u32 %r2, [add];
    mov.u32 %r3, %tid.x;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r3, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u32 %r4, [%rd4];
    mad.lo.u32 %r4, %r4, %r1, %r2;
    st.global.u32 [%rd4], %r4;
    ret;
}
"""
LOOP = b"""
.version 6.3
.target sm_50
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry count_down(.param .u64 a, .param .u64 handle)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [handle];
    cvta.to.global.u64 %rd3, %rd1;
    ld.global.u32 %r1, [%rd3];
    sub.u32 %r2, %r1, 1;
    st.global.u32 [%rd3], %r2;
    {
    .param .b64 p0;
    st.param.b64 [p0+0], %rd2;
    .param .b32 p1;
    st.param.b32 [p1+0], %r2;
    call.uni cudaGraphSetConditional, (p0, p1);
    }
    ret;
}
"""
COUNT = 64
SHAPE = dict(block=(COUNT, 1, 1))
KINDS = drv.graph_node_type


@pytest.fixture
def affine(primary_context):
    return drv.module_from_buffer(PTX).get_function("affine")


@pytest.fixture
def stream(primary_context):
    return drv.Stream()


@pytest.fixture
def data(primary_context):
    return gpuarray.zeros(COUNT, np.uint32)


def value(array):
    """The one number that all elements are."""
    numbers = set(array.get().tolist())
    assert len(numbers) == 1
    return numbers.pop()


def u32(number):
    return np.uint32(number)


def kinds(graph):
    return [node.type for node in graph.nodes]


# ---- capturing


def test_nothing_runs_before_the_launch(affine, stream, data):
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
        affine(data, u32(2), u32(0), **SHAPE)  # it is the current stream
    assert value(data) == 0
    assert kinds(graph) == [KINDS.KERNEL, KINDS.KERNEL]
    first, second = graph.nodes
    assert graph.edges == ((first, second),) and graph.root_nodes == (first,)
    assert second.dependencies == (first,) and first.dependents == (second,) and first.graph is graph
    ready = graph.instantiate()
    ready.upload(stream)
    for expected in (2, 6, 14):
        ready.launch(stream)
        stream.synchronize()
        assert value(data) == expected
    affine(data, u32(1), u32(1), stream=stream, **SHAPE)
    stream.synchronize()
    assert value(data) == 15


def test_fork_and_join(affine, stream, data):
    other, fork, join = drv.Stream(), drv.Event(), drv.Event()
    second = gpuarray.zeros(COUNT, np.uint32)
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
        fork.record(stream)
        other.wait_for_event(fork)
        affine(second, u32(1), u32(5), stream=other, **SHAPE)
        affine(data, u32(3), u32(0), stream=stream, **SHAPE)
        join.record(other)
        stream.wait_for_event(join)
        affine(data, u32(1), u32(7), stream=stream, **SHAPE)
    root, *_, last = graph.nodes
    assert len(graph.nodes) == 4 and len(graph.edges) == 4
    assert len(root.dependents) == 2 and len(last.dependencies) == 2
    graph.instantiate().launch(stream)
    other.synchronize()
    stream.synchronize()
    assert value(data) == 10 and value(second) == 5


def test_a_stream_left_alone(affine, stream, data):
    other, fork = drv.Stream(), drv.Event()
    unjoined = pytest.raises(drv.LogicError, match="unjoined.*wait for an event of every stream")
    with unjoined, stream.capture():
        fork.record(stream)
        other.wait_for_event(fork)
        affine(data, u32(1), u32(5), stream=other, **SHAPE)
    affine(data, u32(1), u32(3), stream=other, **SHAPE)
    other.synchronize()
    assert value(data) == 3


def test_a_stream_that_takes_part_may_go(affine, stream, data):
    """It is there until the end of the capture, as is an event."""

    def beside():
        other = drv.Stream()
        other.wait_for_event(drv.Event().record(stream))
        affine(data, u32(1), u32(5), stream=other, **SHAPE)
        stream.wait_for_event(drv.Event().record(other))

    streams = drv._live_objects()["Stream"]
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
        beside()
        affine(data, u32(2), u32(0), stream=stream, **SHAPE)
    assert drv._live_objects()["Stream"] == streams
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert value(data) == 12


def test_into_a_graph(affine, stream, data):
    graph = drv.Graph()
    fill = graph.add_memset(data.gpudata, 7, COUNT)
    with stream.capture(graph=graph, depends_on=fill) as same:
        affine(data, u32(2), u32(1), stream=stream, **SHAPE)
    assert same is graph and kinds(graph) == [KINDS.MEMSET, KINDS.KERNEL]
    assert graph.nodes[1].dependencies == (fill,)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert value(data) == 15


def test_what_cannot_be_captured_is_named(stream, data):
    with pytest.raises(drv.LogicError, match="cuStreamSynchronize failed"), stream.capture():
        stream.synchronize()
    later = pytest.raises(drv.LogicError, match="cuStreamEndCapture.*cuStreamQuery could not be captured")
    with later, stream.capture(), pytest.raises(drv.LogicError):
        stream.is_done()
    with pytest.raises(drv.LogicError, match="cuMemAlloc failed"), stream.capture(mode="thread_local"):
        drv.mem_alloc(16)
    stream.synchronize()
    with stream.capture() as graph:
        drv.memset_d32_async(data.gpudata, 3, COUNT, stream)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert value(data) == 3


def test_a_failed_capture_ends_its_graph(stream):
    graph = drv.Graph()
    failing = pytest.raises(drv.LogicError, match="could not be captured")
    with failing, stream.capture(graph=graph), pytest.raises(drv.LogicError):
        stream.is_done()
    with pytest.raises(drv.LogicError, match="a capture into this graph failed"):
        graph.instantiate()


def test_handlers_are_refused(affine, stream, data):
    with pytest.raises(drv.LogicError, match="In, Out and InOut cannot be captured"), stream.capture():
        affine(drv.InOut(np.zeros(COUNT, np.uint32)), u32(1), u32(1), stream=stream, **SHAPE)
    with pytest.raises(TypeError, match="In, Out and InOut"):
        drv.Graph().add_kernel(affine, drv.InOut(np.zeros(COUNT, np.uint32)), u32(1), u32(1), **SHAPE)


@pytest.mark.parametrize(
    "arguments, error",
    [
        (dict(mode="some"), ValueError),
        (dict(mode=3), ValueError),
        (dict(graph=1), TypeError),
        (dict(depends_on=[]), ValueError),
        (dict(depends_on=1), ValueError),
    ],
)
def test_bad_arguments(stream, arguments, error):
    with pytest.raises(error):
        stream.capture(**arguments)


def test_a_capture_is_used_once_at_a_time(stream):
    capture = stream.capture()
    with pytest.raises(drv.LogicError, match="not begun"):
        capture.__exit__(None, None, None)
    with capture:
        with pytest.raises(drv.LogicError, match="begun already"):
            capture.__enter__()
        with pytest.raises(drv.LogicError, match="cuStreamBeginCapture"):
            stream.capture().__enter__()
    assert drv.current_stream() is None


@pytest.mark.parametrize("mode", ["global", "thread_local", drv.stream_capture_mode.RELAXED])
def test_new_arrays_in_every_mode(stream, data, mode):
    """What a pool needs for the graph is allocated, whatever the mode forbids the program."""
    data * 2  # compiles
    drv.Context.synchronize()
    with stream.capture(mode=mode) as graph:
        results = [data * 2 for _ in range(5)]
    data.fill(4)
    drv.Context.synchronize()
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert [value(result) for result in results] == 5 * [8]


def test_memory_in_the_driver_s_order_is_refused(stream):
    pool = StreamOrderedMemoryPool()
    with pytest.raises(drv.LogicError, match="StreamOrderedMemoryPool"), stream.capture():
        pool.allocate(64, stream)


@pytest.mark.parametrize("flags", [0, 1])
def test_memory_of_several_streams_is_freed_under_capture(affine, data, flags):
    """Its streams are not put in order by events then, which would draw them into the capture."""
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


# ---- built by hand


def test_all_kinds(affine, stream, data):
    host, seen, event = drv.pagelocked_empty(COUNT, np.uint32), [], drv.Event()
    copy = gpuarray.empty(COUNT, np.uint32)
    child = drv.Graph()
    child.add_kernel(affine, data, u32(10), u32(0), **SHAPE)
    graph = drv.Graph()
    fill = graph.add_memset(data.gpudata, 7, COUNT)
    kernel = graph.add_kernel(affine, data, u32(2), u32(1), depends_on=fill, **SHAPE)
    inner = graph.add_child(child, depends_on=kernel)
    within = graph.add_memcpy(copy.gpudata, data.gpudata, data.nbytes, depends_on=[inner])
    out = graph.add_memcpy(host, copy.gpudata, depends_on=within)
    call = graph.add_host(lambda name: seen.append((name, int(host[0]))), "called", depends_on=out)
    record = graph.add_event_record(event, depends_on=call)
    graph.add_empty(depends_on=(record, call))
    expected = "MEMSET KERNEL GRAPH MEMCPY MEMCPY HOST EVENT_RECORD EMPTY".split()
    assert kinds(graph) == [getattr(KINDS, name) for name in expected]
    assert kinds(inner.child_graph) == [KINDS.KERNEL]
    ready = graph.instantiate()
    for number in (1, 2):
        ready.launch(stream)
        event.synchronize()
        stream.synchronize()
        assert seen == number * [("called", 150)]
    assert value(copy) == 150
    again = graph.clone().instantiate()
    again.launch()
    drv.Context.synchronize()
    assert len(seen) == 3


def test_waits_for_an_event(affine, stream, data):
    other, event = drv.Stream(), drv.Event()
    graph = drv.Graph()
    graph.add_kernel(affine, data, u32(2), u32(0), depends_on=graph.add_event_wait(event), **SHAPE)
    ready = graph.instantiate()
    affine(data, u32(1), u32(21), stream=other, **SHAPE)
    event.record(other)
    ready.launch(stream)
    stream.synchronize()
    assert value(data) == 42


def test_memory_of_a_graph(affine, stream, data):
    graph = drv.Graph()
    memory = graph.add_mem_alloc(COUNT * 4)
    fill = graph.add_memset(memory.address, 6, COUNT, depends_on=memory)
    copy = graph.add_memcpy(data.gpudata, memory.address, data.nbytes, depends_on=fill)
    graph.add_mem_free(memory.address, depends_on=copy)
    assert kinds(graph) == [KINDS.MEM_ALLOC, KINDS.MEMSET, KINDS.MEMCPY, KINDS.MEM_FREE]
    ready = graph.instantiate()
    for _ in range(2):
        data.fill(0)
        drv.Context.synchronize()
        ready.launch(stream)
        stream.synchronize()
        assert value(data) == 6
    with pytest.raises(drv.LogicError, match="cuGraphInstantiate"):
        graph.instantiate()  # there is one already
    with pytest.raises(drv.LogicError, match="MemAllocNodeGetParams"):
        fill.address  # noqa: B018


@pytest.mark.cpu("on a GPU the kernel is linked with libcudadevrt.a, which not every toolkit has")
def test_conditions(affine, stream, data):
    count_down = drv.module_from_buffer(LOOP).get_function("count_down")
    second = gpuarray.zeros(COUNT, np.uint32)
    graph = drv.Graph()
    loop, branch = graph.add_condition(default=1), graph.add_condition(default=1)
    fill = graph.add_memset(data.gpudata, 5, COUNT)
    node, (body,) = graph.add_conditional("while", loop, depends_on=fill)
    with stream.capture(graph=body):
        count_down(data, np.uint64(loop), block=(1, 1, 1), stream=stream)
        affine(second, u32(1), u32(1), stream=stream, **SHAPE)
    _, (never, always) = graph.add_conditional("switch", branch, 2, depends_on=node)
    never.add_kernel(affine, data, u32(1), u32(100), **SHAPE)
    always.add_kernel(affine, data, u32(0), u32(30), **SHAPE)
    ready = graph.instantiate()
    for times in (1, 2):
        ready.launch(stream)
        stream.synchronize()
        assert value(second) == 5 * times and value(data) == 30
    with pytest.raises(ValueError, match="kind"):
        graph.add_conditional("until", loop)


def test_edges(affine, data):
    graph = drv.Graph()
    first, second = graph.add_empty(), graph.add_empty()
    graph.add_edge(first, [second])
    assert graph.edges == ((first, second),)
    with pytest.raises(drv.LogicError, match="cuGraphAddDependencies"):
        graph.add_edge(first, second)
    graph.add_edge(second, first)
    with pytest.raises(drv.LogicError, match="cuGraphInstantiate"):
        graph.instantiate()
    graph.remove_edge(second, first)
    graph.instantiate()
    with pytest.raises(TypeError, match="depends_on must be a GraphNode"):
        graph.add_empty(depends_on=[1])


def test_wrong_nodes(affine, data):
    graph = drv.Graph()
    with pytest.raises(ValueError, match="block"):
        graph.add_kernel(affine, data, u32(1), u32(1))
    with pytest.raises(TypeError):
        graph.add_kernel(affine, data, u32(1), **SHAPE)
    with pytest.raises(TypeError, match="unexpected keyword"):
        graph.add_kernel(affine, data, u32(1), u32(1), stream=None, **SHAPE)
    with pytest.raises(TypeError, match="needs size"):
        graph.add_memcpy(data.gpudata, data.gpudata)
    with pytest.raises(ValueError, match="fewer"):
        graph.add_memcpy(np.zeros(1, np.uint8), data.gpudata, 64)
    with pytest.raises(ValueError, match="itemsize"):
        graph.add_memset(data.gpudata, 1, 1, 8)
    with pytest.raises(TypeError, match="function"):
        graph.add_host(1)
    assert graph.nodes == ()


def test_debug_dot(affine, data, tmp_path):
    graph = drv.Graph()
    graph.add_kernel(affine, data, u32(1), u32(1), depends_on=graph.add_empty(), **SHAPE)
    graph.debug_dot(tmp_path / "graph.dot", verbose=True)
    text = (tmp_path / "graph.dot").read_text()
    assert text.startswith("digraph") and "->" in text and "affine" in text


# ---- updates


def test_arguments_of_one_kernel(affine, stream, data):
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
    (node,) = graph.nodes
    ready = graph.instantiate()
    other = gpuarray.zeros(COUNT, np.uint32)
    ready.launch(stream)
    ready.set_args(node, other, u32(1), u32(9))
    ready.launch(stream)
    stream.synchronize()
    assert (value(data), value(other)) == (1, 9)
    node.set_args(data, u32(5), u32(0))
    ready.launch(stream)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert (value(data), value(other)) == (5, 18)
    with pytest.raises(TypeError):
        ready.set_args(node, other, u32(1))
    with pytest.raises(TypeError):
        node.set_args(other, np.float64(1), u32(9))
    with pytest.raises(drv.LogicError, match="for kernel nodes"):
        graph.add_empty().set_args()


def test_replaced_arguments_live_as_long_as_somebody_needs_them(affine, stream, data):
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
    (node,) = graph.nodes
    ready = graph.instantiate()
    arrays = [gpuarray.zeros(COUNT, np.uint32) for _ in range(4)]
    alive = [weakref.ref(array) for array in arrays]

    def living():
        return [array() is not None for array in alive]

    def give(target, number):
        of = (node,) if target is ready else ()
        target.set_args(*of, arrays[number], u32(1), u32(3))
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


def test_memory_of_a_replaced_argument_is_given_back_after_the_launch(affine, stream, data):
    """The pool knows of the arguments that a graph got later: no block goes to another owner too early."""
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
    """A second launch of the same is kept with the first, one after a wait anew."""
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


def test_numbers_change_nothing_of_what_is_kept(affine, stream, data):
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
    ready = graph.instantiate()
    arrays = [gpuarray.zeros(COUNT, np.uint32) for _ in range(3)]
    alive = [weakref.ref(array) for array in arrays]

    def give(node, number, add):
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
    assert value(alive[0]()) == 8  # the executable graph has it still
    ready.update(graph)
    assert alive[0]() is None
    ready.launch(stream)
    again.set_args(data, u32(0), u32(1))
    ready.update(graph)
    stream.synchronize()
    assert alive[2]() is None


def test_launches_beside_a_thread_that_waits(affine, stream, data):
    """What a wait finds done is not what a launch is about to need."""
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


def test_update_from_a_graph(affine, stream, data):
    def make(add, count):
        graph = drv.Graph()
        node = graph.add_memset(data.gpudata, 1, COUNT)
        for _ in range(count):
            node = graph.add_kernel(affine, data, u32(2), u32(add), depends_on=node, **SHAPE)
        return graph

    ready = make(0, 2).instantiate()
    ready.update(make(1, 2))
    ready.launch(stream)
    stream.synchronize()
    assert value(data) == 7
    with pytest.raises(drv.LogicError, match="cuGraphExecUpdate.*other nodes or edges"):
        ready.update(make(1, 3))
    ready.launch(stream)
    stream.synchronize()
    assert value(data) == 7


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


# ---- arrays

UNARY = [
    lambda x: x + 1,
    lambda x: -x,
    lambda x: x * 2,
    abs,
    lambda x: x[::-1] * 1,
    lambda x: x.copy(),
    lambda x: gpuarray.cumsum(x),
    lambda x: x.reshape(10, 10).T.copy().ravel(),
    lambda x: x.astype(np.float64).astype(np.int32),
    lambda x: x.take(gpuarray.arange(100, dtype=np.int32), mode="wrap"),
    lambda x: INCLUSIVE()(x.copy()),
]
BINARY = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    gpuarray.maximum,
    lambda x, y: gpuarray.if_positive(x, x, y),
    lambda x, y: gpuarray.concatenate([x[:50], y[50:]]),
]


@functools.cache
def INCLUSIVE():
    return InclusiveScanKernel(np.int32, "a > b ? a : b")


def random_program(seed):
    """Which operation makes the next array, of which of the arrays before."""
    chooser = random.Random(seed)
    steps = []
    for number in range(2, 2 + chooser.randint(3, 12)):
        operations = chooser.choice((UNARY, BINARY))
        operands = [chooser.randrange(number) for _ in range(1 if operations is UNARY else 2)]
        steps.append((chooser.choice(operations), operands, chooser.random() < 0.3))
    return steps


def run(steps, arrays):
    """The last array, and the sum of what some steps add to the first array in its place."""
    for operation, operands, in_place in steps:
        arrays.append(operation(*(arrays[i] for i in operands)))
        if in_place:
            arrays[0] += arrays[-1]
    return arrays[-1], gpuarray.sum(arrays[0])


@pytest.mark.parametrize("seed", range(20))
def test_a_replayed_program_is_the_eager_one(stream, seed):
    steps = random_program(seed)
    numbers = np.random.default_rng(seed)
    first, second = (gpuarray.zeros(100, np.int32) for _ in range(2))
    run(steps, [first.copy(), second.copy()])  # compiles
    with stream.capture() as graph:
        results = run(steps, [first, second])
    ready = graph.instantiate()
    for _ in range(3):
        inputs = numbers.integers(-50, 50, (2, 100)).astype(np.int32)
        expected = run(steps, [gpuarray.to_gpu(row) for row in inputs])
        first.set(inputs[0])
        second.set(inputs[1])
        noise = [gpuarray.empty(100, np.int32).fill(1) for _ in range(20)]
        ready.launch(stream)
        stream.synchronize()
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result.get(), wanted.get())
        assert all((array.get() == 1).all() for array in noise)


@functools.cache
def SUM():
    return ReductionKernel(np.int32, "0", "a+b", "x[i] ^ 5", "int *x")


LONG = {
    "cumsum": lambda x: x.cumsum(0),
    "cumsum of rows": lambda x: x.reshape(5, -1).cumsum(1),
    "cumsum of columns": lambda x: x.reshape(-1, 10).cumsum(0),
    "InclusiveScanKernel": lambda x: INCLUSIVE()(x, "new"),
    "ReductionKernel": lambda x: SUM()(x),
    "ReductionKernel along an axis": lambda x: SUM()(x.reshape(2, -1), axis=1),
    "sum": gpuarray.sum,
    "sort": lambda x: gpuarray.sort(x),
}


@pytest.mark.parametrize("operation", LONG.values(), ids=LONG)
def test_a_graph_has_memory_of_its_own(stream, operation):
    """What blocks tell each other is not that of the last replay, nor of what the stream does by then."""
    size, other = 100_000, drv.Stream()
    numbers = np.random.default_rng(1)
    x, y = (gpuarray.zeros(size, np.int32) for _ in range(2))
    with stream:
        operation(y)  # compiles
        stream.synchronize()
        with stream.capture() as graph:
            result = operation(x)
    ready = graph.instantiate()
    for _ in range(3):
        inputs = numbers.integers(-1000, 1000, (2, size)).astype(np.int32)
        x.set(inputs[0])
        y.set(inputs[1])
        drv.Context.synchronize()
        for _ in range(3):
            ready.launch(other)
            with stream:
                eager = operation(y)
        drv.Context.synchronize()
        for found, values in ((result, inputs[0]), (eager, inputs[1])):
            np.testing.assert_array_equal(found.get(), operation(gpuarray.to_gpu(values)).get())


def test_random_numbers_go_on(stream):
    """The numbers of a replay are those that eager calls would have given."""

    def seed(count):
        return gpuarray.arange(count, dtype=np.int32)

    made, wanted = (curandom.XORWOWRandomNumberGenerator(seed_getter=seed) for _ in range(2))
    a, b = (gpuarray.empty(1000, np.float32) for _ in range(2))
    made.fill_uniform(a)
    wanted.fill_uniform(b)
    drv.Context.synchronize()
    assert not stream.is_capturing
    with stream.capture() as graph:
        assert stream.is_capturing
        made.fill_uniform(a)
    ready = graph.instantiate()
    for _ in range(3):
        ready.launch(stream)
        stream.synchronize()
        wanted.fill_uniform(b)
        np.testing.assert_array_equal(a.get(), b.get())
