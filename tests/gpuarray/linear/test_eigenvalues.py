"""numpy.linalg's eig, eigvals, eigh and eigvalsh on GPUArrays."""

import numpy as np
import pytest
from stacks import DTYPES, EMPTY, LAYOUTS, SHAPES, check_close, draw, epsilon, laid

from pycuda import gpuarray
from pycuda.linalg import without_checks

pytestmark = pytest.mark.usefixtures("factorizations")


def bound(a):
    """The relative error that is allowed for the results of `a`."""
    return 20 * max(a.shape[-1], 3) * epsilon(a.dtype)


def check_types(got, want):
    """Asserts that both are named tuples of one class, whose arrays have the same shapes and dtypes."""
    assert type(got) is type(want)
    for one, other in zip(got, want, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype) and one.flags.c_contiguous


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_hermitian(dtype, layout):
    """eigh and eigvalsh read one triangle: the matrices are not Hermitian, and `whole` is what they stand
    for."""
    for shape in SHAPES:
        on_device, a = laid(draw(*shape, dtype=dtype), layout)
        for uplo in ("L", "U", "l"):
            want = np.linalg.eigh(a, uplo)
            got = np.linalg.eigh(on_device, uplo)
            check_types(got, want)
            check_close(got.eigenvalues, want.eigenvalues, bound(a))
            check_close(np.linalg.eigvalsh(on_device, uplo), want.eigenvalues, bound(a))
            half = np.tril(a, -1) if uplo in "lL" else np.triu(a, 1)
            whole = half + half.conj().swapaxes(-1, -2) + np.eye(a.shape[-1]) * a.real
            w, v = (each.get() for each in got)
            assert np.allclose(whole @ v, v * w[..., None, :], atol=bound(a) * np.abs(w).max())
            assert np.allclose(np.linalg.norm(v, axis=-2), 1, atol=bound(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_eig_and_eigvals(dtype, layout):
    for shape in SHAPES:
        on_device, a = laid(draw(*shape, dtype=dtype), layout)
        got, want = np.linalg.eig(on_device), np.linalg.eig(a)
        check_types(got, want)
        w, v = (each.get() for each in got)
        assert np.allclose(a @ v, v * w[..., None, :], atol=bound(a) * np.abs(w).max())
        assert np.allclose(np.linalg.norm(v, axis=-2), 1, atol=bound(a))
        values = np.linalg.eigvals(on_device).get()
        assert values.dtype == want.eigenvalues.dtype
        # Eigenvalues come in any order: each one's distance from the nearest one of NumPy.
        distance = np.abs(values[..., :, None] - want.eigenvalues[..., None, :]).min(axis=-1).max()
        assert distance < 50 * bound(a) * np.abs(w).max()


def test_results_are_real_if_all_eigenvalues_are():
    """Without checks results are always complex: the dtype must not depend on values that the host does not
    read."""
    real, rotation = np.array([[2.0, 1], [0, 3]]), np.array([[0.0, 1], [-1, 0]])
    for a in (real, rotation, np.stack([real, rotation]), real.astype("F")):
        check_types(np.linalg.eig(gpuarray.to_gpu(a)), np.linalg.eig(a))
        assert np.linalg.eigvals(gpuarray.to_gpu(a)).dtype == np.linalg.eigvals(a).dtype
    with without_checks():
        assert np.linalg.eigvals(gpuarray.to_gpu(real)).dtype == np.complex128
    w = np.linalg.eigvals(gpuarray.to_gpu(real))
    w[0] = 7  # refused if w were only the real part of a complex array
    assert w.get().tolist() == [7, 3]


def test_not_finite():
    a = np.stack([np.eye(2), np.full((2, 2), np.inf), np.diag([1, np.nan])])
    for function in (np.linalg.eig, np.linalg.eigvals):
        with pytest.raises(np.linalg.LinAlgError, match="^Array must not contain infs or NaNs$"):
            function(gpuarray.to_gpu(a))
    with without_checks():
        for each in (*np.linalg.eig(gpuarray.to_gpu(a)), np.linalg.eigvals(gpuarray.to_gpu(a))):
            assert np.isfinite(each.get()[0]).all() and np.isnan(each.get()[1:]).all()


@pytest.mark.parametrize("shape", EMPTY)
def test_empty(shape):
    a = np.zeros(shape, np.float32)
    for function in (np.linalg.eig, np.linalg.eigh, lambda a: (np.linalg.eigvals(a), np.linalg.eigvalsh(a))):
        for got, want in zip(function(gpuarray.to_gpu(a)), function(a), strict=True):
            check_close(got, want, 0)


def test_integers():
    a = np.array([[4, 1], [1, 3]], np.int8)
    for function in (np.linalg.eigvalsh, lambda a: np.sort(np.linalg.eigvals(a))):
        check_close(function(gpuarray.to_gpu(a)), function(a), 1e-12)
