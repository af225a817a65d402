"""Which kind of device the tests run on, and what follows from that. Programs that tests start
import it too.
"""

import ctypes
import os
import sys
from pathlib import Path

import pytest

import pycuda.driver as drv
from pycuda._compile import libraries
from pycuda._libraries import finding

# A mark for tests of modules that are refused at loading, with our messages.
words_are_ours = pytest.mark.cpu(
    "a GPU's compiler has other messages, takes some of these modules, and crashes at some"
)


# Changes of the environment: two functions that a GPU's driver lacks are hidden; without them a call polls
# what it waits for.
POLLING = {"PYCUDA_FAULT_HIDES": "cuPycudaSetTimeout,cuPycudaCancel"}


def on_cpu_device():
    """Whether device 0 is the CPU device."""
    drv.init()
    return drv.Device(0).name().startswith("CPU device")


def driver_library():
    """The path of the library that is the driver in use. NVIDIA's may be mapped as well as the CPU device:
    NVRTC opens it where there is one.
    """
    on_cpu = on_cpu_device()
    with open("/proc/self/maps") as maps:
        mapped = {line.split()[-1] for line in maps if "/libcuda.so" in line}
    return next(path for path in mapped if hasattr(ctypes.CDLL(path), "cpuDeviceTable") == on_cpu)


def in_nvidias_wheels(pattern):
    """The paths in NVIDIA's wheels that match ("include", "lib/libcudart.so.*"), anywhere in sys.path."""
    return [path for each in map(Path, sys.path) for path in sorted(each.glob(f"nvidia/*/{pattern}"))]


def memory_is_shared():
    """Whether other workers of this run (pytest-xdist) allocate memory of the same device."""
    return not on_cpu_device() and int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1)) > 1


def free_bytes():
    """The free bytes of the device; 0 where other workers share it."""
    return 0 if memory_is_shared() else drv.mem_get_info()[0]


def tries():
    """A range with how often a test may query the device's free memory until it has the expected value: on a
    GPU other processes change it meanwhile.
    """
    return range(1 if on_cpu_device() else 100)


def repeats(count):
    """How often a test does what takes long while other processes use the GPU as well: `count` times on the
    CPU device, a quarter of that on a GPU. Making a context takes seconds then, mapping memory tenths.
    """
    return count if on_cpu_device() else -(-count // 4)


def needs_library(name):
    """Skips a test on a GPU without this library of NVIDIA's. The CPU device does not need it."""
    problem = None if on_cpu_device() else finding.problem(name)
    if problem:
        pytest.skip(f"lib{name} is needed: {problem}")


def needs_cudadevrt():
    """Skips a test on a GPU without libcudadevrt.a, which launches of kernels from kernels need."""
    try:
        libraries.folder(None, "nvcc", "lib%s.a")
    except RuntimeError:
        if not on_cpu_device():
            pytest.skip("libcudadevrt.a is not installed")


if __name__ == "__main__":
    print(on_cpu_device())
