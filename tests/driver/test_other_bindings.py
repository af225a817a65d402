"""Driver calls that other programs and bindings make and PyCUDA does not; the results are those of NVIDIA's
driver (580)."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

import numpy as np
import pytest

import pycuda.driver as drv

SUCCESS, INVALID_VALUE, INVALID_CONTEXT, INVALID_HANDLE, LOSSY_QUERY = 0, 1, 201, 400, 402
NOT_READY, CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED, UNJOINED = 600, 900, 901, 904
ACTIVE = 1  # CU_STREAM_CAPTURE_STATUS_ACTIVE
NON_BLOCKING, DISABLE_TIMING, CAPTURE_RELAXED, SET_DEPENDENCIES = (
    1,
    2,
    2,
    1,
)  # flags of calls below  # CU_STREAM_CAPTURE_STATUS_ACTIVE
NON_BLOCKING, DISABLE_TIMING, CAPTURE_RELAXED, SET_DEPENDENCIES = 1, 2, 2, 1  # flags of calls below
MODULE = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry nothing() { ret; }
"""


class Edge(ctypes.Structure):
    """CUgraphEdgeData."""

    _fields_ = [(name, ctypes.c_ubyte) for name in ("from_port", "to_port", "type")]
    _fields_.append(("reserved", ctypes.c_ubyte * 5))

    def words(self):
        return self.from_port, self.to_port, self.type


PLAIN, PROGRAMMATIC = (
    (0, 0, 0),
    (1, 0, 1),
)  # Edge.words() of two kinds of edge  # Edge.words() of two kinds of edge


@pytest.fixture
def cuda(primary_context, driver_library):
    return ctypes.CDLL(driver_library)


@pytest.fixture
def launch(cuda):
    module = drv.module_from_buffer(MODULE)
    kernel = c_void_p(module.get_function("nothing").handle)

    def launch(stream):
        """Launches an empty kernel; returns the result of the call."""
        return cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, None, None)

    yield launch
    del module


class Capture:
    """A stream under capture; calls return the driver's result, or assert that it is SUCCESS."""

    def __init__(self, cuda):
        self.cuda, self.stream, self.graph = cuda, self.new_stream(cuda), c_void_p()
        assert cuda.cuStreamBeginCapture_v2(self.stream, CAPTURE_RELAXED) == SUCCESS

    @staticmethod
    def new_stream(cuda):
        stream = c_void_p()
        assert cuda.cuStreamCreate(byref(stream), NON_BLOCKING) == SUCCESS
        return stream

    def fork(self):
        """Another stream that has joined the capture."""
        event, other = c_void_p(), self.new_stream(self.cuda)
        assert self.cuda.cuEventCreate(byref(event), 2) == SUCCESS
        assert self.cuda.cuEventRecord(event, self.stream) == SUCCESS
        assert self.cuda.cuStreamWaitEvent(other, event, 0) == SUCCESS
        self.cuda.cuEventDestroy_v2(event)
        return other

    def join(self, other):
        event = c_void_p()
        assert self.cuda.cuEventCreate(byref(event), 2) == SUCCESS
        assert self.cuda.cuEventRecord(event, other) == SUCCESS
        assert self.cuda.cuStreamWaitEvent(self.stream, event, 0) == SUCCESS
        self.cuda.cuEventDestroy_v2(event)

    def front(self):
        """(nodes, words of the edges) that the next captured node will depend on."""
        status, number, graph, count = c_int(), c_ulonglong(), c_void_p(), c_size_t()
        nodes, edges = ctypes.POINTER(c_void_p)(), ctypes.POINTER(Edge)()
        places = byref(status), byref(number), byref(graph), byref(nodes), byref(edges), byref(count)
        assert self.cuda.cuStreamGetCaptureInfo_v3(self.stream, *places) == SUCCESS
        assert status.value == ACTIVE
        return nodes[: count.value], [edge.words() for edge in edges[: count.value]]

    def set_front(self, node, edge):
        """Makes the next captured node depend on this one, by an edge with these words (None: no data)."""
        nodes = (c_void_p * 1)(node)
        edge = None if edge is None else byref(Edge(*edge))
        update = self.cuda.cuStreamUpdateCaptureDependencies_v2
        return update(self.stream, nodes, edge, c_size_t(1), SET_DEPENDENCIES)

    def end(self):
        """Ends the capture, which sets `graph`, and destroys the stream; returns the result of
        cuStreamEndCapture."""
        result = self.cuda.cuStreamEndCapture(self.stream, byref(self.graph))
        self.cuda.cuStreamDestroy_v2(self.stream)
        return result

    def edges(self):
        """The words of the graph's edges, sorted."""
        count, capacity = c_size_t(8), 8
        nodes, edges = (c_void_p * capacity)(), (Edge * capacity)()
        arrays = nodes, (c_void_p * capacity)(), edges
        assert self.cuda.cuGraphGetEdges_v2(self.graph, *arrays, byref(count)) == SUCCESS
        return sorted(edge.words() for edge in edges[: count.value])


@pytest.mark.driver(12030, "edges with data")
class TestEdgesOfCaptures:
    def test_data_of_ordinary_edges_is_there(self, cuda, launch):
        capture = Capture(cuda)
        assert launch(capture.stream) == SUCCESS
        nodes, edges = capture.front()
        assert len(nodes) == 1 and edges == [PLAIN]
        assert capture.end() == SUCCESS

    def test_data_that_is_set_comes_back_and_reaches_the_graph(self, cuda, launch):
        capture = Capture(cuda)
        assert launch(capture.stream) == SUCCESS
        (node,), _ = capture.front()
        for edge in (PROGRAMMATIC, None, PROGRAMMATIC):
            assert capture.set_front(node, edge) == SUCCESS
            assert capture.front() == ([node], [edge or PLAIN])
        assert launch(capture.stream) == SUCCESS
        assert capture.front()[1] == [PLAIN]
        assert capture.end() == SUCCESS
        assert capture.edges() == [PROGRAMMATIC]

    def test_a_query_that_would_lose_the_data_is_refused(self, cuda, launch):
        """cuStreamGetCaptureInfo_v2, and _v3 without a place for edges, where an edge has data."""
        capture, status, nodes = Capture(cuda), c_int(), c_void_p()
        number, graph, count = c_ulonglong(), c_void_p(), c_size_t()
        places = byref(status), byref(number), byref(graph), byref(nodes)
        assert launch(capture.stream) == SUCCESS
        (node,), _ = capture.front()
        assert capture.set_front(node, PROGRAMMATIC) == SUCCESS
        assert cuda.cuStreamGetCaptureInfo_v2(capture.stream, *places, byref(count)) == LOSSY_QUERY
        assert cuda.cuStreamGetCaptureInfo_v3(capture.stream, *places, None, byref(count)) == LOSSY_QUERY
        assert nodes and not count.value
        assert capture.end() == SUCCESS

    def test_a_query_for_data_without_its_nodes_is_refused(self, cuda, launch):
        capture, status, edges, count = Capture(cuda), c_int(), c_void_p(), c_size_t()
        call = cuda.cuStreamGetCaptureInfo_v3
        result = call(capture.stream, byref(status), None, None, None, byref(edges), byref(count))
        assert (result, status.value, count.value) == (INVALID_VALUE, ACTIVE, 0)
        assert capture.end() == SUCCESS

    @pytest.mark.parametrize("edge", [(1, 0, 0), (0, 0, 1), (3, 0, 1), (1, 1, 1), (1, 0, 2)])
    def test_ports_that_do_not_fit_the_type_of_the_edge(self, cuda, launch, edge):
        capture = Capture(cuda)
        assert launch(capture.stream) == SUCCESS
        (node,), _ = capture.front()
        assert capture.set_front(node, edge) == INVALID_VALUE
        assert capture.front() == ([node], [PLAIN])
        assert capture.end() == SUCCESS


def test_a_stream_that_has_joined_may_be_destroyed(cuda, launch):
    capture = Capture(cuda)
    assert launch(capture.stream) == SUCCESS
    other = capture.fork()
    assert launch(other) == SUCCESS
    capture.join(other)
    assert cuda.cuStreamDestroy_v2(other) == SUCCESS
    assert launch(capture.stream) == SUCCESS
    assert capture.end() == SUCCESS
    count = c_size_t()
    assert cuda.cuGraphGetNodes(capture.graph, None, byref(count)) == SUCCESS
    assert count.value == 3


def test_what_a_destroyed_stream_did_can_be_joined_by_its_event(cuda, launch):
    capture, event = Capture(cuda), c_void_p()
    assert launch(capture.stream) == SUCCESS
    other = capture.fork()
    assert launch(other) == SUCCESS
    assert cuda.cuEventCreate(byref(event), 2) == SUCCESS
    assert cuda.cuEventRecord(event, other) == SUCCESS
    assert cuda.cuStreamDestroy_v2(other) == SUCCESS
    assert cuda.cuStreamWaitEvent(capture.stream, event, 0) == SUCCESS
    assert len(capture.front()[0]) == 2
    assert capture.end() == SUCCESS
    assert cuda.cuEventDestroy_v2(event) == SUCCESS


def test_what_a_destroyed_stream_did_must_be_joined(cuda, launch):
    capture = Capture(cuda)
    assert launch(capture.stream) == SUCCESS
    other = capture.fork()
    assert launch(other) == SUCCESS
    assert cuda.cuStreamDestroy_v2(other) == SUCCESS
    assert launch(capture.stream) == SUCCESS
    assert capture.end() == UNJOINED


class ContextParameters(ctypes.Structure):
    """CUctxCreateParams."""

    _fields_ = [("affinities", c_void_p), ("affinity_count", c_int), ("for_graphics", c_void_p)]


@pytest.mark.driver(12050, "cuCtxCreate_v4")
def test_contexts_with_zeroed_parameters(cuda):
    for parameters in (None, byref(ContextParameters())):
        context, current = c_void_p(), c_void_p()
        assert cuda.cuCtxCreate_v4(byref(context), parameters, 0, 0) == SUCCESS
        assert cuda.cuCtxGetCurrent(byref(current)) == SUCCESS
        assert current.value == context.value
        assert cuda.cuCtxDestroy_v2(context) == SUCCESS


class Affinity(ctypes.Structure):
    """CUexecAffinityParam; type 0 limits the number of multiprocessors."""

    _fields_ = [("type", c_int), ("multiprocessors", c_uint)]


@pytest.mark.driver(12050, "cuCtxCreate_v4")
class TestAffinity:
    UNSUPPORTED, NOT_SUPPORTED = 224, 801

    def test_a_context_has_all_multiprocessors(self, cuda):
        """No device supports an affinity (that is for MPS); what a context has is reported nevertheless."""
        affinity, count = Affinity(9, 9), drv.Context.get_device().multiprocessor_count
        assert cuda.cuCtxGetExecAffinity(byref(affinity), 0) == SUCCESS
        assert (affinity.type, affinity.multiprocessors) == (0, count)
        assert cuda.cuCtxGetExecAffinity(byref(affinity), 1) == self.UNSUPPORTED
        assert cuda.cuCtxGetExecAffinity(None, 0) == INVALID_VALUE
        supported = c_int(77)
        for number in (0, 1, -1):
            assert cuda.cuDeviceGetExecAffinitySupport(byref(supported), number, 0) == SUCCESS
            assert supported.value == 0

    @pytest.mark.parametrize("count", [0, -1, 1, 2])
    def test_a_context_with_fewer_is_refused(self, cuda, count):
        """A count of affinities that is not positive means none."""
        result = self.UNSUPPORTED if count > 0 else SUCCESS
        wanted, context = (Affinity * 2)(Affinity(0, 10), Affinity(0, 12)), c_void_p()
        parameters = ContextParameters(ctypes.addressof(wanted), count, None)
        assert cuda.cuCtxCreate_v4(byref(context), byref(parameters), 0, 0) == result
        if result == SUCCESS:
            assert cuda.cuCtxDestroy_v2(context) == SUCCESS
        parameters = ContextParameters(None, 1, None)
        assert cuda.cuCtxCreate_v4(byref(context), byref(parameters), 0, 0) == INVALID_VALUE

    def test_contexts_for_graphics_are_refused(self, cuda):
        """CUctxCigParam: a kind of shared data and its address, for each of which the error is another."""
        data = (ctypes.c_ulonglong * 4)()
        place, results = ctypes.addressof(data), []
        for kind, what in ((0, None), (1, None), (2, None), (3, None), (2, place)):
            graphics = (ctypes.c_ulonglong * 2)(kind, what or 0)
            parameters = ContextParameters(None, 0, ctypes.addressof(graphics))
            results.append(cuda.cuCtxCreate_v4(byref(c_void_p()), byref(parameters), 0, 0))
        refused = [INVALID_VALUE, self.NOT_SUPPORTED, INVALID_VALUE, INVALID_VALUE, self.NOT_SUPPORTED]
        assert results == refused


class ConditionalParameters(ctypes.Structure):
    """CUDA_CONDITIONAL_NODE_PARAMS; type 0 is an if node."""

    _fields_ = [("handle", c_ulonglong), ("type", c_int), ("size", c_uint), ("bodies", c_void_p)]
    _fields_.append(("context", c_void_p))


class NodeParameters(ctypes.Structure):
    """CUgraphNodeParams, which has 256 bytes."""

    _fields_ = [("type", c_int), ("reserved", c_int * 3), ("conditional", ConditionalParameters)]
    _fields_.append(("rest", ctypes.c_char * (256 - 16 - ctypes.sizeof(ConditionalParameters))))


@pytest.mark.driver(12040, "conditional nodes")
class TestConditions:
    CONDITIONAL = 13  # CU_GRAPH_NODE_TYPE_CONDITIONAL
    DEFAULT = 1  # CU_GRAPH_COND_ASSIGN_DEFAULT

    def handle(self, cuda, graph):
        """A new handle of the graph, in the current context; a call without a context is refused."""
        handle, context = c_ulonglong(), c_void_p()
        assert cuda.cuCtxGetCurrent(byref(context)) == SUCCESS
        call = cuda.cuGraphConditionalHandleCreate
        assert call(byref(handle), graph, None, 1, self.DEFAULT) == INVALID_CONTEXT
        assert call(byref(handle), graph, context, 1, self.DEFAULT) == SUCCESS
        return handle.value

    def add(self, cuda, graph, handle):
        """Adds an if node with this handle to the graph; returns (result, the graph that is its body, or
        None). A node without a context is refused."""
        context, node = c_void_p(), c_void_p()
        assert cuda.cuCtxGetCurrent(byref(context)) == SUCCESS
        parameters = NodeParameters(self.CONDITIONAL)
        parameters.conditional = ConditionalParameters(handle, 0, 1, None, context)
        call = cuda.cuGraphAddNode_v2
        result = call(byref(node), graph, None, None, c_size_t(0), byref(parameters))
        parameters.conditional.context = None
        places = byref(c_void_p()), graph, None, None, c_size_t(0), byref(parameters)
        assert call(*places) == INVALID_CONTEXT
        if result:
            return result, None
        return result, c_void_p(ctypes.cast(parameters.conditional.bodies, ctypes.POINTER(c_void_p))[0])

    def test_bodies_take_handles_of_the_graphs_around_them(self, cuda):
        graph, made, body = c_void_p(), c_void_p(), None
        assert cuda.cuGraphCreate(byref(graph), 0) == SUCCESS
        handles = [self.handle(cuda, graph) for _ in range(3)]
        for handle in handles:
            result, body = self.add(cuda, body or graph, handle)
            assert result == SUCCESS
        assert self.add(cuda, body, handles[0])[0] == INVALID_VALUE  # this handle has a node already
        assert cuda.cuGraphInstantiateWithFlags(byref(made), graph, c_ulonglong(0)) == SUCCESS
        assert cuda.cuGraphLaunch(made, None) == SUCCESS
        assert cuda.cuCtxSynchronize() == SUCCESS
        assert cuda.cuGraphExecDestroy(made) == SUCCESS
        assert cuda.cuGraphDestroy(graph) == SUCCESS


# CUstreamAttrID: synchronization policy, priority, map of memory synchronization domains, domain.
WAIT_POLICY, PRIORITY, FENCE_DOMAINS, FENCE_DOMAIN = 3, 8, 9, 10
UNSET, SPIN, BLOCKING = -1, 2, 4  # values of WAIT_POLICY  # values of WAIT_POLICY


@pytest.mark.driver(11000, "attributes of streams")
class TestStreamAttributes:
    def get(self, cuda, stream, number):
        """The first word of the attribute's value; asserts that the words after it are not written."""
        value = (c_int * 16)(0, *[7] * 15)
        assert cuda.cuStreamGetAttribute(stream, number, value) == SUCCESS
        assert value[1:] == [7] * 15
        return value[0]

    def set(self, cuda, stream, number, value):
        return cuda.cuStreamSetAttribute(stream, number, (c_int * 16)(value))

    def test_what_is_set_comes_back(self, cuda):
        stream, other = Capture.new_stream(cuda), Capture.new_stream(cuda)
        assert self.get(cuda, stream, WAIT_POLICY) == UNSET
        for policy in (SPIN, BLOCKING):
            assert self.set(cuda, stream, WAIT_POLICY, policy) == SUCCESS
            assert self.get(cuda, stream, WAIT_POLICY) == policy
        assert self.get(cuda, other, WAIT_POLICY) == UNSET
        assert cuda.cuStreamCopyAttributes(other, stream) == SUCCESS
        assert self.get(cuda, other, WAIT_POLICY) == BLOCKING
        assert self.get(cuda, stream, PRIORITY) == 0
        for made in (stream, other):
            cuda.cuStreamDestroy_v2(made)

    def test_priorities_are_clamped_to_the_range_of_the_device(self, cuda):
        stream = Capture.new_stream(cuda)
        for asked, given in ((-3, -3), (5, 0)):
            assert self.set(cuda, stream, PRIORITY, asked) == SUCCESS
            assert self.get(cuda, stream, PRIORITY) == given
        cuda.cuStreamDestroy_v2(stream)

    def test_domains_of_fences(self, cuda):
        """The domain is 0 or 1; the map has a byte for each of both: 0x100 maps 0 to 0 and 1 to 1."""
        stream = Capture.new_stream(cuda)
        assert self.get(cuda, stream, FENCE_DOMAIN) == 0
        assert self.get(cuda, stream, FENCE_DOMAINS) == 0x100
        assert self.set(cuda, stream, FENCE_DOMAIN, 1) == SUCCESS
        assert self.set(cuda, stream, FENCE_DOMAIN, 7) == INVALID_VALUE
        assert self.get(cuda, stream, FENCE_DOMAIN) == 1
        assert self.set(cuda, stream, FENCE_DOMAINS, 0) == SUCCESS
        assert self.get(cuda, stream, FENCE_DOMAINS) == 0
        cuda.cuStreamDestroy_v2(stream)

    def test_unknown_attributes_and_values_are_refused(self, cuda):
        stream = Capture.new_stream(cuda)
        assert self.set(cuda, stream, WAIT_POLICY, 99) == INVALID_VALUE
        assert self.set(cuda, stream, 200, 1) == INVALID_VALUE
        assert cuda.cuStreamGetAttribute(stream, 200, (c_int * 16)()) == INVALID_VALUE
        cuda.cuStreamDestroy_v2(stream)


@pytest.mark.driver(12050, "events of contexts")
class TestEventsOfContexts:
    @pytest.fixture
    def context(self, cuda):
        context = c_void_p()
        assert cuda.cuCtxGetCurrent(byref(context)) == SUCCESS
        return context

    @pytest.fixture
    def event(self, cuda):
        event = c_void_p()
        assert cuda.cuEventCreate(byref(event), 2) == SUCCESS
        yield event
        assert cuda.cuEventDestroy_v2(event) == SUCCESS

    @pytest.fixture
    def held(self, cuda):
        """A stream that waits until go() writes a word in host memory."""
        word = drv.pagelocked_zeros(1, np.uint32, mem_flags=drv.host_alloc_flags.DEVICEMAP)
        stream, address = Capture.new_stream(cuda), c_ulonglong(int(word.base.get_device_pointer()))
        assert cuda.cuStreamWaitValue32_v2(stream, address, c_uint(1), 1) == SUCCESS
        stream.go = lambda: word.fill(1)
        yield stream
        stream.go()
        assert cuda.cuCtxSynchronize() == SUCCESS
        assert cuda.cuStreamDestroy_v2(stream) == SUCCESS

    def test_an_event_recorded_in_a_context_follows_all_its_streams(self, cuda, context, event, held):
        assert cuda.cuCtxRecordEvent(context, event) == SUCCESS
        assert cuda.cuEventQuery(event) == NOT_READY
        held.go()
        assert cuda.cuEventSynchronize(event) == SUCCESS

    def test_all_streams_of_a_context_wait_for_an_event(self, cuda, context, event, held):
        """A stream that has no work yet is done; work that comes later waits for the event."""
        streams = [Capture.new_stream(cuda) for _ in range(2)]
        assert cuda.cuEventRecord(event, held) == SUCCESS
        assert cuda.cuCtxWaitEvent(context, event) == SUCCESS
        streams.append(Capture.new_stream(cuda))  # made after the wait, which holds for it too
        for stream in (*streams, None):
            assert cuda.cuStreamQuery(stream) == cuda.cuStreamSynchronize(stream) == SUCCESS
        later = c_void_p()
        assert cuda.cuEventCreate(byref(later), DISABLE_TIMING) == SUCCESS
        for stream in streams:
            assert cuda.cuEventRecord(later, stream) == SUCCESS
            assert cuda.cuEventQuery(later) == NOT_READY
        held.go()
        for stream in streams:
            assert cuda.cuStreamSynchronize(stream) == SUCCESS
            assert cuda.cuStreamDestroy_v2(stream) == SUCCESS
        assert cuda.cuEventDestroy_v2(later) == SUCCESS

    def test_calls_without_a_context_or_an_event_are_refused(self, cuda, context, event):
        for call in (cuda.cuCtxRecordEvent, cuda.cuCtxWaitEvent):
            assert call(None, event) == INVALID_CONTEXT
        assert cuda.cuCtxRecordEvent(context, None) == INVALID_HANDLE

    def test_captured_streams_refuse(self, cuda, context, event, launch):
        capture = Capture(cuda)
        assert launch(capture.stream) == SUCCESS
        assert cuda.cuCtxRecordEvent(context, event) == CAPTURE_UNSUPPORTED
        assert capture.end() == CAPTURE_INVALIDATED
