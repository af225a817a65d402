"""Graphs: captured and built by hand, launched, updated; what cannot be captured."""

import gc
import weakref

import numpy as np
import pytest
from graph_kernels import COUNT, KINDS, SHAPE, kinds, u32, value

import pycuda.driver as drv
from pycuda import gpuarray

pytestmark = pytest.mark.driver(12030, "captures into a graph")


# ---- capturing


def test_nothing_runs_before_the_launch(affine, stream, data):
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
        affine(data, u32(2), u32(0), **SHAPE)  # in the captured stream, which is the current one
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
    """A capture that spans two streams by events becomes one graph with both branches."""
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


def test_a_forked_stream_that_is_not_joined(affine, stream, data):
    """The capture fails with an error that says what to do, and the forked stream works afterwards."""
    other, fork = drv.Stream(), drv.Event()
    unjoined = pytest.raises(drv.LogicError, match="unjoined.*join every stream")
    with unjoined, stream.capture():
        fork.record(stream)
        other.wait_for_event(fork)
        affine(data, u32(1), u32(5), stream=other, **SHAPE)
    affine(data, u32(1), u32(3), stream=other, **SHAPE)
    other.synchronize()
    assert value(data) == 3


def test_a_forked_stream_may_be_dropped_during_the_capture(affine, stream, data):
    """Streams and events that take part are destroyed at the capture's end."""

    def concurrent():
        other = drv.Stream()
        other.wait_for_event(drv.Event().record(stream))
        affine(data, u32(1), u32(5), stream=other, **SHAPE)
        stream.wait_for_event(drv.Event().record(other))

    streams = drv._live_objects()["Stream"]
    with stream.capture() as graph:
        affine(data, u32(1), u32(1), stream=stream, **SHAPE)
        concurrent()
        affine(data, u32(2), u32(0), stream=stream, **SHAPE)
    assert drv._live_objects()["Stream"] == streams
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert value(data) == 12


def test_a_capture_into_an_existing_graph(affine, stream, data):
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
    """In the error of the call itself, or in that of the capture's end if the program caught the
    first."""
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


def test_objects_for_one_graph_of_the_drivers_are_equal(affine, stream, data):
    child, graph, other = drv.Graph(), drv.Graph(), drv.Graph()
    child.add_kernel(affine, data, u32(1), u32(1), **SHAPE)
    nodes = [graph.add_child(child) for _ in range(2)]
    first, again, second = nodes[0].child_graph, nodes[0].child_graph, nodes[1].child_graph
    assert first is not again and first == again and hash(first) == hash(again)
    differ = first != again
    assert not differ and len({first, again, second, child, graph, other, graph.clone()}) == 6
    assert nodes[0].graph == graph and graph != other and graph != graph.handle
    with pytest.raises(TypeError):
        graph < other  # noqa: B015
    ended = {graph: "a", other: "b"}
    for each in ended:
        with pytest.raises(drv.LogicError), stream.capture(graph=each):
            stream.is_done()
    assert ended[graph] == "a" and ended[other] == "b" and graph != other


def test_handlers_are_refused(affine, stream, data):
    for mode in ("relaxed", "thread_local", "global"):
        with pytest.raises(drv.LogicError, match="In, Out and InOut cannot"), stream.capture(mode=mode):
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
        with pytest.raises(drv.LogicError, match="already begun"):
            capture.__enter__()
        with pytest.raises(drv.LogicError, match="cuStreamBeginCapture"):
            stream.capture().__enter__()
    assert drv.current_stream() is None


# ---- built by hand


def test_a_graph_of_every_kind_of_node(affine, stream, data):
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
        graph.instantiate()  # only one executable graph may have the allocation
    with pytest.raises(drv.LogicError, match="MemAllocNodeGetParams"):
        fill.address  # noqa: B018


def test_wrong_nodes(affine, data):
    """Wrong arguments of nodes are errors and add no node."""
    graph = drv.Graph()
    with pytest.raises(ValueError, match="block"):
        graph.add_kernel(affine, data, u32(1), u32(1))
    with pytest.raises(TypeError):
        graph.add_kernel(affine, data, u32(1), **SHAPE)
    with pytest.raises(TypeError, match="unexpected keyword"):
        graph.add_kernel(affine, data, u32(1), u32(1), stream=None, **SHAPE)
    with pytest.raises(TypeError, match="size is needed"):
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


# ---- kernels with attributes

# sizes: a[block] = the number of blocks in the block's cluster.
CLUSTER_SIZES = b"""
.version 7.8
.target sm_90
.address_size 64
.visible .entry sizes(.param .u64 a)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [a];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd2, %rd2, %rd3;
    mov.u32 %r2, %cluster_nctaid.x;
    st.global.u32 [%rd2], %r2;
    ret;
}
"""


def cluster_in_a_graph():
    """A kernel node launches clusters; a grid that is not a multiple of the cluster is an error."""
    sizes = drv.module_from_buffer(CLUSTER_SIZES).get_function("sizes")
    found = gpuarray.zeros(4, np.uint32)
    graph = drv.Graph()
    graph.add_kernel(sizes, found, block=(1, 1, 1), grid=(4, 1), cluster=(2, 1, 1))
    with pytest.raises(ValueError, match="not a multiple of cluster"):
        graph.add_kernel(sizes, found, block=(1, 1, 1), grid=(3, 1), cluster=(2, 1, 1))
    graph.instantiate().launch()
    drv.Context.synchronize()
    assert found.get().tolist() == [2, 2, 2, 2]


def test_a_cluster_in_a_graph(at_capability):
    at_capability((9, 0), cluster_in_a_graph)


def test_a_cooperative_kernel_in_a_graph(affine, stream, data):
    graph = drv.Graph()
    graph.add_kernel(affine, data, u32(1), u32(3), cooperative=True, priority=0, carveout=50, **SHAPE)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert value(data) == 3
    large = drv.Graph()
    with pytest.raises(drv.Error, match="too many blocks in cooperative launch"):
        large.add_kernel(affine, data, u32(1), u32(3), cooperative=True, grid=(1 << 20, 1), **SHAPE)
        large.instantiate()
    with pytest.raises(drv.LogicError, match="cuGraphAddKernelNode failed.*the block is 4096 in x"):
        graph.add_kernel(affine, data, u32(1), u32(3), block=(4096, 1, 1))
    assert len(graph.nodes) == 1
    with pytest.raises(TypeError, match="programmatic"):
        graph.add_kernel(affine, data, u32(1), u32(3), programmatic=True, **SHAPE)


# ---- updates


def test_arguments_of_one_kernel(affine, stream, data):
    """set_args of the executable graph changes that alone; set_args of the node changes later
    instantiations."""
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


def test_parameters_of_other_kinds_of_nodes(stream, data):
    """Each kind is changed in the executable graph, then in the graph, which the executable one takes over by
    update() only; calls for another kind of node are refused."""
    seen, events = [], [drv.Event() for _ in range(3)]
    copies = [gpuarray.zeros(COUNT, np.uint32) for _ in range(3)]
    graph = drv.Graph()
    fill = graph.add_memset(data.gpudata, 1, COUNT)
    copy = graph.add_memcpy(copies[0].gpudata, data.gpudata, data.nbytes, depends_on=fill)
    host = graph.add_host(seen.append, "first", depends_on=copy)
    record = graph.add_event_record(events[0], depends_on=host)
    wait = graph.add_event_wait(events[1], depends_on=record)
    ready = graph.instantiate()

    def run(made):
        made.launch(stream)
        stream.synchronize()
        return [value(array) for array in copies]

    ready.set_memset(fill, data, 7, COUNT)
    ready.set_memcpy(copy, copies[1].gpudata, data.gpudata, data.nbytes)
    ready.set_host(host, seen.append, "second")
    ready.set_event(record, events[2])
    assert run(ready) == [0, 7, 0] and seen == ["second"]
    fill.set_memset(data, 9, COUNT)
    copy.set_memcpy(copies[2], data, data.nbytes)
    host.set_host(seen.append, "third")
    record.set_event(events[1])
    wait.set_event(events[0])
    assert run(ready) == [0, 7, 0]
    assert run(graph.instantiate()) == [0, 7, 9] and seen == ["second", "second", "third"]
    ready.update(graph)
    assert run(ready) == [0, 7, 9]
    for node, change in [
        (fill, lambda: copy.set_memset(data, 1, COUNT)),
        (fill, lambda: ready.set_memcpy(fill, data, data, 4)),
        (host, lambda: fill.set_host(print)),
        (host, lambda: ready.set_event(host, events[0])),
        (wait, lambda: ready.set_child(wait, drv.Graph())),
    ]:
        with pytest.raises(drv.LogicError, match="invalid argument"):
            change()
        assert node.graph is graph
    with pytest.raises(TypeError, match="node must be a GraphNode"):
        ready.set_memset(graph, data, 1, COUNT)
    with pytest.raises(TypeError, match="evt must be an Event"):
        record.set_event(1)


def test_new_parameters_of_nodes_live_as_long_as_they_are_in_use(stream, data):
    """Objects of an executable graph are released when update() replaces them, those of the graph when it is
    destroyed."""

    class Called:
        def __call__(self):
            pass

    arrays, calls = [gpuarray.zeros(COUNT, np.uint32) for _ in range(3)], [Called(), Called()]
    alive = [weakref.ref(each) for each in (*arrays, *calls)]
    graph = drv.Graph()
    copy = graph.add_memcpy(data.gpudata, data.gpudata, data.nbytes)
    host = graph.add_host(print, depends_on=copy)
    ready = graph.instantiate()
    ready.set_memcpy(copy, arrays[0], arrays[1], data.nbytes)
    ready.set_host(host, calls[0])
    copy.set_memcpy(data, arrays[2], data.nbytes)
    host.set_host(calls[1])
    del arrays[:], calls[:]
    gc.collect()
    assert all(each() is not None for each in alive)
    ready.launch(stream)
    ready.update(graph)
    stream.synchronize()
    gc.collect()
    assert [each() is not None for each in alive] == [False, False, True, False, True]
    del graph, copy, host, ready
    gc.collect()
    assert not any(each() for each in alive)


def test_a_child_is_replaced(affine, stream, data):
    """set_child keeps what the new child uses: no array that is allocated during a launch gets its memory."""

    def child(add, array):
        graph = drv.Graph()
        graph.add_kernel(affine, array, u32(0), u32(add), **SHAPE)
        return graph

    graph = drv.Graph()
    node = graph.add_child(child(1, data))
    ready = graph.instantiate()
    other = gpuarray.zeros(COUNT, np.uint32)
    ready.set_child(node, child(2, other))
    alive = weakref.ref(other)
    for number in range(3):
        del other
        ready.launch(stream)
        others = [gpuarray.full(COUNT, 77, np.uint32) for _ in range(5)]
        stream.synchronize()
        other = alive()
        assert value(other) == 2 and value(data) == 0 and {value(each) for each in others} == {77}, number


@pytest.mark.parametrize("how", ["child", "clone"])
def test_a_new_node_with_the_handle_of_a_destroyed_one_takes_nothing_from_copies(how, affine, stream, data):
    """References are kept by a node's handle. A copy of a graph (a child or a clone) uses the arrays of the
    original's nodes; when the original is destroyed and new nodes get its nodes' handles, the copy still
    keeps the arrays."""
    old, arrays = drv.Graph(), [gpuarray.zeros(COUNT, np.uint32) for _ in range(20)]
    handles = {old.add_kernel(affine, array, u32(1), u32(1), **SHAPE).handle for array in arrays}
    alive = [weakref.ref(array) for array in arrays]
    if how == "child":
        graph = drv.Graph()
        graph.add_child(old)
    else:
        graph = old.clone()
    del old, arrays
    others = drv.Graph()
    for _ in range(300):  # the CPU device reuses an address only after so many others
        others.add_empty()
    del others
    for _ in range(600):
        node = graph.add_kernel(affine, data, u32(1), u32(0), **SHAPE)
        handles.discard(node.handle)
    gc.collect()
    assert all(each() is not None for each in alive)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert {value(each()) for each in alive} == {1}


def test_nodes_are_disabled_and_enabled(affine, stream, data):
    graph = drv.Graph()
    first = graph.add_kernel(affine, data, u32(1), u32(1), **SHAPE)
    graph.add_kernel(affine, data, u32(2), u32(0), depends_on=first, **SHAPE)
    empty = graph.add_empty()
    ready = graph.instantiate()
    assert ready.is_enabled(first)
    ready.set_enabled(first, False)
    assert not ready.is_enabled(first)
    ready.launch(stream)
    ready.set_enabled(first, True)
    ready.launch(stream)
    stream.synchronize()
    assert value(data) == 2
    with pytest.raises(drv.LogicError, match="cuGraphNodeSetEnabled"):
        ready.set_enabled(empty, False)


def test_destroyed_nodes(affine, stream, data):
    """A node that is destroyed is gone from the graph with its edges; an executable graph made before has
    it."""
    graph = drv.Graph()
    first, second, third = (graph.add_kernel(affine, data, u32(1), u32(10**i), **SHAPE) for i in range(3))
    graph.add_edge(first, second)
    graph.add_edge(second, third)
    ready = graph.instantiate()
    second.set_args(data, u32(1), u32(5))
    second.destroy()
    assert graph.nodes == (first, third) and graph.edges == ()
    graph.add_edge(first, third)
    for made in (ready, graph.instantiate()):
        made.launch(stream)
    stream.synchronize()
    assert value(data) == 111 + 101
    with pytest.raises(drv.LogicError, match="cuGraphDestroyNode"):
        second.destroy()


def test_update_from_a_graph(affine, stream, data):
    """update() takes over the parameters of a graph with the same nodes, and changes nothing otherwise."""

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
    with pytest.raises(drv.LogicError, match="cuGraphExecUpdate.*different nodes or edges"):
        ready.update(make(1, 3))
    ready.launch(stream)
    stream.synchronize()
    assert value(data) == 7
