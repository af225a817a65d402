"""Work in streams, measured by events, and captured as a graph."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import pycuda.driver as drv
from pycuda import cumath, gpuarray
from pycuda.gpuarray import GPUArray


def on_stream(values: NDArray[np.float32], stream: drv.Stream) -> tuple[NDArray[np.float32], float]:
    start, end = drv.Event(), drv.Event()
    assert_type(start.record(stream), drv.Event)
    array = gpuarray.to_gpu_async(values, stream=stream)
    assert_type(array, GPUArray[np.float32])
    with stream:
        result = cumath.exp(array)
    end.record(stream)
    host = result.get_async(stream)
    assert_type(host, NDArray[np.float32])
    stream.synchronize()
    return host, end.time_since(start)


def replayed(a: GPUArray[np.float32], times: int) -> None:
    stream = drv.Stream()
    with stream.capture() as graph, stream:
        a += 1
    assert_type(graph, drv.Graph)
    ready = graph.instantiate()
    assert_type(ready, drv.GraphExec)
    for _ in range(times):
        ready.launch(stream)
    stream.synchronize()


def main() -> None:
    values = np.arange(4, dtype=np.float32)
    results = drv.pagelocked_empty_like(values)
    stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
    results[...], milliseconds = on_stream(values, stream)
    assert_type(milliseconds, float)
    np.testing.assert_allclose(results, np.exp(values), rtol=1e-6)

    called: list[str] = []
    stream.launch_host_func(called.append, "done")
    stream.synchronize()
    assert called == ["done"]
    assert_type(stream.is_done(), bool)

    array = gpuarray.to_gpu(values)
    replayed(array, 3)
    np.testing.assert_array_equal(array.get(), values + 3)


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
