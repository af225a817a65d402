"""pycuda.nccl.group with a stand-in for nccl4py: when the group begins and ends, what is kept until then."""

import threading
import weakref

import numpy as np
import pytest

import pycuda.nccl
from pycuda import gpuarray


def names(bindings):
    return [call[0] for call in bindings.calls]


def test_the_group_is_nccls(comm, bindings):
    a, b = gpuarray.zeros(8, np.float32), gpuarray.zeros(8, np.float32)
    with pycuda.nccl.group():
        comm.send(a, 0)
        comm.recv(b, 0)
    assert names(bindings) == ["group_start", "send", "recv", "group_end"]


class Other:
    """Another library's array."""

    def __init__(self, array):
        self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__


@pytest.mark.parametrize("wrap", [lambda array: array, Other], ids=["GPUArray", "another library's"])
def test_memory_is_kept_until_the_group_ends(comm, bindings, wrap):
    address = []
    with pycuda.nccl.group():
        sent = gpuarray.zeros(1000, np.float32)
        address.append(sent.ptr)
        comm.send(wrap(sent), 0)
        del sent
        with pycuda.nccl.group():
            comm.recv(gpuarray.zeros(1000, np.float32), 0)
            address.append(bindings.calls[-1][1])
        others = [gpuarray.zeros(1000, np.float32) for _ in range(4)]
        assert not {*address} & {each.ptr for each in others}
    others += [gpuarray.zeros(1000, np.float32) for _ in range(64)]
    assert {each.ptr for each in others} >= {*address}


def test_a_group_that_fails(comm, bindings):
    a = gpuarray.zeros(8, np.float32)
    dead = weakref.ref(a)
    with pytest.raises(ValueError, match="contiguous"), pycuda.nccl.group():
        comm.send(a, 0)
        comm.send(a[::2], 0)
    assert names(bindings) == ["group_start", "send", "group_end"]
    del a
    assert dead() is None
    comm.send(gpuarray.zeros(8, np.float32), 0)  # belongs to no group
    assert pycuda.nccl._open_group.uses is None


def test_the_end_of_a_group_fails(comm, bindings):
    def fail():
        raise OSError("from NCCL")

    bindings.group_end = fail
    with pytest.raises(OSError, match="from NCCL"), pycuda.nccl.group():
        comm.send(gpuarray.zeros(8, np.float32), 0)
    assert pycuda.nccl._open_group.uses is None


def test_a_group_belongs_to_its_thread(comm, bindings):
    dead = []

    def work():
        a = gpuarray.zeros(8, np.float32)
        comm.send(a, 0)
        dead.append(weakref.ref(a))

    with pycuda.nccl.group():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert dead[0]() is None


@pytest.mark.cpu("on a GPU it is no error")
def test_the_cpu_device_has_no_groups():
    with pytest.raises(RuntimeError, match="NCCL needs NVIDIA's driver"), pycuda.nccl.group():
        pass
