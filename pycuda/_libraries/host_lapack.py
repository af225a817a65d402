"""LAPACK's factorizations on the CPU device, by numpy.linalg; where it has none, by the blocked algorithm of
the textbook. pycuda._array.linear.lapack says what each takes.
"""

from __future__ import annotations

import functools

import numpy as np

from pycuda._libraries import host

_PANEL = 32  # columns factorized one by one


def _for_each(compute, inputs, outputs, info) -> None:
    """compute(*inputs, *outputs); where that fails, for each matrix: of what fails the outputs are NaN, and
    info is 1.
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
            info[index] = 1
            for each in own:
                each[...] = np.nan


# ---- triangles


def _solved(a, b, upper: bool, unit: bool) -> np.ndarray:
    """x of a x = b, where only a triangle of `a` counts. With rows and columns reversed a lower triangle is
    an upper one, which elimination with pivots leaves as it is.
    """
    if not upper:
        return _solved(a[..., ::-1, ::-1], b[..., ::-1, :], True, unit)[..., ::-1, :]
    a = np.triu(a, 1 if unit else 0)
    if unit:
        a = a + np.eye(a.shape[-1], dtype=a.dtype)
    return np.linalg.solve(a, b)


# ---- LU


def _magnitude(values) -> np.ndarray:
    """What LAPACK compares to choose a pivot."""
    return abs(values.real) + abs(values.imag)


def _factorize_panel(a, pivots, first: int, last: int) -> None:
    """Columns first to last of each matrix, with rows interchanged in all columns."""
    every = np.arange(len(a))
    for k in range(first, last):
        found = k + _magnitude(a[:, k:, k]).argmax(axis=1)
        pivots[:, k] = found + 1
        a[every, k], a[every, found] = a[every, found], a[every, k]
        pivot = a[:, k, k, None]
        a[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)
        a[:, k + 1 :, k + 1 : last] -= a[:, k + 1 :, k, None] * a[:, k, None, k + 1 : last]


def _getrf(a, pivots, info) -> None:
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    work = np.array(a, order="C").reshape(-1, rows, columns)
    order = np.empty((len(work), count), pivots.dtype)
    for first in range(0, count, _PANEL):
        last = min(first + _PANEL, count)
        _factorize_panel(work, order, first, last)
        panel, right = work[:, first:last, first:last], work[:, first:last, last:]
        right[...] = _solved(panel, right, upper=False, unit=True)
        work[:, last:, last:] -= work[:, last:, first:last] @ right
    a[...] = work.reshape(a.shape)
    pivots[...] = order.reshape(pivots.shape)
    zero = np.diagonal(a, axis1=-2, axis2=-1) == 0
    info[...] = np.where(zero.any(axis=-1), zero.argmax(axis=-1) + 1, 0)


def permutation(pivots, rows: int) -> np.ndarray:
    """The rows of the matrix in the order in which L U has them."""
    order = np.broadcast_to(np.arange(rows), (*pivots.shape[:-1], rows)).copy()
    for k in range(pivots.shape[-1]):
        place = pivots[..., k, None] - 1
        other = np.take_along_axis(order, place, -1)
        np.put_along_axis(order, place, order[..., k, None], -1)
        order[..., k] = other[..., 0]
    return order


def _getrs(lu, pivots, b, transposed) -> None:
    order = permutation(pivots, lu.shape[-1])[..., None]
    if not transposed:
        x = _solved(lu, np.take_along_axis(b, order, -2), upper=False, unit=True)
        b[...] = _solved(lu, x, upper=True, unit=False)
        return
    turned = lu.swapaxes(-1, -2) if transposed == 1 else lu.swapaxes(-1, -2).conj()
    x = _solved(turned, b, upper=False, unit=False)
    x = _solved(turned, x, upper=True, unit=True)
    np.put_along_axis(b, order, x, -2)


def _getrs_each(lu, pivots, b, transposed) -> None:
    """Of a matrix that is singular the solution is NaN; getrf has said so."""
    failed = np.zeros(b.shape[:-2], np.int32)
    _for_each(functools.partial(_getrs, transposed=transposed), (lu, pivots), (b,), failed)


def getrf(a, pivots, info) -> None:
    host.queue(_getrf, (), (a, pivots, info))


def getrs(lu, pivots, b, transposed) -> None:
    host.queue(_getrs_each, (lu, pivots), (b,), transposed)
