"""Building and running programs whose kernels launch kernels."""

import pycuda.driver as drv
from pycuda.compiler import DynamicSourceModule


def build(source, **more):
    return DynamicSourceModule(source, options=["--fmad=false"], **more)


def run(module, name, out, *args, grid=(1, 1), block=(1, 1, 1)):
    module.get_function(name)(drv.InOut(out), *args, grid=grid, block=block)
    return out
