"""LAPACK's factorizations on the CPU device, by numpy.linalg. NumPy has no LU factorization, which is a
blocked algorithm here. For the arguments of public functions see pycuda._array.linear.lapack. Functions with
a leading underscore do the work on NumPy's arrays, and run in a stream's order.
"""

from __future__ import annotations

import bisect
import functools

import numpy as np

from pycuda._libraries import host

# Columns that are factorized one by one, before the columns after them are updated by one matrix product.
_PANEL = 32


def _for_each(compute, inputs, outputs, info, reason=lambda *own: 1) -> None:
    """Call compute(*inputs, *outputs) for the whole stack at once. If that raises LinAlgError, call it for
    each matrix. For a matrix for which it raises again, info becomes reason(*outputs of this matrix), and
    then these outputs become NaN.
    """
    try:
        compute(*inputs, *outputs)
        return
    except np.linalg.LinAlgError:
        pass
    for index in np.ndindex(info.shape):
        own = [each[index] for each in outputs]
        try:
            compute(*(each[index] for each in inputs), *own)
        except np.linalg.LinAlgError:
            info[index] = reason(*own)
            for each in own:
                each[...] = np.nan


# ---- triangles


def _solve_triangle(a, b, upper: bool, unit: bool) -> np.ndarray:
    """The solution x of a x = b, where only a triangle of `a` is read; its diagonal counts as ones if `unit`.
    An upper triangle is solved by np.linalg.solve, whose elimination has nothing to eliminate; a lower one
    becomes upper by reversing rows and columns.
    """
    if not upper:
        return _solve_triangle(a[..., ::-1, ::-1], b[..., ::-1, :], upper=True, unit=unit)[..., ::-1, :]
    a = np.triu(a, 1 if unit else 0)
    if unit:
        a = a + np.eye(a.shape[-1], dtype=a.dtype)
    return np.linalg.solve(a, b)


# ---- LU


def _magnitude(values) -> np.ndarray:
    """The numbers that LAPACK compares to choose a pivot."""
    return abs(values.real) + abs(values.imag)


def _factorize_panel(a, pivots, first: int, last: int) -> None:
    """Factorize columns first to last - 1 of each matrix of the stack, in place. Rows are interchanged in all
    columns; pivots count from 1."""
    every = np.arange(len(a))
    for k in range(first, last):
        found = k + _magnitude(a[:, k:, k]).argmax(axis=1)
        pivots[:, k] = found + 1
        a[every, k], a[every, found] = a[every, found], a[every, k]
        pivot = a[:, k, k, None]
        a[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)
        a[:, k + 1 :, k + 1 : last] -= a[:, k + 1 :, k, None] * a[:, k, None, k + 1 : last]


def _getrf(a, pivots, info) -> None:
    """LU factorization of each matrix in place, a panel of columns at a time. info: the number, from 1, of
    the first pivot that is 0; 0 if there is none."""
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    work = np.array(a, order="C").reshape(-1, rows, columns)
    order = np.empty((len(work), count), pivots.dtype)
    for first in range(0, count, _PANEL):
        last = min(first + _PANEL, count)
        _factorize_panel(work, order, first, last)
        panel, right = work[:, first:last, first:last], work[:, first:last, last:]
        right[...] = _solve_triangle(panel, right, upper=False, unit=True)
        work[:, last:, last:] -= work[:, last:, first:last] @ right
    a[...] = work.reshape(a.shape)
    pivots[...] = order.reshape(pivots.shape)
    zero = np.diagonal(a, axis1=-2, axis2=-1) == 0
    info[...] = np.where(zero.any(axis=-1), zero.argmax(axis=-1) + 1, 0)


def permutation(pivots, rows: int) -> np.ndarray:
    """order such that row i of L U is row order[i] of the matrix. pivots[i], from 1, is the row with which
    row i was interchanged."""
    order = np.broadcast_to(np.arange(rows), (*pivots.shape[:-1], rows)).copy()
    for k in range(pivots.shape[-1]):
        place = pivots[..., k, None] - 1
        other = np.take_along_axis(order, place, -1)
        np.put_along_axis(order, place, order[..., k, None], -1)
        order[..., k] = other[..., 0]
    return order


def _getrs(lu, pivots, b, transposed) -> None:
    """Solve in place of b with the factors of getrf. transposed: 0, 1, or 2 for the conjugate transpose."""
    order = permutation(pivots, lu.shape[-1])[..., None]
    if not transposed:
        x = _solve_triangle(lu, np.take_along_axis(b, order, -2), upper=False, unit=True)
        b[...] = _solve_triangle(lu, x, upper=True, unit=False)
        return
    turned = lu.swapaxes(-1, -2) if transposed == 1 else lu.swapaxes(-1, -2).conj()
    x = _solve_triangle(turned, b, upper=False, unit=False)
    x = _solve_triangle(turned, x, upper=True, unit=True)
    np.put_along_axis(b, order, x, -2)


def _getrs_each(lu, pivots, b, transposed) -> None:
    """Solve with each matrix. Solutions of singular matrices are NaN; getrf has reported these in its
    info."""
    failed = np.zeros(b.shape[:-2], np.int32)
    _for_each(functools.partial(_getrs, transposed=transposed), (lu, pivots), (b,), failed)


def getrf(a, pivots, info) -> None:
    host.queue(_getrf, (), (a, pivots, info))


def getrs(lu, pivots, b, transposed) -> None:
    host.queue(_getrs_each, (lu, pivots), (b,), transposed)


def _trsm(a, b, upper, transposed, unit) -> None:
    """Solve in place of b with a triangle of `a`. transposed: 0, 1, or 2 for the conjugate transpose; `upper`
    is the triangle before it is transposed."""
    if transposed:
        a, upper = a.swapaxes(-1, -2), not upper
    a = a.conj() if transposed == 2 else a
    failed = np.zeros(b.shape[:-2], np.int32)

    def compute(a, b):
        b[...] = _solve_triangle(a, b, upper, unit)

    _for_each(compute, (a,), (b,), failed)


def trsm(a, b, upper, transposed, unit) -> None:
    host.queue(_trsm, (a,), (b,), upper, transposed, unit)


# ---- functions that NumPy has


def _gesv(a, x, info) -> None:
    def compute(a, x):
        x[...] = np.linalg.solve(a, x)

    _for_each(compute, (a,), (x,), info)


def gesv(a, x, info) -> None:
    host.queue(_gesv, (a,), (x, info))


def _inverse(a, x, info) -> None:
    def compute(a, x):
        x[...] = np.linalg.inv(a)

    _for_each(compute, (a,), (x,), info)


def inverse(a, x, info) -> None:
    host.queue(_inverse, (a,), (x, info))


def _is_definite(a, upper) -> bool:
    """Whether a Hermitian matrix, of which one triangle is read, is positive definite."""
    try:
        np.linalg.cholesky(a, upper=upper)
    except np.linalg.LinAlgError:
        return False
    return True


def _potrf(a, info, upper) -> None:
    """Cholesky factorization; info: the size of the first leading minor that is not positive definite."""

    def compute(a):
        a[...] = np.linalg.cholesky(a, upper=upper)

    def leading_minor(a):
        """The size of the smallest leading minor that is not positive definite, found by bisection: all
        larger ones are not either."""
        sizes = range(1, len(a))
        return 1 + bisect.bisect(sizes, False, key=lambda size: not _is_definite(a[:size, :size], upper))

    _for_each(compute, (), (a,), info, leading_minor)


def potrf(a, upper, info) -> None:
    host.queue(_potrf, (), (a, info), upper)


def _geqrf(a, tau) -> None:
    turned, tau[...] = np.linalg.qr(a, mode="raw")
    a[...] = turned.swapaxes(-1, -2)


def geqrf(a, tau) -> None:
    host.queue(_geqrf, (), (a, tau))


def _orgqr(tau, q) -> None:
    """q, whose columns hold the vectors of Householder reflectors, becomes their product I - V T V^H. V has
    the vectors as columns; T is the upper triangle whose inverse has 1 / tau on its diagonal and V^H V above
    it (Joffrain et al., Accumulating Householder Transformations, Revisited, 2006).
    """
    count = tau.shape[-1]
    v = np.tril(q[..., :count], -1) + np.eye(q.shape[-2], count, dtype=q.dtype)
    identity = tau == 0
    v[np.broadcast_to(identity[..., None, :], v.shape)] = 0
    vh = v.conj().swapaxes(-1, -2)
    inverse = np.triu(vh @ v, 1)
    inverse[..., range(count), range(count)] = 1 / np.where(identity, 1, tau)
    product = v @ np.linalg.solve(inverse, vh[..., : q.shape[-1]])
    q[...] = np.eye(*q.shape[-2:], dtype=q.dtype) - product


def orgqr(q, tau) -> None:
    host.queue(_orgqr, (tau,), (q,))


def _gesvd(a, info, s, *vectors) -> None:
    """Singular values, and if `vectors` is (u, vh) also the vectors: as many as these arrays have room
    for."""

    def compute(a, s, *vectors):
        if not vectors:
            s[...] = np.linalg.svd(a, compute_uv=False)
            return
        u, vh = vectors
        rows, columns = a.shape[-2:]
        full = u.shape[-2:] == (rows, rows) and vh.shape[-2:] == (columns, columns)
        u[...], s[...], vh[...] = np.linalg.svd(a, full_matrices=full)

    _for_each(compute, (a,), (s, *vectors), info)


def gesvd(a, s, u, vh, info) -> None:
    host.queue(_gesvd, (a,), (info, s) if u is None else (info, s, u, vh))


def _syevd(a, w, info, upper, vectors) -> None:
    """Eigenvalues of Hermitian matrices to w; if `vectors`, eigenvectors in place of `a`."""
    triangle = "U" if upper else "L"

    def compute(a, w):
        if vectors:
            w[...], a[...] = np.linalg.eigh(a, triangle)
        else:
            w[...] = np.linalg.eigvalsh(a, triangle)

    _for_each(compute, (), (a, w), info)


def syevd(a, w, upper, vectors, info) -> None:
    host.queue(_syevd, (), (a, w, info), upper, vectors)


def geev_of_host(a, info, w, *vectors) -> None:
    """Eigenvalues of general matrices to w, and their right eigenvectors if an array for them is given. All
    are NumPy's arrays."""

    def compute(a, w, *vectors):
        if vectors:
            w[...], vectors[0][...] = np.linalg.eig(a)
        else:
            w[...] = np.linalg.eigvals(a)

    _for_each(compute, (a,), (w, *vectors), info)


def geev(a, w, v, info) -> None:
    host.queue(geev_of_host, (a,), (info, w) if v is None else (info, w, v))
