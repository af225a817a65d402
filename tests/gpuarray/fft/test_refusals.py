"""Calls that numpy.fft refuses are refused for GPUArrays, with NumPy's exceptions and messages."""

import numpy as np
import pytest

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

HOST = {
    "v": np.arange(4.0),
    "m": np.arange(12.0).reshape(3, 4),
    "c": np.arange(4) + 1j,
    "x": np.ones((2, 4), complex),
    "one": np.ones((3, 1)),
    "none": np.ones((3, 0)),
}
CALLS = """
fft(v, 0)
fft(v, -3)
fft(v, 2.5)
fft(v, "4")
fft(v, axis=1)
fft(v, 4, 3)
fft(m, axis=-3)
fft(m, axis=(0,))
fft(v[0])
fft(none)
irfft(one)
irfft(none)
hfft(one)
rfft(c)
ihfft(c)
rfftn(c)
rfft2(x)
fft(v, norm="none")
ifft(v, norm=3)
hfft(v, norm="x")
fftn(m, norm="x")
fft(m, out=x)
fft(m, out=m)
fft(v, out=c[:3])
rfft(v, out=c)
irfft(c, out=v)
fftn(m, axes=(5,))
fftn(m, axes=0)
fftn(m, (3,), (0, 1))
fftn(m, 3, 0)
fftn(m, (3, 0))
fft2(v)
rfftn(m, axes=())
irfftn(m, axes=())
irfft2(one)
fft(v, 0, norm="x")
fft(v, 4, 9, "x")
"""


def outcome(call, arrays):
    """The result of a call of np.fft, given as text, or the exception that it raised."""
    try:
        return eval(f"np.fft.{call}", {"np": np} | arrays)
    except Exception as problem:
        return problem


@pytest.mark.parametrize("call", CALLS.split("\n")[1:-1])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_texts(call):
    want = outcome(call, {name: array.copy() for name, array in HOST.items()})
    got = outcome(call, {name: gpuarray.to_gpu(array) for name, array in HOST.items()})
    assert isinstance(want, Exception)
    assert type(got) is type(want) and str(got) == str(want), (got, want)


def test_out_in_host_memory_is_refused():
    array = gpuarray.to_gpu(HOST["v"])
    with pytest.raises(TypeError, match="out must be a GPUArray, not ndarray"):
        np.fft.fft(array, out=np.zeros(4, complex))


def test_an_operand_in_host_memory_is_refused():
    with pytest.raises(TypeError, match="a must be a GPUArray, not numpy.ndarray"):
        np.fft.fft(HOST["v"], out=gpuarray.zeros(4, complex))


def test_out_that_is_read_only_is_refused():
    out = np.broadcast_to(gpuarray.zeros(4, complex), (3, 4))
    with pytest.raises(ValueError, match="read-only"):
        np.fft.fft(gpuarray.to_gpu(HOST["m"]), out=out)


@pytest.mark.parametrize(
    "call", ["fftn(m, (2, 3))", "rfftn(m, (None, 3), (0, 1))", "irfftn(m, (3, None), (0, 1))"]
)
@pytest.mark.usefixtures("cufft")
def test_warnings_are_numpys(call):
    """Calls that NumPy warns of warn for GPUArrays too, and name the file of the caller."""
    array = gpuarray.to_gpu(HOST["m"])
    want, got = [], []
    for found, operand in (want, HOST["m"]), (got, array):  # each becomes [result, file of the warning]
        with pytest.warns(DeprecationWarning, match="`s`") as warned:
            found += [outcome(call, {"m": operand}), warned[0].filename]
    np.testing.assert_allclose(got[0].get(), want[0], atol=1e-12)
    assert got[1] == "<string>"  # the text that outcome() evaluates
