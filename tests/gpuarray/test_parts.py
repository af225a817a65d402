"""The real and the imaginary parts of arrays, which are views."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda import cumath
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

pytestmark = pytest.mark.usefixtures("primary_context")

COMPLEX = pytest.mark.parametrize("dtype", [np.complex64, np.complex128])


def numbers(dtype, shape=(5, 7)):
    drawn = np.random.default_rng(0).integers(-9, 9, (2, *shape))
    return np.asarray(drawn[0] + 1j * drawn[1], dtype)


@COMPLEX
def test_parts_are_views(dtype):
    for host in (
        numbers(dtype),
        np.asfortranarray(numbers(dtype)),
        numbers(dtype, (0, 3)),
        numbers(dtype, ()),
    ):
        device = gpuarray.to_gpu(host)
        for name in ("real", "imag"):
            part, expected = getattr(device, name), getattr(host, name)
            assert part.dtype == expected.dtype and part.base is device
            assert part.strides == expected.strides or not part.size
            assert (part.get() == expected).all() and part.get().shape == expected.shape
            part[...] = 3
            expected[...] = 3
            part += 1
            expected += 1
        assert (device.get() == host).all()


@COMPLEX
def test_parts_are_assigned_to(dtype):
    host = numbers(dtype)
    device, row = gpuarray.to_gpu(host), np.arange(7).astype(host.real.dtype)
    device.real, host.real = 9, 9
    device.imag, host.imag = gpuarray.to_gpu(row), row
    device.real[1], host.real[1] = row, row
    device.imag *= 2
    host.imag *= 2
    device[::2].real, host[::2].real = device.imag[::2], host.imag[::2]
    assert (device.get() == host).all()
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del device.real
    with pytest.raises(ValueError, match="broadcast"):
        device.real = np.zeros(3)


def test_parts_of_what_is_not_complex():
    host = np.arange(6, dtype=np.float32)
    device = gpuarray.to_gpu(host)
    assert device.real is device
    device.real = 4
    assert (device.get() == 4).all()
    zeros = device.imag
    assert (zeros.get() == 0).all() and not zeros.flags.writeable
    for write in (lambda: zeros.fill(1), lambda: zeros.__setitem__(0, 1), lambda: zeros.__iadd__(1)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    with pytest.raises(TypeError, match="no imaginary part"):
        device.imag = 3


def test_the_address_of_a_part_is_refused():
    """In PyCUDA parts are arrays of their own, whose numbers follow each other."""
    device, out = gpuarray.to_gpu(numbers(np.complex64)), gpuarray.zeros(35, np.float32)
    kernel = SourceModule(
        "__global__ void twice(float *out, const float *x) { out[threadIdx.x] = 2 * x[threadIdx.x]; }"
    ).get_function("twice")
    prepared = kernel.prepare("PP")
    for use in (
        lambda part: part.ptr,
        lambda part: part.gpudata,
        lambda part: kernel(out, part, block=(35, 1, 1)),
        lambda part: kernel(out, part.T, block=(35, 1, 1)),
        lambda part: kernel(out, part[1:], block=(28, 1, 1)),
        lambda part: prepared.prepared_call((1, 1), (35, 1, 1), out, part),
        lambda part: prepared.prepared_async_call((1, 1), (35, 1, 1), None, out, part.T),
    ):
        for part in (device.real, device.imag):
            with pytest.raises(ValueError, match=r"take a copy\(\) of them"):
                use(part)
    kernel(out, device.imag.copy(), block=(35, 1, 1))
    assert (out.get() == 2 * device.get().imag.ravel()).all()
    kernel(out, device.imag[0, :1], block=(1, 1, 1))


def test_kernels_of_the_user():
    host = numbers(np.complex64, (300,))
    device, out = gpuarray.to_gpu(host), gpuarray.empty(300, np.float32)
    swap = ElementwiseKernel("float *x, float *y", "float t = x[i]; x[i] = y[i]; y[i] = t", "swap")
    swap(device.real, device.imag)
    host = host.imag + 1j * host.real
    assert (device.get() == host).all()
    ElementwiseKernel("float *x, float *z", "z[i] = x[n - 1 - i]")(device.imag, out)
    assert (out.get() == host.imag[::-1]).all()
    with pytest.raises(RuntimeError, match="must be contiguous"):
        ElementwiseKernel("float *x, float *z", "z[i] = *(x + i)")(device.real, out)
    total = ReductionKernel(np.float32, "0", "a+b", "x[i]", "float *x")
    assert total(device.real).get() == host.real.sum()
    scan = InclusiveScanKernel(np.float32, "a+b")
    assert (scan(device.imag, out).get() == np.cumsum(host.imag)).all()
    scan(device.imag)
    assert (device.get() == host.real + 1j * np.cumsum(host.imag)).all()


def test_operations_on_parts():
    host = numbers(np.complex64, (6, 8))
    device = gpuarray.to_gpu(host)
    x, y = device.real, device.imag
    a, b = host.real, host.imag
    for got, expected in [
        (x + y, a + b), (abs(x), abs(a)), (x.T - y.T, a.T - b.T), (x.sum(0), a.sum(0)), (x.max(), a.max()),
        (x.argmax(1), a.argmax(1)), (x.cumsum(1), a.cumsum(1)), (x @ y.T, a @ b.T), (x.astype("i4"), a),
        (x.reshape(8, 6), a.reshape(8, 6)), (x.ravel(), a.ravel()), (x.copy(), a), (x[1:, ::2], a[1:, ::2]),
        (x[y > 0], a[b > 0]), (x.take([3, 1]), a.take([3, 1])), (x[[1, 2]], a[[1, 2]]), (x.var(), a.var()),
        (gpuarray.sort(x), np.sort(a)), (gpuarray.concatenate([x, y]), np.concatenate([a, b])),
        (gpuarray.dot(x, y), (a * b).sum()), (cumath.sin(x), np.sin(a)), (gpuarray.roll(x, 2), np.roll(a, 2)),
        (gpuarray.where(x > y, x, y), np.where(a > b, a, b)), (gpuarray.flip(x), np.flip(a)),
        (gpuarray.to_gpu(x), a), (gpuarray.empty_like(x).fill(1), np.ones_like(a)),
        (x.clip(0, 2), a.clip(0, 2)),
        (
            gpuarray.bincount(x.ravel().astype(int) + 9, y.ravel()),
            np.bincount(a.ravel().astype(int) + 9, b.ravel()),
        ),
    ]:  # fmt: skip
        assert np.allclose(got.get(), expected, rtol=1e-5, atol=1e-5)
    assert (device.get() == host).all()
    x[[0, 2]] = y[[2, 0]]
    a[[0, 2]] = b[[2, 0]]
    x[y < 0] = 5
    a[b < 0] = 5
    x.sort()
    a.sort()
    y.set(np.ascontiguousarray(a))
    b[...] = a
    assert (device.get() == host).all()
    stream = drv.Stream()
    assert (x.copy(stream=stream).get(stream=stream) == a).all()
