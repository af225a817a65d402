"""cuLaunchCooperativeKernelMultiDevice: on one device with the results of an H100's driver (580.159), and on
two devices."""

import ctypes
from ctypes import byref, c_uint, c_ulonglong, c_void_p

import numpy as np
import pytest
from devices import on_cpu_device

import pycuda.driver as drv

SUCCESS, INVALID_VALUE, INVALID_HANDLE, TOO_LARGE = 0, 1, 400, 720
CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED = 900, 901
MODULE = b"""
.version 6.4
.target sm_60
.address_size 64
.visible .entry count(.param .u64 out)
{
    .reg .b64 %rd<2>; .reg .b32 %r<2>;
    ld.param.u64 %rd1, [out];
    atom.global.add.u32 %r1, [%rd1], 1;
    ret;
}
"""


class Launch(ctypes.Structure):
    """CUDA_LAUNCH_PARAMS."""

    _fields_ = [
        ("function", c_void_p),
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared", c_uint),
        ("stream", c_void_p),
        ("parameters", c_void_p),
    ]


class Kernel:
    """A kernel that counts threads, a stream and a counter, in the current context."""

    def __init__(self):
        self.function = drv.module_from_buffer(MODULE).get_function("count")
        self.stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
        self.counter = drv.to_device(np.zeros(1, np.uint32))
        self.address = c_ulonglong(int(self.counter))
        self.pointers = (c_void_p * 1)(ctypes.cast(byref(self.address), c_void_p))

    def launch(self, **changes):
        """A Launch of 2 blocks of 32 threads; changes: other values of its fields."""
        given = {
            "function": self.function.handle,
            "grid": (2, 1, 1),
            "block": (32, 1, 1),
            "stream": self.stream.handle,
            "parameters": ctypes.cast(self.pointers, c_void_p),
        } | changes
        made = Launch(**{k: v for k, v in given.items() if not isinstance(v, tuple)})
        made.grid[:], made.block[:] = given["grid"], given["block"]
        return made

    def count(self):
        """How many threads have run so far, once the stream is done."""
        self.stream.synchronize()
        return int(drv.from_device(self.counter, 1, np.uint32)[0])


def submit(cuda, *launches, flags=0, number=None):
    """The result of the call; number: of launches, where it is not theirs."""
    array = (Launch * len(launches))(*launches) if launches else None
    count = c_uint(len(launches) if number is None else number)
    return cuda.cuLaunchCooperativeKernelMultiDevice(array, count, c_uint(flags))


@pytest.fixture
def cuda(primary_context, driver_library):
    return ctypes.CDLL(driver_library)


def test_one_device(cuda):
    """With each combination of the two flags, which turn synchronization before and after off."""
    kernel = Kernel()
    for turn, flags in enumerate((0, 1, 2, 3)):
        assert submit(cuda, kernel.launch(), flags=flags) == SUCCESS
        assert kernel.count() == 64 * (turn + 1)


def test_wrong_launches_are_refused(cuda):
    kernel = Kernel()
    launch = kernel.launch
    assert submit(cuda, launch(), flags=4) == submit(cuda, launch(), number=0) == INVALID_VALUE
    assert submit(cuda, number=1) == submit(cuda, launch(), launch()) == INVALID_VALUE
    for stream in (None, 1, 2):
        assert submit(cuda, launch(stream=stream)) == INVALID_HANDLE
    assert submit(cuda, launch(function=None)) == INVALID_HANDLE
    assert submit(cuda, launch(grid=(100000, 1, 1))) == TOO_LARGE
    for wrong in ({"block": (2000, 1, 1)}, {"grid": (0, 1, 1)}, {"parameters": None}):
        assert submit(cuda, launch(**wrong)) == INVALID_VALUE
    assert kernel.count() == 0


def test_it_cannot_be_captured(cuda):
    kernel, graph = Kernel(), c_void_p()
    handle = c_void_p(kernel.stream.handle)
    assert cuda.cuStreamBeginCapture_v2(handle, 0) == SUCCESS
    assert submit(cuda, kernel.launch()) == CAPTURE_UNSUPPORTED
    assert cuda.cuStreamEndCapture(handle, byref(graph)) == CAPTURE_INVALIDATED
    assert kernel.count() == 0


def on_two_devices(library):
    """Two kernels on two devices run; two on one device, or of different shapes, are refused."""
    drv.init()
    cuda = ctypes.CDLL(library)
    contexts, kernels = [], []
    for k in range(2):
        contexts.append(drv.Device(k).make_context())
        kernels.append(Kernel())
    first, second = kernels
    assert submit(cuda, first.launch(), second.launch()) == SUCCESS
    assert submit(cuda, first.launch(), first.launch()) == INVALID_VALUE
    assert submit(cuda, first.launch(), second.launch(grid=(1, 1, 1))) == INVALID_VALUE
    assert second.count() == 64
    contexts[1].pop()
    assert first.count() == 64
    contexts[0].pop()


def test_two_devices(run_python, driver_library):
    """Runs on_two_devices() in a process with two devices."""
    if not on_cpu_device() and drv.Device.count() < 2:
        pytest.skip("needs two GPUs")
    folder = __file__.rpartition("/")[0]
    source = f"""
import sys
sys.path.insert(0, {folder!r})
import test_multi_device
test_multi_device.on_two_devices({driver_library!r})
"""
    run_python(source, env={"PYCUDA_CPU_DEVICES": "2"}, check=True)
