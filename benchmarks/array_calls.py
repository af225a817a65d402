"""Host time of one array operation on 1024 float32: ours, raw C launches, the peers that are installed."""

import statistics

import numpy as np
from common import burst, rounds, table
from launch import SOURCE, raw_measures
from libraries import installed

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel

ON_GPU = "CPU" not in drv.Context.get_device().name()
HOST = np.random.default_rng(1).random(1024, dtype=np.float32)


def add_in_place(a, b):
    a += b


# What each library is asked for: (library, a, b) to a call.
CALLS = {
    "a + b": lambda lib, a, b: lambda: a + b,
    "a += b": lambda lib, a, b: lambda: add_in_place(a, b),
    "a * 2.0 + b": lambda lib, a, b: lambda: a * 2.0 + b,
    "sin(a)": lambda lib, a, b: lambda: lib.math.sin(a),
    "a.sum()": lambda lib, a, b: lambda: a.sum(),
    "a[10:20]": lambda lib, a, b: lambda: a[10:20],
}


def ours_alone():
    """What has no like in the other libraries."""
    a, b, z = (gpuarray.to_gpu(HOST) for _ in range(3))
    combine = ElementwiseKernel("float s, float *x, float *y, float *z", "z[i] = s*x[i] + y[i]")
    squares = ReductionKernel(np.float32, "0", "a+b", "x[i]*x[i]", "const float *x")
    calls = {
        "pycuda ElementwiseKernel(4 arguments)": lambda: combine(2.0, a, b, z),
        "pycuda ReductionKernel(1 argument)": lambda: squares(a),
        "pycuda gpuarray.sum(a)": lambda: gpuarray.sum(a),
        "pycuda gpuarray.empty(1024)": lambda: gpuarray.empty(1024, np.float32),
        "pycuda gpuarray.to_gpu(a)": lambda: gpuarray.to_gpu(HOST),
        "pycuda a.get()": lambda: a.get(),
    }
    return {name: lambda call=call: burst(call, drv.Context.synchronize) for name, call in calls.items()}


def library_measures(library):
    a, b = library.array(HOST), library.array(HOST)
    calls = {f"{library.name} {name}": make(library, a, b) for name, make in CALLS.items()}
    return {name: lambda call=call: burst(call, library.wait) for name, call in calls.items()}


def main():
    module = SourceModule(SOURCE)
    functions = module.get_function("none"), module.get_function("five")
    arrays = [gpuarray.zeros(1024, np.float32) for _ in range(3)]
    measures = {**raw_measures(functions, arrays), **ours_alone()}
    for library in installed(ON_GPU):
        measures.update(library_measures(library))
    times = {name: statistics.median(found) for name, found in rounds(measures).items()}
    floor = times["raw C, 5 arguments"]
    rows = [[name, f"{spent / 1000:.2f}", f"{spent / floor:.2f}"] for name, spent in times.items()]
    table("Host time of an array operation", ["call", "us", "x raw C launch"], rows)


if __name__ == "__main__":
    main()
