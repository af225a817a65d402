"""Host time of one launch: ours, raw C on the same function, and every peer that is installed."""

import ctypes

import numpy as np
from common import build_raw, burst, loaded_library, table

import pycuda.autoinit
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

SOURCE = """
__global__ void none() { }
__global__ void five(float *a, float *b, float *c, int n, int m) { }
"""


def raw_times(functions, arrays):
    """Nanoseconds of cuLaunchKernel from C without arguments and with five."""
    raw, driver = build_raw(), loaded_library("libcuda.so")
    values = [ctypes.c_uint64(int(array.gpudata)) for array in arrays] + [ctypes.c_int(3), ctypes.c_int(4)]
    params = (ctypes.c_void_p * 5)(*[ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in values])

    def measure(function, params):
        return raw.raw_launch(driver.cuLaunchKernel, driver.cuCtxSynchronize, ctypes.c_void_p(function.handle),
                              1, 32, params, 400, 25)

    return measure(functions[0], None), measure(functions[1], params)


def our_times(none, five, arrays):
    a, b, c = arrays
    n, m = np.int32(3), np.int32(4)
    block, grid = (32, 1, 1), (1, 1)
    none.prepare("")
    five.prepare("PPPii")
    pa, pb, pc = a.gpudata, b.gpudata, c.gpudata
    wait = drv.Context.synchronize
    return [
        ("pycuda f()", 0, burst(lambda: none(block=block, grid=grid), wait)),
        ("pycuda f(3 arrays, 2 int32)", 1, burst(lambda: five(a, b, c, n, m, block=block, grid=grid), wait)),
        ("pycuda prepared_call()", 0, burst(lambda: none.prepared_call(grid, block), wait)),
        ("pycuda prepared_call(5)", 1, burst(lambda: five.prepared_call(grid, block, pa, pb, pc, 3, 4), wait)),
        ("pycuda prepared_async_call(5)", 1,
         burst(lambda: five.prepared_async_call(grid, block, None, pa, pb, pc, 3, 4), wait)),
    ]


def cupy_times():
    try:
        import cupy
    except ImportError:
        return []
    none = cupy.RawKernel('extern "C" __global__ void none() { }', "none")
    five = cupy.RawKernel('extern "C" __global__ void five(float *a, float *b, float *c, int n, int m) { }', "five")
    a, b, c = (cupy.zeros(1024, cupy.float32) for _ in range(3))
    wait = cupy.cuda.runtime.deviceSynchronize
    n, m = np.int32(3), np.int32(4)
    return [("CuPy RawKernel()", 0, burst(lambda: none((1,), (32,), ()), wait)),
            ("CuPy RawKernel(5)", 1, burst(lambda: five((1,), (32,), (a, b, c, n, m)), wait))]


def cuda_core_times():
    try:
        from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    except ImportError:
        return []
    device = Device()
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(arch=f"sm_{device.arch}")
    module = Program('extern "C" __global__ void none() { } extern "C" __global__ void five(float *a, float *b, '
                     "float *c, int n, int m) { }", code_type="c++", options=options).compile("cubin")
    none, five = module.get_kernel("none"), module.get_kernel("five")
    config = LaunchConfig(grid=1, block=32)
    pointers = [int(gpuarray.empty(1024, np.float32).gpudata) for _ in range(3)]
    args = [*pointers, np.int32(3), np.int32(4)]
    return [("cuda.core launch()", 0, burst(lambda: launch(stream, config, none), stream.sync)),
            ("cuda.core launch(5)", 1, burst(lambda: launch(stream, config, five, *args), stream.sync))]


def main():
    module = SourceModule(SOURCE)
    none, five = module.get_function("none"), module.get_function("five")
    arrays = [gpuarray.zeros(1024, np.float32) for _ in range(3)]
    floors = raw_times((none, five), arrays)
    measured = our_times(none, five, arrays)
    for peer in (cupy_times, cuda_core_times):
        measured += peer()
    again = raw_times((none, five), arrays)
    floors = [min(pair) for pair in zip(floors, again)]
    rows = [("raw C, no argument", f"{floors[0] / 1e3:.2f}", "1.00", "0"),
            ("raw C, 5 arguments", f"{floors[1] / 1e3:.2f}", "1.00", "0")]
    rows += [(name, f"{time / 1e3:.2f}", f"{time / floors[which]:.2f}", f"{time - floors[which]:.0f}")
             for name, which, time in measured]
    empty = burst(lambda: None, lambda: None)
    rows.append(("(an empty Python lambda)", f"{empty / 1e3:.2f}", "", ""))
    table("Host time of one launch", ["call", "us", "x raw C", "ours, ns"], rows)


if __name__ == "__main__":
    print(pycuda.autoinit.device.name())
    main()
