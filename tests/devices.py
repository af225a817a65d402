"""Which kind of device the tests run on: the one place that asks. Programs that tests start use it too."""

import os

import pytest

import pycuda.driver as drv
from pycuda._libraries import finding

# For what is refused at loading.
words_are_ours = pytest.mark.cpu("a GPU's compiler has its own words, takes some of it, and at some crashes")


def on_cpu_device():
    drv.init()
    return drv.Device(0).name().startswith("CPU device")


def memory_is_shared():
    """Whether other workers of this run take and give the same device's memory."""
    return not on_cpu_device() and int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1)) > 1


def free_bytes():
    """The free bytes of the device; 0 where other workers share it."""
    return 0 if memory_is_shared() else drv.mem_get_info()[0]


def tries():
    """How often to query the device's free memory: other processes allocate and free on a GPU, and one quiet
    moment is enough."""
    return range(1 if on_cpu_device() else 100)


def needs_library(name):
    """Skips a test on a GPU without this library of NVIDIA's; the CPU device does without it."""
    problem = None if on_cpu_device() else finding.problem(name)
    if problem:
        pytest.skip(f"lib{name} is needed: {problem}")


if __name__ == "__main__":
    print(on_cpu_device())
