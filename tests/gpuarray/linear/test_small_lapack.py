"""Our own kernels for small matrices (small_lapack), compared with SciPy's LAPACK."""

import numpy as np
import pytest
import scipy.linalg
from stacks import DTYPES, LAYOUTS, check_close, condition, definite, draw, epsilon, laid

from pycuda import gpuarray, linalg
from pycuda._libraries import host, small_lapack

pytestmark = pytest.mark.usefixtures("primary_context")

SIZES = [(1, 1), (2, 2), (5, 5), (16, 16), (31, 31), (32, 32), (33, 33), (47, 47), (7, 3), (3, 40), (47, 20)]


def columns(a):
    """A copy on the device whose matrices have contiguous columns."""
    return gpuarray.to_gpu(np.ascontiguousarray(a.swapaxes(-1, -2))).swapaxes(-1, -2)


def zeros(*shape, dtype=np.int32):
    return gpuarray.zeros(shape, dtype)


def factored(a):
    """(factors, pivots, info) of getrf() on the device; pivots and info are -1 before, so that all must be
    written."""
    factors, min_side = columns(a), min(a.shape[-2:])
    pivots, info = zeros(*a.shape[:-2], min_side, dtype=np.int64), zeros(*a.shape[:-2])
    pivots.fill(-1), info.fill(-1)
    assert small_lapack.can_factor(factors)
    small_lapack.getrf(factors, pivots, info)
    return factors, pivots, info


def near(got, want, bound):
    """Asserts that the distance of each element is at most `bound` times the largest magnitude of `want`."""
    want = want.astype(got.dtype)
    assert np.abs(got.get() - want).max() <= bound * max(np.abs(want).max(), 1e-30)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_lu(size, dtype):
    a = draw(3, *size, dtype=dtype)
    factors, pivots, info = factored(a)
    assert info.get().tolist() == [0, 0, 0]
    for i in range(3):
        want, order = scipy.linalg.lu_factor(a[i])
        assert (pivots[i].get() == order + 1).all()  # LAPACK counts from 1, SciPy from 0
        near(factors[i], want, 300 * epsilon(dtype) * max(size))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposed", [0, 1, 2])
@pytest.mark.parametrize("side, right", [(1, 1), (3, 1), (16, 1), (32, 2), (33, 40), (20, 90), (47, 5)])
def test_getrs(side, right, transposed, dtype):
    a, b = draw(3, side, side, dtype=dtype), draw(3, side, right, dtype=dtype)
    factors, pivots, _ = factored(a)
    x = columns(b)
    small_lapack.getrs(factors, pivots, x, transposed)
    matrix = (a, a.swapaxes(1, 2), a.swapaxes(1, 2).conj())[transposed]
    near(x, np.linalg.solve(matrix, b), 30 * side * epsilon(dtype) * condition(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposed", [0, 1, 2])
@pytest.mark.parametrize("side, right", [(1, 1), (16, 1), (33, 40), (47, 5)])
def test_trsm(side, right, transposed, dtype):
    a = draw(3, side, side, dtype=dtype) / side + 2 * np.eye(side, dtype=dtype)
    b, factors = draw(3, side, right, dtype=dtype), columns(a)
    for upper in (False, True):
        for unit in (False, True):
            x = columns(b)
            small_lapack.trsm(factors, x, upper, transposed, unit)
            for i in range(3):
                want = scipy.linalg.solve_triangular(
                    a[i], b[i], trans=transposed, lower=not upper, unit_diagonal=unit
                )
                near(x[i], want, 30 * side * epsilon(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("side, right", [(1, 1), (3, 1), (16, 1), (32, 2), (33, 7), (20, 30)])
def test_systems_of_any_strides(side, right, dtype):
    """gesv() and inverse() compute solutions and inverses in one launch, and do not change the matrices."""
    a, b = draw(2, 3, side, side, dtype=dtype), draw(2, 3, side, right, dtype=dtype)
    bound = 60 * side * epsilon(dtype) * condition(a)
    for layout in LAYOUTS[:-1]:
        matrices, _ = laid(a, layout)
        for stack, want in ((matrices, a), (matrices[::-1], a[::-1]), (matrices[:, 1:], a[:, 1:])):
            stack = stack.astype(dtype, copy=False)
            right = gpuarray.to_gpu(b)[:, : want.shape[1]]
            x = small_lapack.solve(stack, right)
            near(x, np.linalg.solve(want, b[:, : want.shape[1]]), bound)
            if small_lapack.can_solve(stack, side):
                near(small_lapack.inverse(stack), np.linalg.inv(want), bound)
            assert (stack.get() == want).all()
    one = np.broadcast_to(gpuarray.to_gpu(a[0, 0]), (2, 3, side, side))
    other = np.broadcast_to(gpuarray.to_gpu(b[0, :1].swapaxes(-1, -2).copy()).mT, b.shape)
    near(small_lapack.solve(one, other), np.linalg.solve(a[0, 0], other.get()), bound)


@pytest.mark.parametrize("side", [1, 2, 3, 5, 9, 17])
def test_infinite_operands(side):
    """Lanes without a row of the matrix do not make NaN of results that have none."""
    a, b = np.triu(draw(side, side)) + 3 * np.eye(side), draw(side, 2)
    a[:, -1] = 1
    b[-1, 0] = np.inf
    found = small_lapack.solve(gpuarray.to_gpu(a), gpuarray.to_gpu(b)).get()
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(found, np.linalg.solve(a, b), 1e-10)
        a[-1, -1] = np.inf
        found = small_lapack.solve(gpuarray.to_gpu(a), gpuarray.to_gpu(b[:, 1:])).get()
        np.testing.assert_allclose(found, np.linalg.solve(a, b[:, 1:]), 1e-10)


@pytest.mark.parametrize("side", [3, 20])
def test_a_singular_matrix_among_others(side):
    """Its results are NaN, those for the others are right, and the flag says so."""
    a, b = draw(3, side, side), draw(3, side, 2)
    a[1, 0] = 0
    flag = gpuarray.zeros(1, np.int32)
    stack, right = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    for x, want in (
        (small_lapack.solve(stack, right, flag), lambda i: np.linalg.solve(a[i], b[i])),
        (small_lapack.inverse(stack, flag), lambda i: np.linalg.inv(a[i])),
    ):
        assert flag.get() == 1
        assert np.isnan(x[1].get()).all()
        for i in (0, 2):
            near(x[i], want(i), 60 * side * epsilon("d") * condition(a[i]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("side", [1, 2, 16, 32, 33, 47])
def test_cholesky(side, upper, dtype):
    """info is 0 for a definite matrix, otherwise the number of the first pivot that is not positive. The
    other triangle, which is filled with 7 here, is neither read nor written."""
    a = definite(3, side, side, dtype=dtype)
    a[1] = -a[1]
    a[2, -1, -1] = np.nan
    mask = (np.triu if upper else np.tril)(np.ones((side, side), bool))
    given = np.where(mask, a, np.array(7, dtype))  # the other triangle is not read
    for layout in (given, given.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
        flag, info = gpuarray.zeros(1, np.int32), zeros(3)
        info.fill(-1)
        factor = small_lapack.cholesky(gpuarray.to_gpu(layout), upper, flag, info)
        assert info.get().tolist() == [0, 1, side]
        assert flag.get() == 1
        want = np.linalg.cholesky(a[0])
        near(factor[0], want.conj().T if upper else want, 100 * side * epsilon(dtype))
        assert np.isnan(factor[1:].get()).all()


def test_pivots_are_those_of_lapack():
    """The first of several that are equal, the largest |re| + |im| of complex numbers; columns of zeros or
    NaN."""
    nan = np.nan
    for a in (
        np.array([[1.0, 2], [-1, 3]]), np.array([[0.0, 1], [0, 1]]), np.zeros((3, 3)),
        np.array([[1.0, 2, 3], [2, 4, 6], [1, 1, 1]]), np.array([[3 + 3j, 1], [5, 2]]),
        np.array([[1.0, 2], [nan, 3]]), np.array([[nan, 2], [1, 3]]),
    ):  # fmt: skip
        factors, pivots, info = factored(a)
        (getrf,) = scipy.linalg.get_lapack_funcs(("getrf",), (a,))
        want, order, failed = getrf(a)
        if np.isfinite(want).all():
            assert (factors.get() == want).all()
        if not np.isnan(a).any():  # SciPy's LAPACK may choose NaN
            assert pivots.get().tolist() == (order + 1).tolist()
        assert info.get() == failed


def test_matrices_that_do_not_fit_into_shared_memory_are_not_taken():
    assert not small_lapack.can_factor(gpuarray.empty((96, 96), np.float32))
    assert small_lapack.can_factor(gpuarray.empty((95, 95), np.float32))
    assert not small_lapack.can_factor(gpuarray.empty((48, 48), np.complex128))


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_numpy(monkeypatch, dtype):
    """np.linalg's functions use our own kernels if there is no library; NumPy on the host is disabled
    here."""
    monkeypatch.setattr(host, "is_possible", lambda: False)
    a, b = draw(5, 9, 9, dtype=dtype), draw(9, 2, dtype=dtype)
    on_device, bound = gpuarray.to_gpu(a), 100 * epsilon(dtype) * condition(a)
    check_close(np.linalg.solve(on_device, gpuarray.to_gpu(b)), np.linalg.solve(a, b), bound)
    check_close(np.linalg.inv(on_device), np.linalg.inv(a), bound)
    check_close(np.linalg.det(on_device), np.linalg.det(a), bound)
    positive = definite(5, 9, 9, dtype=dtype)
    for upper in (False, True):
        want = np.linalg.cholesky(positive, upper=upper)
        check_close(np.linalg.cholesky(gpuarray.to_gpu(positive), upper=upper), want, bound)
    x = linalg.cho_solve(linalg.cho_factor(gpuarray.to_gpu(positive)), gpuarray.to_gpu(b))
    check_close(x, np.linalg.solve(positive, b), 1e4 * epsilon(dtype))
    x = linalg.solve_triangular(on_device, gpuarray.to_gpu(b), lower=True)
    want = np.stack([scipy.linalg.solve_triangular(each, b, lower=True) for each in a])
    check_close(x, want, bound * 1e3)
    large = draw(2, 40, 40, dtype=dtype)  # too large for inverse(): it is factored first
    near_large = 1e3 * epsilon(dtype) * condition(large)
    check_close(np.linalg.inv(gpuarray.to_gpu(large)), np.linalg.inv(large), near_large)
    singular = on_device.copy()
    singular[3, :, 2] = 0
    with pytest.raises(np.linalg.LinAlgError, match="^Singular matrix$"):
        np.linalg.inv(singular)
    with linalg.without_checks():
        result = np.linalg.inv(singular).get()
    assert np.isnan(result[3]).all() and np.isfinite(result[[0, 1, 2, 4]]).all()
    a[2, 1, 1] = np.nan
    want, got = np.linalg.inv(a), np.linalg.inv(gpuarray.to_gpu(a)).get()
    assert np.isnan(got[2]).any() and np.allclose(got[[0, 1, 3, 4]], want[[0, 1, 3, 4]], rtol=1e-2)


def test_integers_become_doubles_before_their_size_is_judged(monkeypatch):
    """A matrix that fits shared memory as int8 does not as float64: it is not for these kernels."""
    monkeypatch.setattr(host, "is_possible", lambda: False)
    seen = []
    monkeypatch.setattr(small_lapack, "can_factor", lambda a: seen.append(a.dtype) or True)
    a = gpuarray.to_gpu(np.eye(4, dtype=np.int8))
    np.linalg.cholesky(a)
    linalg.cho_factor(a)
    assert seen == [np.float64, np.float64]
