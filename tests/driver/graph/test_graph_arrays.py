"""Array operations under capture: a replay gives the results of the eager operation."""

import functools
import random

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import curandom, gpuarray
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

pytestmark = pytest.mark.driver(12030, "captures into a graph")


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
    """The running maximum."""
    return InclusiveScanKernel(np.int32, "a > b ? a : b")


def random_program(seed):
    """Steps (operation, operands, in_place): operands are indices of the arrays so far (two inputs, then the
    results); in_place: the result is added to the first array as well."""
    chooser = random.Random(seed)
    steps = []
    for number in range(2, 2 + chooser.randint(3, 12)):
        operations = chooser.choice((UNARY, BINARY))
        operands = [chooser.randrange(number) for _ in range(1 if operations is UNARY else 2)]
        steps.append((chooser.choice(operations), operands, chooser.random() < 0.3))
    return steps


def run(steps, arrays):
    """Appends each step's result to the arrays; returns the last one and the sum of the first one."""
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
    """The sum of x ^ 5, elementwise."""
    return ReductionKernel(np.int32, "0", "a+b", "x[i] ^ 5", "int *x")


# Operations whose blocks exchange values through memory.
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
def test_a_graph_has_scratch_memory_of_its_own(stream, operation):
    """Blocks exchange values through memory that neither the previous replay nor eager work at the same time
    uses."""
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


# Operations that need no value of the device on the host, and can be captured; operations that need one, with
# the error that says so. x: floats, n: small integers, i: a permutation.
SHORT = 1000
CAPTURED = {
    "lexsort": lambda x, n, i: gpuarray.lexsort([x, n]),
    "take_along_axis": lambda x, n, i: gpuarray.take_along_axis(x, i, 0, mode="wrap"),
    "searchsorted by a sorter": lambda x, n, i: gpuarray.searchsorted(x, x, sorter=gpuarray.argsort(x)),
    "searchsorted by numbers": lambda x, n, i: gpuarray.searchsorted(x, [0.5, 0.1]),
    "histogram of a range": lambda x, n, i: gpuarray.histogram(x, 20, (-3, 3))[0],
    "histogram by edges": lambda x, n, i: gpuarray.histogram(x, np.linspace(-2, 2, 9))[0],
    "histogram with weights": lambda x, n, i: gpuarray.histogram(x, np.arange(3), weights=x, density=True)[0],
    "a list of indices": lambda x, n, i: x[[1, 2, -1]],
    "an array of indices": lambda x, n, i: x[np.array([[1, 7], [3, 0]])],
    "take": lambda x, n, i: x.take(i, mode="clip"),
    "put": lambda x, n, i: put(x, i),
    "an assignment": lambda x, n, i: assign(x),
    "topk": lambda x, n, i: gpuarray.topk(x, 5)[0],
    "repeat": lambda x, n, i: gpuarray.repeat(x, 3),
}
REFUSED = {
    "unique": (lambda x, n, i: gpuarray.unique(x), r"unique\(\) cannot be captured"),
    "counted": (lambda x, n, i: gpuarray.unique(x, return_counts=True), r"unique\(\) cannot be captured"),
    "nonzero": (lambda x, n, i: gpuarray.nonzero(x), r"nonzero\(\) cannot be captured"),
    "mask": (lambda x, n, i: x[x > 0], r"a\[mask\] cannot be captured"),
    "compress": (lambda x, n, i: x.compress(x > 0), r"compress\(\) cannot be captured"),
    "bincount": (lambda x, n, i: gpuarray.bincount(n), r"bincount\(\) cannot be captured"),
    "repeat": (
        lambda x, n, i: gpuarray.repeat(x, n),
        r"repeat\(\) with counts on the device cannot be captured",
    ),
    "take": (lambda x, n, i: x.take(i), "indexing by an array on the device cannot.*mode='wrap'"),
    "indexing": (lambda x, n, i: x[i], "indexing by an array on the device cannot.*mode='wrap'"),
    "histogram": (lambda x, n, i: gpuarray.histogram(x), r"histogram\(\) without a range.*with range="),
    "get": (lambda x, n, i: x.get(), r"get_async\(\) and set_async\(\)"),
    "set": (lambda x, n, i: x.set(np.zeros(x.shape, x.dtype)), r"get_async\(\) and set_async\(\)"),
    "bool": (lambda x, n, i: bool(x[0] > 0), r"get_async\(\) and set_async\(\)"),
}


def put(x, i):
    result = x.copy()
    result.put(i[:10], 3, mode="wrap")
    return result


def assign(x):
    result = x.copy()
    result[:3] = [1, 2, 3]
    return result


def operands():
    """[x, n, i] on the device."""
    numbers = np.random.default_rng(3)
    x = numbers.normal(size=SHORT).astype(np.float32)
    return [gpuarray.to_gpu(each) for each in (x, numbers.integers(0, 5, SHORT), numbers.permutation(SHORT))]


@pytest.mark.parametrize("mode", ["relaxed", "global"])
@pytest.mark.parametrize("operation", CAPTURED.values(), ids=CAPTURED)
def test_operations_with_values_of_the_host_can_be_captured(stream, operation, mode):
    """Edges, indices and other values of the host are copied at the capture, x is read at each launch."""
    arrays = operands()
    operation(*arrays)  # compiles
    drv.Context.synchronize()
    with stream.capture(mode=mode) as graph:
        result = operation(*arrays)
    ready = graph.instantiate()
    for _ in range(2):
        arrays[0].set(np.random.default_rng(4).normal(size=SHORT).astype(np.float32))
        expected = operation(*arrays)
        drv.Context.synchronize()
        ready.launch(stream)
        stream.synchronize()
        np.testing.assert_array_equal(result.get(), expected.get())


@pytest.mark.parametrize("operation, message", REFUSED.values(), ids=REFUSED)
def test_operations_that_must_wait_raise_and_end_no_capture(stream, operation, message):
    x, n, i = operands()
    with stream.capture() as graph:
        with pytest.raises(drv.LogicError, match=message):
            operation(x, n, i)
        y = x + 1
    graph.instantiate().launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(y.get(), x.get() + 1)


GENERATORS = {
    "XORWOW": curandom.XORWOWRandomNumberGenerator,
    "MRG32k3a": curandom.MRG32k3aRandomNumberGenerator,
    "Philox": curandom.Philox4x32_10RandomNumberGenerator,
}


def seeds(count):
    return gpuarray.arange(count, dtype=np.int32)


@pytest.mark.parametrize("skip", [False, True], ids=["", "skip"])
@pytest.mark.parametrize("used", [False, True], ids=["new", "used"])
@pytest.mark.parametrize("kind", GENERATORS.values(), ids=GENERATORS)
def test_replays_continue_a_generators_sequence(stream, kind, used, skip):
    """Each replay returns the numbers of the next eager call, for a new generator and for one that was used
    before."""
    made, wanted = (kind(seed_getter=seeds) for _ in range(2))
    a, b = (gpuarray.empty(1000, np.float32) for _ in range(2))

    def draw(generator, array):
        if skip:
            generator.call_skip_ahead(5)
        generator.fill_uniform(array)

    if used:
        draw(made, a)
        draw(wanted, b)
    drv.Context.synchronize()
    assert not stream.is_capturing
    with stream.capture() as graph:
        assert stream.is_capturing
        draw(made, a)
    ready = graph.instantiate()
    for _ in range(3):
        ready.launch(stream)
        stream.synchronize()
        draw(wanted, b)
        np.testing.assert_array_equal(a.get(), b.get())
    draw(made, a)
    draw(wanted, b)
    np.testing.assert_array_equal(a.get(), b.get())


def test_a_generator_is_used_in_another_stream_during_a_capture(primary_context):
    """Its work in the stream that is captured now, queued before, is waited for without a node in the
    graph."""
    stream, other = drv.Stream(1), drv.Stream(1)
    made, wanted = (GENERATORS["XORWOW"](seed_getter=seeds) for _ in range(2))
    first, second = (gpuarray.empty(1000, np.float32) for _ in range(2))
    drv.Context.synchronize()
    made.fill_uniform(first, stream)
    with stream.capture() as graph:
        made.fill_uniform(second, other)
        assert not other.is_capturing
    assert graph.nodes == ()
    other.synchronize()
    for array in (first, second):
        expected = gpuarray.empty_like(array)
        wanted.fill_uniform(expected)
        np.testing.assert_array_equal(array.get(), expected.get())


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_each_replay_of_rand_returns_other_numbers(stream, dtype):
    """The first launch returns those of the eager call."""
    np.random.seed(11)
    expected = curandom.rand(10_001, dtype).get()
    np.random.seed(11)
    with stream.capture() as graph:
        result = curandom.rand(10_001, dtype)
    ready = graph.instantiate()
    seen = []
    for _ in range(3):
        ready.launch(stream)
        stream.synchronize()
        seen.append(result.get())
    np.testing.assert_array_equal(seen[0], expected)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert (seen[one] != seen[other]).mean() > 0.9
