"""skcuda.fft's plans and transforms of arrays, and cuFFT's functions of skcuda.cufft, compared with NumPy."""

import numpy as np
import pytest
from devices import needs_library
from numpy.testing import assert_allclose

import pycuda.driver as drv
from pycuda import gpuarray
from skcuda import cufft
from skcuda.fft import Plan, fft, ifft

PRECISIONS = [(np.float32, np.complex64), (np.float64, np.complex128)]


@pytest.fixture(autouse=True)
def library():
    needs_library("cufft")


def random(shape, dtype):
    """An array of random numbers whose real parts are in [-0.5, 0.5)."""
    generator = np.random.default_rng(len(shape))
    values = generator.random(shape) - 0.5
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.random(shape)
    return values.astype(dtype)


def close(dtype):
    """assert_allclose's keywords for results of a dtype's precision."""
    return {"rtol": 1e-3, "atol": 1e-4} if np.dtype(dtype).char in "fF" else {"rtol": 1e-9, "atol": 1e-10}


@pytest.mark.parametrize("shape", [(16,), (15,), (6, 8), (4, 3, 5)])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("real, complex_", PRECISIONS)
def test_real_numbers(real, complex_, batch, shape):
    """A forward transform, the inverse, and the inverse without scaling."""
    x = random((batch, *shape), real)
    transformed = np.fft.rfftn(x, axes=tuple(range(1, x.ndim)))
    x_gpu, back = gpuarray.to_gpu(x), gpuarray.empty(x.shape, real)
    xf_gpu = gpuarray.empty(transformed.shape, complex_)
    fft(x_gpu, xf_gpu, Plan(shape, real, complex_, batch))
    assert_allclose(xf_gpu.get(), transformed, **close(real))
    inverse = Plan(shape, complex_, real, batch)
    ifft(xf_gpu, back, inverse, True)
    assert_allclose(back.get(), x, **close(real))
    # again from NumPy's values: an inverse real transform may overwrite its operand
    ifft(gpuarray.to_gpu(transformed.astype(complex_)), back, inverse)
    assert_allclose(back.get(), x * np.prod(shape), **close(real))


@pytest.mark.parametrize("shape", [(16,), (6, 8), (3, 4, 5)])
@pytest.mark.parametrize("complex_", [np.complex64, np.complex128])
def test_complex_numbers_in_place(complex_, shape):
    x = random((2, *shape), complex_)
    x_gpu, axes = gpuarray.to_gpu(x), tuple(range(1, x.ndim))
    plan = Plan(shape, complex_, complex_, 2)
    fft(x_gpu, x_gpu, plan)
    assert_allclose(x_gpu.get(), np.fft.fftn(x, axes=axes), **close(complex_))
    ifft(x_gpu, x_gpu, plan, True)
    assert_allclose(x_gpu.get(), x, **close(complex_))
    fft(x_gpu, x_gpu, plan, scale=True)
    assert_allclose(x_gpu.get(), np.fft.fftn(x, axes=axes, norm="forward"), **close(complex_))


def test_the_documented_example():
    n = 128
    x = np.asarray(np.random.default_rng(0).random(n), np.float32)
    xf_gpu = gpuarray.to_gpu(np.fft.fft(x).astype(np.complex64)[: n // 2 + 1])
    x_gpu = gpuarray.empty(n, np.float32)
    ifft(xf_gpu, x_gpu, Plan(n, np.complex64, np.float32), True)
    assert_allclose(x, x_gpu.get(), atol=1e-6)


def test_layouts():
    """Operands are every second element of rows that are longer than the transforms; results have a gap."""
    x = random((3, 20), np.complex64)
    x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.zeros((3, 9), np.complex64)
    plan = Plan(
        8, np.complex64, np.complex64, 3,
        inembed=np.array([10], np.int32), istride=2, idist=20,
        onembed=np.array([9], np.int32), ostride=1, odist=9,
    )  # fmt: skip
    fft(x_gpu, y_gpu, plan)
    assert_allclose(y_gpu.get()[:, :8], np.fft.fft(x[:, :16:2]), **close(np.complex64))
    assert (y_gpu.get()[:, 8] == 0).all()


def test_layouts_of_two_axes():
    x = random((2, 6, 10), np.float64)
    x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.zeros((2, 4, 7), complex)
    plan = Plan(
        (4, 8), float, complex, 2,
        inembed=[6, 10], istride=1, idist=60, onembed=[4, 7], ostride=1, odist=28,
    )  # fmt: skip
    fft(x_gpu, y_gpu, plan)
    assert_allclose(y_gpu.get()[..., :5], np.fft.rfft2(x[:, :4, :8]), **close(float))


def test_plans_run_on_their_streams():
    streams = drv.Stream(), drv.Stream()
    x = random((64,), np.complex128)
    arrays = [gpuarray.to_gpu(x) for _ in streams]
    plans = [Plan(64, complex, complex, stream=stream) for stream in streams]
    for array, plan, stream in zip(arrays, plans, streams, strict=True):
        with stream:
            array *= 2
        fft(array, array, plan, True)
        ifft(array, array, plan)
    for array, stream in zip(arrays, streams, strict=True):
        stream.synchronize()
        assert_allclose(array.get(), 2 * x)


def test_a_transform_captured_in_a_graph():
    stream, x = drv.Stream(), random((64,), np.complex128)
    x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.empty(64, complex)
    plan = Plan(64, complex, complex, stream=stream)
    fft(x_gpu, y_gpu, plan)
    with stream.capture() as graph:
        ifft(x_gpu, y_gpu, plan, True)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert_allclose(y_gpu.get(), np.fft.ifft(x), **close(complex))


def test_a_work_area_that_the_caller_allocates():
    x = random((64,), np.float32)
    x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.empty(33, np.complex64)
    plan = Plan(x.shape, np.float32, np.complex64, auto_allocate=False)
    plan.set_work_area(gpuarray.empty((max(plan.worksize, 1),), np.uint8))
    fft(x_gpu, y_gpu, plan)
    assert_allclose(y_gpu.get(), np.fft.rfft(x), **close(np.float32))


def test_plans_and_arrays_that_are_refused():
    with pytest.raises(ValueError, match="there is no transform from float32 to float64"):
        Plan(8, np.float32, np.float64)
    with pytest.raises(ValueError, match="at least one"):
        Plan(8, np.float32, np.complex64, batch=0)
    x = gpuarray.zeros(8, np.float64)
    with pytest.raises(ValueError, match="x_gpu has the dtype float64, the plan float32"):
        fft(x, gpuarray.zeros(5, np.complex64), Plan(8, np.float32, np.complex64))


# ---- skcuda.cufft


def test_cufft_plans():
    """Plans of one, two and three axes and batches of them over the same numbers."""
    x = random((2, 4, 6), np.complex64)
    x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.empty((2, 4, 6), np.complex64)
    n, of_each_matrix = np.array([4, 6], np.int32), np.fft.fft2(x)
    for plan, want, count in (
        (cufft.cufftPlan1d(6, cufft.CUFFT_C2C, 8), np.fft.fft(x), 8),
        (cufft.cufftPlan3d(2, 4, 6, cufft.CUFFT_C2C), np.fft.fftn(x), 1),
        (cufft.cufftPlanMany(2, n, None, 1, 0, None, 1, 0, cufft.CUFFT_C2C, 2), of_each_matrix, 2),
        (cufft.cufftPlanMany(2, n.ctypes.data, 0, 1, 0, 0, 1, 0, cufft.CUFFT_C2C, 2), of_each_matrix, 2),
    ):
        cufft.cufftExecC2C(plan, x_gpu.gpudata, y_gpu.gpudata, cufft.CUFFT_FORWARD)
        assert_allclose(y_gpu.get(), want, **close(np.complex64))
        assert cufft.cufftGetSize(plan) >= 0
        cufft.cufftExecC2C(plan, y_gpu.gpudata, y_gpu.gpudata, cufft.CUFFT_INVERSE)
        assert_allclose(y_gpu.get() / x.size * count, x, **close(np.complex64))
        cufft.cufftDestroy(plan)


def test_real_transforms_in_place_are_padded():
    x = random((3, 8), np.float64)
    padded = np.zeros((3, 10))  # a row has room for 5 complex numbers
    padded[:, :8] = x
    memory = gpuarray.to_gpu(padded)
    forward, back = cufft.cufftPlan1d(8, cufft.CUFFT_D2Z, 3), cufft.cufftPlan1d(8, cufft.CUFFT_Z2D, 3)
    cufft.cufftExecD2Z(forward, memory.gpudata, memory.gpudata)
    assert_allclose(memory.view(complex).get(), np.fft.rfft(x), **close(float))
    cufft.cufftExecZ2D(back, memory.gpudata, memory.gpudata)
    assert_allclose(memory.get()[:, :8], 8 * x)
    for plan in forward, back:
        cufft.cufftDestroy(plan)


def test_a_plan_is_invalid_before_it_is_made_and_after_it_is_destroyed():
    plan, stream = cufft.cufftCreate(), drv.Stream()
    cufft.cufftSetStream(plan, stream.handle)
    x = gpuarray.to_gpu(random((4, 6), np.float32))
    y = gpuarray.empty((4, 4), np.complex64)
    with pytest.raises(cufft.cufftInvalidPlan):
        cufft.cufftExecR2C(plan, x.gpudata, y.gpudata)
    assert cufft.cufftMakePlan2d(plan, 4, 6, cufft.CUFFT_R2C) >= 0
    cufft.cufftExecR2C(plan, x.gpudata, y.gpudata)
    stream.synchronize()
    assert_allclose(y.get(), np.fft.rfft2(x.get()), **close(np.float32))
    cufft.cufftDestroy(plan)
    with pytest.raises(cufft.cufftInvalidPlan):
        cufft.cufftExecR2C(plan, x.gpudata, y.gpudata)


def test_sizes_and_versions():
    plan = cufft.cufftCreate()
    assert cufft.cufftEstimate1d(64, cufft.CUFFT_C2C) >= 0
    assert cufft.cufftGetSize1d(plan, 64, cufft.CUFFT_C2C, batch=2) >= 0
    cufft.cufftDestroy(plan)
    assert cufft.cufftGetVersion() >= 8000


def test_exceptions():
    with pytest.raises(cufft.cufftInvalidSize):
        cufft.cufftPlan1d(0, cufft.CUFFT_C2C, 1)
    with pytest.raises(cufft.cufftInvalidType):
        cufft.cufftPlan1d(8, 12345, 1)
    with pytest.raises(cufft.cufftExecFailed):
        cufft.cufftCheckStatus(6)
