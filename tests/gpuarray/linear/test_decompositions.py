"""numpy.linalg's cholesky, qr, svd and svdvals on GPUArrays."""

import numpy as np
import pytest
from stacks import DTYPES, LAYOUTS, SHAPES, check_close, condition, definite, draw, epsilon, laid

from pycuda import gpuarray
from pycuda.linalg import without_checks

pytestmark = pytest.mark.usefixtures("factorizations")
WIDE_OR_TALL = [*SHAPES, (7, 4), (4, 7), (2, 5, 3), (2, 3, 5), (1, 6), (6, 1)]
EMPTY = [(0, 0), (0, 3), (3, 0), (2, 0, 3), (2, 3, 0), (0, 3, 2)]


def adjoint(a):
    return a.conj().swapaxes(-1, -2)


def bound(a):
    """The relative error that is allowed for the results of `a`."""
    return 20 * max(*a.shape[-2:], 3) * epsilon(a.dtype)


def check_unitary(a):
    """Asserts that the columns are orthogonal and of length 1."""
    assert np.allclose(adjoint(a) @ a, np.eye(a.shape[-1]), atol=bound(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_cholesky(dtype, layout):
    for shape in SHAPES:
        on_device, a = laid(definite(*shape, dtype=dtype), layout)
        for upper in (False, True):
            want = np.linalg.cholesky(a, upper=upper)
            check_close(np.linalg.cholesky(on_device, upper=upper), want, bound(a) * condition(a))


def test_cholesky_reads_one_triangle():
    a = definite(4, 4)
    for upper, keep in ((False, np.tril), (True, np.triu)):
        got = np.linalg.cholesky(gpuarray.to_gpu(keep(a)), upper=upper)
        check_close(got, np.linalg.cholesky(a, upper=upper), 1e-12)


def test_not_positive_definite():
    stack = np.stack([np.eye(3), -np.eye(3)])
    on_device = gpuarray.to_gpu(stack)
    for each in (on_device, on_device[1]):
        with pytest.raises(np.linalg.LinAlgError, match="^Matrix is not positive definite$"):
            np.linalg.cholesky(each)
    with without_checks():
        got = np.linalg.cholesky(on_device).get()
    assert (got[0] == np.eye(3)).all() and np.isnan(np.diagonal(got[1])).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_qr(dtype, layout):
    """Q and R are not unique: Q is unitary, R triangular, and Q @ R the matrix; shapes and dtypes are
    NumPy's."""
    for shape in WIDE_OR_TALL:
        on_device, a = laid(draw(*shape, dtype=dtype), layout)
        for mode in ("reduced", "complete"):
            q, r = got = np.linalg.qr(on_device, mode)
            want = np.linalg.qr(a, mode)
            assert type(got) is type(want)
            for one, other in zip(got, want, strict=True):
                assert (one.shape, one.dtype) == (other.shape, other.dtype) and one.flags.c_contiguous
            q, r = q.get(), r.get()
            assert (r == np.triu(r)).all() and np.allclose(q @ r, a, atol=bound(a) * np.abs(a).max())
            check_unitary(q)
        assert np.allclose(np.linalg.qr(on_device, "r").get(), r[..., : min(a.shape[-2:]), :])
        h, tau = np.linalg.qr(on_device, "raw")
        assert (h.shape, tau.shape) == tuple(each.shape for each in np.linalg.qr(a, "raw"))
        assert np.allclose(np.triu(h.get().swapaxes(-1, -2)), np.linalg.qr(on_device, "complete")[1].get())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_svd(dtype, layout):
    for shape in WIDE_OR_TALL:
        on_device, a = laid(draw(*shape, dtype=dtype), layout)
        values = np.linalg.svd(a, compute_uv=False)
        check_close(np.linalg.svdvals(on_device), values, bound(a))
        check_close(np.linalg.svd(on_device, compute_uv=False), values, bound(a))
        for full in (False, True):
            u, s, vh = got = np.linalg.svd(on_device, full)
            want = np.linalg.svd(a, full)
            assert type(got) is type(want)
            for one, other in zip(got, want, strict=True):
                assert (one.shape, one.dtype) == (other.shape, other.dtype) and one.flags.c_contiguous
            check_close(s, values, bound(a))
            u, s, vh = (each.get() for each in got)
            check_unitary(u)
            check_unitary(adjoint(vh))
            min_side = s.shape[-1]
            product = (u[..., :min_side] * s[..., None, :]) @ vh[..., :min_side, :]
            assert np.allclose(product, a, atol=bound(a) * values.max())


@pytest.mark.parametrize("dtype", DTYPES)
def test_svd_of_hermitian_matrices(dtype):
    a = draw(2, 5, 5, dtype=dtype)
    a = a + adjoint(a)
    on_device = gpuarray.to_gpu(a)
    u, s, vh = np.linalg.svd(on_device, hermitian=True)
    want = np.linalg.svd(a, hermitian=True)
    check_close(s, want.S, bound(a))
    assert (u.dtype, vh.dtype) == (want.U.dtype, want.Vh.dtype)
    assert np.allclose((u.get() * s.get()[..., None, :]) @ vh.get(), a, atol=bound(a) * np.abs(a).max())
    check_close(np.linalg.svd(on_device, compute_uv=False, hermitian=True), want.S, bound(a))


@pytest.mark.parametrize("shape", EMPTY)
def test_qr_and_svd_of_empty_matrices(shape):
    a = np.zeros(shape, np.float32)
    on_device = gpuarray.to_gpu(a)
    for function in (
        np.linalg.qr, np.linalg.svd, lambda a: np.linalg.svd(a, False),
        lambda a: np.linalg.qr(a, "complete"), lambda a: np.linalg.qr(a, "raw"),
        lambda a: (np.linalg.svdvals(a), np.linalg.qr(a, "r")),
    ):  # fmt: skip
        for got, want in zip(function(on_device), function(a), strict=True):
            check_close(got, want, 0)


def test_integers():
    a = np.array([[4, 1], [1, 3]])
    for function in (np.linalg.cholesky, np.linalg.svdvals, lambda a: np.abs(np.linalg.qr(a).R)):
        check_close(function(gpuarray.to_gpu(a)), function(a), 1e-12)


def test_svd_of_not_a_number():
    a = np.stack([np.full((3, 3), np.nan), np.eye(3)])
    with pytest.raises(np.linalg.LinAlgError, match="^SVD did not converge$"):
        np.linalg.svd(gpuarray.to_gpu(a))
    with without_checks():
        for each in np.linalg.svd(gpuarray.to_gpu(a)):
            assert np.isnan(each.get()[0]).all() and np.isfinite(each.get()[1]).all()


@pytest.mark.cpu("it is not known what cuSOLVER does with NaN")
def test_qr_of_not_a_number():
    a = np.stack([np.full((3, 3), np.nan), np.eye(3)])
    assert np.isnan(np.linalg.qr(gpuarray.to_gpu(a)).R.get()[0]).any()
