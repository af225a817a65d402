"""Predicates: isclose, array_equal, kinds of values and dtypes, compared with NumPy."""

import numpy as np
import pytest
from against import same

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


def test_near_and_equal():
    a = np.array([1, 1 + 1e-7, np.nan, np.inf, -np.inf, 0, 100])
    b = np.array([1, 1, np.nan, np.inf, np.inf, 1e-9, 101])
    for options in ({}, {"equal_nan": True}, {"rtol": 0.1}, {"atol": 0.5, "rtol": 0}):
        same(lambda a, b, o=options: np.isclose(a, b, **o), a, b)
        same(lambda a, b, o=options: np.allclose(a, b, **o), a, b)
        same(lambda a, o=options: np.isclose(a, 1, **o), a)
        same(lambda a, o=options: np.isclose(1, a, **o), a)
    same(lambda a: np.isclose(a, a + 1), np.array([-128, 5], np.int8))
    for equal_nan in (False, True):
        same(lambda a, b, e=equal_nan: np.array_equal(a, b, e), a, b)
        same(lambda a, e=equal_nan: np.array_equal(a, a, e), a)
    same(lambda a, b: np.array_equal(a, b[:3]), a, b)
    same(lambda a: (np.array_equiv(a, a[None]), np.array_equiv(a, a[:3])), a[5:])


@pytest.mark.parametrize("dtype", ["f4", "f8", "e", "F", "i4"])
def test_kinds_of_values(dtype):
    host = np.array([1, -2, 0, 5]).astype(dtype)
    if dtype != "i4":
        host[:3] = np.nan, np.inf, -np.inf
    same(np.nan_to_num, host)
    same(lambda a: np.nan_to_num(a, nan=1, posinf=2, neginf=3), host)
    same(lambda a: (np.nan_to_num(a, copy=False), a), host)
    same(lambda a: (np.iscomplex(a), np.isreal(a)), host)
    same(lambda a: (np.iscomplexobj(a), np.isrealobj(a)), host)
    same(lambda a: (np.isposinf(a), np.isneginf(a)), host)
    same(lambda a: (np.real(a), np.imag(a)), host)
    same(np.real_if_close, host)


def test_functions_of_dtypes_take_arrays():
    a = gpuarray.to_gpu(np.zeros(3, np.float32))
    assert np.result_type(a, np.int64) == np.float64 and np.result_type(a, 3) == np.float32
    assert np.common_type(a, a.astype(np.int8)) is np.float64 and np.min_scalar_type(a) == np.float32
    assert np.can_cast(a, "f8") and not np.can_cast(a, "i4")
