"""Conjugate gradients, compared with SciPy's direct solver; operators and inner products."""

import threading

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.sparse import cg
from pycuda.sparse.cg import CGStateContainer, ConvergenceError, solve_pkt_with_cg
from pycuda.sparse.coordinate import CoordinateSpMV
from pycuda.sparse.inner import AsyncInnerProduct
from pycuda.sparse.operator import DiagonalPreconditioner, IdentityOperator, OperatorBase
from pycuda.sparse.packeted import PacketedSpMV
from pycuda.tools import PageLockedMemoryPool

sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")
pytestmark = pytest.mark.usefixtures("primary_context")

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def positive(n, dtype, seed=1):
    """A Hermitian positive definite matrix with very different diagonal elements."""
    rng = np.random.default_rng(seed)
    part = sparse.random(n, n, 0.03, random_state=rng, data_rvs=rng.standard_normal).astype(dtype)
    if np.dtype(dtype).kind == "c":
        part = part + 1j * sparse.random(n, n, 0.03, random_state=rng)
    whole = part + part.conj().T
    diagonal = np.asarray(abs(whole).sum(axis=1)).ravel() + rng.uniform(1, 50, n)
    return sparse.csr_matrix(whole + sparse.diags(diagonal)).astype(dtype)


def vector(n, dtype, seed=2):
    """An array of NumPy of normally distributed numbers."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    return (x + 1j * rng.standard_normal(n) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def relative_residual(mat, x, b):
    """The norm of b - mat @ x, relative to that of b."""
    wide = np.result_type(mat.dtype, np.float64)
    return np.linalg.norm(b - mat.astype(wide) @ x) / np.linalg.norm(b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("with_precon", [False, True])
def test_solutions_agree_with_scipys(dtype, with_precon):
    mat, b = positive(300, dtype), vector(300, dtype)
    operator = PacketedSpMV(mat, True, dtype)
    precon = None
    if with_precon:
        precon = DiagonalPreconditioner(operator.permute(gpuarray.to_gpu((1 / mat.diagonal()).astype(dtype))))
    tol = 1e-5 if np.finfo(dtype).bits == 32 else 1e-11
    x, iterations, residuals = solve_pkt_with_cg(operator, gpuarray.to_gpu(b), precon, tol=tol)
    assert relative_residual(mat, x.get(), b) < 3 * tol
    expected = linalg.spsolve(mat.tocsc(), b)
    assert np.linalg.norm(x.get() - expected) < 200 * tol * np.linalg.norm(expected)
    assert 0 < residuals < iterations < 100


def test_a_grid_takes_as_many_iterations_as_with_scipy():
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(40, 40))
    mat = sparse.csr_matrix(sparse.kronsum(line, line))
    b, steps = vector(1600, np.float64), []
    linalg.cg(mat, b, rtol=1e-9, callback=steps.append)
    x, iterations, _ = solve_pkt_with_cg(PacketedSpMV(mat, True, np.float64), gpuarray.to_gpu(b), tol=1e-9)
    assert relative_residual(mat, x.get(), b) < 1e-9
    assert len(steps) <= iterations <= len(steps) + cg._REAL + cg._CHECK + 5


def test_a_given_start_is_used_and_not_changed():
    mat, b = positive(200, np.float64), vector(200, np.float64)
    operator = PacketedSpMV(mat, True, np.float64)
    start = np.linalg.solve(mat.toarray(), b) + 1e-3
    start_gpu = gpuarray.to_gpu(start)
    x, _, _ = solve_pkt_with_cg(operator, gpuarray.to_gpu(b), x=start_gpu, tol=1e-6)
    assert relative_residual(mat, x.get(), b) < 1e-8
    assert (start_gpu.get() == start).all()


@pytest.mark.parametrize("dtype, tol", [(np.float32, 1e-6), (np.float64, 1e-12)])
@pytest.mark.parametrize("with_precon", [False, True])
def test_a_run_that_starts_at_the_solution_ends_soon(dtype, tol, with_precon):
    """The initial residual is about the size of rounding errors: the solver must not try to make it `tol`
    times as small."""
    mat, b = positive(300, dtype), vector(300, dtype)
    operator = PacketedSpMV(mat, True, dtype)
    precon = None
    if with_precon:
        precon = DiagonalPreconditioner(operator.permute(gpuarray.to_gpu((1 / mat.diagonal()).astype(dtype))))
    device_b = gpuarray.to_gpu(b)
    x, iterations, _ = solve_pkt_with_cg(operator, device_b, precon, tol=tol)
    for _ in range(2):
        x, repeated, _ = solve_pkt_with_cg(operator, device_b, precon, x=x, tol=tol)
        assert repeated <= 21 and relative_residual(mat, x.get(), b) < 3 * tol
    x, of_zero, _ = solve_pkt_with_cg(operator, 0 * device_b, precon, x=x, tol=tol)
    assert of_zero <= iterations + 20 and np.linalg.norm(x.get()) < 10 * tol


def test_the_same_bits_and_iterations_each_time():
    mat, b = positive(200, np.float32), gpuarray.to_gpu(vector(200, np.float32))
    results = [solve_pkt_with_cg(PacketedSpMV(mat, True, np.float32), b, tol=1e-4) for _ in range(2)]
    assert results[0][0].get().tobytes() == results[1][0].get().tobytes()
    assert results[0][1:] == results[1][1:]


def test_a_right_hand_side_of_zeros_and_an_empty_system():
    operator = PacketedSpMV(positive(50, np.float64), True, np.float64)
    x, _, _ = solve_pkt_with_cg(operator, gpuarray.zeros(50, np.float64))
    assert (x.get() == 0).all()
    x, _, _ = solve_pkt_with_cg(
        PacketedSpMV(sparse.csr_matrix((0, 0)), True, np.float64), gpuarray.zeros(0, np.float64)
    )
    assert x.shape == (0,)


def test_no_convergence():
    mat = positive(300, np.float64)
    operator, b = PacketedSpMV(mat, True, np.float64), gpuarray.to_gpu(vector(300, np.float64))
    with pytest.raises(
        ConvergenceError, match=r"after 3 iterations the residual is 0\.\d+ of the initial one"
    ) as error:
        solve_pkt_with_cg(operator, b, tol=1e-12, max_iterations=3)
    assert isinstance(error.value, RuntimeError)
    with pytest.raises(ConvergenceError, match="max_iterations is 0: nothing was done"):
        solve_pkt_with_cg(operator, b, max_iterations=0)
    mat.data[0] = np.nan
    with pytest.raises(ConvergenceError, match="the residual became nan: is the operator positive definite"):
        solve_pkt_with_cg(PacketedSpMV(mat, True, np.float64), b)


def test_a_callback_sees_every_iteration_and_debug_prints(capsys):
    mat, b = positive(100, np.float64), gpuarray.to_gpu(vector(100, np.float64))
    state = CGStateContainer(CoordinateSpMV(mat, np.float64), pagelocked_allocator=drv.pagelocked_empty)
    state.reset(b)
    seen = []
    result = state.run(tol=1e-8, debug_callback=lambda *args: seen.append(args))
    assert result is state.x
    assert [args[1] for args in seen[:-1]] == list(range(len(seen) - 1))
    assert seen[0][0] == "it+residual" and seen[1][0] == "it" and seen[-1][0] == "end"
    # The last argument is the latest known squared residual: none at first, a large one after some
    # iterations.
    assert seen[0][5] is None and 0 <= seen[-1][5] < 1e-10 * seen[11][5]
    solve_pkt_with_cg(PacketedSpMV(mat, True, np.float64), b, debug=True)
    assert capsys.readouterr().out.startswith("iteration 0: not computed yet\niteration 20: ")


def test_a_second_run_continues_the_first():
    mat, b = positive(100, np.float64), vector(100, np.float64)
    state = CGStateContainer(CoordinateSpMV(mat, np.float64))
    state.reset(gpuarray.to_gpu(b))
    state.run(tol=1e-3)
    assert relative_residual(mat, state.run(tol=1e-5).get(), b) < 1e-6
    state.reset(gpuarray.to_gpu(b))
    with pytest.raises(ConvergenceError):
        state.run(max_iterations=2)
    assert relative_residual(mat, state.run().get(), b) < 1e-6


def test_any_callable_with_a_shape_and_a_dtype():
    class Scaled(OperatorBase):
        dtype, shape = np.dtype(np.float64), (30, 30)

        def __call__(self, operand):
            return 3.0 * operand

    state = CGStateContainer(Scaled())
    b = vector(30, np.float64)
    state.reset(gpuarray.to_gpu(b))
    np.testing.assert_allclose(state.run().get(), b / 3, rtol=1e-12)


def test_on_a_stream():
    mat, b = positive(150, np.float64), vector(150, np.float64)
    operator = PacketedSpMV(mat, True, np.float64)
    b_gpu = gpuarray.to_gpu(b)
    with drv.Stream():
        x, _, _ = solve_pkt_with_cg(operator, b_gpu, tol=1e-9)
        assert relative_residual(mat, x.get(), b) < 1e-8


def test_lc2_and_guarded_div():
    state = CGStateContainer(IdentityOperator(np.complex64, 5))
    x, y = vector(5, np.complex64), vector(5, np.complex64, 3)
    x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    two = gpuarray.to_gpu(np.array(2j, np.complex64))
    for a, b in (2j, 3), (two, 3), (3, two), (two, two):
        factors = [np.complex64(2j) if each is two else each for each in (a, b)]
        expected = factors[0] * x + factors[1] * y
        np.testing.assert_allclose(state.lc2(a, x_gpu, b, y_gpu).get(), expected, rtol=1e-5)
    assert state.lc2(2, x_gpu, 3, y_gpu, out=x_gpu) is x_gpu
    np.testing.assert_allclose(x_gpu.get(), 2 * x + 3 * y, rtol=1e-5)
    zero = gpuarray.zeros((), np.complex64)
    assert state.guarded_div(two, zero).get() == 0 and state.guarded_div(two, two).get() == 1
    assert state.guarded_div(zero, zero).get() == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_async_inner_product(dtype):
    a, b = vector(1000, dtype), vector(1000, dtype, 3)
    pool = PageLockedMemoryPool()
    product = AsyncInnerProduct(gpuarray.to_gpu(a), gpuarray.to_gpu(b), pool.allocate)
    expected = np.dot(a, b)
    np.testing.assert_allclose(product.gpu_result.get(), expected, rtol=1e-3)
    np.testing.assert_allclose(product.wait(), expected, rtol=1e-3)
    assert product.get_host_result() == product.wait() and product.get_host_result().shape == ()


def test_an_inner_product_is_none_until_ready():
    """A host function blocks the stream until `go` is set. What would wait for it, as page-locked memory that
    is allocated may, is done before.
    """
    go, a = threading.Event(), gpuarray.to_gpu(np.float64([1, 2, 3]))
    host = drv.pagelocked_empty((), np.float64)
    AsyncInnerProduct(a, a).wait()
    with drv.Stream() as stream:
        stream.launch_host_func(go.wait, 20)
        product = AsyncInnerProduct(a, a, lambda shape, dtype: host)
        assert product.get_host_result() is None
        go.set()
        assert product.wait() == 14
        assert product.get_host_result() == 14


def test_identity_and_diagonal_operators():
    x = gpuarray.to_gpu(vector(4, np.float32))
    identity = IdentityOperator(np.float32, 4)
    assert identity(x) is x and identity.shape == (4, 4) and identity.dtype == np.float32
    diagonal = DiagonalPreconditioner(gpuarray.to_gpu(np.float32([1, 2, 3, 4])))
    assert (diagonal(x).get() == x.get() * np.float32([1, 2, 3, 4])).all()
    assert diagonal.shape == (4, 4) and diagonal.dtype == np.float32
    base = OperatorBase()
    for use in (lambda: base.dtype, lambda: base.shape, lambda: base(x)):
        with pytest.raises(NotImplementedError, match="OperatorBase must define"):
            use()


def test_wrong_operands_are_refused():
    operator = CoordinateSpMV(positive(5, np.float64), np.float64)
    state = CGStateContainer(operator)
    with pytest.raises(TypeError, match="rhs is of float32, the operator of float64"):
        state.reset(gpuarray.zeros(5, np.float32))
    with pytest.raises(
        ValueError, match=r"rhs has the shape \(6,\), an operator of shape \(5, 5\) needs \(5,\)"
    ):
        state.reset(gpuarray.zeros(6, np.float64))
    with pytest.raises(ValueError, match=r"shape \(2, 3\): it must be square"):
        CGStateContainer(CoordinateSpMV(sparse.csr_matrix((2, 3)), np.float64))
    with pytest.raises(ValueError, match=r"diagonal has the shape \(2, 2\): it must have one axis"):
        DiagonalPreconditioner(gpuarray.zeros((2, 2), np.float32))
