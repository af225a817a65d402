"""Which kind of device the tests run on: the one place that asks. Programs that tests start use it too."""

import pycuda.driver as drv


def on_cpu_device():
    drv.init()
    return drv.Device(0).name().startswith("CPU device")


if __name__ == "__main__":
    print(on_cpu_device())
