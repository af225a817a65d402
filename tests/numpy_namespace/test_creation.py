"""Functions that make arrays: values, dtypes and orders, devices, copies, and conversions from and to the
host."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.numpy as xp
from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


def same(got, want):
    """Asserts that our result is a GPUArray with the shape, dtype and values of NumPy's."""
    want = np.asarray(want)
    assert isinstance(got, gpuarray.GPUArray)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(got.get(), want)


CALLS = """
zeros(3)
zeros((2, 3), dtype=np.int8, order="F")
ones((2, 0))
ones(2, np.complex64)
full((2, 2), 7)
full(2, True)
full((2, 3), [1.5, 2, 3])
full(2, 300, dtype=np.int32)
eye(3)
eye(2, 4, k=1, dtype=bool)
eye(3, k=-1, order="F")
identity(2, dtype=np.int32)
tri(3, 4, -1)
arange(5)
arange(2, 9, 3)
arange(5, 1, -2)
arange(0, 1, 0.25)
arange(3.0)
arange(4, dtype=np.float32)
linspace(0, 1, 5)
linspace(1, 2, num=4, endpoint=False)
linspace(0, 10, 5, dtype=np.int64)
linspace(0, 1j, 3)
linspace([0, 1], 3, 4, axis=1)
meshgrid([1, 2], [3, 4, 5], indexing="ij")
asarray([[1, 2], [3, 4]])
asarray([1, 2.5])
asarray([True, False])
asarray(5)
asarray(2j)
asarray(range(3))
asarray([1, 2], dtype=np.uint8)
array([1, 2], ndmin=2)
array(np.arange(6).reshape(2, 3)[:, ::2])
fromfunction(lambda i, j: i * 10 + j, (2, 3), dtype=np.int64)
frombuffer(b"abcd", dtype=np.uint8)
indices((2, 3), sparse=True)
tril_indices(3, 1)
triu_indices(3, -1, 4)
geomspace(1, 8, 4)
logspace(0, 2, 3)
vander([1, 2, 3])
diag([1, 2])
"""


@pytest.mark.parametrize("call", CALLS.strip().split("\n"))
def test_values_dtype_and_order_are_numpys(call):
    ours, theirs = eval(f"np.{call}", {"np": xp}), eval(f"np.{call}", {"np": np})
    if isinstance(theirs, tuple):
        assert type(ours) is tuple and len(ours) == len(theirs)
    for got, want in zip(ours, theirs, strict=True) if isinstance(theirs, tuple) else [(ours, theirs)]:
        if np.asarray(want).dtype.kind in "fc":
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got.get(), want, rtol=1e-15)
        else:
            same(got, want)
        if "order" in call:
            assert got.flags.f_contiguous


def test_arrays_in_lists():
    a, host = xp.asarray([1.0, 2.0]), np.array([3.0, 4.0])
    same(xp.asarray([a, host, [5, 6]]), [[1, 2], [3, 4], [5, 6.0]])
    same(xp.asarray([[a, a], [host, a]], dtype=np.float32), np.array([[[1, 2]] * 2, [[3, 4], [1, 2]]], "f4"))
    same(xp.array([a[0], 7, np.float32(8)]), [1.0, 7.0, 8.0])
    same(xp.stack([a, [1, 2]]), [[1, 2], [1, 2.0]])
    same(xp.block([[a, host], [np.array([5, 6]), a]]), [[1, 2, 3, 4], [5, 6, 1, 2.0]])
    with pytest.raises(ValueError):
        xp.asarray([a, [1, 2, 3]])
    with pytest.raises(ValueError):
        xp.asarray([a, a], copy=False)


def test_when_asarray_copies():
    a = xp.asarray([1, 2])
    assert xp.asarray(a) is a and xp.asarray(a, copy=False) is a
    for copied in (xp.asarray(a, copy=True), xp.array(a), xp.asarray(a, dtype=np.float64)):
        assert not np.may_share_memory(copied, a)
    for refused in (a, [1, 2], np.array([1, 2])):
        with pytest.raises(ValueError, match="copy"):
            xp.asarray(refused, dtype=np.float64, copy=False)
    with pytest.raises(TypeError, match="object"):
        xp.asarray(object())


@pytest.mark.parametrize("name", "zeros ones empty zeros_like ones_like empty_like full_like".split())
def test_device_keyword(name):
    here = drv.Context.get_device()
    make = getattr(xp, name)
    given = ([[1, 2]],) if name.endswith("like") else ((1, 2),)
    given += (3,) if name == "full_like" else ()
    assert make(*given, device=here).device == here
    assert make(*given, device=None).shape == (1, 2)
    with pytest.raises(ValueError, match="Device 0"):
        make(*given, device="cpu")


def test_devices_of_other_functions():
    here = drv.Context.get_device()
    for call in (
        lambda device: xp.asarray([1], device=device),
        lambda device: xp.arange(3, device=device),
        lambda device: xp.linspace(0, 1, 3, device=device),
        lambda device: xp.eye(2, device=device),
        lambda device: xp.full(2, 1, device=device),
        lambda device: xp.astype(xp.ones(2), np.int32, device=device),
        lambda device: xp.fft.fftfreq(4, device=device),
        lambda device: xp.fft.rfftfreq(4, device=device),
    ):
        assert call(here).device == here
        with pytest.raises(ValueError, match="unsupported device"):
            call("gpu")


def test_to_and_from_the_host():
    host = np.arange(6.0).reshape(2, 3)
    a = xp.asarray(host)
    for back in (xp.asnumpy(a), a.to_device("cpu"), xp.asnumpy(host), xp.asnumpy(a, stream=drv.Stream())):
        assert type(back) is np.ndarray
        np.testing.assert_array_equal(back, host)
    assert xp.asnumpy(a, order="F").flags.f_contiguous
    assert xp.asnumpy([1, 2]).tolist() == [1, 2]
    assert a.to_device(a.device) is a and a.to_device(a.device, stream=drv.Stream()) is a
    with pytest.raises(ValueError, match="'cpu'"):
        a.to_device("gpu")


def test_from_dlpack():
    host = np.arange(3.0)
    with pytest.raises(BufferError):
        xp.from_dlpack(host)
    same(xp.from_dlpack(host, copy=True), host)
    same(xp.from_dlpack(host, device=drv.Context.get_device()), host)
    a = xp.asarray(host)
    view = xp.from_dlpack(a, copy=False)
    assert np.may_share_memory(view, a)
    assert not np.may_share_memory(xp.from_dlpack(a, copy=True), a)


def test_arrays_that_are_written_to_must_be_on_the_device():
    for call in (
        lambda: xp.copyto(np.zeros(2), [1, 2]),
        lambda: xp.put([1, 2], [0], [1]),
        lambda: xp.fill_diagonal(np.zeros((2, 2)), 1),
        lambda: xp.copyto(xp.zeros(2, dtype=complex).real, [1, 2]),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()
    a = xp.zeros(2)
    xp.copyto(a, [1, 2])
    same(a, [1.0, 2.0])
