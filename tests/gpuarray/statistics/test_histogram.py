"""Histograms, compared with NumPy."""

import numpy as np
import pytest
from against import compare
from drawing import few
from hypothesis import given, settings
from hypothesis import strategies as st

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._kernels.builtin import histogram

pytestmark = pytest.mark.usefixtures("primary_context")


seeds = st.integers(0, 1000)


BINS = [
    {},
    {"bins": 256, "range": (-50, 60)},
    {"bins": 3000, "range": (-3, 99.5)},
    {"bins": [-3, 0, 1, 1, 7.5, 40]},
    {"bins": np.arange(-100, 100, 3)},
    {"bins": 7, "density": True},
    {"bins": [2.0]},
]


@pytest.mark.parametrize("dtype", "?hqQefd")
def test_histogram(dtype):
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=20_000) * 20
    host = (abs(numbers) if dtype == "Q" else numbers).astype(dtype)
    array = gpuarray.to_gpu(host)
    for kwargs in BINS:
        if dtype == "e" and np.array_equal(kwargs.get("bins"), 3000):
            continue  # float16 has fewer numbers in the range than bins
        host_bins = np.uint8(host) if dtype == "?" else host
        compare(np.histogram(array, **kwargs), np.histogram(host_bins, **kwargs))


LIMITS = [
    None,
    (5, 5),
    (0, 1),
    (-4, 4),
    (-1, 1e-3),
    (1000, 1001),
    (1e6, 1e6 + 2),
    (-1e30, 3e30),
    (1e-30, 2e-30),
]


@settings(few, max_examples=60)
@given(
    seeds,
    st.sampled_from([0, 1, 300, 40_000]),
    st.sampled_from([1, 2, 10, 256, 257, 1000, 2048]),
    st.sampled_from(LIMITS),
    st.sampled_from("fd"),
)
def test_histogram_of_elements_at_the_edges(seed, count, bins, limits, dtype):
    """Many elements are equal to edges of bins, next to them, or not finite."""
    rng = np.random.default_rng(seed)
    low, high = limits or (-2, 3)
    host = rng.uniform(low - (high - low) / 9, high, count)
    at = np.linspace(low, high, bins + 1)[rng.integers(0, bins + 1, count)]
    host[::2] = at[::2]
    host[1::4] = at[1::4] + (high - low) / bins * 10 ** -rng.uniform(2, 8, len(at[1::4]))
    host = host.astype(dtype)
    host[::3] = np.nextafter(host[::3], rng.choice(np.array([-np.inf, np.inf], dtype), len(host[::3])))
    if limits:
        host[5::97] = rng.choice(np.array([np.nan, np.inf, -np.inf, 3e38, -3e38], dtype), len(host[5::97]))
    array = gpuarray.to_gpu(host)
    try:
        want = np.histogram(host, bins, limits)
    except ValueError:  # the dtype has fewer numbers in the range than bins
        with pytest.raises(ValueError, match="Too many bins"):
            np.histogram(array, bins, limits)
        return
    compare(np.histogram(array, bins, limits), want)


@pytest.mark.parametrize("dtype, edge", [("f", "float"), ("d", "double")])
def test_bins_of_one_width_are_found_without_a_search(dtype, edge):
    """even() returns the part of a bin, on each side of its center, where arithmetic finds it in spite of
    rounding: nearly the whole bin, or None if bins are too narrow. Only elements in the `doubtful` rest need
    a search.
    """
    for bins, first, last, doubtful in (256, 0, 1, 2e-4), (1000, -4, 4, 1e-3), (2048, 0, 1e9, 2e-3):
        *_, sure = np.frombuffer(histogram.even(np.linspace(first, last, bins + 1, dtype=dtype), edge), dtype)
        assert 1 - doubtful < 2 * sure < 1
    assert histogram.even(np.linspace(10**6, 10**6 + 100, 1601, dtype="f"), "float") is None
    assert histogram.even(np.array([-1.7e308, 1.7e308]), "double") is None
    assert histogram.even(np.array([0, 5e-324]), "double") is None


def test_remembered_edges_are_returned_as_copies():
    host = np.arange(100, dtype="f")
    array = gpuarray.to_gpu(host)
    for _ in range(2):
        got = gpuarray.histogram(array, 7, (0, 99))
        compare(got, np.histogram(host, 7, (0, 99)))
        got[1].fill(0)
    for zero in 0.0, -0.0:
        edges = np.histogram(array, [zero, 99])[1]
        assert np.signbit(edges.get()[0]) == np.signbit(zero)


@pytest.mark.driver(12030, "captures into a graph")
def test_a_histogram_between_known_edges_is_captured():
    host, again = np.random.default_rng(9).normal(size=(2, 5000)).astype("f")
    array, stream = gpuarray.to_gpu(host), drv.Stream()
    gpuarray.histogram(array, 20, (-2, 2), stream=stream)
    with stream.capture() as graph:
        got = gpuarray.histogram(array, 20, (-2, 2), stream=stream)
    ready = graph.instantiate()
    for each in host, again:
        array.set(each)
        ready.launch(stream)
        stream.synchronize()
        compare(got, np.histogram(each, 20, (-2, 2)))


@pytest.mark.parametrize("dtype", "?ifdF")
def test_histogram_of_weights(dtype):
    rng = np.random.default_rng(1)
    host, weights = rng.normal(size=(50, 60)).astype("f"), rng.integers(0, 9, (50, 60)).astype(dtype)
    if dtype == "F":
        weights.imag = rng.integers(0, 9, (50, 60))
    array, on_device = gpuarray.to_gpu(host), gpuarray.to_gpu(weights)
    for bins in (20, [-1, 0, 1]) if dtype != "?" else (20,):  # with edges NumPy refuses to add booleans
        got, want = np.histogram(array, bins, weights=on_device), np.histogram(host, bins, weights=weights)
        compare(got, want)
    compare(np.histogram(array[:0], 5, weights=on_device[:0]), np.histogram(host[:0], 5, weights=weights[:0]))


def test_histogram_of_edges_on_the_device():
    edges = np.array([0, 1, 5, 6.0])
    got = gpuarray.histogram(gpuarray.to_gpu(np.arange(7, dtype="i")), gpuarray.to_gpu(edges))
    compare(got, np.histogram(np.arange(7), edges))
    with pytest.raises(TypeError, match="complex"):
        gpuarray.histogram(gpuarray.zeros(3, "F"))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.histogram(a([1]), 0),
        lambda a: np.histogram(a([1]), 1.5),
        lambda a: np.histogram(a([1]), [1, 0]),
        lambda a: np.histogram(a([1]), [[1, 2]]),
        lambda a: np.histogram(a([1]), range=(1, 0)),
        lambda a: np.histogram(a([1]), range=(0, np.inf)),
        lambda a: np.histogram(a([np.nan])),
        lambda a: np.histogram(a([1, 2]), weights=a([1])),
        lambda a: np.histogram(a([0.0, 1e-320]), 100_000),
    ],
)
def test_errors_are_those_of_numpy(call):
    with pytest.raises(Exception) as wanted:
        call(np.asarray)
    with pytest.raises(type(wanted.value)):
        call(lambda values: gpuarray.to_gpu(np.asarray(values)))


def test_histogram_on_a_stream():
    stream = drv.Stream()
    host = np.random.default_rng(1).integers(0, 50, 5000).astype("i")
    got = gpuarray.histogram(gpuarray.to_gpu(host), 5, stream=stream)
    stream.synchronize()
    compare(got, np.histogram(host, 5))
