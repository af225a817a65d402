"""array-api-compat: its queries about arrays, namespaces and devices know GPUArrays."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.numpy as xp
from pycuda import gpuarray

compat = pytest.importorskip("array_api_compat", reason="in the extra `test`")


@pytest.fixture
def a(primary_context):
    return gpuarray.to_gpu(np.arange(6.0).reshape(2, 3))


def test_the_namespace(a):
    assert compat.array_namespace(a, a * 2, 1.0) is xp
    with pytest.raises(TypeError, match="Multiple namespaces"):
        compat.array_namespace(a, np.ones(2))


def test_kinds_of_arrays(a):
    assert compat.is_array_api_obj(a) and compat.is_writeable_array(a)
    assert not compat.is_numpy_array(a) and not compat.is_lazy_array(a)
    assert compat.size(a) == 6


def test_devices(a):
    assert compat.device(a) == drv.Context.get_device()
    assert compat.to_device(a, compat.device(a)) is a
    np.testing.assert_array_equal(compat.to_device(a, "cpu"), a.get())
