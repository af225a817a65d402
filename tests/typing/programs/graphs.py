"""A graph node by node, changed after it was instantiated, and one with a condition."""

from typing import assert_type

import numpy as np

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule
from pycuda.gpuarray import GPUArray

SOURCE = "__global__ void scale(float *a, float by) { a[threadIdx.x] *= by; }"


def node_by_node(array: GPUArray[np.float32]) -> tuple[float, float]:
    function = SourceModule(SOURCE).get_function("scale")
    result = drv.pagelocked_empty(array.size, np.float32)
    five = int(np.float32(5).view(np.uint32))

    graph = drv.Graph()
    fill = graph.add_memset(array.gpudata, five, array.size)
    assert_type(fill, drv.GraphNode)
    kernel = graph.add_kernel(function, array, np.float32(2), block=(array.size, 1, 1), depends_on=fill)
    graph.add_memcpy(result, array.gpudata, depends_on=[kernel])
    assert_type(graph.nodes, tuple[drv.GraphNode, ...])
    assert_type(graph.edges, tuple[tuple[drv.GraphNode, drv.GraphNode], ...])
    assert_type(kernel.type, drv.graph_node_type)

    ready = graph.instantiate()
    assert_type(ready, drv.GraphExec)
    ready.launch()
    drv.Context.synchronize()
    first = float(result[0])
    ready.set_args(kernel, array, np.float32(7))
    ready.launch()
    drv.Context.synchronize()
    return first, float(result[0])


def on_condition(array: GPUArray[np.float32], stream: drv.Stream) -> None:
    graph = drv.Graph()
    condition = graph.add_condition(default=1)
    assert_type(condition, int)
    node, bodies = graph.add_conditional("if", condition)
    assert_type(bodies, tuple[drv.Graph, ...])
    with stream.capture(graph=bodies[0]) as captured:
        array += 1
    assert_type(captured, drv.Graph)
    with stream.capture(graph=graph, depends_on=node):
        array *= 2
    graph.instantiate().launch(stream)
    stream.synchronize()


def main() -> None:
    array = gpuarray.full(32, 5, np.float32)
    (array + 1, array * 2)  # compiles the kernels
    on_condition(array, drv.Stream())
    np.testing.assert_array_equal(array.get(), np.full(32, 12, np.float32))
    assert node_by_node(array) == (10, 35)


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    main()
