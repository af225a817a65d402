"""Integrals, compared with NumPy and SciPy."""

import numpy as np
import pytest
import scipy.integrate
from numpy.testing import assert_allclose

from pycuda import gpuarray
from skcuda import integrate

every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])


def random(dtype, *shape):
    """Random numbers in [0, 1), times 1 + 2j if the dtype is complex."""
    values = np.random.default_rng(0).random(shape)
    return (values * (1 + 2j) if np.dtype(dtype).kind == "c" else values).astype(dtype)


@every_dtype
def test_trapz(dtype):
    x = random(dtype, 10)
    result = integrate.trapz(gpuarray.to_gpu(x), dx=0.5)
    assert np.ndim(result) == 0 and not isinstance(result, gpuarray.GPUArray)
    assert_allclose(result, np.trapezoid(x, dx=0.5), rtol=1e-5)
    weights = integrate.gen_trapz_mult(10, dtype)
    assert_allclose((weights * gpuarray.to_gpu(x)).sum().get(), np.trapezoid(x), rtol=1e-5)


@every_dtype
def test_trapezoids_of_two_axes(dtype):
    x = random(dtype, 10, 7)
    want = np.trapezoid(np.trapezoid(x, dx=2), dx=0.5)
    assert_allclose(integrate.trapz2d(gpuarray.to_gpu(x), 2, 0.5), want, rtol=1e-5)
    weights = integrate.gen_trapz2d_mult(x.shape, dtype)
    assert_allclose((weights * gpuarray.to_gpu(x)).sum().get(), np.trapezoid(np.trapezoid(x)), rtol=1e-5)


@every_dtype
def test_simpsons_rule(dtype):
    for n in 3, 9, 15:
        x = random(dtype, n)
        want = scipy.integrate.simpson(x, dx=0.5)
        assert_allclose(integrate.simps(gpuarray.to_gpu(x), 0.5), want, rtol=1e-5)


def test_simpsons_rule_of_an_even_number_of_points():
    """The trapezoidal rule takes one interval, the last (even="first") or the first (even="last"), or the
    result is the mean of both, the default."""
    x = np.arange(10.0) ** 3
    x_gpu = gpuarray.to_gpu(x)
    assert_allclose(integrate.simps(gpuarray.arange(10, dtype=np.float64)), 40.5)
    assert_allclose(integrate.simps(x_gpu), 1642.5)
    simpson_first = scipy.integrate.simpson(x[:-1]) + (x[-1] + x[-2]) / 2
    simpson_last = scipy.integrate.simpson(x[1:]) + (x[0] + x[1]) / 2
    assert_allclose(integrate.simps(x_gpu, even="first"), simpson_first)
    assert_allclose(integrate.simps(x_gpu, even="last"), simpson_last)
    assert_allclose((simpson_first, (simpson_first + simpson_last) / 2), (1644.5, 1642.5))
    assert_allclose((integrate.gen_simps_mult(10, float, "last") * x_gpu).sum().get(), simpson_last)
    assert_allclose(integrate.simps(x_gpu[:2]), 0.5)


def test_arguments_that_are_refused():
    with pytest.raises(ValueError, match="even is 'x'"):
        integrate.simps(gpuarray.zeros(4, float), even="x")
    with pytest.raises(ValueError, match="the array has 2 axes, must have 1"):
        integrate.trapz(gpuarray.zeros((4, 4), float))
