"""Array operations under capture: replayed they give what they give at once."""

import functools
import random

import numpy as np
import pytest
from graph_kernels import COUNT, affine_function

import pycuda.driver as drv
from pycuda import curandom, gpuarray
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

pytestmark = pytest.mark.driver(12030, "captures into a graph")


@pytest.fixture
def affine(primary_context):
    return affine_function()


@pytest.fixture
def stream(primary_context):
    return drv.Stream()


@pytest.fixture
def data(primary_context):
    return gpuarray.zeros(COUNT, np.uint32)


UNARY = [
    lambda x: x + 1,
    lambda x: -x,
    lambda x: x * 2,
    abs,
    lambda x: x[::-1] * 1,
    lambda x: x.copy(),
    lambda x: gpuarray.cumsum(x),
    lambda x: x.reshape(10, 10).T.copy().ravel(),
    lambda x: x.astype(np.float64).astype(np.int32),
    lambda x: x.take(gpuarray.arange(100, dtype=np.int32), mode="wrap"),
    lambda x: INCLUSIVE()(x.copy()),
]
BINARY = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    gpuarray.maximum,
    lambda x, y: gpuarray.if_positive(x, x, y),
    lambda x, y: gpuarray.concatenate([x[:50], y[50:]]),
]


@functools.cache
def INCLUSIVE():
    return InclusiveScanKernel(np.int32, "a > b ? a : b")


def random_program(seed):
    """Which operation makes the next array, of which of the arrays before."""
    chooser = random.Random(seed)
    steps = []
    for number in range(2, 2 + chooser.randint(3, 12)):
        operations = chooser.choice((UNARY, BINARY))
        operands = [chooser.randrange(number) for _ in range(1 if operations is UNARY else 2)]
        steps.append((chooser.choice(operations), operands, chooser.random() < 0.3))
    return steps


def run(steps, arrays):
    """The last array, and the sum of what some steps add to the first array in its place."""
    for operation, operands, in_place in steps:
        arrays.append(operation(*(arrays[i] for i in operands)))
        if in_place:
            arrays[0] += arrays[-1]
    return arrays[-1], gpuarray.sum(arrays[0])


@pytest.mark.parametrize("seed", range(20))
def test_a_replayed_program_is_the_eager_one(stream, seed):
    steps = random_program(seed)
    numbers = np.random.default_rng(seed)
    first, second = (gpuarray.zeros(100, np.int32) for _ in range(2))
    run(steps, [first.copy(), second.copy()])  # compiles
    with stream.capture() as graph:
        results = run(steps, [first, second])
    ready = graph.instantiate()
    for _ in range(3):
        inputs = numbers.integers(-50, 50, (2, 100)).astype(np.int32)
        expected = run(steps, [gpuarray.to_gpu(row) for row in inputs])
        first.set(inputs[0])
        second.set(inputs[1])
        noise = [gpuarray.empty(100, np.int32).fill(1) for _ in range(20)]
        ready.launch(stream)
        stream.synchronize()
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result.get(), wanted.get())
        assert all((array.get() == 1).all() for array in noise)


@functools.cache
def SUM():
    return ReductionKernel(np.int32, "0", "a+b", "x[i] ^ 5", "int *x")


LONG = {
    "cumsum": lambda x: x.cumsum(0),
    "cumsum of rows": lambda x: x.reshape(5, -1).cumsum(1),
    "cumsum of columns": lambda x: x.reshape(-1, 10).cumsum(0),
    "InclusiveScanKernel": lambda x: INCLUSIVE()(x, "new"),
    "ReductionKernel": lambda x: SUM()(x),
    "ReductionKernel along an axis": lambda x: SUM()(x.reshape(2, -1), axis=1),
    "sum": gpuarray.sum,
    "sort": lambda x: gpuarray.sort(x),
}


@pytest.mark.parametrize("operation", LONG.values(), ids=LONG)
def test_a_graph_has_memory_of_its_own(stream, operation):
    """What blocks tell each other is not that of the last replay, nor of what the stream does by then."""
    size, other = 100_000, drv.Stream()
    numbers = np.random.default_rng(1)
    x, y = (gpuarray.zeros(size, np.int32) for _ in range(2))
    with stream:
        operation(y)  # compiles
        stream.synchronize()
        with stream.capture() as graph:
            result = operation(x)
    ready = graph.instantiate()
    for _ in range(3):
        inputs = numbers.integers(-1000, 1000, (2, size)).astype(np.int32)
        x.set(inputs[0])
        y.set(inputs[1])
        drv.Context.synchronize()
        for _ in range(3):
            ready.launch(other)
            with stream:
                eager = operation(y)
        drv.Context.synchronize()
        for found, values in ((result, inputs[0]), (eager, inputs[1])):
            np.testing.assert_array_equal(found.get(), operation(gpuarray.to_gpu(values)).get())


def test_random_numbers_go_on(stream):
    """The numbers of a replay are those that eager calls would have given."""

    def seed(count):
        return gpuarray.arange(count, dtype=np.int32)

    made, wanted = (curandom.XORWOWRandomNumberGenerator(seed_getter=seed) for _ in range(2))
    a, b = (gpuarray.empty(1000, np.float32) for _ in range(2))
    made.fill_uniform(a)
    wanted.fill_uniform(b)
    drv.Context.synchronize()
    assert not stream.is_capturing
    with stream.capture() as graph:
        assert stream.is_capturing
        made.fill_uniform(a)
    ready = graph.instantiate()
    for _ in range(3):
        ready.launch(stream)
        stream.synchronize()
        wanted.fill_uniform(b)
        np.testing.assert_array_equal(a.get(), b.get())
