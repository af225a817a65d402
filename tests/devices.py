"""Which kind of device the tests run on: the one place that asks. Programs that tests start use it too."""

import pytest

import pycuda.driver as drv

# For what is refused at loading.
words_are_ours = pytest.mark.cpu("a GPU's compiler has its own words, takes some of it, and at some crashes")


def on_cpu_device():
    drv.init()
    return drv.Device(0).name().startswith("CPU device")


def tries():
    """To look at the device's free memory: others take and give a GPU's; there one quiet moment is enough."""
    return range(1 if on_cpu_device() else 100)


if __name__ == "__main__":
    print(on_cpu_device())
