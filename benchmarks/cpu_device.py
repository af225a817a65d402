"""What the CPU device takes for loading a module, launching and handing out blocks."""

import ctypes
import os
import statistics
import subprocess
import sys
import time

os.environ.update(PYCUDA_DEVICE="cpu", OPENBLAS_NUM_THREADS="1")

from common import build_raw, driver_library, processor, rounds, table

import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule, compile

# Much straight code and some branches: the slow paths of the mathematical functions.
MATH = """
extern "C" __global__ void math(double *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double a = x[i];
    float b = y[i];
    x[i] = sin(a) + cos(2 * a) + pow(a, 1.7) + exp(a) + lgamma(a) + erf(a) + tgamma(a) + j0(a) + y1(a);
    y[i] = sinf(b) + powf(b, 1.5f) + lgammaf(b) + tanf(b) + erfcf(b) + j1f(b);
}
"""
NONE = 'extern "C" __global__ void none() { }'
BLOCKS = """
extern "C" __global__ void small(float *x, int turns)
{
    float v = threadIdx.x;
    for (int i = 0; i < turns; i++)
        v = v * 1.0001f + 0.5f;
    x[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
"""
BLOCK_COUNT, BLOCK_SIZE, TURNS = 100_000, 64, 20


def load_measure():
    """(the statements of MATH's PTX, a measure: nanoseconds of cuModuleLoadData for 1,000 of them)."""
    ptx = compile(MATH, target="ptx", no_extern_c=True)
    statements = ptx.count(b";")

    def measure():
        start = time.perf_counter_ns()
        module = drv.module_from_buffer(ptx)
        spent = time.perf_counter_ns() - start
        del module
        return spent * 1000 / statements

    return statements, measure


def launch_measures(count):
    """{name: measure} of an empty kernel launched from C: nanoseconds of the call, and until the kernel is
    done.
    """
    raw, driver = build_raw(), driver_library()
    raw.raw_launch_and_wait.restype = ctypes.c_double
    module = SourceModule(NONE, no_extern_c=True)
    function = ctypes.c_void_p(module.get_function("none").handle)
    launch, wait = driver.cuLaunchKernel, driver.cuCtxSynchronize
    return {
        # After the function: blocks, threads of a block, parameters, launches in a round, rounds.
        "launch of an empty kernel, the call": lambda keep=module: raw.raw_launch(
            launch, wait, function, 1, 32, None, count, 1
        ),
        "launch of an empty kernel, run to its end": lambda: raw.raw_launch_and_wait(
            launch, wait, function, 1, 32, 1
        ),
        "many launches, each to its end": lambda: raw.raw_launch_and_wait(
            launch, wait, function, 1, 32, count
        ),
    }


def small_blocks():
    """Prints the nanoseconds of one block of a launch for each line that it reads."""
    kernel = SourceModule(BLOCKS, no_extern_c=True).get_function("small").prepare("Pi")
    x = drv.mem_alloc(4 * BLOCK_COUNT * BLOCK_SIZE)
    for _ in sys.stdin:
        start = time.perf_counter_ns()
        kernel.prepared_call((BLOCK_COUNT, 1), (BLOCK_SIZE, 1, 1), x, TURNS)
        drv.Context.synchronize()
        print((time.perf_counter_ns() - start) / BLOCK_COUNT, flush=True)


def on_workers(count):
    """(process, measure): a process with `count` worker threads, and the nanoseconds of a block there."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__, "small_blocks"],
        env={**os.environ, "PYCUDA_CPU_THREADS": str(count)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def measure():
        process.stdin.write("go\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    return process, measure


def machine_measure(threads):
    """A measure of plain C, for the scaling that the machine allows: nanoseconds of one thread's work,
    divided by the number of threads that do it at once.
    """
    raw = build_raw()
    raw.raw_multiply.restype = ctypes.c_double
    return lambda: raw.raw_multiply(threads) / threads


def scaling_measures():
    """(processes to end afterwards, {name: measure}): blocks on the device's workers, and threads in C."""
    processes, measures = zip(*(on_workers(count) for count in (1, 2)), strict=True)
    return processes, {
        "one worker": measures[0],
        "two workers": measures[1],
        "one thread": machine_measure(1),
        "two threads": machine_measure(2),
    }


def ratio(times, name, other):
    """Median, minimum and maximum of times[name] / times[other], over the rounds, as text."""
    ratios = [a / b for a, b in zip(times[name], times[other], strict=True)]
    return [f"{value:.2f}" for value in (statistics.median(ratios), min(ratios), max(ratios))]


def main():
    statements, load = load_measure()
    processes, scaling = scaling_measures()
    times = rounds(
        {f"loading a module, for 1,000 of its {statements:,} PTX statements": load, **launch_measures(400)},
        25,
    )
    goals = ["1000", "2", "2", "2"]  # in us, of load and of launch_measures
    rows = [
        (name, "us", *(f"{value / 1e3:.2f}" for value in (statistics.median(t), min(t), max(t))), f"< {goal}")
        for (name, t), goal in zip(times.items(), goals, strict=True)
    ]
    times = rounds(scaling, 9)
    rows.append(
        (f"{BLOCK_COUNT:,} blocks of {BLOCK_SIZE} threads: time of one worker / time of two", "x")
        + (*ratio(times, "one worker", "two workers"), ">= 1.8")
    )
    rows.append(
        (
            "the same ratio of plain C on two threads, for comparison",
            "x",
            *ratio(times, "one thread", "two threads"),
            "",
        )
    )
    for process in processes:
        process.communicate()
    header = ["what", "unit", "median", "min", "max", "goal"]
    table("CPU device: loading, launching, handing out blocks", header, rows, on=processor())


if __name__ == "__main__":
    if sys.argv[1:] == ["small_blocks"]:
        small_blocks()
    else:
        print(pycuda.autoinit.device.name())
        main()
