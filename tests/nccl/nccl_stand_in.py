"""In the place of nccl4py, for tests of what pycuda.nccl gives it: NCCL does not run on the CPU device."""

import types

import pycuda.nccl


class Bindings:
    """The functions of nccl.bindings.nccl: keeps the calls."""

    def __init__(self):
        self.calls = []

    def Comm(self, handle):
        return types.SimpleNamespace(handle=handle)

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append((name, *arguments))


def communicator(device):
    """nccl4py's of the second of two ranks, on the device of this number."""
    return types.SimpleNamespace(ptr=77, rank=1, nranks=2, device=types.SimpleNamespace(device_id=device))


def connect(device, bindings):
    """A Communicator of pycuda.nccl, which calls these bindings from now on."""
    pycuda.nccl._bindings = lambda: bindings
    return pycuda.nccl.Communicator(communicator(device))
