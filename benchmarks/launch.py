"""Host time of one launch: ours, raw C on the same function, and every peer that is installed.

PyCUDA has our package's name, so it runs in a process of its own: UPSTREAM_PYTHON names an interpreter that
has it.
"""

import ctypes
import statistics
import sys

import numpy as np
from common import build_raw, burst, driver_library, rounds, table, upstream, upstream_version

import pycuda.autoprimaryctx
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

SOURCE = """
__global__ void none() { }
__global__ void five(float *a, float *b, float *c, int n, int m) { }
"""


def raw_measures(functions, arrays):
    """{name: measure} of cuLaunchKernel from C, on the functions without arguments and with five."""
    raw, driver = build_raw(), driver_library()
    values = [ctypes.c_uint64(int(array.gpudata)) for array in arrays] + [ctypes.c_int(3), ctypes.c_int(4)]
    params = (ctypes.c_void_p * 5)(*[ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in values])

    def measure(function, params):
        return raw.raw_launch(
            driver.cuLaunchKernel,
            driver.cuCtxSynchronize,
            ctypes.c_void_p(function.handle),
            1,  # blocks
            32,  # threads of a block
            params,
            400,  # launches in a round
            1,  # rounds
        )

    return {
        "raw C, no argument": lambda keep=values: measure(functions[0], None),
        "raw C, 5 arguments": lambda keep=values: measure(functions[1], params),
    }


def pycuda_measures(none, five, arrays):
    """{name: measure} of ours or of PyCUDA, whichever is imported as pycuda."""
    a, b, c = arrays
    n, m = np.int32(3), np.int32(4)
    block, grid = (32, 1, 1), (1, 1)
    none.prepare("")
    five.prepare("PPPii")
    pa, pb, pc = a.gpudata, b.gpudata, c.gpudata
    calls = {
        "f()": lambda: none(block=block, grid=grid),
        "f(3 arrays, 2 int32)": lambda: five(a, b, c, n, m, block=block, grid=grid),
        "prepared_call()": lambda: none.prepared_call(grid, block),
        "prepared_call(5)": lambda: five.prepared_call(grid, block, pa, pb, pc, 3, 4),
        "prepared_async_call(5)": lambda: five.prepared_async_call(grid, block, None, pa, pb, pc, 3, 4),
    }
    return {name: lambda call=call: burst(call, drv.Context.synchronize) for name, call in calls.items()}


def upstream_measures(names):
    """{name: measure} of PyCUDA in its own process, for the names of pycuda_measures; empty without
    PyCUDA.
    """
    ask = upstream(__file__)
    version = upstream_version()
    return {f"PyCUDA {version} {name}": lambda name=name: ask(name) for name in names} if ask else {}


def serve():
    """Prints the nanoseconds of each measure whose name it reads. Runs in PyCUDA's interpreter."""
    measures = pycuda_measures(*kernels())
    for line in sys.stdin:
        print(measures[line.strip()](), flush=True)


def cupy_measures():
    """{name: measure} of CuPy, empty if it is not installed."""
    try:
        import cupy
    except ImportError:
        return {}
    none = cupy.RawKernel('extern "C" __global__ void none() { }', "none")
    five = cupy.RawKernel(
        'extern "C" __global__ void five(float *a, float *b, float *c, int n, int m) { }', "five"
    )
    a, b, c = (cupy.zeros(1024, cupy.float32) for _ in range(3))
    wait = cupy.cuda.runtime.deviceSynchronize
    n, m = np.int32(3), np.int32(4)
    return {
        "CuPy RawKernel()": lambda: burst(lambda: none((1,), (32,), ()), wait),
        "CuPy RawKernel(5)": lambda: burst(lambda: five((1,), (32,), (a, b, c, n, m)), wait),
    }


def cuda_core_measures():
    """{name: measure} of cuda.core, empty if it is not installed."""
    try:
        from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    except ImportError:
        return {}
    device = Device()
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(arch=f"sm_{device.arch}")
    module = Program(
        'extern "C" __global__ void none() { } extern "C" __global__ void five(float *a, float *b, '
        "float *c, int n, int m) { }",
        code_type="c++",
        options=options,
    ).compile("cubin")
    none, five = module.get_kernel("none"), module.get_kernel("five")
    config = LaunchConfig(grid=1, block=32)
    memory = [gpuarray.empty(1024, np.float32) for _ in range(3)]
    args = [*(int(array.gpudata) for array in memory), np.int32(3), np.int32(4)]
    return {
        "cuda.core launch()": lambda: burst(lambda: launch(stream, config, none), stream.sync),
        "cuda.core launch(5)": lambda keep=memory: burst(
            lambda: launch(stream, config, five, *args), stream.sync
        ),
    }


def numba_cuda():
    """numba.cuda; None if it is not installed, or not for the NumPy that is installed."""
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack  # numba imports this name, which NumPy 2.5 removed
    try:
        from numba import cuda
    except ImportError:
        return None
    except Exception as error:
        print(f"numba cannot be imported: {type(error).__name__}: {error}", file=sys.stderr)
        return None
    return cuda


def numba_measures():
    """{name: measure} of numba.cuda, empty if it cannot be imported."""
    cuda = numba_cuda()
    if not cuda:
        return {}

    @cuda.jit("void()")
    def none():
        pass

    @cuda.jit("void(float32[::1], float32[::1], float32[::1], int32, int32)")
    def five(a, b, c, n, m):
        pass

    a, b, c = (cuda.device_array(1024, np.float32) for _ in range(3))
    n, m = np.int32(3), np.int32(4)
    one, more = none[1, 32], five[1, 32]
    return {
        "numba f[1, 32]()": lambda: burst(one, cuda.synchronize),
        "numba f[1, 32](5)": lambda: burst(lambda: more(a, b, c, n, m), cuda.synchronize),
    }


def kernels():
    """(the function without arguments, that with five, its three arrays)"""
    module = SourceModule(SOURCE)
    arrays = [gpuarray.zeros(1024, np.float32) for _ in range(3)]
    return module.get_function("none"), module.get_function("five"), arrays


def main():
    none, five, arrays = kernels()
    ours = pycuda_measures(none, five, arrays)
    measures = {
        **raw_measures((none, five), arrays),
        **{f"pycuda {name}": measure for name, measure in ours.items()},
        "(an empty Python lambda)": lambda: burst(lambda: None, lambda: None),
        **upstream_measures(ours),
        **cupy_measures(),
        **cuda_core_measures(),
        **numba_measures(),
    }
    times = rounds(measures)
    rows = []
    for name, mine in times.items():
        floor = times["raw C, 5 arguments" if "5" in name or "arrays" in name else "raw C, no argument"]
        ratio = statistics.median(time / base for time, base in zip(mine, floor, strict=True))
        over = statistics.median(time - base for time, base in zip(mine, floor, strict=True))
        rows.append(
            (
                name,
                f"{statistics.median(mine) / 1e3:.2f}",
                f"{min(mine) / 1e3:.2f}",
                f"{max(mine) / 1e3:.2f}",
                f"{ratio:.2f}",
                f"{over:.0f}",
            )
        )
    table("Host time of one launch", ["call", "us", "min", "max", "x raw C", "over raw, ns"], rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        print(pycuda.autoprimaryctx.device.name())
        main()
