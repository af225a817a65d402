"""bincount, compared with NumPy."""

import numpy as np
import pytest
from against import compare
from drawing import few
from hypothesis import given
from hypothesis import strategies as st

import pycuda.driver as drv
from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


seeds = st.integers(0, 1000)


@few
@given(seeds, st.sampled_from([0, 1, 50, 7000]), st.sampled_from("?bQ"), st.sampled_from([0, 3, 5000]))
def test_bincount(seed, count, dtype, minlength):
    host = np.random.default_rng(seed).integers(0, 2 if dtype == "?" else 99, count).astype(dtype)
    array = gpuarray.to_gpu(host)
    compare(np.bincount(array, minlength=minlength), np.bincount(host, minlength=minlength))
    compare(np.bincount(array[::-2]), np.bincount(host[::-2]))
    weights = np.arange(count, dtype="f")
    for each in (weights, gpuarray.to_gpu(weights)):
        compare(gpuarray.bincount(array, each, minlength), np.bincount(host, weights, minlength))


@pytest.mark.parametrize("maximum", [4095, 4096, 100_000])
def test_bincount_of_many_bins(maximum):
    host = np.random.default_rng(1).integers(0, maximum + 1, 20_000)
    host[777] = maximum
    weights = np.random.default_rng(2).integers(0, 99, host.size).astype("d")
    array = gpuarray.to_gpu(host)
    compare(np.bincount(array), np.bincount(host))
    compare(np.bincount(array, gpuarray.to_gpu(weights)), np.bincount(host, weights))


def test_sums_of_weights_have_the_same_bits_at_every_run():
    rng = np.random.default_rng(3)
    host, weights = rng.integers(0, 7, 20_000).astype("i"), rng.normal(size=20_000)
    array, on_device = gpuarray.to_gpu(host), gpuarray.to_gpu(weights)
    first = np.bincount(array, on_device).get()
    np.testing.assert_allclose(first, np.bincount(host, weights), rtol=0, atol=1e-11)
    assert all((np.bincount(array, on_device).get() == first).all() for _ in range(3))
    for count, threads in (20_000, 256), (3000, 32):
        # The order of additions in the documentation: sums of every 256th or 32nd weight, then added by
        # halves.
        mine = weights[:count][host[:count] == 2]
        parts = np.zeros(threads)
        for row in np.split(mine, range(threads, len(mine), threads)):
            parts[: len(row)] += row
        while len(parts) > 1:
            parts = parts[: len(parts) // 2] + parts[len(parts) // 2 :]
        assert np.bincount(array[:count], on_device[:count]).get()[2] == parts[0]


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
    ],
)
def test_errors_are_those_of_numpy(call):
    with pytest.raises(Exception) as wanted:
        call(np.asarray)
    with pytest.raises(type(wanted.value)):
        call(lambda values: gpuarray.to_gpu(np.asarray(values)))


def test_bincount_on_a_stream():
    host = np.random.default_rng(1).integers(0, 50, 5000).astype("i")
    compare(gpuarray.bincount(gpuarray.to_gpu(host), stream=drv.Stream()), np.bincount(host))
