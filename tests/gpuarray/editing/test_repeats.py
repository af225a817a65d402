"""repeat and tile, compared with NumPy."""

import numpy as np
import pytest
from against import compare

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


HOST = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture
def array(primary_context):
    return gpuarray.to_gpu(HOST)


@pytest.mark.parametrize("repeats, axis", [(2, None), (3, 1), ([1, 0, 2], 1), (0, 0), (np.array([2]), 2)])
def test_repeat(array, repeats, axis):
    compare(array.repeat(repeats, axis), np.repeat(HOST, repeats, axis))
    with pytest.raises(ValueError):
        array.repeat([1, 2], 1)
    with pytest.raises(ValueError):
        array.repeat(-1)


@pytest.mark.parametrize("reps", [2, (2, 1), (1, 2, 3, 1), (2, 0, 1), ()])
def test_tile(array, reps):
    compare(gpuarray.tile(array, reps), np.tile(HOST, reps))


def test_repeats_along_an_empty_axis():
    host = np.zeros((0, 3))
    assert gpuarray.repeat(gpuarray.to_gpu(host), [], 0).shape == np.repeat(host, [], 0).shape
    with pytest.raises(ValueError):
        gpuarray.repeat(gpuarray.to_gpu(host), [], 1)
    with pytest.raises(ValueError):
        gpuarray.repeat(gpuarray.to_gpu(host), [1.5, 1, 1], 1)
