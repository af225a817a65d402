"""Arrays joined: concatenate, stack, block, against NumPy."""

import numpy as np
import pytest
from against import compare, same

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


HOST = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture
def array(primary_context):
    return gpuarray.to_gpu(HOST)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_concatenate(array, axis):
    other = gpuarray.to_gpu(HOST.astype(np.int32))
    expected = np.concatenate([HOST, HOST.astype(np.int32), HOST[..., ::-1]], axis)
    compare(gpuarray.concatenate([array, other, array[..., ::-1]], axis), expected)
    out = gpuarray.zeros(expected.shape, np.float64)
    assert gpuarray.concatenate([array, other, array[..., ::-1]], axis, out=out) is out
    np.testing.assert_array_equal(out.get(), expected)


@pytest.mark.parametrize("axis", [0, 1, 3, -1])
def test_stack(array, axis):
    compare(gpuarray.stack([array, array], axis), np.stack([HOST, HOST], axis))
    fortran = gpuarray.to_gpu(np.asfortranarray(HOST))
    compare(gpuarray.stack([array, fortran], axis), np.stack([HOST, HOST], axis))


def test_vstack_and_hstack(array):
    rows, there = [HOST[0, 0], HOST[1, 1]], [array[0, 0], array[1, 1]]
    compare(gpuarray.vstack(there), np.vstack(rows))
    compare(gpuarray.hstack(there), np.hstack(rows))
    compare(gpuarray.hstack([array, array]), np.hstack([HOST, HOST]))


def test_what_cannot_be_joined(array):
    for arrays, axis in (([], 0), ([array, array[0]], 0), ([array, array[:, 1:]], 0), ([array[0, 0, 0]], 0)):
        with pytest.raises(ValueError):
            gpuarray.concatenate(arrays, axis)
    with pytest.raises(np.exceptions.AxisError):
        gpuarray.stack([array], 4)
    with pytest.raises(ValueError):
        gpuarray.stack([array, array[:1]])
    with pytest.raises(TypeError):
        gpuarray.concatenate([array, HOST])


def test_joined_in_other_ways():
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    same(lambda a: np.block([[a, a[:, :1]], [a[:1], a[:1, :1]]]), host)
    same(lambda a: np.block(a), host)
    same(lambda a: np.block([a[0], a[1]]), host)
    same(lambda a: np.block([[a], [a[0]]]), host)
    same(lambda a: np.dstack((a, a)), host)
    same(lambda a: np.column_stack((a[:, 0], a)), host)
    same(lambda a: np.concatenate((a, a), dtype="f8"), host)
    same(lambda a: np.concatenate((a, a), casting="unsafe", dtype="i4"), host)
    same(lambda a: np.concatenate((a, a), casting="no", dtype="i4"), host)
    same(lambda a: np.stack((a, a), -1, dtype="f8"), host)
    same(lambda a: np.vstack((a[0], a[1]), dtype="i8", casting="unsafe"), host)
    same(lambda a, o: np.concatenate((a, a), 0, o), host, np.zeros((4, 3)))
    same(lambda a: np.trim_zeros(a), np.array([0, 0, 3, 0, 4, 0]))
    same(lambda a: np.trim_zeros(a, "b"), np.array([0, 0, 3, 0, 4, 0]))
    same(lambda a: np.trim_zeros(a), np.zeros(3))
