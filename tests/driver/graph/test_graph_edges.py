"""Edges of graphs: added, listed, removed; programmatic ones, on which a kernel starts before the one before
it has ended."""

import pytest
from graph_kernels import COUNT, SHAPE, u32, value

import pycuda.driver as drv
from pycuda import gpuarray

pytestmark = pytest.mark.driver(12030, "edges with data")

# Data of an edge: (from_port, to_port, type).
PLAIN = (0, 0, 0)
PROGRAMMATIC = (drv.graph_kernel_node_port.PROGRAMMATIC, 0, drv.graph_dependency_type.PROGRAMMATIC)


@pytest.fixture
def data(primary_context):
    return gpuarray.zeros(COUNT, "uint32")


def kernels(affine, data, count=3):
    """(graph, nodes): kernels without edges, each of which computes 2 * data + 1."""
    graph = drv.Graph()
    return graph, [graph.add_kernel(affine, data, u32(2), u32(1), **SHAPE) for _ in range(count)]


def run(graph):
    graph.instantiate().launch()
    drv.Context.synchronize()


def test_edges_are_added_and_removed(primary_context):
    """A second edge between the same nodes, a cycle, and the removal of an edge that does not exist are
    errors."""
    graph = drv.Graph()
    first, second = graph.add_empty(), graph.add_empty()
    graph.add_edge(first, [second])
    assert graph.edges == ((first, second),) and graph.edge_data == (PLAIN,)
    with pytest.raises(drv.LogicError, match="cuGraphAddDependencies"):
        graph.add_edge(first, second)
    graph.add_edge(second, first)
    with pytest.raises(drv.LogicError, match="cuGraphInstantiate"):
        graph.instantiate()
    graph.remove_edge(second, first)
    graph.instantiate()
    with pytest.raises(drv.LogicError, match="cuGraphRemoveDependencies"):
        graph.remove_edge(second, first)
    with pytest.raises(TypeError, match="depends_on must be a GraphNode"):
        graph.add_empty(depends_on=[1])


def test_a_graph_without_edges(primary_context):
    graph = drv.Graph()
    graph.add_empty()
    assert graph.edges == graph.edge_data == ()


def test_edges_with_data(affine, data):
    """Edges keep their data, also in a clone of the graph."""
    graph, (first, second, third) = kernels(affine, data)
    graph.add_edge(first, second, data=PROGRAMMATIC)
    graph.add_edge(second, third)
    assert dict(zip(graph.edges, graph.edge_data, strict=True)) == {
        (first, second): PROGRAMMATIC,
        (second, third): PLAIN,
    }
    assert second.dependencies == (first,) and first.dependents == (second,)
    assert sorted(graph.clone().edge_data) == [PLAIN, PROGRAMMATIC]
    run(graph)
    assert value(data) == 7


def test_edges_with_data_are_removed(affine, data):
    graph, (first, second, third) = kernels(affine, data)
    graph.add_edge(first, [second, third], data=PROGRAMMATIC)
    graph.add_edge(second, third)
    graph.remove_edge(first, [second, third])
    assert graph.edges == ((second, third),) and graph.edge_data == (PLAIN,)


def test_programmatic_launches_are_captured_as_programmatic_edges(affine, data):
    stream = drv.Stream()
    with stream.capture() as graph:
        drv.memset_d32_async(data.gpudata, 1, COUNT, stream)
        for _ in range(3):
            affine(data, u32(2), u32(1), stream=stream, programmatic=True, **SHAPE)
    assert sorted(graph.edge_data) == [PLAIN, PROGRAMMATIC, PROGRAMMATIC]
    run(graph)
    assert value(data) == 15


@pytest.mark.parametrize(
    "given, error",
    [
        ((1, 0), "not 2 items"),
        ((1, 0, 1, 0), "not 4 items"),
        ((256, 0, 1), "from_port is 256"),
        ((0, 0, -1), "type"),
    ],
)
def test_bad_data(affine, data, given, error):
    graph, (first, second, _) = kernels(affine, data)
    with pytest.raises((ValueError, OverflowError), match=error):
        graph.add_edge(first, second, data=given)
    with pytest.raises(TypeError):
        graph.add_edge(first, second, data=1)
    with pytest.raises(drv.LogicError, match="cuGraphAddDependencies failed"):
        graph.add_edge(first, second, data=(77, 0, 0))
    assert graph.edges == ()


@pytest.mark.cpu("NVIDIA's driver writes them in another form")
def test_data_of_edges_is_printed(affine, data, tmp_path):
    graph, (first, second, third) = kernels(affine, data)
    graph.add_edge(first, second, data=PROGRAMMATIC)
    graph.add_edge(second, third, data=(drv.graph_kernel_node_port.LAUNCH_ORDER, 0, 0))
    graph.debug_dot(tmp_path / "graph.dot")
    text = (tmp_path / "graph.dot").read_text()
    assert '[style="dashed" label="programmatic, port 1"]' in text and '[label="port 2"]' in text
