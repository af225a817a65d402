"""numpy.linalg's solve, inv, det, slogdet, tensorsolve and tensorinv on GPUArrays."""

import itertools

import numpy as np
import pytest
from stacks import DTYPES, EMPTY, LAYOUTS, SHAPES, check_close, condition, draw, epsilon, laid

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.linalg import without_checks

pytestmark = pytest.mark.usefixtures("factorizations")
SINGULAR = np.zeros((3, 3))


def bound(a):
    """The relative error that is allowed for the results of `a`."""
    return 10 * a.shape[-1] * epsilon(a.dtype) * condition(a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_inv_slogdet_det_and_solve(dtype, layout):
    for shape in SHAPES:
        on_device, a = laid(draw(*shape, dtype=dtype), layout)
        check_close(np.linalg.inv(on_device), np.linalg.inv(a), bound(a), shape)
        sign, logarithm = np.linalg.slogdet(a)
        found = np.linalg.slogdet(on_device)
        assert type(found).__name__ == "SlogdetResult"
        check_close(found.sign, sign, bound(a))
        assert found.logabsdet.dtype == logarithm.dtype
        assert np.abs(found.logabsdet.get() - logarithm).max() < bound(a)
        with np.errstate(over="ignore"):
            want = np.linalg.det(a)
        assert np.allclose(np.linalg.det(on_device).get(), want, bound(a))
        for columns in ((4,), (1,), (0,)):
            b = draw(*a.shape[:-1], *columns, dtype=dtype, seed=2)
            right, b = laid(b, layout if shape > (3,) else "rows")
            if b.ndim == a.ndim or columns == (4,):
                got, want = np.linalg.solve(on_device, right), np.linalg.solve(a, b)
                check_close(got, want, bound(a), (shape, columns))


@pytest.mark.parametrize("shapes", [
    ((3, 3), (3,)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 2)), ((3, 3), (4, 3, 2)), ((2, 1, 3, 3), (5, 3, 2)),
    ((3, 3), (0, 3, 2)), ((0, 3, 3), (3, 2)), ((2, 0, 0), (0,)), ((0, 0), (0, 4)),
], ids=str)  # fmt: skip
def test_batches_broadcast(shapes):
    a, b = draw(*shapes[0]), draw(*shapes[1])
    got = np.linalg.solve(gpuarray.to_gpu(a), gpuarray.to_gpu(b))
    check_close(got, np.linalg.solve(a, b), bound(a))


@pytest.mark.parametrize("first, second", list(itertools.product("?Bifd", "ifF")))
def test_dtypes_are_promoted(first, second):
    a = np.array([[1, 1], [0, 1]]).astype(first)
    b = np.array([[1, 2], [3, 5]]).astype(second)
    on_device, right = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    check_close(np.linalg.solve(on_device, right), np.linalg.solve(a, b), 1e-6)
    for function in (np.linalg.inv, np.linalg.det):
        check_close(function(on_device), function(a), 1e-6)


@pytest.mark.parametrize("shape", EMPTY)
def test_empty(shape):
    a = np.zeros(shape)
    for function in (np.linalg.inv, np.linalg.det, lambda a: np.linalg.slogdet(a)[1]):
        check_close(function(gpuarray.to_gpu(a)), function(a), 0)


def test_singular_matrices():
    stack = np.stack([SINGULAR, np.eye(3), np.ones((3, 3))])
    for a in (SINGULAR, stack):
        on_device = gpuarray.to_gpu(a)
        for function in (np.linalg.inv, lambda a: np.linalg.solve(a, a)):
            with pytest.raises(np.linalg.LinAlgError, match="^Singular matrix$"):
                function(on_device)
        for function in (np.linalg.det, lambda a: np.linalg.slogdet(a)[0], lambda a: np.linalg.slogdet(a)[1]):
            assert (function(on_device).get() == function(a)).all()
    with without_checks():
        for got in (np.linalg.inv(on_device), np.linalg.solve(on_device, on_device)):
            assert np.isnan(got.get()).all(axis=(1, 2)).tolist() == [True, False, True]
            assert (got.get()[1] == np.eye(3)).all()
        assert np.isnan(np.linalg.inv(gpuarray.to_gpu(SINGULAR)).get()).all()


def test_nan_is_propagated():
    a = np.eye(3)
    a[1, 1] = np.nan
    assert np.isnan(np.linalg.inv(gpuarray.to_gpu(a)).get()).any()
    assert np.isnan(np.linalg.det(gpuarray.to_gpu(a)).get())


def test_captures():
    """inv is refused in a capture, since it checks its result; without checks it is captured."""
    a = draw(3, 3)
    on_device, out = gpuarray.to_gpu(a), gpuarray.zeros((3, 3), float)
    stream = drv.Stream()
    with stream, stream.capture() as graph:
        with pytest.raises(drv.LogicError, match=r"numpy.linalg.inv cannot be captured.*without_checks"):
            np.linalg.inv(on_device)
        with without_checks():
            out[...] = np.linalg.inv(on_device)
    graph.instantiate().launch(stream)
    stream.synchronize()
    check_close(out, np.linalg.inv(a), bound(a))


def test_tensorsolve_and_tensorinv():
    a, b = draw(2, 3, 6), draw(2, 3)
    got = np.linalg.tensorsolve(gpuarray.to_gpu(a), gpuarray.to_gpu(b))
    check_close(got, np.linalg.tensorsolve(a, b), 1e-10)
    moved = np.moveaxis(a, 2, 0)
    got = np.linalg.tensorsolve(gpuarray.to_gpu(moved), gpuarray.to_gpu(b), axes=(0,))
    check_close(got, np.linalg.tensorsolve(moved, b, axes=(0,)), 1e-10)
    for shape, ind in (((4, 6, 8, 3), 2), ((24, 8, 3), 1)):
        a = draw(*shape)
        check_close(np.linalg.tensorinv(gpuarray.to_gpu(a), ind), np.linalg.tensorinv(a, ind), 1e-8)
