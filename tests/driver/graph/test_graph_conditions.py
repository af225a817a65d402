"""Conditional nodes, which run one of their bodies, or none, by the value of a condition: built by hand,
captured, updated."""

import gc
import weakref

import numpy as np
import pytest
from graph_kernels import COUNT, KINDS, LOOP, SHAPE, kinds, u32, value

import pycuda.driver as drv
from pycuda import gpuarray

pytestmark = pytest.mark.driver(12030, "conditional nodes")
needs_setting = pytest.mark.cpu(
    "on a GPU the kernel is linked with libcudadevrt.a, which not every toolkit has"
)
needs_else = pytest.mark.driver(12080, "the other body of an if")


def run(made, stream):
    """Launches the executable graph and waits for it."""
    made.launch(stream)
    stream.synchronize()


@needs_setting
def test_a_loop_and_a_switch(affine, stream, data):
    """A while node runs its body until the kernel in it has counted from 5 down to 0, in each launch; then a
    switch runs the second of two bodies."""
    count_down = drv.module_from_buffer(LOOP).get_function("count_down")
    second = gpuarray.zeros(COUNT, np.uint32)
    graph = drv.Graph()
    loop, branch = graph.add_condition(default=1), graph.add_condition(default=1)
    fill = graph.add_memset(data.gpudata, 5, COUNT)
    node, (body,) = graph.add_conditional("while", loop, depends_on=fill)
    with stream.capture(graph=body):
        count_down(data, np.uint64(loop), block=(1, 1, 1), stream=stream)
        affine(second, u32(1), u32(1), stream=stream, **SHAPE)
    switch, (never, always) = graph.add_conditional("switch", branch, 2, depends_on=node)
    never.add_kernel(affine, data, u32(1), u32(100), **SHAPE)
    always.add_kernel(affine, data, u32(0), u32(30), **SHAPE)
    ready = graph.instantiate()
    for launches in (1, 2):
        run(ready, stream)
        assert value(second) == 5 * launches and value(data) == 30
    found = next(each for each in graph.nodes if each == switch)
    assert found.bodies == (never, always) and node.bodies == (body,) and never != always
    assert [kinds(body) for body in node.bodies] == [[KINDS.KERNEL, KINDS.KERNEL]]
    with pytest.raises(drv.LogicError, match="bodies are those of conditional nodes"):
        fill.bodies  # noqa: B018
    with pytest.raises(ValueError, match="kind"):
        graph.add_conditional("until", loop)


@needs_setting
def test_a_loop_without_a_default_begins_where_a_kernel_before_it_sets_the_condition(affine, stream, data):
    """In every launch: a condition without a default keeps its value from the previous launch, which is 0
    after the loop."""
    count_down = drv.module_from_buffer(LOOP).get_function("count_down")
    counter, graph = gpuarray.zeros(1, np.uint32), drv.Graph()
    loop = graph.add_condition()
    fill = graph.add_memset(counter.gpudata, 4, 1)
    first = graph.add_kernel(count_down, counter, np.uint64(loop), block=(1, 1, 1), depends_on=fill)
    _, (body,) = graph.add_conditional("while", loop, depends_on=first)
    body.add_kernel(count_down, counter, np.uint64(loop), block=(1, 1, 1))
    body.add_kernel(affine, data, u32(1), u32(1), **SHAPE)
    ready = graph.instantiate()
    for launches in (1, 2):
        run(ready, stream)
        assert value(data) == 3 * launches and counter.get()[0] == 0


@needs_else
@pytest.mark.parametrize("default", [0, 1, 7])
def test_if_and_else(default, affine, stream, data):
    graph = drv.Graph()
    _, (then, otherwise) = graph.add_conditional("if", graph.add_condition(default), 2)
    then.add_kernel(affine, data, u32(1), u32(10), **SHAPE)
    with stream.capture(graph=otherwise):
        data += 3
    run(graph.instantiate(), stream)
    assert value(data) == (10 if default else 3)


@pytest.mark.parametrize("default", [0, 1, 2])
def test_if_without_else(default, stream, data):
    graph = drv.Graph()
    node, (body,) = graph.add_conditional("if", graph.add_condition(default))
    with stream.capture(graph=body):
        data += 1
        data *= 6
    with stream.capture(graph=graph, depends_on=node):
        data += 2
    run(graph.instantiate(), stream)
    assert value(data) == (8 if default else 2)


@needs_else
@pytest.mark.parametrize("default", range(5))
def test_a_switch(default, stream, data):
    """Value n runs body n; one that is too large runs none."""
    graph = drv.Graph()
    _, bodies = graph.add_conditional("switch", graph.add_condition(default), 4)
    for number, body in enumerate(bodies):
        body.add_memset(data, 10 + number, COUNT)
    run(graph.instantiate(), stream)
    assert value(data) == (10 + default if default < 4 else 0)


def test_conditions_in_bodies(affine, stream, data):
    graph = drv.Graph()
    _, (outer,) = graph.add_conditional("if", graph.add_condition(1))
    first = outer.add_kernel(affine, data, u32(1), u32(2), **SHAPE)
    node, (inner,) = outer.add_conditional("if", outer.add_condition(1), depends_on=first)
    inner.add_kernel(affine, data, u32(5), u32(0), **SHAPE)
    outer.add_kernel(affine, data, u32(1), u32(1), depends_on=node, **SHAPE)
    run(graph.instantiate(), stream)
    assert value(data) == 11


def test_bodies_keep_what_they_use(affine, stream):
    arrays = [gpuarray.zeros(COUNT, np.uint32) for _ in range(2)]
    alive = [weakref.ref(array) for array in arrays]
    graph = drv.Graph()
    node, (body,) = graph.add_conditional("if", graph.add_condition(1))
    body.add_kernel(affine, arrays[0], u32(1), u32(1), **SHAPE)
    with stream.capture(graph=body):
        affine(arrays[1], u32(1), u32(2), stream=stream, **SHAPE)
    ready = graph.instantiate()
    del graph, node, body, arrays
    gc.collect()
    run(ready, stream)
    assert [value(array()) for array in alive] == [1, 2]
    del ready
    gc.collect()
    assert [array() for array in alive] == [None, None]


# ---- updates


def branch(affine, array, add, kind="if", size=1, default=1, nodes=1):
    """(graph, nodes): a graph whose one node is conditional, with `size` bodies; the first body has so many
    kernels that add to the array."""
    graph = drv.Graph()
    _, bodies = graph.add_conditional(kind, graph.add_condition(default), size)
    return graph, [bodies[0].add_kernel(affine, array, u32(1), u32(add), **SHAPE) for _ in range(nodes)]


def test_nodes_in_bodies_are_updated(affine, stream, data):
    """New arguments of a node in a body reach the executable graph by update(), which keeps them alive."""
    graph, (node,) = branch(affine, data, 1)
    ready = graph.instantiate()
    other = gpuarray.zeros(COUNT, np.uint32)
    node.set_args(other, u32(1), u32(20))
    run(ready, stream)
    assert value(data) == 1 and value(other) == 0
    ready.update(graph)
    alive = weakref.ref(other)
    del other, graph, node
    gc.collect()
    run(ready, stream)
    run(ready, stream)
    assert value(data) == 1 and value(alive()) == 40


@pytest.mark.cpu("NVIDIA's driver may ask for the same condition")
def test_an_update_takes_over_the_condition_of_the_graph(affine, stream, data):
    """With its default value: 0 runs no body."""
    ready = branch(affine, data, 1)[0].instantiate()
    ready.update(branch(affine, data, 10)[0])
    run(ready, stream)
    assert value(data) == 10
    ready.update(branch(affine, data, 100, default=0)[0])
    run(ready, stream)
    assert value(data) == 10


@needs_else
@pytest.mark.parametrize(
    "other",
    [dict(kind="while"), dict(kind="switch"), dict(size=2), dict(nodes=2)],
    ids=lambda other: str(*other.items()),
)
def test_an_update_with_other_bodies_is_refused(other, affine, stream, data):
    ready = branch(affine, data, 1)[0].instantiate()
    graph, _ = branch(affine, data, 10, **{"default": 0, **other})
    with pytest.raises(drv.LogicError, match="cuGraphExecUpdate failed"):
        ready.update(graph)
    run(ready, stream)
    assert value(data) == 1


@pytest.mark.cpu("NVIDIA's driver draws them in its own way")
def test_bodies_are_printed(affine, data, tmp_path):
    graph, _ = branch(affine, data, 1)
    graph.debug_dot(tmp_path / "graph.dot")
    text = (tmp_path / "graph.dot").read_text()
    assert "CONDITIONAL" in text and text.count("subgraph") == 2 and "affine" in text
