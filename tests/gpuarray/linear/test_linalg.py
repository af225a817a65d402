"""pycuda.linalg compared with scipy.linalg."""

import numpy as np
import pytest
import scipy.linalg
from stacks import DTYPES, LAYOUTS, check_close, definite, draw, epsilon, laid

import pycuda.driver as drv
from pycuda import gpuarray, linalg
from pycuda._array.linear import lapack

pytestmark = pytest.mark.usefixtures("factorizations")
SHAPES = [(1, 1), (4, 4), (40, 40), (2, 5, 5)]


def both(function, *arrays, **options):
    """(result of our function, result of SciPy's) of this name."""
    ours, theirs = getattr(linalg, function), getattr(scipy.linalg, function)
    return ours(*map(gpuarray.to_gpu, arrays), **options), theirs(*arrays, **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_solve_triangular(dtype, layout):
    for shape in SHAPES:
        triangle = (draw(*shape, dtype=dtype) / 9 + 2 * np.eye(shape[-1])).astype(dtype)
        on_device, a = laid(triangle, layout)
        right, b = laid(draw(*shape[:-1], 3, dtype=dtype), layout)
        for lower in (False, True):
            for trans in (0, "T", 2):
                for unit in (False, True):
                    options = {"lower": lower, "trans": trans, "unit_diagonal": unit}
                    got = linalg.solve_triangular(on_device, right, **options)
                    want = scipy.linalg.solve_triangular(a, b, **options)
                    check_close(got, want, 1e4 * epsilon(dtype), options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_lu(dtype, layout):
    for shape in [*SHAPES[1:], (7, 4), (4, 7), (40, 70), (2, 5, 3)]:
        on_device, a = laid(draw(*shape, dtype=dtype), layout)
        near = 100 * max(shape) * epsilon(dtype)
        for options in ({}, {"permute_l": True}):
            for got, want in zip(linalg.lu(on_device, **options), scipy.linalg.lu(a, **options), strict=True):
                check_close(got, want, near)
        rows, lower, _ = linalg.lu(on_device, p_indices=True)
        want = scipy.linalg.lu(a, p_indices=True)
        assert (rows.get() == want[0]).all() and lower.shape == want[1].shape
        (factors, pivots), want = linalg.lu_factor(on_device), scipy.linalg.lu_factor(a)
        check_close(factors, want[0], near)
        check_close(pivots, want[1], 0)
        if a.shape[-1] == a.shape[-2]:
            right, b = laid(draw(*shape[:-1], 2, dtype=dtype), layout)
            for trans in (0, 1, 2):
                got = linalg.lu_solve((factors, pivots), right, trans)
                check_close(got, scipy.linalg.lu_solve(want, b, trans), near * 100)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [False, True])
def test_cholesky(dtype, lower):
    keep = np.tril if lower else np.triu
    for shape in SHAPES:
        a, b = definite(*shape, dtype=dtype), draw(*shape[:-1], 2, dtype=dtype)
        factor, want = linalg.cho_factor(gpuarray.to_gpu(a), lower), scipy.linalg.cho_factor(a, lower)
        assert factor[1] is lower
        assert np.allclose(keep(factor[0].get()), keep(want[0]), rtol=1e4 * epsilon(dtype))
        x = linalg.cho_solve(factor, gpuarray.to_gpu(b)).get()
        assert np.allclose(a @ x, b, atol=1e5 * epsilon(dtype))


def test_vectors_and_batches():
    a, b = draw(3, 4, 4) + 4 * np.eye(4), draw(4)
    check_close(*both("solve_triangular", a, b), 1e-12)
    check_close(*both("solve_triangular", a[0], b), 1e-12)
    check_close(*both("solve_triangular", a[0], draw(5, 4, 2)), 1e-12)
    factors = linalg.lu_factor(gpuarray.to_gpu(a))
    x = linalg.lu_solve(factors, gpuarray.to_gpu(b)).get()
    assert np.allclose(x, np.linalg.solve(a, b))
    assert np.allclose(both("solve_triangular", a[0], b.astype("F"))[0].get().imag, 0)


def test_singular_and_indefinite_matrices():
    """Such matrices raise SciPy's errors, or warn as SciPy does; without checks results are NaN."""
    singular = np.diag([1.0, 0, 2])
    text = "^singular matrix: resolution failed at diagonal 1$"
    for library, convert in ((linalg, gpuarray.to_gpu), (scipy.linalg, np.asarray)):
        with pytest.raises(np.linalg.LinAlgError, match=text):
            library.solve_triangular(convert(singular), convert(np.ones(3)))
        library.solve_triangular(convert(singular), convert(np.ones(3)), unit_diagonal=True)
    with pytest.raises(
        np.linalg.LinAlgError, match="^3-th leading minor of the array is not positive definite$"
    ):
        linalg.cho_factor(gpuarray.to_gpu(np.diag([1.0, 2, -1, 4])))
    with pytest.raises(
        ValueError, match=r"^Input array is expected to be square but has the shape: \(2, 3\)."
    ):
        linalg.cho_factor(gpuarray.to_gpu(np.ones((2, 3))))
    with pytest.warns(
        RuntimeWarning, match="^Diagonal number 2 is exactly zero. Singular matrix.$"
    ) as caught:
        linalg.lu_factor(gpuarray.to_gpu(singular))
    assert caught[0].filename == __file__
    with linalg.without_checks():
        x = linalg.solve_triangular(gpuarray.to_gpu(singular), gpuarray.to_gpu(np.ones(3)))
        assert np.isnan(x.get()).all()
        assert np.isnan(linalg.cho_factor(gpuarray.to_gpu(-singular))[0].get()).all()


@pytest.mark.parametrize("function", ["solve_triangular", "lu", "lu_factor", "cho_factor"])
def test_infinities_are_refused_if_check_finite(function):
    a = np.eye(3)
    a[0, 1] = np.inf
    arrays = (a, np.ones(3)) if function == "solve_triangular" else (a,)
    for library, convert in ((linalg, gpuarray.to_gpu), (scipy.linalg, np.asarray)):
        with pytest.raises(ValueError, match="^array must not contain infs or NaNs$"):
            getattr(library, function)(*map(convert, arrays))
        if function != "cho_factor":  # for which the matrix may be not positive definite
            getattr(library, function)(*map(convert, arrays), check_finite=False)


@pytest.mark.parametrize("call", [
    "solve_triangular(np.ones((2, 3)), np.ones(2))",
    "solve_triangular(np.ones((2, 2)), np.ones(3))",
    "lu_solve((np.ones((2, 2)), np.zeros(2, np.int32)), np.ones(3))",
    "cho_solve((np.ones((2, 3)), True), np.ones(2))",
    "cho_solve((np.ones((2, 2)), True), np.ones(3))",
    "lu(np.ones(3))",
])  # fmt: skip
def test_texts_of_errors(call):
    class OnDevice:
        """The functions of NumPy that the calls name, for GPUArrays."""

        int32 = np.int32
        ones = staticmethod(lambda shape: gpuarray.to_gpu(np.ones(shape)))
        zeros = staticmethod(lambda shape, dtype: gpuarray.to_gpu(np.zeros(shape, dtype)))

    with pytest.raises(ValueError) as theirs:
        eval(f"scipy.linalg.{call}")
    with pytest.raises(ValueError) as ours:
        eval(f"linalg.{call}", {"np": OnDevice, "linalg": linalg})
    assert str(ours.value) == str(theirs.value)


def test_captures():
    """Functions that check their results are refused in a capture; without checks they are captured."""
    a, b = definite(3, 3), draw(3)
    on_device, right, out = gpuarray.to_gpu(a), gpuarray.to_gpu(b), gpuarray.zeros(3, float)
    stream = drv.Stream()
    with stream, stream.capture() as graph:
        for function in (linalg.cho_factor, linalg.lu_factor, linalg.lu):
            with pytest.raises(drv.LogicError, match=rf"linalg\.{function.__name__} cannot be captured"):
                function(on_device)
        with linalg.without_checks():
            out[...] = linalg.cho_solve(linalg.cho_factor(on_device), right)
            out += linalg.lu_solve(linalg.lu_factor(on_device), right)
            factors = linalg.lu(on_device)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert np.allclose(out.get(), 2 * np.linalg.solve(a, b))
    for got, want in zip(factors, scipy.linalg.lu(a), strict=True):
        assert np.allclose(got.get(), want)


def test_row_orders():
    """row_order() applies LAPACK's pivots, which swap row k with row pivots[k] - 1, one after another: for
    few rows, for more than fit into shared memory, and with pivots out of bounds, for which any order of all
    rows is right."""
    rng = np.random.default_rng(3)
    for rows, count in ((1, 1), (5, 5), (7, 3), (300, 300), (20_000, 600)):
        pivots = np.stack([rng.integers(k + 1, rows + 1, 2) for k in range(count)], -1)
        want = np.stack([np.arange(rows)] * 2)
        for order, row in zip(want, pivots, strict=True):
            for k, other in enumerate(row):
                order[[k, other - 1]] = order[[other - 1, k]]
        on_device = gpuarray.to_gpu(pivots)
        assert (lapack.row_order(on_device, rows).get() == want).all()
        assert (lapack.row_order(on_device, rows, inverse=True).get() == np.argsort(want)).all()
    wrong = gpuarray.to_gpu(np.array([-5, 10**12, 0]))
    assert sorted(lapack.row_order(wrong, 3).get()) == [0, 1, 2]
