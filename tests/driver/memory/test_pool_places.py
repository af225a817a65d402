"""Where the memory of a pool, or of a graph, may lie, as an H200's driver of CUDA 13.0 answers."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_ulonglong, c_ushort, c_void_p
from pathlib import Path

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


@pytest.mark.parametrize("allocation", [PINNED, MANAGED])
def test_what_is_known_of_a_graphs_memory_before_the_first_launch(cuda, graph, allocation):
    parameters, node = NodeParameters(properties(allocation, DEVICE, 0), size=4000), c_void_p()
    add = cuda.cuGraphAddMemAllocNode
    assert add(byref(node), graph, None, c_size_t(0), byref(parameters)) == SUCCESS
    found, memory_type, device = c_int(), 2, 9  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE, _DEVICE_ORDINAL
    address = c_ulonglong(parameters.address)
    assert cuda.cuPointerGetAttribute(byref(found), memory_type, address) == SUCCESS
    assert found.value == 2  # CU_MEMORYTYPE_DEVICE
    assert cuda.cuPointerGetAttribute(byref(found), device, address) == SUCCESS
    assert found.value == 0


UNKNOWN_TYPE = """
import sys
sys.path.insert(0, {folder!r})
from test_pool_places import *
import pycuda.autoinit
import pycuda.cpu
cuda, pool = ctypes.CDLL(pycuda.cpu.path() + "/libcuda.so.1"), c_void_p()
print([cuda.cuMemPoolCreate(byref(pool), byref(properties(type, DEVICE, 0))) for type in range(4)])
"""


@pytest.mark.cpu("the version of a GPU's driver cannot be chosen")
@pytest.mark.parametrize(("version", "managed"), [("13000", SUCCESS), ("12090", NOT_SUPPORTED)])
def test_a_type_of_allocation_that_the_driver_does_not_know(run_python, version, managed):
    program = UNKNOWN_TYPE.format(folder=str(Path(__file__).parent))
    done = run_python(program, env={"PYCUDA_CPU_DRIVER_VERSION": version}, check=True)
    assert done.stdout == f"{[INVALID_VALUE, SUCCESS, managed, NOT_SUPPORTED]}\n"
