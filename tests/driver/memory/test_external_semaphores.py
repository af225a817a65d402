"""External semaphores, in streams and in graphs. An exported memory can be imported as one: its first word is
the state, 1 when signaled. Results are those of an H100's driver (580)."""

import ctypes
import os
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

import numpy as np
import pytest
from external import (
    INVALID_VALUE,
    NOT_READY,
    NOT_SUPPORTED,
    OPAQUE_FD,
    SUCCESS,
    TIMELINE_FD,
    UNKNOWN,
    External,
)

import pycuda.driver as drv

SIGNAL_NODE, WAIT_NODE = 8, 9  # CUgraphNodeType


class Params(ctypes.Structure):
    """CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS and ..._WAIT_PARAMS, which have one layout."""

    _fields_ = [
        ("value", c_ulonglong),
        ("other", c_ulonglong * 8),
        ("flags", c_uint),
        ("reserved", c_uint * 16),
    ]


class NodeParams(ctypes.Structure):
    """CUDA_EXT_SEM_SIGNAL_NODE_PARAMS and CUDA_EXT_SEM_WAIT_NODE_PARAMS."""

    _fields_ = [
        ("semaphores", ctypes.POINTER(c_void_p)),
        ("params", ctypes.POINTER(Params)),
        ("count", c_uint),
    ]


class Semaphore:
    """A semaphore, and a mapping of its memory by which get() and set() access its word."""

    def __init__(self, external):
        self.cuda, (self.memory, fd) = external.cuda, External.exported()
        result, self.handle = external.import_semaphore(fd)
        assert result == SUCCESS
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)
        result, memory = external.import_memory(self.memory.export_fd())
        assert result == SUCCESS
        self.address = external.mapped(memory)
        assert self.cuda.cuDestroyExternalMemory(memory) == SUCCESS
        self.set(0)

    def set(self, value):
        self.stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
        drv.memset_d32_async(self.address, value, 1, self.stream)
        self.stream.synchronize()

    def get(self):
        word = drv.pagelocked_empty(1, np.uint32)
        drv.memcpy_dtoh_async(word, self.address, self.stream)
        self.stream.synchronize()
        return int(word[0])


@pytest.fixture
def external(primary_context, driver_library):
    return External(ctypes.CDLL(driver_library))


@pytest.fixture
def make(external):
    """Makes semaphores, which are destroyed after the test."""
    made = []

    def make():
        made.append(Semaphore(external))
        return made[-1]

    yield make
    for semaphore in made:
        assert external.cuda.cuDestroyExternalSemaphore(semaphore.handle) == SUCCESS
        external.free(semaphore.address)


@pytest.fixture
def semaphore(make):
    return make()


@pytest.fixture
def stream(primary_context):
    return drv.Stream(drv.stream_flags.NON_BLOCKING)


def arrays(semaphores, **given):
    """(handles, Params with the given values) as arrays, for a call."""
    handles = (c_void_p * len(semaphores))(*(semaphore.handle.value for semaphore in semaphores))
    return handles, (Params * len(semaphores))(*(Params(**given) for _ in semaphores))


def enqueue(call, stream, *semaphores, **given):
    """The result of a call that signals the semaphores in the stream, or waits for them."""
    handles, params = arrays(semaphores, **given)
    return call(handles, params, len(semaphores), c_void_p(stream.handle))


@pytest.fixture
def signal(external):
    return lambda stream, *semaphores, **given: enqueue(
        external.cuda.cuSignalExternalSemaphoresAsync, stream, *semaphores, **given
    )


@pytest.fixture
def wait(external):
    return lambda stream, *semaphores, **given: enqueue(
        external.cuda.cuWaitExternalSemaphoresAsync, stream, *semaphores, **given
    )


@pytest.fixture
def query(external):
    return lambda stream: external.cuda.cuStreamQuery(c_void_p(stream.handle))


class TestImport:
    @pytest.mark.parametrize("kind", [0, 99, *range(2, 9), 10])
    def test_other_kinds_are_refused(self, external, kind):
        other = os.memfd_create("other")
        expected = INVALID_VALUE if kind in (0, 99) else NOT_SUPPORTED
        assert external.import_semaphore(other, kind)[0] == external.import_semaphore(-1, kind)[0] == expected
        os.close(other)

    def test_descriptors_that_are_not_of_the_drivers_memory(self, external):
        other = os.memfd_create("other")
        assert external.import_semaphore(other)[0] == external.import_semaphore(-1)[0] == UNKNOWN
        assert external.import_semaphore(other, TIMELINE_FD)[0] == UNKNOWN
        assert external.import_semaphore(-1, TIMELINE_FD)[0] == INVALID_VALUE
        os.close(other)

    def test_flags_and_null_arguments(self, external):
        kept, fd = External.exported()
        assert external.import_semaphore(fd, OPAQUE_FD, 1)[0] == INVALID_VALUE
        assert external.cuda.cuImportExternalSemaphore(None, None) == INVALID_VALUE
        assert external.cuda.cuDestroyExternalSemaphore(None) == INVALID_VALUE
        os.close(fd)


class TestStreams:
    def test_a_signal_sets_it_and_a_wait_resets_it(self, semaphore, signal, wait, stream):
        other = drv.Stream(drv.stream_flags.NON_BLOCKING)
        assert signal(stream, semaphore) == SUCCESS
        stream.synchronize()
        assert semaphore.get() == 1
        assert wait(other, semaphore) == SUCCESS
        other.synchronize()
        assert semaphore.get() == 0

    def test_later_work_of_the_stream_waits(self, semaphore, signal, wait, query, stream):
        held = drv.Stream(drv.stream_flags.NON_BLOCKING)
        word = drv.mem_alloc(4)
        drv.memset_d32(int(word), 1, 1)
        assert wait(held, semaphore) == SUCCESS
        drv.memset_d32_async(int(word), 2, 1, held)
        assert query(held) == NOT_READY
        assert signal(stream, semaphore) == SUCCESS
        held.synchronize()
        found = np.zeros(1, np.uint32)
        drv.memcpy_dtoh(found, word)
        assert found[0] == 2

    def test_signals_are_not_counted(self, semaphore, signal, wait, query, stream):
        """Two signals satisfy one wait."""
        held = drv.Stream(drv.stream_flags.NON_BLOCKING)
        assert signal(stream, semaphore) == signal(stream, semaphore) == SUCCESS
        stream.synchronize()
        assert wait(held, semaphore) == SUCCESS
        held.synchronize()
        assert wait(held, semaphore) == SUCCESS
        assert query(held) == NOT_READY
        assert signal(stream, semaphore) == SUCCESS
        held.synchronize()

    def test_only_the_value_1_is_a_signal(self, semaphore, wait, query, stream):
        semaphore.set(0xFFFFFFFF)
        assert wait(stream, semaphore) == SUCCESS
        assert query(stream) == NOT_READY
        semaphore.set(1)
        stream.synchronize()

    def test_several_semaphores_in_one_call(self, make, signal, wait, stream):
        pair = make(), make()
        assert signal(stream, *pair) == SUCCESS
        stream.synchronize()
        assert [semaphore.get() for semaphore in pair] == [1, 1]
        assert wait(stream, *pair) == SUCCESS
        stream.synchronize()
        assert [semaphore.get() for semaphore in pair] == [0, 0]

    def test_null_arguments_and_flags_are_refused(self, external, semaphore, signal, wait, stream):
        handles, params = arrays([semaphore])
        for call in (
            external.cuda.cuSignalExternalSemaphoresAsync,
            external.cuda.cuWaitExternalSemaphoresAsync,
        ):
            for given in ((None, None, 0), (handles, params, 0), (None, params, 1), (handles, None, 1)):
                assert call(*given, c_void_p(stream.handle)) == INVALID_VALUE
        for call in (signal, wait):
            assert call(stream, semaphore, flags=1) == INVALID_VALUE


class Graph:
    def __init__(self, cuda):
        self.cuda, self.handle, self.exec = cuda, c_void_p(), c_void_p()
        assert cuda.cuGraphCreate(byref(self.handle), 0) == SUCCESS

    def add(self, kind, semaphores, before=None):
        """A new node that does "Signal" or "Wait"; before: the node that it depends on."""
        node, (handles, params) = c_void_p(), arrays(semaphores, value=5)
        given = NodeParams(handles, params, len(semaphores))
        add = getattr(self.cuda, f"cuGraphAddExternalSemaphores{kind}Node")
        edges = byref(before) if before else None
        assert add(byref(node), self.handle, edges, c_size_t(before is not None), byref(given)) == SUCCESS
        return node

    def set(self, name, *call, semaphores):
        """The result of the function of that name, with these arguments and the parameters of the
        semaphores."""
        handles, params = arrays(semaphores)
        return getattr(self.cuda, name)(*call, byref(NodeParams(handles, params, len(semaphores))))

    def launch(self, stream):
        if not self.exec:
            assert (
                self.cuda.cuGraphInstantiateWithFlags(byref(self.exec), self.handle, c_ulonglong(0))
                == SUCCESS
            )
        assert self.cuda.cuGraphLaunch(self.exec, c_void_p(stream.handle)) == SUCCESS


@pytest.fixture
def graph(external):
    graph = Graph(external.cuda)
    yield graph
    if graph.exec:
        assert graph.cuda.cuGraphExecDestroy(graph.exec) == SUCCESS
    assert graph.cuda.cuGraphDestroy(graph.handle) == SUCCESS


def type_of(cuda, node):
    kind = c_int()
    assert cuda.cuGraphNodeGetType(node, byref(kind)) == SUCCESS
    return kind.value


class TestGraphs:
    @pytest.mark.parametrize("kind, number", [("Signal", SIGNAL_NODE), ("Wait", WAIT_NODE)])
    def test_type_and_parameters_of_a_node(self, external, graph, semaphore, kind, number):
        node, found = graph.add(kind, [semaphore]), NodeParams()
        assert type_of(external.cuda, node) == number
        get = getattr(external.cuda, f"cuGraphExternalSemaphores{kind}NodeGetParams")
        assert get(node, byref(found)) == SUCCESS
        assert (found.semaphores[0], found.params[0].value, found.count) == (semaphore.handle.value, 5, 1)

    def test_calls_for_waits_refuse_a_signal_node(self, external, graph, semaphore):
        node, name = graph.add("Signal", [semaphore]), "cuGraphExternalSemaphoresWaitNode"
        assert getattr(external.cuda, name + "GetParams")(node, byref(NodeParams())) == INVALID_VALUE
        assert graph.set(name + "SetParams", node, semaphores=[semaphore]) == INVALID_VALUE

    def test_a_launch_signals_and_waits(self, graph, semaphore, stream, query):
        graph.add("Wait", [semaphore], graph.add("Signal", [semaphore]))
        for _ in range(2):
            graph.launch(stream)
            stream.synchronize()
            assert semaphore.get() == 0

    def test_a_launch_waits_for_a_signal_from_outside(self, graph, semaphore, stream, query):
        graph.add("Wait", [semaphore])
        graph.launch(stream)
        assert query(stream) == NOT_READY
        semaphore.set(1)
        stream.synchronize()

    def test_parameters_are_changed(self, graph, make, stream):
        """Of the node, before the graph is instantiated; then of the executable graph, where the number must
        remain."""
        first, second = make(), make()
        node = graph.add("Signal", [first])
        assert graph.set("cuGraphExternalSemaphoresSignalNodeSetParams", node, semaphores=[second]) == SUCCESS
        graph.launch(stream)
        stream.synchronize()
        assert (first.get(), second.get()) == (0, 1)
        set_in_exec = "cuGraphExecExternalSemaphoresSignalNodeSetParams"
        assert graph.set(set_in_exec, graph.exec, node, semaphores=[first]) == SUCCESS
        assert graph.set(set_in_exec, graph.exec, node, semaphores=[first, second]) == INVALID_VALUE
        graph.launch(stream)
        stream.synchronize()
        assert first.get() == 1

    def test_a_clone_signals(self, external, graph, semaphore, stream):
        """A signal node still works in a clone of its graph."""
        graph.add("Signal", [semaphore])
        clone = Graph.__new__(Graph)
        clone.cuda, clone.handle, clone.exec = graph.cuda, c_void_p(), c_void_p()
        assert graph.cuda.cuGraphClone(byref(clone.handle), graph.handle) == SUCCESS
        clone.launch(stream)
        stream.synchronize()
        assert semaphore.get() == 1
        assert graph.cuda.cuGraphExecDestroy(clone.exec) == SUCCESS
        assert graph.cuda.cuGraphDestroy(clone.handle) == SUCCESS

    def test_captured_calls(self, external, semaphore, signal, wait, stream):
        cuda, captured = external.cuda, c_void_p()
        assert cuda.cuStreamBeginCapture_v2(c_void_p(stream.handle), 2) == SUCCESS
        assert signal(stream) == INVALID_VALUE  # which does not end the capture
        assert signal(stream, semaphore) == wait(stream, semaphore) == SUCCESS
        assert cuda.cuStreamEndCapture(c_void_p(stream.handle), byref(captured)) == SUCCESS
        count, nodes = c_size_t(4), (c_void_p * 4)()
        assert cuda.cuGraphGetNodes(captured, nodes, byref(count)) == SUCCESS
        kinds = [type_of(cuda, c_void_p(node)) for node in nodes[: count.value]]
        assert sorted(kinds) == [SIGNAL_NODE, WAIT_NODE]
        assert cuda.cuGraphDestroy(captured) == SUCCESS
