"""Functions of another library's array return a GPUArray, even if the result is a view of the whole array. An
array passed as out= is returned itself."""

import numpy as np
import pytest

import pycuda.numpy as xp
from pycuda import gpuarray
from pycuda.gpuarray import GPUArray

pytestmark = pytest.mark.usefixtures("primary_context")


class Foreign:
    """An array of another library, in the memory of a GPUArray."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


@pytest.fixture
def foreign():
    return Foreign(gpuarray.to_gpu(np.arange(6, dtype=np.float32).reshape(2, 3)))


@pytest.mark.parametrize(
    "call",
    [
        xp.asarray, xp.ascontiguousarray, xp.require, xp.atleast_1d, xp.atleast_2d, xp.real, xp.real_if_close,
        lambda a: xp.astype(a, np.float32, copy=False),
        lambda a: xp.reshape(a, (2, 3)),
        lambda a: gpuarray.reshape(a, 2, 3),
    ],
)  # fmt: skip
def test_a_view_of_the_whole_array_is_a_gpuarray(foreign, call):
    result = call(foreign)
    assert type(result) is GPUArray
    assert result.ptr == foreign.array.ptr and result.shape == (2, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda a, out: xp.round(a, 0, out),
        lambda a, out: xp.sum(a, axis=0, out=out),
        lambda a, out: xp.add(a, 1, out=(out,)),
        lambda a, out: gpuarray.maximum(a, 2, out),
        lambda a, out: xp.take(out, [0, 1, 2], out=out),
    ],
)
def test_out_is_returned_itself(call):
    a, out = gpuarray.to_gpu(np.arange(3, dtype=np.float32)), Foreign(gpuarray.zeros(3, np.float32))
    a = a.reshape(1, 3) if "sum" in call.__code__.co_names else a  # so that the sum along axis 0 fits out
    assert call(a, out) is out
