"""Elements selected by boolean masks: nonzero, extract, compress, a[mask], compared with NumPy."""

import numpy as np
import pytest
from against import compare, same
from drawing import arrays, few
from hypothesis import given
from hypothesis import strategies as st

import pycuda.driver as drv
from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


@few
@given(st.data())
def test_indices_of_true_elements(data):
    host, array = data.draw(arrays("i", min_ndim=1, max_ndim=3))
    host, array = host > 1, array > 1
    compare(np.nonzero(array), np.nonzero(host))
    compare(np.flatnonzero(array), np.flatnonzero(host))
    compare(np.extract(array, array), np.extract(host, host))
    compare(array[array], host[host])


@pytest.mark.parametrize("share", [0, 0.001, 0.5, 1])
def test_indices_of_nonzero_elements_over_several_tiles(share):
    """More elements than one block counts, with this share of them not zero."""
    host = (np.random.default_rng(1).random((3, 9000)) < share).astype("f")
    array = gpuarray.to_gpu(host)
    compare(np.nonzero(array), np.nonzero(host))
    compare(np.flatnonzero(array.T), np.flatnonzero(host.T))
    compare(array.ravel().compress(array.ravel() != 0), host.ravel().compress(host.ravel() != 0))
    assert int(np.count_nonzero(array).get()) == np.count_nonzero(host)


@pytest.mark.parametrize("dtype", ["i1", "c8", "c16", [("x", "f4"), ("y", "i4"), ("z", "i4")]])
def test_masks_with_elements_of_any_size(dtype):
    host = np.zeros((3, 3000), dtype)
    host.view(np.uint8)[:] = np.random.default_rng(1).integers(0, 99, host.nbytes // 3)  # all rows alike
    mask = np.random.default_rng(2).random(host.shape) < 0.3
    array, on_device = gpuarray.to_gpu(host), gpuarray.to_gpu(mask)
    for index in (slice(None), (slice(None), slice(1, None)), (slice(None), slice(None, None, -2))):
        assert array[index][on_device[index]].get().tobytes() == host[index][mask[index]].tobytes()
    assert array[0].compress(on_device[0]).get().tobytes() == host[0][mask[0]].tobytes()


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_compress(axis):
    host = np.arange(12.0).reshape(3, 4)
    array = gpuarray.to_gpu(host)
    for condition in ([True, False, True], [0, 1]):
        want = np.compress(condition, host, axis)
        on_device = gpuarray.to_gpu(np.array(condition))
        compare(gpuarray.compress(condition, array, axis), want)
        compare(np.compress(on_device, array, axis), want)
        out = gpuarray.zeros(want.shape, want.dtype)
        assert array.compress(on_device, axis, out) is out
        compare(out, want)
    with pytest.raises(ValueError, match="must be a 1-d array"):
        gpuarray.compress([[1]], array)
    with pytest.raises(IndexError):
        gpuarray.compress([0, 0, 0, 0, 1], array, axis or 0)


def test_compress_of_0d_arrays():
    same(lambda a: np.compress([True], a, axis=0), np.array(5))
    same(lambda a: np.compress([False], a, axis=0), np.array(5))
    same(lambda a: np.compress([True], a), np.array(5))


def test_flatnonzero_on_a_stream():
    host = np.random.default_rng(1).integers(0, 50, 5000).astype("i")
    compare(gpuarray.flatnonzero(gpuarray.to_gpu(host), stream=drv.Stream()), np.flatnonzero(host))
