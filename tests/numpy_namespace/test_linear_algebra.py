"""Linear algebra and Fourier transforms, compared with NumPy's."""

import numpy as np
import pytest
from against_numpy import check

import pycuda.numpy as xp

pytestmark = pytest.mark.usefixtures("factorizations")

SQUARE = [(3, 3), (2, 2, 2), (0, 0), (0, 2, 2), (2, 0, 0)]
WIDE = [(3, 2), (2, 2, 4), (3, 0), (0, 2)]
DTYPES = ["float32", "complex128"]


def drawn(shape, dtype, seed=1):
    """A host array of normally distributed numbers."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    return np.asarray(values + 1j * rng.standard_normal(shape) if dtype[0] == "c" else values).astype(dtype)


def near(dtype):
    """The tolerance for results of this dtype."""
    return 1e-4 if dtype == "float32" else 1e-10


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_square_matrices(shape, dtype):
    a, rtol = drawn(shape, dtype), near(dtype)
    adjoint = np.swapaxes(a.conj(), -1, -2)
    symmetric, positive = a + adjoint, a @ adjoint + 3 * np.eye(shape[-1], dtype=dtype)
    for name in ("det", "slogdet", "trace", "svdvals", "matrix_rank", "matrix_norm"):
        check(f"linalg.{name}", a, rtol=rtol)
    for name in ("inv", "cholesky", "pinv"):
        check(f"linalg.{name}", positive, rtol=rtol)
    check("linalg.cholesky", positive, upper=True, rtol=rtol)
    check("linalg.eigvalsh", symmetric, rtol=rtol)
    check("linalg.solve", positive, a, rtol=rtol)
    check("linalg.solve", positive, drawn(shape[-1:], dtype), rtol=rtol)
    for n in (0, 1, 3, -2):
        check("linalg.matrix_power", positive, n, rtol=100 * rtol)
    check("linalg.trace", a, offset=1, rtol=rtol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE + WIDE, ids=str)
def test_factorizations_multiply_to_the_matrix(shape, dtype):
    a, rtol = xp.asarray(drawn(shape, dtype)), near(dtype)
    for mode in ("reduced", "complete"):
        q, r = xp.linalg.qr(a, mode=mode)
        assert xp.all(xp.isclose(q @ r, a, rtol, rtol))
    for full in (False, True):
        u, s, vh = xp.linalg.svd(a, full_matrices=full)
        rank = s.shape[-1]
        assert xp.all(xp.isclose((u[..., :rank] * s[..., None, :]) @ vh[..., :rank, :], a, rtol, rtol))
    if shape[-1] == shape[-2]:
        symmetric = a + xp.conj(a.mT)
        values, vectors = xp.linalg.eigh(symmetric)
        assert xp.all(xp.isclose(symmetric @ vectors, vectors * values[..., None, :], rtol, 10 * rtol))
        values, vectors = xp.linalg.eig(a)
        assert xp.all(xp.isclose(a @ vectors, vectors * values[..., None, :], rtol, 100 * rtol))


@pytest.mark.parametrize("dtype", DTYPES)
def test_pinv_ignores_singular_values_that_are_rounding_errors(dtype):
    """The matrix has rank 2. The default tolerance depends on the dtype; NumPy's is 1e-15 for every dtype."""
    exact = drawn((6, 2), "complex128") @ drawn((2, 5), "complex128", seed=2)
    if dtype[0] != "c":
        exact = exact.real[:, :2] @ exact.real[:2]
    a, wanted = xp.asarray(exact.astype(dtype)), np.linalg.pinv(exact, rtol=1e-12)
    for got in (
        xp.linalg.pinv(a),
        xp.linalg.pinv(a, rtol=None),
        xp.linalg.pinv(a, 1e-4),
        xp.linalg.pinv(a, rtol=1e-4),
    ):
        np.testing.assert_allclose(got.get(), wanted, rtol=near(dtype) * 100, atol=near(dtype) * 10)


def test_names_of_the_fields():
    a = xp.eye(2)
    assert xp.linalg.qr(a)._fields == ("Q", "R")
    assert xp.linalg.svd(a)._fields == ("U", "S", "Vh")
    assert xp.linalg.eigh(a)._fields == xp.linalg.eig(a)._fields == ("eigenvalues", "eigenvectors")
    assert xp.linalg.slogdet(a)._fields == ("sign", "logabsdet")


@pytest.mark.parametrize("dtype", ["int8", *DTYPES])
def test_products_and_vector_norms(dtype):
    a, b, rtol = drawn((2, 3, 4), dtype), drawn((4, 3), dtype), near(dtype)
    check("matmul", a, b, rtol=rtol)
    check("linalg.matmul", a[0, 0], b, rtol=rtol)
    check("vecdot", a, a, rtol=rtol)
    check("linalg.vecdot", a, a, axis=0, rtol=rtol)
    check("linalg.outer", a[0, 0], b[:, 0], rtol=rtol)
    check("linalg.outer", a, b)
    check("linalg.cross", b, b[::-1], axis=-1, rtol=rtol)
    for axes in (0, 1, ((2,), (0,)), ((1, 2), (1, 0)), 3):
        check("tensordot", a, b, axes=axes, rtol=rtol)
    for order in (0, 1, 2, 3, -1, np.inf, -np.inf):
        check("linalg.vector_norm", a, ord=order, axis=1, keepdims=True, rtol=rtol)
        check("linalg.vector_norm", a, ord=order, axis=(0, 2), rtol=rtol)
        check("linalg.vector_norm", a, ord=order, rtol=rtol)


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_norms_of_matrices(order):
    for shape in ((2, 3, 4), (3, 3)):
        check("linalg.matrix_norm", drawn(shape, "float64"), ord=order, rtol=1e-12)
        check("linalg.matrix_norm", drawn(shape, "float64"), ord=order, keepdims=True, rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fourier_transforms(dtype):
    a, rtol = drawn((4, 6), dtype), near(dtype)
    for name in "fft ifft rfft irfft hfft ihfft".split():
        if dtype[0] != "c" or name not in ("rfft", "ihfft"):
            for keywords in ({}, {"n": 5}, {"axis": 0}, {"n": 7, "norm": "ortho"}, {"norm": "forward"}):
                check(f"fft.{name}", a, rtol=rtol, **keywords)
    for name in "fftn ifftn rfftn irfftn".split():
        if dtype[0] != "c" or name != "rfftn":
            for keywords in ({}, {"s": (3, 8), "axes": (0, 1)}, {"axes": (1,)}, {"norm": "ortho"}):
                check(f"fft.{name}", a, rtol=rtol, **keywords)
    for keywords in ({}, {"axes": 1}, {"axes": (0,)}):
        check("fft.fftshift", a, **keywords)
        check("fft.ifftshift", a, **keywords)


@pytest.mark.parametrize("n", range(1, 9))
def test_frequencies(n):
    for d in (1.0, 0.3, -2):
        check("fft.fftfreq", n, d=d, rtol=1e-15)
        check("fft.rfftfreq", n, d=d, rtol=1e-15)
