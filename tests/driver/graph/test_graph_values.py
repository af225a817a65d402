"""Nodes that write words of memory and wait for them (cuGraphAddBatchMemOpNode); results and errors are those
of an H100's driver (580.159)."""

import ctypes
import struct
import time
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

import numpy as np
import pytest

import pycuda.driver as drv

pytestmark = pytest.mark.driver(12030, "captures into a graph")

SUCCESS, INVALID_VALUE, NOT_READY, UPDATE_FAILURE = 0, 1, 600, 910
BATCH_NODE = 12  # CU_GRAPH_NODE_TYPE_BATCH_MEM_OP
PARAMETERS_CHANGED = 5  # CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED
WAIT_32, WRITE_32, WAIT_64, WRITE_64, BARRIER = 1, 2, 4, 5, 6  # CUstreamBatchMemOpType
WAIT_EQUAL = 1  # a flag of a wait: until the word is that value; without it, until it is not smaller


class Params(ctypes.Structure):
    """CUDA_BATCH_MEM_OP_NODE_PARAMS."""

    _fields_ = [("ctx", c_void_p), ("count", c_uint), ("operations", c_void_p), ("flags", c_uint)]


@pytest.fixture
def cuda(primary_context, driver_library):
    return ctypes.CDLL(driver_library)


@pytest.fixture
def words(primary_context):
    return drv.to_device(np.zeros(8, np.uint32))


@pytest.fixture
def graph(cuda, primary_context):
    handle = c_void_p()
    assert cuda.cuGraphCreate(byref(handle), 0) == SUCCESS
    yield handle
    assert cuda.cuGraphDestroy(handle) == SUCCESS


@pytest.fixture
def stream(primary_context):
    return drv.Stream(drv.stream_flags.NON_BLOCKING)


def operation(kind, address, value, flags=0):
    """A CUstreamBatchMemOpParams."""
    return struct.pack("<IIQQIIQQ", kind, 0, address, value, flags, 0, 0, 0)


def batch(*operations, flags=0, context=True, count=None):
    """Params of these operations; count: a number of them that is not theirs."""
    buffer = ctypes.create_string_buffer(b"".join(operations)) if operations else None
    current = c_void_p()
    if context:
        current.value = drv.Context.get_current().handle
    number = len(operations) if count is None else count
    params = Params(current, number, ctypes.cast(buffer, c_void_p) if buffer else None, flags)
    params.buffer = buffer
    return params


def add(cuda, graph, params, after=()):
    """Adds a node that depends on those of `after`; returns the node, or the error code."""
    node, before = c_void_p(), (c_void_p * len(after))(*after)
    code = cuda.cuGraphAddBatchMemOpNode(byref(node), graph, before, c_size_t(len(after)), byref(params))
    return node if code == SUCCESS else code


def instantiate(cuda, graph):
    executable = c_void_p()
    assert cuda.cuGraphInstantiateWithFlags(byref(executable), graph, c_ulonglong(0)) == SUCCESS
    return executable


def launch(cuda, executable, stream, words):
    """Sets the words to 0, launches and waits; returns the list of the words."""
    drv.memset_d32(words, 0, 8)
    drv.Context.synchronize()
    assert cuda.cuGraphLaunch(executable, c_void_p(stream.handle)) == SUCCESS
    stream.synchronize()
    return drv.from_device(words, 8, np.uint32).tolist()


def test_words_are_written(cuda, graph, words, stream):
    at = int(words)
    first = add(cuda, graph, batch(operation(WRITE_32, at + 4, 7), operation(WRITE_32, at + 8, 8)))
    add(cuda, graph, batch(operation(WRITE_64, at + 8, 2**40 + 1)), [first])
    kind = c_int()
    assert cuda.cuGraphNodeGetType(first, byref(kind)) == SUCCESS
    assert kind.value == BATCH_NODE
    executable = instantiate(cuda, graph)
    assert launch(cuda, executable, stream, words) == [0, 7, 1, 256, 0, 0, 0, 0]
    assert cuda.cuGraphExecDestroy(executable) == SUCCESS


def test_parameters_are_read_and_changed(cuda, graph, words, stream):
    """Of the node, and of the executable graph: there the number and kinds of the operations, the context and
    the flags must remain."""
    at, now = int(words), Params()
    given = batch(operation(WRITE_32, at + 4, 7), operation(WRITE_32, at + 8, 8))
    node = add(cuda, graph, given)
    assert cuda.cuGraphBatchMemOpNodeGetParams(node, byref(now)) == SUCCESS
    assert (now.ctx, now.count, now.flags) == (given.ctx, 2, 0)
    assert ctypes.string_at(now.operations, 96) == given.buffer.raw[:96]
    assert cuda.cuGraphBatchMemOpNodeGetParams(node, None) == INVALID_VALUE
    assert cuda.cuGraphBatchMemOpNodeGetParams(None, byref(now)) == INVALID_VALUE
    executable, result = instantiate(cuda, graph), (c_ulonglong * 3)()
    one = batch(operation(WRITE_32, at + 12, 9))
    assert cuda.cuGraphBatchMemOpNodeSetParams(node, byref(one)) == SUCCESS  # not in the executable graph
    assert launch(cuda, executable, stream, words) == [0, 7, 8, 0, 0, 0, 0, 0]
    two = batch(operation(WRITE_32, at + 16, 5), operation(WRITE_32, at + 20, 6))
    change = cuda.cuGraphExecBatchMemOpNodeSetParams
    assert change(executable, node, byref(two)) == SUCCESS
    for wrong in (
        one,
        batch(operation(WRITE_64, at + 16, 5), operation(WRITE_32, at, 1)),
        batch(operation(WRITE_32, at, 5), operation(WRITE_32, at, 6), context=False),
        batch(operation(WRITE_32, at, 5), operation(WRITE_32, at, 6), flags=1),
    ):
        assert change(executable, node, byref(wrong)) == INVALID_VALUE
    assert change(executable, node, None) == INVALID_VALUE
    assert cuda.cuGraphExecUpdate_v2(executable, graph, result) == UPDATE_FAILURE
    assert result[0] & 0xFFFFFFFF == PARAMETERS_CHANGED
    assert launch(cuda, executable, stream, words) == [0, 0, 0, 0, 5, 6, 0, 0]
    assert cuda.cuGraphExecDestroy(executable) == SUCCESS


def test_which_operations_a_node_may_have(cuda, graph, words):
    """At most 255, of a known kind, with known flags, at aligned addresses (which are not otherwise
    checked)."""
    at = int(words)
    write = operation(WRITE_32, at, 1)
    for good in (
        batch(),
        batch(*[write] * 255),
        batch(operation(WRITE_32, 0, 1)),
        batch(operation(BARRIER, 0, 0)),
        batch(operation(WAIT_32, at, 7)),
    ):
        assert isinstance(add(cuda, graph, good), c_void_p)
    for bad in (
        batch(write, flags=1),
        batch(write, context=False),
        batch(*[write] * 256),
        batch(operation(9, at, 1)),
        batch(operation(WRITE_32, at + 2, 1)),
        batch(operation(WRITE_64, at + 4, 1)),
        batch(operation(WRITE_32, at, 1, flags=99)),
        batch(operation(WAIT_32, at, 1, flags=99)),
        batch(count=3),
    ):
        assert add(cuda, graph, bad) == INVALID_VALUE


def test_a_node_waits(cuda, graph, words, stream):
    """A wait node holds the graph until another stream writes the value."""
    at, other = int(words), drv.Stream(drv.stream_flags.NON_BLOCKING)
    add(cuda, graph, batch(operation(WAIT_32, at, 3, flags=WAIT_EQUAL), operation(WRITE_32, at + 4, 4)))
    executable = instantiate(cuda, graph)
    assert cuda.cuGraphLaunch(executable, c_void_p(stream.handle)) == SUCCESS
    time.sleep(0.05)
    assert cuda.cuStreamQuery(c_void_p(stream.handle)) == NOT_READY
    drv.memset_d32_async(words, 3, 1, other)
    stream.synchronize()
    assert drv.from_device(words, 2, np.uint32).tolist() == [3, 4]
    assert cuda.cuGraphExecDestroy(executable) == SUCCESS


def test_captured_operations(cuda, words, stream):
    """Each call becomes a node, with all operations of the call."""
    at, handle = int(words), c_void_p(stream.handle)
    pair = ctypes.create_string_buffer(operation(WRITE_32, at + 4, 7) + operation(WRITE_32, at + 8, 8))
    with stream.capture() as captured:
        assert cuda.cuStreamBatchMemOp_v2(handle, 2, pair, 0) == SUCCESS
        assert cuda.cuStreamWriteValue32_v2(handle, c_ulonglong(at + 12), c_uint(3), c_uint(0)) == SUCCESS
    nodes, count, params = (c_void_p * 4)(), c_size_t(4), Params()
    assert cuda.cuGraphGetNodes(c_void_p(captured.handle), nodes, byref(count)) == SUCCESS
    counts = []
    for node in nodes[: count.value]:
        assert cuda.cuGraphBatchMemOpNodeGetParams(c_void_p(node), byref(params)) == SUCCESS
        counts.append(params.count)
    assert counts == [2, 1]
    assert drv.from_device(words, 8, np.uint32).tolist() == [0] * 8
    ready = captured.instantiate()
    ready.launch(stream)
    stream.synchronize()
    assert drv.from_device(words, 8, np.uint32).tolist() == [0, 7, 8, 3, 0, 0, 0, 0]
