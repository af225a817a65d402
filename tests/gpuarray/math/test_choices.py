"""maximum, minimum, where, logical functions, clip and round, compared with NumPy."""

import numpy as np
import pytest
from against import compare

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


HOST = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture
def array(primary_context):
    return gpuarray.to_gpu(HOST)


def test_where_extrema_and_logical_functions(array):
    flag = gpuarray.to_gpu(HOST > 5)
    compare(gpuarray.where(flag, array, 0), np.where(HOST > 5, HOST, np.float32(0)))
    compare(gpuarray.if_positive(array, array, 1), np.where(HOST > 0, HOST, np.float32(1)))
    compare(gpuarray.maximum(array, 7), np.maximum(HOST, np.float32(7)))
    compare(gpuarray.minimum(7, array), np.minimum(HOST, np.float32(7)))
    nan = gpuarray.to_gpu(np.array([np.nan, 1], np.float32))
    compare(gpuarray.maximum(nan, 0), np.array([0, 1], np.float32))
    compare(gpuarray.logical_and(array, flag), np.logical_and(HOST, HOST > 5))
    compare(gpuarray.logical_or(array, 0), HOST != 0)
    compare(gpuarray.logical_not(array), HOST == 0)
    with pytest.raises(ValueError):
        gpuarray.logical_and(array, HOST)


def test_clip_and_round(array):
    compare(array.clip(3, 7), HOST.clip(3, 7))
    compare(array.clip(min=3), HOST.clip(3))
    compare(array.clip(max=gpuarray.to_gpu(HOST[::-1].copy())), HOST.clip(max=HOST[::-1]))
    for decimals in (0, 2, -1):
        compare(gpuarray.to_gpu(HOST / 7).round(decimals), (HOST / 7).round(decimals))
    compare(gpuarray.to_gpu(HOST.astype(int)).round(1), HOST.astype(int))
