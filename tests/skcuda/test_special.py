"""Sine, cosine and exponential integrals, compared with SciPy."""

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose

from pycuda import gpuarray
from skcuda import special

# Points of the complex plane: real ones of both signs, some near 5 and 40, where the methods change, and
# random ones.
POINTS = np.concatenate(
    [
        [1, -1, 5, -5, 10, -10, 30, -30, 45, -45, 0.1, -0.1, 4.99, 5.01, 1e-8],
        10 ** np.random.default_rng(0).uniform(-3, 1.7, 500)
        * np.exp(1j * np.random.default_rng(1).uniform(-np.pi, np.pi, 500)),
    ]
)


@pytest.mark.parametrize("dtype, rtol", [(np.complex64, 1e-6), (np.complex128, 1e-11)])
@pytest.mark.parametrize("name", ["exp1", "expi"])
def test_exponential_integrals(name, dtype, rtol):
    z = POINTS.astype(dtype)
    want = getattr(scipy.special, name)(z.astype(complex))
    result = getattr(special, name)(gpuarray.to_gpu(z))
    assert result.dtype == dtype
    assert (abs(result.get() - want) <= rtol * abs(want)).all()


@pytest.mark.parametrize("dtype, rtol", [(np.float32, 2e-6), (np.float64, 1e-12)])
def test_sine_and_cosine_integrals(dtype, rtol):
    x = np.concatenate([[1, 2, 3, 4], np.linspace(-60, 60, 400), [1e3, 1e5]]).astype(dtype).reshape(-1, 2)
    si, ci = special.sici(gpuarray.to_gpu(x))
    want_si, want_ci = scipy.special.sici(x.astype(float))
    assert si.dtype == ci.dtype == dtype and si.shape == x.shape
    assert_allclose(si.get(), want_si, rtol=rtol)
    assert_allclose(ci.get(), want_ci, rtol=rtol, atol=rtol)
    si, ci = special.sici(gpuarray.zeros(1, dtype))
    assert si.get() == 0 and ci.get() == -np.inf


def test_other_dtypes_are_refused():
    with pytest.raises(ValueError, match="the dtype is int32, must be float32 or float64"):
        special.sici(gpuarray.zeros(3, np.int32))
    with pytest.raises(ValueError, match="the dtype is float64, must be complex64 or complex128"):
        special.exp1(gpuarray.zeros(3, float))
