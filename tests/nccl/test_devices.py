"""Arrays of another device than the communicator's: refused whatever peer access there is."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray


def assert_refused(comm, mine, theirs):
    """Every operation with the second array raises an error that names both devices and what to do."""
    for call in (
        lambda: comm.send(theirs, 0), lambda: comm.recv(theirs, 0), lambda: comm.gather(theirs, None, 0),
        lambda: comm.broadcast(mine, theirs, 1), lambda: comm.allreduce(theirs, mine, 0),
        lambda: comm.allreduce(mine, theirs, 0), lambda: comm.alltoall(theirs, mine),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"is on device 1.* is on device 0.* to_device\(0\)"):
            call()


def check_refusals(peer_access):
    from nccl_stand_in import Bindings, connect

    contexts = [drv.Device(number).retain_primary_context() for number in range(2)]
    for here, there in (contexts, contexts[::-1]) * peer_access:
        with here:
            drv.Context.enable_peer_access(there)
    arrays = []
    for context in contexts:
        with context:
            arrays.append(gpuarray.zeros(8, np.float32))

    class Other:  # another library's array
        __cuda_array_interface__ = arrays[1].__cuda_array_interface__

    bindings = Bindings()
    comm = connect(0, bindings)
    with contexts[0]:
        mine, theirs = arrays
        if peer_access:
            assert ((mine + theirs).get() == 0).all()  # kernels may use both
        for array in [theirs, theirs[:]] + [Other()] * peer_access:
            assert_refused(comm, mine, array)
        comm.allreduce(mine, mine, 0)
        comm.send(arrays[1][:0], 0)  # nothing of it is read
    with contexts[1], pytest.raises(RuntimeError, match="the context of the communicator's device"):
        comm.send(mine, 0)
    assert [call[0] for call in bindings.calls] == ["all_reduce", "send"]


def test_refusals(on_two_devices):
    on_two_devices(check_refusals, False)


def test_refusals_with_peer_access(on_two_devices):
    on_two_devices(check_refusals, True)
