"""Operations in the order of streams: with a stand-in whose work is seen in the array."""

import time

import numpy as np
import pytest
from nccl_stand_in import Bindings

import pycuda.driver as drv
import pycuda.nccl
from pycuda import gpuarray

SIZE = 64


class Handle:
    """A stream that is known by its handle, as NCCL knows it."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle


class Writing(Bindings):
    """Receives the number `value`, `late` seconds after the operation has begun."""

    value, late = 1, 0.0

    def recv(self, address, count, type, peer, comm, stream):
        if self.late:
            self.own.launch_host_func(time.sleep, self.late)
        drv.memset_d8_async(address, self.value, count, stream=Handle(stream))


@pytest.fixture
def bindings(monkeypatch):
    bindings = Writing()
    monkeypatch.setattr(pycuda.nccl, "_bindings", lambda: bindings)
    return bindings


@pytest.fixture
def streams():
    return [drv.Stream(drv.stream_flags.NON_BLOCKING) for _ in range(2)]


class Other:
    """Another library's array."""

    def __init__(self, array):
        self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__


def write_late(array, value, stream):
    stream.launch_host_func(time.sleep, 0.05)
    array.fill(value, stream=stream)


def test_it_comes_after_earlier_work_on_the_memory(comm, streams):
    """Which a freed array had, on another stream."""
    pool = drv.DeviceMemoryPool()
    first = gpuarray.empty(SIZE, np.uint8, allocator=pool.allocate)
    address = first.ptr
    write_late(first, 7, streams[0])
    del first
    second = gpuarray.empty(SIZE, np.uint8, allocator=pool.allocate)
    assert second.ptr == address
    comm.recv(second, 0, stream=streams[1])
    drv.Context.synchronize()
    assert {*second.get()} == {1}


def test_later_work_on_the_memory_comes_after_it(comm, bindings, streams):
    """Also in another array, on another stream."""
    bindings.late, bindings.own = 0.05, streams[0]
    pool = drv.DeviceMemoryPool()
    first = gpuarray.empty(SIZE, np.uint8, allocator=pool.allocate)
    address = first.ptr
    comm.recv(first, 0, stream=streams[0])
    del first
    second = gpuarray.empty(SIZE, np.uint8, allocator=pool.allocate)
    assert second.ptr == address
    second.fill(7, stream=streams[1])
    drv.Context.synchronize()
    assert {*second.get()} == {7}


def test_a_captured_operation_keeps_its_memory(comm, streams):
    with streams[0].capture() as graph:
        array = gpuarray.empty(SIZE, np.uint8)
        address = array.ptr
        comm.recv(array, 0, stream=streams[0])
    del array
    assert address not in {gpuarray.empty(SIZE, np.uint8).ptr for _ in range(4)}
    graph.instantiate().launch(streams[0])
    streams[0].synchronize()


def test_the_stream_of_a_with_statement(comm, streams):
    array = gpuarray.zeros(SIZE, np.uint8)
    drv.Context.synchronize()
    streams[0].launch_host_func(time.sleep, 0.05)
    with streams[0]:
        comm.recv(array, 0)
    assert not streams[0].is_done() and streams[1].is_done()
    streams[0].synchronize()
    assert {*array.get()} == {1}
