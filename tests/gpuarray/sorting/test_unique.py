"""Distinct elements: unique, its counts and indices, compared with NumPy."""

import numpy as np
import pytest
from against import compare, same
from drawing import arrays, few
from hypothesis import given
from hypothesis import strategies as st

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.tools import default_memory_pool

pytestmark = pytest.mark.usefixtures("primary_context")


@few
@given(st.data())
def test_unique(data):
    host, array = data.draw(arrays("i", max_ndim=3))
    flags = {name: data.draw(st.booleans()) for name in ("return_index", "return_inverse", "return_counts")}
    got, want = np.unique(array, **flags), np.unique(host, **flags)
    compare(got, tuple(want) if isinstance(want, tuple) else want)


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
    compare(got, tuple(np.unique(host, True, True, True, equal_nan=equal_nan)))
    compare(np.unique(array, equal_nan=equal_nan), np.unique(host, equal_nan=equal_nan))


@pytest.mark.parametrize("count", [1, 8191, 8192, 8193, 60_000, 300_000])
@pytest.mark.parametrize("values", [1, 20_000, 2**31 - 1])
def test_unique_over_several_tiles(count, values):
    host = np.random.default_rng(1).integers(0, values, count).astype("i")
    array = gpuarray.to_gpu(host)
    compare(np.unique(array), np.unique(host))
    compare(np.unique(array, True, True, True), tuple(np.unique(host, True, True, True)))


def test_few_distinct_elements_take_little_memory():
    """The memory in which they were found has room for all elements: the result is a smaller copy."""
    array = gpuarray.to_gpu(np.arange(1 << 20, dtype="i") % 1000)
    active = default_memory_pool().active_bytes
    found = np.unique(array)
    assert found.size == 1000 and default_memory_pool().active_bytes - active < 1 << 16


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_along_an_axis(axis):
    host = np.random.default_rng(1).integers(0, 2, (12, 9, 2)).astype("i")
    got = np.unique(gpuarray.to_gpu(host), True, True, True, axis=axis)
    compare(got, tuple(np.unique(host, True, True, True, axis=axis)))
    flat = gpuarray.to_gpu(host.ravel())
    compare(np.unique(flat, axis=0), np.unique(host.ravel(), axis=0))


@pytest.mark.parametrize("shape, axis", [((0, 5), 0), ((0, 5), 1), ((5, 0), 0), ((0,), 0), ((2, 0, 3), 2)])
def test_unique_along_an_axis_of_empty_arrays(shape, axis):
    for options in ({}, {"return_index": True, "return_inverse": True, "return_counts": True}):
        same(lambda a, o=options: np.unique(a, axis=axis, **o), np.zeros(shape))


def test_unique_on_a_stream():
    host = np.random.default_rng(1).integers(0, 50, 5000).astype("i")
    compare(gpuarray.unique(gpuarray.to_gpu(host), stream=drv.Stream()), np.unique(host))
