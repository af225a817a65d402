"""Time from source to a loaded function: ours cold and cached, NVRTC alone, and the peers that are installed.

Measures without a cache are compared with NVRTC alone in the same round: where a processor changes its speed,
medians of both may be of different speeds.

PyCUDA, which starts nvcc, runs in a process of its own: UPSTREAM_PYTHON names an interpreter that has it.
"""

import ctypes
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time

from common import build_raw, loaded_library, rounds, table, upstream, upstream_version

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
    """The addresses of NVRTC's functions, as raw_compile of raw.c takes them."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("create", "compile", "size", "code", "destroy")]


def nvrtc_alone(counter):
    """A measure of NVRTC from C with SOURCE, which compiles to what the device loads: cubin or, on the CPU
    device, PTX.
    """
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
    """The nanoseconds that a call takes."""
    start = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start


def own_work(counter):
    """A measure of what SourceModule adds to NVRTC, which runs in another thread: the processor time of the
    calling one.
    """

    def once():
        start = time.thread_time_ns()
        SourceModule(SOURCE % next(counter), cache_dir=False)
        return time.thread_time_ns() - start

    return once


def cold(counter):
    """A measure of SourceModule with the cache switched off; `counter` makes each source a new one."""
    return lambda: timed(lambda: SourceModule(SOURCE % next(counter), cache_dir=False))


def cached_in_new_process():
    """Nanoseconds of SourceModule in each of 8 processes that find the result in the cache; one process
    before fills it.
    """
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
            times.append(float(done.stdout) * 1e9)
        return times[1:]


def cupy_cold(counter):
    """A measure of CuPy's RawModule without its cache on disk; None if CuPy is not installed."""
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


def cuda_core_cold(counter):
    """A measure of cuda.core's Program; None if it is not installed."""
    try:
        from cuda.core import Device, Program, ProgramOptions
    except ImportError:
        return None
    device = Device()
    device.set_current()
    options = ProgramOptions(arch=f"sm_{device.arch}")

    def source_to_function(number):
        code = 'extern "C" {' + SOURCE % number + "}"
        program = Program(code, code_type="c++", options=options)
        program.compile("cubin").get_kernel(f"doublify_{number}")

    return lambda: timed(lambda: source_to_function(next(counter)))


def upstream_cold():
    """{name: measure} of PyCUDA's SourceModule, empty without PyCUDA."""
    ask = upstream(__file__)
    return {f"PyCUDA {upstream_version()} SourceModule, cold": lambda: ask("cold")} if ask else {}


def serve():
    """Answer each line of the input with nanoseconds. Runs in PyCUDA's interpreter."""
    measure = cold(itertools.count(1000))
    for _ in sys.stdin:
        print(measure(), flush=True)


def main():
    counter = itertools.count(1000)
    SourceModule(SOURCE % 0, cache_dir=False)
    measures = {
        "NVRTC alone": nvrtc_alone(counter),
        "SourceModule, cold": cold(counter),
        "SourceModule, cold, without NVRTC": own_work(counter),
        **upstream_cold(),
        "CuPy RawModule, cold": cupy_cold(counter),
        "cuda.core Program, cold": cuda_core_cold(counter),
    }
    measures = {name: measure for name, measure in measures.items() if measure}
    times = rounds(measures, 15)
    source, again = SOURCE % 0, "SourceModule, same process, cached"
    SourceModule(source)
    times |= rounds({again: lambda: timed(lambda: SourceModule(source))}, 50)
    times["SourceModule, new process, cached"] = cached_in_new_process()
    alone = times["NVRTC alone"]
    rows = []
    for name, mine in times.items():
        cells = [f"{of(mine) / 1e6:.3f}" for of in (statistics.median, min, max)]
        if name in measures:
            ratio = statistics.median(time / nvrtc for time, nvrtc in zip(mine, alone, strict=True))
        else:
            ratio = statistics.median(mine) / statistics.median(alone)
        rows.append((name, *cells, f"{ratio:.3f}"))
    table("From source to function", ["what", "ms", "min", "max", "x NVRTC"], rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        print(pycuda.autoinit.device.name())
        main()
