"""Where the memory of a pool, or of a graph, may lie, as an H200's driver of CUDA 13.0 answers."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_ulonglong, c_ushort, c_void_p

import pytest

import pycuda.driver as drv

pytestmark = pytest.mark.driver(13000, "managed pools")

SUCCESS, INVALID_VALUE, NOT_SUPPORTED = 0, 1, 801
PINNED, MANAGED = 1, 2
NOWHERE, DEVICE, HOST, HOST_NUMA, HOST_NUMA_CURRENT = range(5)
DESCRIPTOR = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

# (allocation, location, handles), what cuMemPoolCreate answers, and cuGraphAddMemAllocNode.
ANSWERS = [
    (0, DEVICE, 0, INVALID_VALUE, INVALID_VALUE),
    (PINNED, NOWHERE, 0, INVALID_VALUE, INVALID_VALUE),
    (PINNED, DEVICE, 0, SUCCESS, SUCCESS),
    (PINNED, DEVICE, DESCRIPTOR, SUCCESS, NOT_SUPPORTED),
    (PINNED, HOST, 0, SUCCESS, NOT_SUPPORTED),
    (PINNED, HOST, DESCRIPTOR, INVALID_VALUE, INVALID_VALUE),
    (PINNED, HOST_NUMA, 0, SUCCESS, NOT_SUPPORTED),
    (PINNED, HOST_NUMA, DESCRIPTOR, SUCCESS, NOT_SUPPORTED),
    (PINNED, HOST_NUMA_CURRENT, 0, INVALID_VALUE, INVALID_VALUE),
    (PINNED, HOST_NUMA_CURRENT, DESCRIPTOR, INVALID_VALUE, INVALID_VALUE),
    (MANAGED, NOWHERE, 0, SUCCESS, NOT_SUPPORTED),
    (MANAGED, DEVICE, 0, SUCCESS, SUCCESS),
    (MANAGED, DEVICE, DESCRIPTOR, INVALID_VALUE, INVALID_VALUE),
    (MANAGED, HOST, 0, SUCCESS, NOT_SUPPORTED),
    (MANAGED, HOST, DESCRIPTOR, INVALID_VALUE, INVALID_VALUE),
    (MANAGED, HOST_NUMA, 0, SUCCESS, NOT_SUPPORTED),
    (MANAGED, HOST_NUMA_CURRENT, 0, SUCCESS, NOT_SUPPORTED),
]


class Location(ctypes.Structure):
    _fields_ = [("type", c_int), ("id", c_int)]


class Properties(ctypes.Structure):
    _fields_ = [("allocation", c_int), ("handles", c_int), ("location", Location)]
    _fields_ += [("security", c_void_p), ("max", c_size_t), ("usage", c_ushort), ("rest", ctypes.c_char * 54)]


class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", c_int)]


class NodeParameters(ctypes.Structure):
    _fields_ = [("properties", Properties), ("access", c_void_p), ("access_count", c_size_t)]
    _fields_ += [("size", c_size_t), ("address", c_ulonglong)]


@pytest.fixture
def cuda(primary_context, driver_library):
    return ctypes.CDLL(driver_library)


@pytest.fixture
def graph(cuda):
    graph = c_void_p()
    assert cuda.cuGraphCreate(byref(graph), 0) == SUCCESS
    yield graph
    assert cuda.cuGraphDestroy(graph) == SUCCESS


def properties(allocation, location, handles):
    return Properties(allocation, handles, Location(location, 0))


@pytest.mark.parametrize(("allocation", "location", "handles", "pool_answer", "node_answer"), ANSWERS)
def test_answers(cuda, graph, allocation, location, handles, pool_answer, node_answer):
    pool, node, asked = c_void_p(), c_void_p(), properties(allocation, location, handles)
    assert cuda.cuMemPoolCreate(byref(pool), byref(asked)) == pool_answer
    if pool_answer == SUCCESS:
        assert cuda.cuMemPoolDestroy(pool) == SUCCESS
    parameters = NodeParameters(asked, size=64)
    add = cuda.cuGraphAddMemAllocNode
    assert add(byref(node), graph, None, c_size_t(0), byref(parameters)) == node_answer
    for place in (DEVICE, HOST):
        access = Access(Location(place, 0), 3)
        parameters = NodeParameters(asked, ctypes.addressof(access), 1, 64)
        assert add(byref(node), graph, None, c_size_t(0), byref(parameters)) == node_answer


@pytest.mark.parametrize("allocation", [PINNED, MANAGED])
def test_a_graph_that_allocates(cuda, graph, allocation):
    """Each launch allocates the memory and frees it."""
    parameters = NodeParameters(properties(allocation, DEVICE, 0), size=4000)
    node, last, made, stream = c_void_p(), c_void_p(), c_void_p(), drv.Stream()
    add = cuda.cuGraphAddMemAllocNode
    assert add(byref(node), graph, None, c_size_t(0), byref(parameters)) == SUCCESS
    again = NodeParameters()
    assert cuda.cuGraphMemAllocNodeGetParams(node, byref(again)) == SUCCESS
    assert (again.address, again.size) == (parameters.address, 4000)
    assert again.properties.allocation == allocation
    free = cuda.cuGraphAddMemFreeNode
    assert free(byref(last), graph, byref(node), c_size_t(1), c_ulonglong(parameters.address)) == SUCCESS
    instantiate = cuda.cuGraphInstantiateWithFlags
    assert instantiate(byref(made), graph, c_ulonglong(0)) == SUCCESS
    for _ in range(2):
        assert cuda.cuGraphLaunch(made, c_void_p(stream.handle)) == SUCCESS
    stream.synchronize()
    assert cuda.cuGraphExecDestroy(made) == SUCCESS


def test_types_of_memory_that_there_are_not(cuda):
    for allocation in 3, 4, 5, 0x7FFFFFFF:
        for location in DEVICE, NOWHERE, HOST:
            asked = properties(allocation, location, 0)
            assert cuda.cuMemPoolCreate(byref(c_void_p()), byref(asked)) == INVALID_VALUE


def attribute(cuda, number, address):
    value = c_ulonglong()
    return cuda.cuPointerGetAttribute(byref(value), number, address), value.value


def test_memory_of_a_graph_has_attributes_from_its_first_launch_on(cuda, graph):
    parameters = NodeParameters(properties(PINNED, DEVICE, 0), size=4000)
    node, made, stream = c_void_p(), c_void_p(), drv.Stream()
    add = cuda.cuGraphAddMemAllocNode
    assert add(byref(node), graph, None, c_size_t(0), byref(parameters)) == SUCCESS
    address = c_ulonglong(parameters.address)
    memory_type, size = 2, 12
    assert attribute(cuda, memory_type, address)[0] == INVALID_VALUE
    instantiate = cuda.cuGraphInstantiateWithFlags
    assert instantiate(byref(made), graph, c_ulonglong(0)) == SUCCESS
    assert attribute(cuda, memory_type, address)[0] == INVALID_VALUE
    assert cuda.cuGraphLaunch(made, c_void_p(stream.handle)) == SUCCESS
    stream.synchronize()
    assert attribute(cuda, memory_type, address) == (SUCCESS, 2)
    assert attribute(cuda, size, address)[0] == SUCCESS
    assert cuda.cuMemFree_v2(address) == SUCCESS
    assert cuda.cuGraphExecDestroy(made) == SUCCESS
