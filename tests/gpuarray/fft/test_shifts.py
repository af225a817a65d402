"""fftshift, ifftshift and frequencies, compared with NumPy."""

import numpy as np
import pytest
from against import compare

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("axes", [None, 0, 1, -1, np.int64(2), (0, 2), [1, 0], ()])
@pytest.mark.parametrize("dtype", ["?", "i2", "f", "D"])
def test_shifts(name, axes, dtype):
    host = (np.arange(3 * 4 * 5).reshape(3, 4, 5) % 7).astype(dtype)
    array, function = gpuarray.to_gpu(host), getattr(np.fft, name)
    compare(function(array, axes), function(host, axes))
    compare(function(array[:, ::-1, ::2], axes), function(host[:, ::-1, ::2], axes))


def test_axes_out_of_range_are_refused():
    array = gpuarray.zeros((3, 4), float)
    for axes in 2, (0, 5):
        with pytest.raises(IndexError, match="tuple index out of range"):
            np.fft.fftshift(array, axes)


def test_frequencies_are_made_on_the_host():
    """fftfreq takes no array, so that NumPy's protocols cannot return a GPUArray: its result is copied by
    to_gpu."""
    for n in 7, 8:
        array = gpuarray.to_gpu(np.arange(float(n)))
        frequencies = gpuarray.to_gpu(np.fft.fftfreq(n, 0.5))
        compare(np.fft.fftshift(frequencies) + array, np.fft.fftshift(np.fft.fftfreq(n, 0.5)) + np.arange(n))
    with pytest.raises(ValueError):
        np.fft.rfftfreq(8, device="gpu")
