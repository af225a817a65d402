"""Graphs of 20 small kernels, replayed, captured and given other arguments, against raw C and the peers.

The peers replay 20 kernels of theirs that do as little.
"""

import ctypes
import statistics
import time

import numpy as np
from common import build_raw, burst, driver_library, rounds, table

import pycuda.autoprimaryctx
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

KERNELS = 20
BURST = 20  # graphs that are queued at once
PAGE = "pycuda, 60 array operations until they are done"
SOURCE = """
extern "C" __global__ void step(float *x, const float *y, float a, float b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = a * x[i] + b * y[i];
}
"""
SHAPE = {"block": (256, 1, 1), "grid": (4, 1)}


class KernelNodeParams(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2"""

    _fields_ = [
        ("func", ctypes.c_void_p),
        *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        *((name, ctypes.c_void_p) for name in ("params", "extra", "kern", "context")),
    ]


def ours():
    """({name: measure} of pycuda, what raw() needs to measure the same graph)."""
    step = SourceModule(SOURCE, no_extern_c=True).get_function("step")
    x, y = (gpuarray.zeros(1024, np.float32) for _ in range(2))
    args = x, y, np.float32(0.5), np.float32(1), np.int32(1024)
    stream = drv.Stream()

    def eager():
        for _ in range(KERNELS):
            step(*args, **SHAPE, stream=stream)

    def capture():
        with stream.capture() as graph:
            eager()
        return graph

    graph = capture()
    ready, node = graph.instantiate(), graph.nodes[0]
    wait = stream.synchronize

    def replay():
        ready.launch(stream)
        wait()

    a, b, n = args[2:]

    def update():
        node.set_args(x, y, a, b, n)
        ready.update(graph)

    measures = {
        "pycuda, replay": lambda: burst(lambda: ready.launch(stream), wait, BURST),
        "pycuda, replay and wait": lambda: burst(replay, wait, BURST),
        "pycuda, set_args of the executable graph": lambda: burst(
            lambda: ready.set_args(node, x, y, a, b, n), wait
        ),
        "pycuda, set_args of the graph and update": lambda: burst(update, wait, BURST),
        "pycuda, 20 launches": lambda: burst(eager, wait, BURST),
        "pycuda, capture of 20 launches": lambda: burst(capture, wait, BURST),
    }
    return measures, (step, args, stream, graph, ready, node)


def page():
    """{name: measure} of the program of docs/graphs.md, as launches and as a graph, until the work
    is done.
    """
    stream, x = drv.Stream(), gpuarray.to_gpu(np.full(64, 3, np.float32))

    def steps(x):
        for _ in range(20):
            y = 2 / x
            x += y
            x *= 0.5

    def eager():
        with stream:
            steps(x)

    eager()
    with stream.capture() as graph:
        steps(x)
    ready = graph.instantiate()

    def measure(work):
        stream.synchronize()
        start = time.perf_counter_ns()
        for _ in range(BURST):
            work()
        stream.synchronize()
        return (time.perf_counter_ns() - start) / BURST

    return {
        PAGE: lambda: measure(eager),
        f"{PAGE}, as a graph": lambda: measure(lambda: ready.launch(stream)),
    }


def raw(step, args, stream, graph, ready, node):
    """{name: measure} of the calls of ours() from C, on the graph of ours()."""
    library, driver = build_raw(), driver_library()
    values = [
        *(ctypes.c_uint64(int(array.gpudata)) for array in args[:2]),
        *(ctypes.c_float(float(value)) for value in args[2:4]),
        ctypes.c_int(int(args[4])),
    ]
    pointers = (ctypes.c_void_p * 5)(*(ctypes.addressof(value) for value in values))
    params = KernelNodeParams(step.handle, 4, 1, 1, 256, 1, 1, 0, ctypes.addressof(pointers), 0, 0, 0)
    exec_, stream_, graph_, node_ = (ctypes.c_void_p(it.handle) for it in (ready, stream, graph, node))

    def launch(wait, keep=(values, pointers)):
        return library.raw_graph_launch(
            driver.cuGraphLaunch, driver.cuStreamSynchronize, exec_, stream_, wait, BURST
        )

    def set_args():
        return library.raw_graph_set(
            driver.cuGraphExecKernelNodeSetParams_v2, exec_, node_, ctypes.byref(params), 400
        )

    def update():
        return library.raw_graph_update(
            driver.cuGraphKernelNodeSetParams_v2, driver.cuGraphExecUpdate_v2, exec_, graph_, node_,
            ctypes.byref(params), BURST,
        )  # fmt: skip

    return {
        "raw C, replay": lambda: launch(0),
        "raw C, replay and wait": lambda: launch(1),
        "raw C, set_args of the executable graph": set_args,
        "raw C, set_args of the graph and update": update,
    }


def cupy_measures():
    """{name: measure} of CuPy, empty if it is not installed."""
    try:
        import cupy
    except ImportError:
        return {}
    step = cupy.RawKernel(SOURCE, "step")
    x, y = (cupy.zeros(1024, cupy.float32) for _ in range(2))
    args = x, y, np.float32(0.5), np.float32(1), np.int32(1024)
    stream = cupy.cuda.Stream(non_blocking=True)

    def eager():
        with stream:
            for _ in range(KERNELS):
                step((4,), (256,), args)

    def capture():
        with stream:
            stream.begin_capture()
            eager()
            return stream.end_capture()

    graph = capture()

    def replay():
        graph.launch(stream)
        stream.synchronize()

    return {
        "CuPy, replay": lambda: burst(lambda: graph.launch(stream), stream.synchronize, BURST),
        "CuPy, replay and wait": lambda: burst(replay, stream.synchronize, BURST),
        "CuPy, 20 launches": lambda: burst(eager, stream.synchronize, BURST),
        "CuPy, capture of 20 launches": lambda: burst(capture, stream.synchronize, BURST),
    }


def torch_measures():
    """{name: measure} of torch, empty if it is not installed for this GPU."""
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    x, y = (torch.zeros(1024, device="cuda") for _ in range(2))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(KERNELS):
            x.add_(y)
    wait = torch.cuda.synchronize

    def replay():
        graph.replay()
        wait()

    return {
        "torch, replay": lambda: burst(graph.replay, wait, BURST),
        "torch, replay and wait": lambda: burst(replay, wait, BURST),
    }


def main():
    measures, parts = ours()
    floor = raw(*parts)
    times = rounds({**floor, **measures, **page(), **cupy_measures(), **torch_measures()})
    # raw.c returns errors as negative numbers.
    failed = [name for name, found in times.items() if min(found) < 0]
    if failed:
        raise SystemExit(f"{failed[0]}: the driver's error {-min(times[failed[0]]):.0f}")
    rows = []
    for name, mine in times.items():
        library, _, what = name.partition(", ")
        launched = PAGE if name.startswith(PAGE) else f"{library}, 20 launches"
        base = times.get(f"raw C, {what}") or times[launched]
        ratio = statistics.median(time / other for time, other in zip(mine, base, strict=True))
        rows.append((name, *(f"{f(mine) / 1e3:.3f}" for f in (statistics.median, min, max)), f"{ratio:.3f}"))
    table("Host time of graphs", ["call", "us", "min", "max", "x raw C, or launches"], rows)


if __name__ == "__main__":
    print(pycuda.autoprimaryctx.device.name())
    main()
