"""Functions of cuSOLVER by name, compared with NumPy and SciPy."""

import numpy as np
import pytest
import scipy.linalg
from devices import needs_library
from numpy.testing import assert_allclose

from pycuda import gpuarray
from skcuda import cusolver

DTYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
REAL = {"S": np.float32, "D": np.float64, "C": np.float32, "Z": np.float64}
N = 4


@pytest.fixture
def handle():
    needs_library("cusolver")
    created = cusolver.cusolverDnCreate()
    yield created
    cusolver.cusolverDnDestroy(created)


def function(letter, name):
    """cuSOLVER's function for a type letter (S, D, C, Z), as cusolverDnDpotrf."""
    return getattr(cusolver, f"cusolverDn{letter}{name}")


def tolerance(letter):
    """assert_allclose's keywords for results of a type letter."""
    return {"rtol": 1e-3, "atol": 1e-4} if letter in "SC" else {"rtol": 1e-9, "atol": 1e-10}


def random(letter, *shape):
    """An array of numbers in [-0.5, 0.5), of a type letter's dtype."""
    generator = np.random.default_rng([ord(letter), *shape])
    values = generator.random(shape) - 0.5
    if letter in "CZ":
        values = values + 1j * (generator.random(shape) - 0.5)
    return values.astype(DTYPES[letter])


def by_columns(array):
    """A GPUArray whose memory holds a matrix, or each matrix of a stack, column by column: its transpose."""
    return gpuarray.to_gpu(array.swapaxes(-1, -2).copy())


def info_and_workspace(letter, size):
    """(info: one int32 on the device, not 0 yet, a workspace of `size` elements)"""
    return gpuarray.to_gpu(np.full(1, 77, np.int32)), gpuarray.zeros(max(size, 1), DTYPES[letter])


@pytest.mark.parametrize("uplo", "lU")
@pytest.mark.parametrize("letter", DTYPES)
def test_cholesky(handle, letter, uplo):
    a = random(letter, N, N)
    a, b = (a @ a.conj().T + 2 * np.eye(N)).astype(a.dtype), random(letter, N, 3)
    factor, x = by_columns(a), by_columns(b)
    lwork = function(letter, "potrf_bufferSize")(handle, uplo, N, factor.gpudata, N)
    info, work = info_and_workspace(letter, lwork)
    function(letter, "potrf")(handle, uplo, N, factor.gpudata, N, work.gpudata, lwork, info.gpudata)
    lower = uplo == "l"
    want = scipy.linalg.cholesky(a, lower=lower)
    triangle = np.tril if lower else np.triu
    assert info.get() == 0
    assert_allclose(triangle(factor.get().T), want, **tolerance(letter))
    function(letter, "potrs")(handle, uplo, N, 3, factor.gpudata, N, x.gpudata, N, info.gpudata)
    assert_allclose(a @ x.get().T, b, **tolerance(letter))


def test_a_matrix_that_is_not_positive_definite(handle):
    a = gpuarray.to_gpu(np.diag([1.0, 4, -1, 3]))
    lwork = cusolver.cusolverDnDpotrf_bufferSize(handle, "l", 4, a.gpudata, 4)
    info, work = info_and_workspace("D", lwork)
    cusolver.cusolverDnDpotrf(handle, "l", 4, a.gpudata, 4, work.gpudata, lwork, info.gpudata)
    assert info.get() == 3  # the leading minor of this order is not positive


@pytest.mark.parametrize("trans", "ntc")
@pytest.mark.parametrize("letter", DTYPES)
def test_lu(handle, letter, trans):
    a, b = random(letter, N, N), random(letter, N, 2)
    factors, x = by_columns(a), by_columns(b)
    lwork = function(letter, "getrf_bufferSize")(handle, N, N, factors.gpudata, N)
    info, work = info_and_workspace(letter, lwork)
    pivots = gpuarray.zeros(N, np.int32)
    function(letter, "getrf")(handle, N, N, factors.gpudata, N, work.gpudata, pivots.gpudata, info.gpudata)
    want, order = scipy.linalg.lu_factor(a)
    assert info.get() == 0 and (pivots.get() == order + 1).all()  # SciPy counts rows from 0
    assert_allclose(factors.get().T, want, **tolerance(letter))
    function(letter, "getrs")(
        handle, trans, N, 2, factors.gpudata, N, pivots.gpudata, x.gpudata, N, info.gpudata
    )
    operand = {"n": a, "t": a.T, "c": a.conj().T}[trans]
    assert_allclose(operand @ x.get().T, b, **tolerance(letter))


def test_lu_without_pivots(handle):
    a = random("D", N, N) + 3 * np.eye(N)
    factors = by_columns(a)
    info, work = info_and_workspace(
        "D", cusolver.cusolverDnDgetrf_bufferSize(handle, N, N, factors.gpudata, N)
    )
    cusolver.cusolverDnDgetrf(handle, N, N, factors.gpudata, N, work.gpudata, None, info.gpudata)
    lu = factors.get().T
    assert_allclose((np.tril(lu, -1) + np.eye(N)) @ np.triu(lu), a)


@pytest.mark.parametrize("job", "AS")
@pytest.mark.parametrize("letter", DTYPES)
def test_svd(handle, letter, job):
    m, n = 5, 3
    a, columns = random(letter, m, n), (m if job == "A" else n)
    memory = by_columns(a)
    s, vh = gpuarray.zeros(n, REAL[letter]), gpuarray.zeros((n, n), a.dtype)
    u = gpuarray.zeros((columns, m), a.dtype)
    lwork = function(letter, "gesvd_bufferSize")(handle, m, n)
    info, work = info_and_workspace(letter, lwork)
    function(letter, "gesvd")(
        handle, job, job, m, n, memory.gpudata, m, s.gpudata, u.gpudata, m, vh.gpudata, n,
        work.gpudata, lwork, 0, info.gpudata,
    )  # fmt: skip
    u, s, vh = u.get().T, s.get(), vh.get().T
    assert info.get() == 0
    assert_allclose(s, np.linalg.svdvals(a), **tolerance(letter))
    assert_allclose((u[:, :n] * s) @ vh, a, **tolerance(letter))
    assert_allclose(u.conj().T @ u, np.eye(columns), **tolerance(letter))


@pytest.mark.parametrize("letter", DTYPES)
def test_qr(handle, letter):
    m, n = 5, 3
    a = random(letter, m, n)
    memory, tau = by_columns(a), gpuarray.zeros(n, a.dtype)
    lwork = function(letter, "geqrf_bufferSize")(handle, m, n, memory.gpudata, m)
    info, work = info_and_workspace(letter, lwork)
    function(letter, "geqrf")(handle, m, n, memory.gpudata, m, tau.gpudata, work.gpudata, lwork, info.gpudata)
    r = np.triu(memory.get().T[:n])
    name = "ungqr" if letter in "CZ" else "orgqr"
    lwork = function(letter, f"{name}_bufferSize")(handle, m, n, n, memory.gpudata, m, tau.gpudata)
    info, work = info_and_workspace(letter, lwork)
    function(letter, name)(handle, m, n, n, memory.gpudata, m, tau.gpudata, work.gpudata, lwork, info.gpudata)
    q = memory.get().T
    assert info.get() == 0
    assert_allclose(q @ r, a, **tolerance(letter))
    assert_allclose(q.conj().T @ q, np.eye(n), **tolerance(letter))


@pytest.mark.parametrize("jobz", ["CUSOLVER_EIG_MODE_VECTOR", "CUSOLVER_EIG_MODE_NOVECTOR", "V", 0])
@pytest.mark.parametrize("method", ["evd", "evj"])
@pytest.mark.parametrize("letter", DTYPES)
def test_eigenvalues(handle, letter, method, jobz):
    name = ("he" if letter in "CZ" else "sy") + method
    a = random(letter, N, N)
    a = a + a.conj().T
    memory, w = by_columns(a), gpuarray.zeros(N, REAL[letter])
    params = cusolver.cusolverDnCreateSyevjInfo()
    last_arguments = (params,) if method == "evj" else ()  # of the Jacobi method only
    lwork = function(letter, f"{name}_bufferSize")(
        handle, jobz, "l", N, memory.gpudata, N, w.gpudata, *last_arguments
    )
    info, work = info_and_workspace(letter, lwork)
    function(letter, name)(
        handle, jobz, "l", N, memory.gpudata, N, w.gpudata, work.gpudata, lwork, info.gpudata, *last_arguments
    )
    w, v = w.get(), memory.get().T
    cusolver.cusolverDnDestroySyevjInfo(params)
    assert info.get() == 0
    assert_allclose(w, np.linalg.eigvalsh(a), **tolerance(letter))
    if jobz in ("V", "CUSOLVER_EIG_MODE_VECTOR"):
        assert_allclose(a @ v, v * w, **tolerance(letter))


@pytest.mark.parametrize("letter", DTYPES)
def test_eigenvalues_of_many_matrices(handle, letter):
    name, count = ("heevjBatched" if letter in "CZ" else "syevjBatched"), 7
    a = random(letter, count, N, N)
    a = a + a.conj().swapaxes(1, 2)
    memory, w = by_columns(a), gpuarray.zeros((count, N), REAL[letter])
    params = cusolver.cusolverDnCreateSyevjInfo()
    cusolver.cusolverDnXsyevjSetTolerance(params, 1e-7)
    cusolver.cusolverDnXsyevjSetMaxSweeps(params, 15)
    cusolver.cusolverDnXsyevjSetSortEig(params, 1)
    first_arguments = handle, "v", "u", N, memory.gpudata, N, w.gpudata
    lwork = function(letter, f"{name}_bufferSize")(*first_arguments, params, count)
    work, info = gpuarray.zeros(lwork, a.dtype), gpuarray.to_gpu(np.ones(count, np.int32))
    function(letter, name)(*first_arguments, work.gpudata, lwork, info.gpudata, params, count)
    assert (info.get() == 0).all()
    w, v = w.get(), memory.get().swapaxes(1, 2)
    cusolver.cusolverDnDestroySyevjInfo(params)
    close = {"rtol": 1e-4, "atol": 1e-5}
    assert_allclose(w, np.linalg.eigvalsh(a), **close)
    assert_allclose(a @ v, v * w[:, None], **close)


def test_exceptions(handle):
    a = gpuarray.zeros((N, N), float)
    info, work = info_and_workspace("D", 10)
    with pytest.raises(cusolver.CUSOLVER_STATUS_INVALID_VALUE):  # a leading dimension below N
        cusolver.cusolverDnDpotrf(handle, "l", N, a.gpudata, N - 1, work.gpudata, 10, info.gpudata)
    with pytest.raises(cusolver.CUSOLVER_STATUS_ALLOC_FAILED):
        cusolver.cusolverCheckStatus(2)
    assert issubclass(cusolver.CUSOLVER_STATUS_ZERO_PIVOT, cusolver.CUSOLVER_ERROR)
    destroyed = cusolver.cusolverDnCreate()
    cusolver.cusolverDnDestroy(destroyed)
    with pytest.raises(cusolver.CUSOLVER_STATUS_NOT_INITIALIZED):
        cusolver.cusolverDnSgesvd_bufferSize(destroyed, 3, 3)
