"""Fills and copies within the device, on the default stream: they are queued, and the program goes on."""

import pytest
from devices import POLLING

DRIVERS = {"as it is": {}, "polling": POLLING}
PROGRAM = '''
import threading
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from devices import on_cpu_device
from pycuda import gpuarray

host = np.arange(1024, dtype=np.uint8)
one, two = drv.to_device(host), drv.mem_alloc(1024)
array = drv.np_to_array(host.reshape(32, 32), "C")
other = drv.np_to_array(np.zeros((32, 32), np.uint8), "C")

def shaped(kind, **sides):
    copy = kind()
    for name, value in sides.items():
        getattr(copy, "set_" + name)(value)
    copy.width_in_bytes = copy.height = 32
    copy.src_pitch = copy.dst_pitch = 32
    if kind is drv.Memcpy3D:
        copy.depth, copy.src_height, copy.dst_height = 1, 32, 32
        return copy
    return lambda: copy(aligned=True)

FILLS = {
    "d8": lambda: drv.memset_d8(two, 1, 1024),
    "d16": lambda: drv.memset_d16(two, 1, 512),
    "d32": lambda: drv.memset_d32(two, 1, 256),
    "2d8": lambda: drv.memset_d2d8(two, 32, 1, 32, 32),
    "2d16": lambda: drv.memset_d2d16(two, 32, 1, 16, 32),
    "2d32": lambda: drv.memset_d2d32(two, 32, 1, 8, 32),
    "zeros": lambda: gpuarray.zeros(1000, np.float32),
}
COPIES = {
    "dtod": lambda: drv.memcpy_dtod(two, one, 1024),
    "atod": lambda: drv.memcpy_atod(two, array, 0, 32),
    "dtoa": lambda: drv.memcpy_dtoa(other, 0, one, 32),
    "atoa": lambda: drv.memcpy_atoa(other, 0, array, 0, 32),
    "2D": shaped(drv.Memcpy2D, src_device=one, dst_device=two),
    "2D from array": shaped(drv.Memcpy2D, src_array=array, dst_device=two),
    "3D": shaped(drv.Memcpy3D, src_device=one, dst_device=two),
}
# The CPU device makes a copy before the call returns.
CALLS = FILLS if on_cpu_device() else FILLS | COPIES
for call in CALLS.values():  # a GPU loads code for some
    call()

def waits(call):
    """Whether the call returns only when the work that was queued before it is done."""
    drv.Context.synchronize()
    opened, passed = threading.Event(), threading.Event()
    def hold():
        opened.wait(2)
        passed.set()
    drv.Stream().launch_host_func(hold)
    call()
    opened.set()
    return passed.is_set()

print(*(name for name, call in CALLS.items() if waits(call)))
'''


@pytest.mark.parametrize("driver", DRIVERS)
def test_nothing_waits(run_python, driver):
    done = run_python(PROGRAM, env=DRIVERS[driver], check=True)
    assert done.stdout.split() == []
