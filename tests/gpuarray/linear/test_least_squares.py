"""numpy.linalg's lstsq, pinv, matrix_rank, cond, matrix_power and norms of singular values on GPUArrays."""

import numpy as np
import pytest
from stacks import DTYPES, LAYOUTS, check_close, condition, draw, epsilon, laid

from pycuda import gpuarray
from pycuda.linalg import without_checks

pytestmark = pytest.mark.usefixtures("factorizations")
SHAPES = [(1, 1), (5, 5), (9, 4), (4, 9), (2, 6, 3), (2, 3, 6)]


def bound(a):
    """The relative error that is allowed for the results of `a`."""
    return 50 * max(a.shape[-2:]) * epsilon(a.dtype) * condition(a)


def deficient(*shape, dtype="d"):
    """A random matrix, or stack, of rank 2."""
    return draw(*shape[:-1], 2, dtype=dtype) @ draw(*shape[:-2], 2, shape[-1], dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS[:-1])
def test_lstsq(dtype, layout):
    for shape in SHAPES[:4]:
        for columns in ((), (1,), (3,), (0,)):
            on_device, a = laid(draw(*shape, dtype=dtype), layout)
            right, b = laid(draw(shape[0], *columns, dtype=dtype, seed=2), layout)
            for got, want in zip(np.linalg.lstsq(on_device, right), np.linalg.lstsq(a, b), strict=True):
                check_close(got, want, bound(a), (shape, columns))


def test_lstsq_of_deficient_matrices():
    for a in (deficient(6, 4), np.zeros((4, 3)), np.zeros((0, 3)), np.zeros((3, 0))):
        b = draw(len(a), 2)
        on_device, right = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
        for rcond in (None, 0.1, -1):
            for got, want in zip(
                np.linalg.lstsq(on_device, right, rcond), np.linalg.lstsq(a, b, rcond), strict=True
            ):
                assert (got.shape, got.dtype) == (want.shape, want.dtype)
                assert rcond == -1 or np.allclose(got.get(), want)  # -1 divides by rounding errors
    with without_checks():
        residuals = np.linalg.lstsq(gpuarray.to_gpu(deficient(6, 4)), gpuarray.to_gpu(draw(6, 2)))[1]
    assert residuals.shape == (2,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_pinv_rank_cond(dtype, layout):
    for shape in SHAPES:
        on_device, a = laid(draw(*shape, dtype=dtype), layout)
        check_close(np.linalg.pinv(on_device), np.linalg.pinv(a), bound(a))
        check_close(np.linalg.pinv(on_device, rtol=None), np.linalg.pinv(a, rtol=None), bound(a))
        check_close(np.linalg.matrix_rank(on_device), np.linalg.matrix_rank(a), 0)
        for order in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro"):
            if order in (None, 2, -2) or shape[-1] == shape[-2]:
                check_close(np.linalg.cond(on_device, order), np.linalg.cond(a, order), bound(a))


def test_tolerances_of_pinv_and_matrix_rank():
    a = np.stack([np.diag([1, 0.1, 0.01]), np.diag([2, 2, 1e-3])])
    on_device, tolerances = gpuarray.to_gpu(a), np.array([0.05, 0.5])  # one for each matrix
    for ours, numpys in ((0.05, 0.05), (gpuarray.to_gpu(tolerances), tolerances)):
        for name in ("rcond", "rtol"):
            got, want = np.linalg.pinv(on_device, **{name: ours}), np.linalg.pinv(a, **{name: numpys})
            check_close(got, want, 1e-12)
        for name in ("tol", "rtol"):
            got = np.linalg.matrix_rank(on_device, **{name: ours})
            check_close(got, np.linalg.matrix_rank(a, **{name: numpys}), 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pinv_and_matrix_rank_of_hermitian_matrices(dtype):
    a = deficient(4, 4, dtype=dtype)
    a = a + a.conj().T
    got = np.linalg.pinv(gpuarray.to_gpu(a), 1e-4, hermitian=True)
    check_close(got, np.linalg.pinv(a, 1e-4, hermitian=True), 1e3 * epsilon(dtype))
    on_device = gpuarray.to_gpu(np.diag([1, 0, -3]).astype(dtype))
    assert np.linalg.matrix_rank(on_device, hermitian=True).get() == 2


def test_ranks_of_vectors_and_of_empty_matrices():
    for a in (np.zeros(3), np.arange(3.0), np.array(2.0), np.zeros((0, 3)), np.zeros((2, 3, 0))):
        check_close(np.linalg.matrix_rank(gpuarray.to_gpu(a)), np.linalg.matrix_rank(a), 0)
        if a.ndim > 1:
            check_close(np.linalg.pinv(gpuarray.to_gpu(a)), np.linalg.pinv(a), 0)


def test_condition_of_singular_matrices():
    a = np.stack([np.zeros((2, 2)), np.ones((2, 2)), np.eye(2)])
    for order in (None, 1, "fro", -2):
        got, want = np.linalg.cond(gpuarray.to_gpu(a), order).get(), np.linalg.cond(a, order)
        assert np.allclose(np.minimum(got, 1e15), np.minimum(want, 1e15)), order  # inf, or rounding errors
    a[2, 0, 0] = np.nan
    got, want = np.linalg.cond(gpuarray.to_gpu(a), 1).get(), np.linalg.cond(a, 1)
    assert np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize("power", [-3, -1, 0, 1, 5])
def test_matrix_power(power):
    for a in (draw(3, 3), draw(2, 4, 4, dtype="F"), np.array([[2, 1], [1, 1]])):
        got, want = np.linalg.matrix_power(gpuarray.to_gpu(a), power), np.linalg.matrix_power(a, power)
        check_close(got, want, 1e-3 if a.dtype.char == "F" else 1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        np.linalg.matrix_power(gpuarray.zeros((2, 2), float), -1)


@pytest.mark.parametrize("order", [2, -2, "nuc"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_of_singular_values(order, keepdims):
    for dtype in "fdFD":
        a = draw(3, 4, 5, dtype=dtype)
        on_device = gpuarray.to_gpu(a)
        for axis in ((0, 1), (2, 0), (-1, -2)):
            got, want = (np.linalg.norm(each, order, axis, keepdims) for each in (on_device, a))
            check_close(got, want, 1e2 * epsilon(dtype))
        got, want = (np.linalg.matrix_norm(each, ord=order, keepdims=keepdims) for each in (on_device, a))
        check_close(got, want, 1e2 * epsilon(dtype))
    empty = np.zeros((2, 0, 3))
    if order != -2:  # the minimum of no singular values
        check_close(np.linalg.norm(gpuarray.to_gpu(empty), order, (1, 2)), np.zeros(2), 0)
