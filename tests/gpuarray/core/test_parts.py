"""The real and imaginary parts of arrays: a.real is a packed copy, numpy.real(a) a view; imag alike."""

import operator
import sys

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
    """An array of NumPy of random complex numbers whose parts are integers from -9 to 8."""
    drawn = np.random.default_rng(0).integers(-9, 9, (2, *shape))
    return np.asarray(drawn[0] + 1j * drawn[1], dtype)


@COMPLEX
def test_numpys_functions_return_views(dtype):
    for host in (
        numbers(dtype),
        np.asfortranarray(numbers(dtype)),
        numbers(dtype, (0, 3)),
        numbers(dtype, ()),
    ):
        device = gpuarray.to_gpu(host)
        for name in ("real", "imag"):
            part, expected = getattr(np, name)(device), getattr(host, name)
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
    np.real(device)[1], host.real[1] = row, row
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
    zeros = np.imag(device)
    assert (zeros.get() == 0).all() and not zeros.flags.writeable
    for write in (lambda: zeros.fill(1), lambda: zeros.__setitem__(0, 1), lambda: zeros.__iadd__(1)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    with pytest.raises(TypeError, match="no imaginary part"):
        device.imag = 3


def test_the_address_of_a_part_is_refused():
    """Parts that are views have no address, since their numbers are not contiguous."""
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
        for part in (np.real(device), np.imag(device)):
            with pytest.raises(ValueError, match=r"take the address of a copy\(\)"):
                use(part)
    kernel(out, device.imag.copy(), block=(35, 1, 1))
    assert (out.get() == 2 * device.get().imag.ravel()).all()
    kernel(out, np.imag(device)[0, :1], block=(1, 1, 1))


def test_views_are_operands_of_kernels_of_the_user():
    host = numbers(np.complex64, (300,))
    device, out = gpuarray.to_gpu(host), gpuarray.empty(300, np.float32)
    swap = ElementwiseKernel("float *x, float *y", "float t = x[i]; x[i] = y[i]; y[i] = t", "swap")
    swap(np.real(device), np.imag(device))
    host = host.imag + 1j * host.real
    assert (device.get() == host).all()
    ElementwiseKernel("float *x, float *z", "z[i] = x[n - 1 - i]")(np.imag(device), out)
    assert (out.get() == host.imag[::-1]).all()
    with pytest.raises(RuntimeError, match="must be contiguous"):
        ElementwiseKernel("float *x, float *z", "z[i] = *(x + i)")(np.real(device), out)
    total = ReductionKernel(np.float32, "0", "a+b", "x[i]", "float *x")
    assert total(np.real(device)).get() == host.real.sum()
    scan = InclusiveScanKernel(np.float32, "a+b")
    assert (scan(np.imag(device), out).get() == np.cumsum(host.imag)).all()
    scan(np.imag(device))
    assert (device.get() == host.real + 1j * np.cumsum(host.imag)).all()


def test_operations_on_views():
    host = numbers(np.complex64, (6, 8))
    device = gpuarray.to_gpu(host)
    x, y = np.real(device), np.imag(device)
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


@COMPLEX
def test_the_properties_are_packed_copies(dtype):
    hosts = (numbers(dtype), np.asfortranarray(numbers(dtype)), numbers(dtype, (2, 3, 4)).transpose(1, 0, 2))
    for host in (*hosts, numbers(dtype)[::2, ::-1], numbers(dtype, (0, 3)), numbers(dtype, ())):
        device = gpuarray.to_gpu(host)
        for name in ("real", "imag"):
            part, expected = getattr(device, name), getattr(host, name)
            assert part.dtype == expected.dtype and (part.get() == expected).all()
            assert part.base is None and part.nbytes == expected.nbytes
            assert part.strides == expected.copy("K").strides or not part.size
            part *= 10
            part[...] = 7
        assert (device.get() == host).all()


def test_the_properties_real_and_imag_are_contiguous_copies():
    """Unlike the views of np.real() and np.imag() they have an address."""
    host = numbers(np.complex64)
    device, out = gpuarray.to_gpu(host), np.empty((5, 7), np.float32)
    double = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }").get_function("twice")
    part = device.imag
    double(part, block=(35, 1, 1))
    assert (part.get() == 2 * host.imag).all() and (device.get() == host).all()
    drv.memcpy_dtoh(out, device.imag.gpudata)
    assert (out == host.imag).all()
    device.real = part
    device.imag += 1
    assert (device.get() == 2 * host.imag + 1j * (host.imag + 1)).all()


def assign_all(z):
    z.real[...] = 3


def assign_one(z):
    z.imag[1][0] = 3


def assign_transposed(z):
    z.imag.T[0] = 3


def add_to_one(z):
    z.real[0] += 3


def add_to_some(z):
    z.imag[1:3, ::2] -= 3


def add_to_one_of_a_row(z):
    z.imag[1][0] *= 3


def assign_flat(z):
    z.real.flat[:] = 3


# Ways to write to the temporary copy that z.real or z.imag returns.
LOST = {
    "item": assign_all,
    "row": assign_one,
    "transposed": assign_transposed,
    "fill": lambda z: z.real.fill(3),
    "set": lambda z: z.real.set(np.zeros((5, 7), np.float32)),
    "sort": lambda z: z.real.sort(),
    "put": lambda z: z.real.put([0], 3),
    "out=": lambda z: cumath.sin(np.real(z), out=z.real),
    "out, by position": lambda z: cumath.sin(np.real(z), z.real),
    "method, by position": lambda z: np.real(z).sum(0, None, z.real[0]),
    "function, by position": lambda z: np.sum(np.real(z), 0, None, z.real[0]),
    "function of ours, by position": lambda z: gpuarray.take(np.real(z), np.arange(7), z.real[0]),
    "conj": lambda z: np.real(z).conj(z.real),
    "flat": lambda z: z.real.flat.__setitem__(slice(None), 3),
    "flat[:]": assign_flat,
    "flat =": lambda z: setattr(z.imag.T, "flat", 3),
    "__setitem__": lambda z: z.real.__setitem__(0, 3),
    "setitem": lambda z: operator.setitem(z.imag[1], 0, 3),
    "method": lambda z: np.real(z).sum(axis=0, out=z.real[0]),
    "ufunc": lambda z: np.add(np.real(z), 1, out=z.real),
    "function": lambda z: np.sum(np.real(z), axis=0, out=z.real[0]),
    "copyto": lambda z: np.copyto(z.real, 3),
    "at": lambda z: np.add.at(z.real, [0], 3),
}


if sys.version_info < (3, 14):  # where a local variable can be distinguished from a temporary
    LOST |= {"+=": add_to_one, "-= of some": add_to_some, "*= of a row": add_to_one_of_a_row}


@pytest.mark.parametrize("write", LOST.values(), ids=LOST)
def test_writes_to_a_temporary_copy_are_refused(write):
    """Such a write, as in z.real[0] = 1, would be lost, since nothing else refers to the copy."""
    host = numbers(np.complex64)
    device = gpuarray.to_gpu(host)
    with pytest.raises(ValueError, match=r"z\.real = x"):
        write(device)
    assert (device.get() == host).all()


def test_a_part_that_is_kept_is_written_to():
    """device.real is a copy. To write to it is refused as a mistake only while it is a temporary object: it
    is allowed once a variable, a tuple or an attribute holds it.
    """
    device = gpuarray.to_gpu(numbers(np.complex64))
    part = device.real
    part[0] = 1
    part[1:].fill(2)
    part[2:].sort()
    part.flat[:1] = 1
    part.T.flat[:1] = 1
    part.__setitem__((0, 2), 1)
    part[0] += 0
    part[1:][0] *= 1
    row = part[3]
    row.base[3] = row
    (part,)[0][0] += 0
    cumath.sin(part, out=part)
    assert np.allclose(part.get()[0], np.sin(1)) and np.allclose(part.get()[1:], np.sin(2))
