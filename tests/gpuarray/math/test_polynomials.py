"""Polynomials by their coefficients, compared with NumPy."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._libraries import host
from pycuda.linalg import without_checks

pytestmark = pytest.mark.usefixtures("primary_context")

BOUNDS = {"e": 2e-2, "f": 1e-4, "F": 1e-4}


def check(function, *operands):
    """Asserts that function(*operands) has the same result, up to rounding, if arrays of NumPy among the
    operands are copied to the device. The result is an array or a tuple of arrays."""
    want = function(*operands)
    got = function(*(gpuarray.to_gpu(each) if isinstance(each, np.ndarray) else each for each in operands))
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    for ours, theirs in pairs:
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        bound = max(BOUNDS.get(each.dtype.char, 1e-12) for each in operands if isinstance(each, np.ndarray))
        np.testing.assert_allclose(ours.get(), theirs, rtol=bound, atol=bound)


def drawn(dtype, size, seed):
    """Random coefficients of a dtype, from 1 on."""
    values = abs(np.random.default_rng(seed).normal(size=size)) * 4 + 1
    return (values + (1j if dtype in "FD" else 0)).astype(dtype)


@pytest.mark.parametrize("dtype", "efdFDilB")
def test_sums_and_derivatives(dtype):
    a, b = drawn(dtype, 5, 1), drawn(dtype, 3, 2)
    check(np.polyadd, a, b)
    check(np.polysub, b, a)
    check(np.polyadd, [1, 2.5], a)
    for order in range(3):
        check(lambda p, m=order: np.polyder(p, m), a)
        check(lambda p, m=order: np.polyint(p, m), a)
    check(lambda p: np.polyint(p, 2, k=[1, 2]), a)
    check(lambda p: np.polyint(p, 2, k=7), a)


@pytest.mark.parametrize("dtype", "fdFD")
def test_products_and_quotients(dtype):
    a, b = drawn(dtype, 5, 1), drawn(dtype, 3, 2)
    check(np.polymul, a, b)
    check(np.polymul, np.concatenate([np.zeros(2, dtype), a]), b)
    check(np.polymul, np.zeros(2, dtype), b)
    check(np.polydiv, a, b)
    check(np.polydiv, b, a)
    check(np.polydiv, np.array([2, 7, 9, 6]).astype(dtype), np.array([2, 3]).astype(dtype))
    check(np.poly, b)


def test_polynomials_of_given_roots():
    check(np.poly, np.array([3, 1, -2]))
    check(np.poly, np.array([1 + 2j, 1 - 2j, 3]))  # real, as each root has its conjugate
    assert np.poly(gpuarray.zeros(0, float)) == 1


@pytest.mark.parametrize("p", [[1, 2.0, 3], [0, 0, 1, -3, 2, 0, 0], [0.0, 0], [5.0], [1j, 2, 3]])
def test_roots(p):
    want, got = np.sort(np.roots(p)), np.sort(np.roots(gpuarray.to_gpu(np.array(p))).get())
    assert want.dtype == got.dtype
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", "fdDi")
@pytest.mark.parametrize("columns", [1, 2])
def test_polyfit(dtype, columns):
    x = np.arange(20).astype(dtype)
    y = (3 * np.arange(20.0) ** 2 - np.arange(20) + np.random.default_rng(0).normal(size=20)).astype(dtype)
    y = y if columns == 1 else np.stack([y, 2 * y], 1)
    check(lambda x, y: np.polyfit(x, y, 2), x, y)
    check(lambda x, y: np.polyfit(x, y, 2, w=abs(x) + 1.0), x, y)
    check(lambda x, y: np.polyfit(x, y, 2, cov=True), x, y)
    check(lambda x, y: np.polyfit(x, y, 2, cov="unscaled"), x, y)
    check(lambda x, y: np.polyfit(x, y, 2, full=True)[:2], x, y)
    with pytest.warns(np.exceptions.RankWarning):
        np.polyfit(gpuarray.to_gpu(0 * x + 1), gpuarray.to_gpu(y), 2)


def captured(call, *arrays):
    """The result of call(*arrays), as an array of NumPy, computed by a graph that was captured while the
    arrays had other contents (ones)."""
    on_device, stream = [gpuarray.to_gpu(np.ones_like(each)) for each in arrays], drv.Stream()
    with without_checks():
        out = gpuarray.zeros_like(call(*map(gpuarray.to_gpu, arrays)))
        with stream, stream.capture() as graph:
            out[...] = call(*on_device)
    for one, each in zip(on_device, arrays, strict=True):
        one.set(each)
    graph.instantiate().launch(stream)
    stream.synchronize()
    return out.get()


@pytest.mark.parametrize("p", [[1, -6.0, 11, -6], [2.0, 0, 3], [1j, 2, 3], [1.0, -3, 2, 0, 0]])
def test_roots_are_captured_without_checks_where_no_host_computes_them(p):
    if not host.is_possible():
        with pytest.raises(drv.LogicError, match="cuSOLVER computes a part of it on the host"):
            captured(np.roots, np.array(p))
        return
    found, want = captured(np.roots, np.array(p)), np.roots(p)
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(want), atol=1e-12)


def test_fits_are_captured_without_checks():
    x = np.linspace(0, 3, 30)
    y = 2 * x**2 - x + 5
    np.testing.assert_allclose(captured(lambda x, y: np.polyfit(x, y, 2), x, y), [2, -1, 5], atol=1e-10)
    weighted = captured(lambda x, y, w: np.polyfit(x, y, 1, w=w), x, y, x + 1)
    np.testing.assert_allclose(weighted, np.polyfit(x, y, 1, w=x + 1), atol=1e-10)
    _, cov = np.polyfit(x, y + np.sin(9 * x), 2, cov=True)
    found = captured(lambda x, y: np.polyfit(x, y, 2, cov=True)[1], x, y + np.sin(9 * x))
    np.testing.assert_allclose(found, cov, rtol=1e-8)


def test_roots_without_checks():
    with without_checks():
        assert np.isnan(np.roots(gpuarray.to_gpu(np.array([0.0, 1, 2]))).get()).all()
        assert np.roots(gpuarray.to_gpu(np.array([5.0]))).shape == (0,)


def test_wrong_operands_raise_numpys_errors():
    p = gpuarray.to_gpu(np.arange(3.0))
    for call in (
        lambda p: np.polyder(p, -1),
        lambda p: np.polyint(p, -1),
        lambda p: np.polyint(p, 3, k=[1, 2]),
        lambda p: np.poly(p.reshape(1, 3)),
    ):
        with pytest.raises(ValueError) as theirs:
            call(np.arange(3.0))
        with pytest.raises(ValueError) as ours:
            call(p)
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(TypeError):
        np.polyadd(p, np.poly1d([1, 2]))
    x, y = np.arange(4.0), np.ones((4, 2))
    for arguments in ((x, y, -1), (y, y, 1), (x[:0], y[:0], 1), (x, y[:3], 1), (x, y, 1, None, False, y)):
        with pytest.raises((TypeError, ValueError)) as theirs:
            np.polyfit(*arguments)
        on_device = [gpuarray.to_gpu(each) if isinstance(each, np.ndarray) else each for each in arguments]
        with pytest.raises(theirs.type) as ours:
            np.polyfit(*on_device)
        assert str(ours.value) == str(theirs.value)
