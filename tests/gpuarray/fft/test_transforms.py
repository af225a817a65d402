"""numpy.fft on GPUArrays, compared with NumPy: dtypes, axes, sizes, norms, strides, out=."""

import numpy as np
import pytest
from drawing import few, layouts, numbers
from hypothesis import given
from hypothesis import strategies as st

import pycuda.driver as drv
from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context", "cufft")

ONE_AXIS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
TWO_AXES = ["fft2", "ifft2", "rfft2", "irfft2"]
MORE_AXES = ["fftn", "ifftn", "rfftn", "irfftn"]
OF_REAL = {"rfft", "ihfft", "rfft2", "rfftn"}
TO_REAL = {"irfft", "hfft", "irfft2", "irfftn"}
DTYPES = ["?", "i1", "u2", "i8", "e", "f", "d", "F", "D"]
NORMS = st.sampled_from([None, "backward", "ortho", "forward"])
LENGTHS = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 12, 13, 30, 31])


def compare(got, want, computed="d"):
    """Asserts shape, dtype, and each element's distance relative to the largest one: a transform spreads the
    rounding error of large elements over all. computed: the dtype in which NumPy or we compute, if
    coarser."""
    assert isinstance(got, gpuarray.GPUArray)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if not want.size:
        return
    found = got.get()
    eps = max(np.finfo(want.dtype).eps, np.finfo(computed).eps)
    bound = 20 * eps * np.abs(want).max()
    assert (np.abs(found - want) <= bound).all(), (np.abs(found - want).max(), bound)


@st.composite
def operands(draw, name, min_ndim=1, max_ndim=3):
    """(host, device): arrays of any strides, of a dtype that the function takes."""
    shape = tuple(draw(st.lists(LENGTHS, min_size=min_ndim, max_size=max_ndim)))
    dtype = draw(st.sampled_from(DTYPES[:-2] if name in OF_REAL else DTYPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return draw(layouts(numbers(rng, shape, dtype)))


def accepts(host, name, n, axis):
    """Whether the transform has a result of at least one element. Without n, a transform to real
    numbers has 2m - 2 elements for m in the operand, and NumPy refuses 0."""
    return n is not None or name not in TO_REAL or host.shape[axis] > 1


@pytest.mark.parametrize("name", ONE_AXIS)
@few
@given(st.data())
def test_one_axis(name, data):
    host, array = data.draw(operands(name))
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    n, norm = data.draw(st.none() | LENGTHS), data.draw(NORMS)
    function = getattr(np.fft, name)
    if accepts(host, name, n, axis):
        compare(function(array, n, axis, norm), function(host, n, axis, norm))


@pytest.mark.parametrize("name", TWO_AXES + MORE_AXES)
@few
@given(st.data())
def test_several_axes(name, data):
    host, array = data.draw(operands(name, 2, 4))
    axes = data.draw(st.lists(st.integers(-host.ndim, host.ndim - 1), min_size=1, max_size=4))
    s = data.draw(st.none() | st.tuples(*[LENGTHS | st.just(-1) for _ in axes]))
    norm, function = data.draw(NORMS), getattr(np.fft, name)
    last = None if s is None else s[-1]
    if accepts(host, name, last, axes[-1]):
        compare(function(array, s, axes, norm), function(host, s, axes, norm))
    if s is None and accepts(host, name, None, -1):
        compare(function(array), function(host))


@pytest.mark.parametrize(
    "name", ["fft", "ifft", "rfft", "irfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn"]
)
@few
@given(st.data())
def test_out_of_any_strides_and_precision(name, data):
    host, array = data.draw(operands(name, 2, 3))
    function = getattr(np.fft, name)
    keywords = {"axes": (0, -1)} if name.endswith("n") else {"axis": -1}
    if not accepts(host, name, None, -1):
        return
    want = function(host, **keywords)
    for dtype in "FD" if want.dtype.kind == "c" else "fd":
        wide = gpuarray.zeros((*want.shape[:-1], 2 * want.shape[-1]), dtype)
        for out in wide[..., ::2], wide[..., ::-2], (wide[..., 1::2],):
            result = function(array, **keywords, out=out)
            assert result is (out[0] if isinstance(out, tuple) else out)
            compare(result, want.astype(dtype), want.dtype)


@pytest.mark.parametrize("name", ["hfft", "ifft2", "irfft2"])
def test_out_where_numpy_ignores_it(name):
    host = np.random.default_rng(1).normal(size=(4, 6))
    want = getattr(np.fft, name)(host)
    out = gpuarray.zeros(want.shape, want.dtype)
    assert getattr(np.fft, name)(gpuarray.to_gpu(host), out=out) is out
    compare(out, want)


def test_out_that_is_the_operand_or_overlaps_it():
    host = np.random.default_rng(2).normal(size=(5, 6)) + 0j
    for view, place in [
        (np.s_[:], np.s_[:]), (np.s_[:, ::-1], np.s_[:]), (np.s_[:4], np.s_[1:]), (np.s_[:, :4], np.s_[:, 2:])
    ]:  # fmt: skip
        array = gpuarray.to_gpu(host)
        want = np.fft.fftn(host[view], axes=(1,))
        compare(np.fft.fftn(array[view], axes=(1,), out=array[place]), want)
    array = gpuarray.to_gpu(host)  # the operand, a part of the result, is padded with zeros there
    compare(np.fft.fft(array[:, :3], 6, out=array), np.fft.fft(host[:, :3], 6))
    real = gpuarray.to_gpu(np.arange(8.0))
    compare(np.fft.irfft(real[:6].view("D"), 4, out=real[2:6]), np.fft.irfft(np.arange(6.0).view("D"), 4))
    real = gpuarray.to_gpu(np.arange(8.0))
    compare(np.fft.rfft(real[:4], out=real[2:].view("D")), np.fft.rfft(np.arange(4.0)))


def test_out_with_more_rows_than_the_operand():
    host = np.arange(4.0)[None]
    out = gpuarray.zeros((3, 4), complex)
    np.fft.fft(gpuarray.to_gpu(host), out=out)
    compare(out, np.fft.fft(host, out=np.zeros((3, 4), complex)))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "irfftn"])
def test_memory_is_laid_out_as_numpys(name):
    host = np.random.default_rng(3).normal(size=(4, 6, 5)).astype("f")
    for axes in (0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 0, 2):
        view, array = host.transpose(axes), gpuarray.to_gpu(host).transpose(axes)
        for each, other in ((view, array), (view[:, ::2], array[:, ::2])):
            want = getattr(np.fft, name)(each)
            assert getattr(np.fft, name)(other).strides == want.strides
    drv.Context.synchronize()


@pytest.mark.parametrize("n", [997, 1009, 2048, 4095, 65537])
@pytest.mark.parametrize("dtype", ["f", "D"])
def test_long_transforms(n, dtype):
    host = numbers(np.random.default_rng(n), n, dtype)
    compare(np.fft.fft(gpuarray.to_gpu(host)), np.fft.fft(host))
    compare(np.fft.irfft(gpuarray.to_gpu(host), n), np.fft.irfft(host, n))


def test_half_precision_has_numpys_factors():
    host = np.random.default_rng(5).normal(size=(3, 100)).astype("e")
    for norm in "ortho", "forward":
        for name in "fft", "irfft", "fft2", "irfft2", "rfft2":
            compare(
                getattr(np.fft, name)(gpuarray.to_gpu(host), norm=norm),
                getattr(np.fft, name)(host, norm=norm),
            )


def test_irfft_of_spectra_that_are_not_hermitian():
    """No real numbers have such a spectrum; like NumPy, irfft ignores the imaginary parts of the first and of
    the middle element."""
    rng = np.random.default_rng(6)
    host = rng.normal(size=(4, 5, 7)) + 1j * rng.normal(size=(4, 5, 7))
    for n in 12, 13:
        compare(np.fft.irfft(gpuarray.to_gpu(host), n), np.fft.irfft(host, n))
        compare(
            np.fft.irfftn(gpuarray.to_gpu(host), (4, 5, n), (0, 1, 2)),
            np.fft.irfftn(host, (4, 5, n), (0, 1, 2)),
        )


def test_in_the_order_of_the_stream():
    host = np.random.default_rng(7).normal(size=(64, 64))
    stream = drv.Stream()
    with stream:
        array = gpuarray.to_gpu(host)
        for _ in range(3):
            array = np.fft.irfft2(np.fft.rfft2(array * 2)) / 2
    stream.synchronize()
    np.testing.assert_allclose(array.get(), host, atol=1e-14)


def test_transforms_are_captured_in_graphs():
    host = np.random.default_rng(8).normal(size=(6, 8)).astype("F")
    array, out = gpuarray.to_gpu(host), gpuarray.zeros((6, 8), "F")
    stream = drv.Stream()
    np.fft.fft2(array)
    with stream, stream.capture() as graph:
        np.fft.fft2(array, norm="ortho", out=out)
    run = graph.instantiate()
    for factor in 1, 3:
        array.set(factor * host)
        run.launch(stream)
        stream.synchronize()
        compare(out, np.fft.fft2(factor * host, norm="ortho"))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0, 4)])
def test_arrays_without_elements(shape):
    host = np.zeros(shape, "f")
    for name in ONE_AXIS:
        compare(getattr(np.fft, name)(gpuarray.to_gpu(host)), getattr(np.fft, name)(host))
    compare(np.fft.fft(gpuarray.to_gpu(host), 5, 0), np.fft.fft(host, 5, 0))


def test_no_axes():
    array = gpuarray.to_gpu(np.ones((2, 3)))
    assert np.fft.fftn(array, axes=()) is array
    number = gpuarray.to_gpu(np.array(2.5))
    compare(np.fft.fftn(number), np.fft.fftn(np.array(2.5)))
