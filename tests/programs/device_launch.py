"""Building and running programs whose kernels launch kernels."""

import pycuda.driver as drv
from pycuda.compiler import DynamicSourceModule


def build(source, **more):
    """The module of a source whose kernels launch kernels; `more` goes to DynamicSourceModule."""
    return DynamicSourceModule(source, options=["--fmad=false"], **more)


def run(module, name, out, *args, grid=(1, 1), block=(1, 1, 1)):
    """Launches a kernel that gets `out` as its first argument; returns `out` as the kernel left it."""
    module.get_function(name)(drv.InOut(out), *args, grid=grid, block=block)
    return out
