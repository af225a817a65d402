"""Distinct elements, counts, histograms and where something is true, against NumPy."""

import numpy as np
import pytest
from drawing import arrays
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda._kernels.builtin import histogram
from pycuda.tools import default_memory_pool

pytestmark = pytest.mark.usefixtures("primary_context")

few = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 1000)


def same(got, want):
    """Equal, of the same dtypes and shapes; one result, or a tuple of several."""
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other)
        return
    got = got.get()
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


# ---- unique


@few
@given(st.data())
def test_unique(data):
    host, array = data.draw(arrays("i", most=3))
    flags = {name: data.draw(st.booleans()) for name in ("return_index", "return_inverse", "return_counts")}
    got, want = np.unique(array, **flags), np.unique(host, **flags)
    same(got, tuple(want) if isinstance(want, tuple) else want)


@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("dtype", "?bQefdFD")
def test_unique_of_every_kind(dtype, equal_nan):
    rng = np.random.default_rng(1)
    host = rng.integers(0, 9, 500).astype(dtype)
    if dtype in "efdFD":
        host[::7] = np.nan
        host[::5] = -0.0
        if dtype in "FD":
            host[::11] = 3 + 1j * np.nan
    array = gpuarray.to_gpu(host)
    got = gpuarray.unique(array, True, True, True, equal_nan=equal_nan)
    same(got, tuple(np.unique(host, True, True, True, equal_nan=equal_nan)))
    same(np.unique(array, equal_nan=equal_nan), np.unique(host, equal_nan=equal_nan))


@pytest.mark.parametrize("count", [1, 8191, 8192, 8193, 60_000, 300_000])
@pytest.mark.parametrize("values", [1, 20_000, 2**31 - 1])
def test_unique_over_several_tiles(count, values):
    host = np.random.default_rng(1).integers(0, values, count).astype("i")
    array = gpuarray.to_gpu(host)
    same(np.unique(array), np.unique(host))
    same(np.unique(array, True, True, True), tuple(np.unique(host, True, True, True)))


def test_few_distinct_elements_take_little_memory():
    """They are found where there would be room for all."""
    array = gpuarray.to_gpu(np.arange(1 << 20, dtype="i") % 1000)
    active = default_memory_pool().active_bytes
    found = np.unique(array)
    assert found.size == 1000 and default_memory_pool().active_bytes - active < 1 << 16


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_along_an_axis(axis):
    host = np.random.default_rng(1).integers(0, 2, (12, 9, 2)).astype("i")
    got = np.unique(gpuarray.to_gpu(host), True, True, True, axis=axis)
    same(got, tuple(np.unique(host, True, True, True, axis=axis)))
    flat = gpuarray.to_gpu(host.ravel())
    same(np.unique(flat, axis=0), np.unique(host.ravel(), axis=0))


# ---- bincount


@few
@given(seeds, st.sampled_from([0, 1, 50, 7000]), st.sampled_from("?bQ"), st.sampled_from([0, 3, 5000]))
def test_bincount(seed, count, dtype, minlength):
    host = np.random.default_rng(seed).integers(0, 2 if dtype == "?" else 99, count).astype(dtype)
    array = gpuarray.to_gpu(host)
    same(np.bincount(array, minlength=minlength), np.bincount(host, minlength=minlength))
    same(np.bincount(array[::-2]), np.bincount(host[::-2]))
    weights = np.arange(count, dtype="f")
    for each in (weights, gpuarray.to_gpu(weights)):
        same(gpuarray.bincount(array, each, minlength), np.bincount(host, weights, minlength))


@pytest.mark.parametrize("most", [4095, 4096, 100_000])
def test_bincount_of_many_bins(most):
    host = np.random.default_rng(1).integers(0, most + 1, 20_000)
    host[777] = most
    weights = np.random.default_rng(2).integers(0, 99, host.size).astype("d")
    array = gpuarray.to_gpu(host)
    same(np.bincount(array), np.bincount(host))
    same(np.bincount(array, gpuarray.to_gpu(weights)), np.bincount(host, weights))


def test_sums_of_weights_have_the_same_bits_at_every_run():
    rng = np.random.default_rng(3)
    host, weights = rng.integers(0, 7, 20_000).astype("i"), rng.normal(size=20_000)
    array, there = gpuarray.to_gpu(host), gpuarray.to_gpu(weights)
    first = np.bincount(array, there).get()
    np.testing.assert_allclose(first, np.bincount(host, weights), rtol=0, atol=1e-11)
    assert all((np.bincount(array, there).get() == first).all() for _ in range(3))
    for count, threads in (20_000, 256), (3000, 32):
        # As the page on order says: sums of every 256th or 32nd weight, added by halves.
        mine = weights[:count][host[:count] == 2]
        parts = np.zeros(threads)
        for row in np.split(mine, range(threads, len(mine), threads)):
            parts[: len(row)] += row
        while len(parts) > 1:
            parts = parts[: len(parts) // 2] + parts[len(parts) // 2 :]
        assert np.bincount(array[:count], there[:count]).get()[2] == parts[0]


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.bincount(a([-1])),
        lambda a: np.bincount(a([1.5])),
        lambda a: np.bincount(a([[1]])),
        lambda a: np.bincount(a([1]), minlength=-1),
        lambda a: np.bincount(a([1]), minlength=None),
        lambda a: np.bincount(a([1]), a([1, 2])),
        lambda a: np.bincount(a([1]), a([1j])),
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


# ---- histogram

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
    host = (np.abs if dtype in "BQ" else np.asarray)(rng.normal(size=20_000) * 20).astype(dtype)
    array = gpuarray.to_gpu(host)
    for kwargs in BINS:
        if dtype == "e" and np.size(kwargs.get("bins")) == 1 and kwargs.get("bins") == 3000:
            continue  # more than there are numbers
        host_bins = np.uint8(host) if dtype == "?" else host
        same(np.histogram(array, **kwargs), np.histogram(host_bins, **kwargs))


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
    except ValueError:  # more bins than numbers
        with pytest.raises(ValueError, match="Too many bins"):
            np.histogram(array, bins, limits)
        return
    same(np.histogram(array, bins, limits), want)


@pytest.mark.parametrize("dtype, edge", [("f", "float"), ("d", "double")])
def test_bins_of_one_width_are_found_without_a_search(dtype, edge):
    """What rounding makes doubtful is few elements, or bins are too narrow for arithmetic."""
    for bins, first, last, doubtful in (256, 0, 1, 2e-4), (1000, -4, 4, 1e-3), (2048, 0, 1e9, 2e-3):
        *_, sure = np.frombuffer(histogram.even(np.linspace(first, last, bins + 1, dtype=dtype), edge), dtype)
        assert 1 - doubtful < 2 * sure < 1
    assert histogram.even(np.linspace(10**6, 10**6 + 100, 1601, dtype="f"), "float") is None
    assert histogram.even(np.array([-1.7e308, 1.7e308]), "double") is None
    assert histogram.even(np.array([0, 5e-324]), "double") is None


def test_edges_are_kept_but_given_as_copies():
    host = np.arange(100, dtype="f")
    array = gpuarray.to_gpu(host)
    for _ in range(2):
        got = gpuarray.histogram(array, 7, (0, 99))
        same(got, np.histogram(host, 7, (0, 99)))
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
        same(got, np.histogram(each, 20, (-2, 2)))


@pytest.mark.parametrize("dtype", "?ifdF")
def test_histogram_of_weights(dtype):
    rng = np.random.default_rng(1)
    host, weights = rng.normal(size=(50, 60)).astype("f"), rng.integers(0, 9, (50, 60)).astype(dtype)
    if dtype == "F":
        weights.imag = rng.integers(0, 9, (50, 60))
    array, there = gpuarray.to_gpu(host), gpuarray.to_gpu(weights)
    for bins in (20, [-1, 0, 1]) if dtype != "?" else (20,):  # NumPy adds no booleans up between edges
        got, want = np.histogram(array, bins, weights=there), np.histogram(host, bins, weights=weights)
        same(got, want)
    same(np.histogram(array[:0], 5, weights=there[:0]), np.histogram(host[:0], 5, weights=weights[:0]))


def test_histogram_of_edges_on_the_device():
    edges = np.array([0, 1, 5, 6.0])
    got = gpuarray.histogram(gpuarray.to_gpu(np.arange(7, dtype="i")), gpuarray.to_gpu(edges))
    same(got, np.histogram(np.arange(7), edges))
    with pytest.raises(TypeError, match="complex"):
        gpuarray.histogram(gpuarray.zeros(3, "F"))


# ---- where something is true


@few
@given(st.data())
def test_places_of_what_is_true(data):
    host, array = data.draw(arrays("i", least=1, most=3))
    host, array = host > 1, array > 1
    same(np.nonzero(array), np.nonzero(host))
    same(np.flatnonzero(array), np.flatnonzero(host))
    same(np.extract(array, array), np.extract(host, host))
    same(array[array], host[host])


@pytest.mark.parametrize("share", [0, 0.001, 0.5, 1])
def test_places_over_several_tiles(share):
    host = (np.random.default_rng(1).random((3, 9000)) < share).astype("f")
    array = gpuarray.to_gpu(host)
    same(np.nonzero(array), np.nonzero(host))
    same(np.flatnonzero(array.T), np.flatnonzero(host.T))
    same(array.ravel().compress(array.ravel() != 0), host.ravel().compress(host.ravel() != 0))
    assert int(np.count_nonzero(array).get()) == np.count_nonzero(host)


@pytest.mark.parametrize("dtype", ["i1", "c8", "c16", [("x", "f4"), ("y", "i4"), ("z", "i4")]])
def test_masks_on_the_device(dtype):
    host = np.zeros((3, 3000), dtype)
    host.view(np.uint8)[:] = np.random.default_rng(1).integers(0, 99, host.nbytes // 3)
    mask = np.random.default_rng(2).random(host.shape) < 0.3
    array, there = gpuarray.to_gpu(host), gpuarray.to_gpu(mask)
    for index in (slice(None), (slice(None), slice(1, None)), (slice(None), slice(None, None, -2))):
        assert array[index][there[index]].get().tobytes() == host[index][mask[index]].tobytes()
    assert array[0].compress(there[0]).get().tobytes() == host[0][mask[0]].tobytes()


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_compress(axis):
    host = np.arange(12.0).reshape(3, 4)
    array = gpuarray.to_gpu(host)
    for condition in ([True, False, True], [0, 1]):
        want = np.compress(condition, host, axis)
        there = gpuarray.to_gpu(np.array(condition))
        same(gpuarray.compress(condition, array, axis), want)
        same(np.compress(there, array, axis), want)
        out = gpuarray.zeros(want.shape, want.dtype)
        assert array.compress(there, axis, out) is out
        same(out, want)
    with pytest.raises(ValueError, match="must be a 1-d array"):
        gpuarray.compress([[1]], array)
    with pytest.raises(IndexError):
        gpuarray.compress([0, 0, 0, 0, 1], array, axis or 0)


def test_a_stream():
    stream = drv.Stream()
    host = np.random.default_rng(1).integers(0, 50, 5000).astype("i")
    array = gpuarray.to_gpu(host)
    same(gpuarray.bincount(array, stream=stream), np.bincount(host))
    same(gpuarray.unique(array, stream=stream), np.unique(host))
    same(gpuarray.flatnonzero(array, stream=stream), np.flatnonzero(host))
    got = gpuarray.histogram(array, 5, stream=stream)
    stream.synchronize()
    same(got, np.histogram(host, 5))
