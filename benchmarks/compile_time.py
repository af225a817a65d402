"""Time from source to a loaded function: ours cold and cached, NVRTC alone, CuPy."""

import ctypes
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time

from common import build_raw, loaded_library, median_time, rounds, table

import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

SOURCE = """
__global__ void doublify_%d(float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] *= 2;
}
"""

CACHED = """
import sys, time
import pycuda.autoinit
from pycuda.compiler import SourceModule
start = time.perf_counter()
module = SourceModule(%r)
module.get_function("doublify_0")
print(time.perf_counter() - start)
"""


class Nvrtc(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("create", "compile", "size", "code", "destroy")]


def nvrtc_alone(counter):
    """Runs NVRTC on the same kind of source, for what our device takes (cubin or PTX): its nanoseconds."""
    raw, library = build_raw(), loaded_library("libnvrtc.so")
    on_cpu = drv.Device(0).name().startswith("CPU device")
    kind = "PTX" if on_cpu else "CUBIN"
    names = (
        "nvrtcCreateProgram",
        "nvrtcCompileProgram",
        f"nvrtcGet{kind}Size",
        f"nvrtcGet{kind}",
        "nvrtcDestroyProgram",
    )
    functions = Nvrtc(*[ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names])
    major, minor = drv.Device(0).compute_capability()
    options = (ctypes.c_char_p * 1)(
        f"--gpu-architecture={'compute' if on_cpu else 'sm'}_{major}{minor}".encode()
    )

    def once():
        source = 'extern "C" {' + SOURCE % next(counter) + "}"
        nanoseconds = raw.raw_compile(ctypes.byref(functions), source.encode(), 1, options)
        assert nanoseconds > 0, f"NVRTC error {-nanoseconds}"
        return nanoseconds

    return once


def timed(call):
    start = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start


def cold(counter):
    """SourceModule with the cache switched off."""
    return lambda: timed(lambda: SourceModule(SOURCE % next(counter), cache_dir=False))


def cached_in_new_process():
    """Seconds of SourceModule in fresh processes that find the result in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYCUDA_CACHE_DIR": folder}
        times = []
        for _ in range(9):
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", CACHED % (SOURCE % 0)],
                check=True,
                capture_output=True,
                text=True,
                env=environment,
            )
            times.append(float(done.stdout))
        return statistics.median(times[1:])


def cupy_cold(counter):
    try:
        import cupy
    except ImportError:
        return None
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"

    def once():
        number = next(counter)
        code = 'extern "C" {' + SOURCE % number + "}"
        return timed(lambda: cupy.RawModule(code=code).get_function(f"doublify_{number}"))

    return once


def main():
    counter = itertools.count(1000)
    SourceModule(SOURCE % 0, cache_dir=False)
    measures = {
        "NVRTC alone": nvrtc_alone(counter),
        "SourceModule, cold": cold(counter),
        "CuPy RawModule, cold": cupy_cold(counter),
    }
    measures = {name: measure for name, measure in measures.items() if measure}
    times = {name: statistics.median(values) * 1e-9 for name, values in rounds(measures, 15).items()}
    source = SOURCE % 0
    SourceModule(source)
    times["SourceModule, same process, cached"] = median_time(lambda: SourceModule(source), 50)
    times["SourceModule, new process, cached"] = cached_in_new_process()
    alone = times["NVRTC alone"]
    table(
        "From source to function",
        ["what", "ms", "x NVRTC"],
        [(name, f"{seconds * 1e3:.3f}", f"{seconds / alone:.3f}") for name, seconds in times.items()],
    )


if __name__ == "__main__":
    print(pycuda.autoinit.device.name())
    main()
