"""Host time of one array operation on 1024 float32: ours, raw C launches, the peers that are installed."""

import ctypes
import statistics

import numpy as np
from common import build_raw, burst, driver_library, rounds, table
from launch import SOURCE, raw_measures
from libraries import installed

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
import pycuda.numpy as xp
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel

ON_GPU = "CPU" not in drv.Context.get_device().name()
HOST = np.random.default_rng(1).random(1024, dtype=np.float32)

# Rows that are calls of the driver from C.
LAUNCH, RECORD, WAIT = "raw C, 5 arguments", "raw C, cuEventRecord", "raw C, cuCtxSynchronize"
COPY_TO, COPY_BACK = "raw C, cuMemcpyHtoD", "raw C, cuMemcpyDtoH"
COUNT = 400  # calls in one measurement
# The row that a row is compared with, if that is not LAUNCH.
FLOORS = {
    "pycuda gpuarray.to_gpu(a)": COPY_TO,
    "pycuda a.get()": COPY_BACK,
    "pycuda Event.record()": RECORD,
    "pycuda Context.synchronize()": WAIT,
}


def add_in_place(a, b):
    a += b


# What each library computes: functions of (library, a, b) that return a call without arguments.
CALLS = {
    "a + b": lambda lib, a, b: lambda: a + b,
    "a += b": lambda lib, a, b: lambda: add_in_place(a, b),
    "a * 2.0 + b": lambda lib, a, b: lambda: a * 2.0 + b,
    "sin(a)": lambda lib, a, b: lambda: lib.math.sin(a),
    "a.sum()": lambda lib, a, b: lambda: a.sum(),
    "a[10:20]": lambda lib, a, b: lambda: a[10:20],
}


def raw_calls():
    """{row: measure} of copies of 1024 float32, of an event, and of a wait for nothing, from C."""
    raw, driver = build_raw(), driver_library()
    array, event, back = gpuarray.to_gpu(HOST), drv.Event(), np.empty_like(HOST)
    device, size = ctypes.c_uint64(array.ptr), ctypes.c_size_t(HOST.nbytes)
    source, target = ctypes.c_void_p(HOST.ctypes.data), ctypes.c_void_p(back.ctypes.data)
    handle = ctypes.c_void_p(event.handle)
    record, wait = driver.cuEventRecord, driver.cuCtxSynchronize
    # `keep` holds the owner of the memory or handle for as long as the measure exists.
    return {
        COPY_TO: lambda keep=array: raw.raw_to_device(driver.cuMemcpyHtoD_v2, device, source, size, COUNT),
        COPY_BACK: lambda keep=back: raw.raw_to_host(driver.cuMemcpyDtoH_v2, target, device, size, COUNT),
        RECORD: lambda keep=event: raw.raw_record(record, wait, handle, COUNT),
        WAIT: lambda: raw.raw_synchronize(wait, COUNT),
    }


def ours_alone():
    """{row: measure} of calls of pycuda that the other libraries do not have."""
    a, b, z = (gpuarray.to_gpu(HOST) for _ in range(3))
    event, wait = drv.Event(), drv.Context.synchronize
    combine = ElementwiseKernel("float s, float *x, float *y, float *z", "z[i] = s*x[i] + y[i]")
    squares = ReductionKernel(np.float32, "0", "a+b", "x[i]*x[i]", "const float *x")
    calls = {
        "pycuda ElementwiseKernel(4 arguments)": lambda: combine(2.0, a, b, z),
        "pycuda ReductionKernel(1 argument)": lambda: squares(a),
        "pycuda gpuarray.sum(a)": lambda: gpuarray.sum(a),
        "pycuda np.sin(a)": lambda: np.sin(a),
        "pycuda numpy.sin(a)": lambda: xp.sin(a),
        "pycuda gpuarray.empty(1024)": lambda: gpuarray.empty(1024, np.float32),
        "pycuda gpuarray.to_gpu(a)": lambda: gpuarray.to_gpu(HOST),
        "pycuda a.get()": lambda: a.get(),
        "pycuda Event.record()": lambda: event.record(),
        "pycuda Context.synchronize()": lambda: wait(),
    }
    return {name: lambda call=call: burst(call, drv.Context.synchronize) for name, call in calls.items()}


def library_measures(library):
    """{row: measure} of a library's CALLS."""
    a, b = library.array(HOST), library.array(HOST)
    calls = {f"{library.name} {name}": make(library, a, b) for name, make in CALLS.items()}
    return {name: lambda call=call: burst(call, library.wait) for name, call in calls.items()}


def main():
    module = SourceModule(SOURCE)
    functions = module.get_function("none"), module.get_function("five")
    arrays = [gpuarray.zeros(1024, np.float32) for _ in range(3)]
    measures = {**raw_measures(functions, arrays), **raw_calls(), **ours_alone()}
    for library in installed(ON_GPU):
        measures.update(library_measures(library))
    times = {name: statistics.median(found) for name, found in rounds(measures).items()}
    rows = []
    for name, spent in times.items():
        floor = name if name.startswith("raw C") else FLOORS.get(name, LAUNCH)
        rows.append([name, f"{spent / 1000:.2f}", f"{spent / times[floor]:.2f}"])
    table("Host time of an array operation", ["call", "us", "x raw C"], rows)


if __name__ == "__main__":
    main()
