"""LAPACK on the memory of the CPU device: a function for each of cuSOLVER's, in the form of _host_blas.py.
`info` is LAPACK's: 0, or which pivot or minor failed.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_lapack_funcs

INVALID_VALUE = 3  # CUSOLVER_STATUS_INVALID_VALUE

# The parameter `trans` of BLAS's and LAPACK's functions in SciPy.
SCIPY_TRANS = {"n": 0, "t": 1, "c": 2}


def _info(memory, info, count: int = 1):
    """The view of LAPACK's info, an int32 for each matrix."""
    return memory.vector(info, count, 1, np.int32)


def _workspace(memory, *arguments):
    """The size of a workspace: 1, which a program can allocate. It is not used: SciPy's LAPACK allocates its
    own.
    """
    return (), (), lambda: 1


potrf_bufferSize = getrf_bufferSize = gesvd_bufferSize = geqrf_bufferSize = _workspace
orgqr_bufferSize = ungqr_bufferSize = syevd_bufferSize = heevd_bufferSize = _workspace
syevj_bufferSize = heevj_bufferSize = syevjBatched_bufferSize = heevjBatched_bufferSize = _workspace


def potrf(memory, uplo, n, a, lda, workspace, lwork, devInfo):
    def compute(a, info):
        (function,) = get_lapack_funcs(("potrf",), (a,))
        a[...], info[0] = function(a, lower=uplo == "l", clean=False)

    return (), (memory.matrix(a, n, n, lda), _info(memory, devInfo)), compute


def potrs(memory, uplo, n, nrhs, a, lda, B, ldb, devInfo):
    def compute(a, b, info):
        (function,) = get_lapack_funcs(("potrs",), (a, b))
        b[...], info[0] = function(a, b, lower=uplo == "l")

    return (memory.matrix(a, n, n, lda),), (memory.matrix(B, n, nrhs, ldb), _info(memory, devInfo)), compute


def getrf(memory, m, n, a, lda, workspace, devIpiv, devInfo):
    """If devIpiv is None, rows are not interchanged."""

    def compute(a, info, *pivots):
        if pivots:
            (function,) = get_lapack_funcs(("getrf",), (a,))
            a[...], order, info[0] = function(a)
            pivots[0][...] = order + 1
        else:
            a[...], info[0] = lu_without_pivots(a)

    pivots = (memory.vector(devIpiv, min(m, n), 1, np.int32),) if devIpiv is not None else ()
    return (), (memory.matrix(a, m, n, lda), _info(memory, devInfo), *pivots), compute


def lu_without_pivots(a):
    """(factors, info) of the LU decomposition without interchanges: L below the diagonal, U on and above it;
    info is 0, or which pivot is the first zero, counted from 1.
    """
    a, info = a.copy(), 0
    for k in range(min(a.shape)):
        if a[k, k] == 0:
            info = info or k + 1
        else:
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, info


def getrs(memory, trans, n, nrhs, a, lda, devIpiv, B, ldb, devInfo):
    def compute(a, *views):
        *pivots, b, info = views
        order = pivots[0] - 1 if pivots else np.arange(n, dtype=np.int32)
        (function,) = get_lapack_funcs(("getrs",), (a, b))
        b[...], info[0] = function(a, order, b, trans=SCIPY_TRANS[trans])

    pivots = (memory.vector(devIpiv, n, 1, np.int32),) if devIpiv is not None else ()
    outputs = memory.matrix(B, n, nrhs, ldb), _info(memory, devInfo)
    return (memory.matrix(a, n, n, lda), *pivots), outputs, compute


def geqrf(memory, m, n, a, lda, tau, workspace, lwork, devInfo):
    def compute(a, tau, info):
        (function,) = get_lapack_funcs(("geqrf",), (a,))
        a[...], tau[...], _, info[0] = function(a)

    return (), (memory.matrix(a, m, n, lda), memory.vector(tau, min(m, n)), _info(memory, devInfo)), compute


def _reflectors(name):
    """orgqr or ungqr, as LAPACK's function of that name: the matrix Q of the reflectors of geqrf."""

    def orgqr(memory, m, n, k, a, lda, tau, work, lwork, devInfo):
        def compute(tau, a, info):
            (function,) = get_lapack_funcs((name,), (a,))
            a[...], _, info[0] = function(a, tau)

        return (memory.vector(tau, k),), (memory.matrix(a, m, n, lda), _info(memory, devInfo)), compute

    return orgqr


orgqr, ungqr = map(_reflectors, ("orgqr", "ungqr"))


def _columns(job: str, full: int, reduced: int) -> int:
    """How many singular vectors the letter jobu or jobvt asks for in an array of their own."""
    return {"a": full, "s": reduced, "o": 0, "n": 0}[job]


def gesvd(memory, jobu, jobvt, m, n, a, lda, s, U, ldu, vt, ldvt, work, lwork, rwork, devInfo):
    """As in cuSOLVER, m must be at least n. With jobu or jobvt "o" these vectors overwrite the matrix."""
    memory.require(m >= n)
    min_side = min(m, n)
    u_columns, vt_rows = _columns(jobu, m, min_side), _columns(jobvt, n, min_side)

    def compute(a, s, info, *views):
        wanted = iter(views)
        (function,) = get_lapack_funcs(("gesvd",), (a,))
        u, s[...], vh, info[0] = function(a, full_matrices="a" in (jobu, jobvt))
        if u_columns:
            next(wanted)[...] = u[:, :u_columns]
        if vt_rows:
            next(wanted)[...] = vh[:vt_rows]
        if jobu == "o":
            a[...] = u[:, :n]
        if jobvt == "o":
            a[:min_side] = vh[:min_side]

    outputs = [
        memory.matrix(a, m, n, lda),
        memory.vector(s, min_side, 1, memory.real),
        _info(memory, devInfo),
    ]
    if u_columns:
        outputs.append(memory.matrix(U, m, u_columns, ldu))
    if vt_rows:
        outputs.append(memory.matrix(vt, vt_rows, n, ldvt))
    return (), outputs, compute


def _eigenvalues(a, w, jobz: str, uplo: str) -> int:
    """Compute the eigenvalues of the matrix a into w and, with jobz "v", the eigenvectors into a. Returns
    LAPACK's info.
    """
    (function,) = get_lapack_funcs(("heevd" if a.dtype.kind == "c" else "syevd",), (a,))
    w[...], vectors, info = function(a, compute_v=jobz == "v", lower=uplo == "l")
    if jobz == "v":
        a[...] = vectors
    return info


def syevd(memory, jobz, uplo, n, a, lda, w, workspace, lwork, devInfo):
    def compute(a, w, info):
        info[0] = _eigenvalues(a, w, jobz, uplo)

    outputs = memory.matrix(a, n, n, lda), memory.vector(w, n, 1, memory.real), _info(memory, devInfo)
    return (), outputs, compute


def syevj(memory, jobz, uplo, n, a, lda, w, work, lwork, info, params):
    return syevd(memory, jobz, uplo, n, a, lda, w, work, lwork, info)


def syevjBatched(memory, jobz, uplo, n, a, lda, w, work, lwork, info, params, batchSize):
    def compute(a, w, info):
        for i in range(batchSize):
            info[i] = _eigenvalues(a[i], w[i], jobz, uplo)

    memory.require(lda >= max(n, 1))
    matrices = memory.array(a, (batchSize, n, n), (lda * n, 1, lda))
    values = memory.array(w, (batchSize, n), (n, 1), memory.real)
    return (), (matrices, values, _info(memory, info, batchSize)), compute


heevd, heevj, heevjBatched = syevd, syevj, syevjBatched
