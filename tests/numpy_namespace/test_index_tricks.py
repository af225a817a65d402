"""r_, c_, mgrid, ogrid and mask_indices, compared with NumPy's."""

import numpy as np
import pytest

import pycuda.numpy as xp
from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

A = np.arange(6, dtype=np.float32).reshape(2, 3)
V, W = np.arange(3), np.array([7, 8, 9], np.int16)


def on_device(key):
    """The index with GPUArrays instead of NumPy's arrays."""
    if isinstance(key, tuple):
        return tuple(map(on_device, key))
    return gpuarray.to_gpu(key) if isinstance(key, np.ndarray) else key


def check(got, want):
    """Asserts that our result is a GPUArray with the shape, dtype and values of NumPy's."""
    assert isinstance(got, gpuarray.GPUArray)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(got.get(), want)


KEYS = [
    np.s_[1:5], np.s_[0:1:5j], np.s_[5:0:-2], np.s_[:3], 3, [1, 2], V, (V, W), (V, 0, 0, W), (V, [4, 5], 2.5),
    ("0", V, W), ("-1", A, A), ("0,2", V, W), ("0,2,0", V, W), ("1,2,0", V, W), ("0,3,1", A, A), ("-1", A),
    (np.float32(1), np.int8(2)), (True, False), (np.s_[0:3], np.s_[1:2:3j], 5), (A[:, 0], 1j), ("0,2", 1, V),
    ("0,2,0", np.s_[1:4], V),
]  # fmt: skip


@pytest.mark.parametrize("name", ["r_", "c_"])
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_r_and_c(name, key):
    ours, theirs = getattr(xp, name), getattr(np, name)
    try:
        want = theirs[key]
    except ValueError:
        with pytest.raises(ValueError):
            ours[on_device(key)]
        return
    check(ours[on_device(key)], want)
    check(ours[key], want)  # arrays in host memory are taken too


@pytest.mark.parametrize("name", ["r_", "c_"])
def test_keys_that_are_refused(name):
    for key in ((), "nonsense", ("x,y", V), (V, "0"), ("0,1,2,3", V), ("r", V), ("c", V)):
        with pytest.raises(ValueError):
            getattr(xp, name)[key]


GRIDS = [
    np.s_[0:5],
    np.s_[-1:1:5j],
    np.s_[0:5, 0:3],
    np.s_[0:1:4j, 2:8:2],
    np.s_[0:2, 0:3, 0:4],
    np.s_[0:0, 0:3],
]


@pytest.mark.parametrize("key", GRIDS, ids=str)
def test_mgrid_and_ogrid(key):
    check(xp.mgrid[key], np.mgrid[key])
    got, want = xp.ogrid[key], np.ogrid[key]
    if not isinstance(key, tuple):
        check(got, want)
        return
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        check(one, other)


@pytest.mark.parametrize("name", ["triu", "tril"])
def test_mask_indices(name):
    for n, k in ((3, 0), (4, 1), (4, -2), (0, 0)):
        got = xp.mask_indices(n, getattr(xp, name), k)
        for one, other in zip(got, np.mask_indices(n, getattr(np, name), k), strict=True):
            check(one, other)
