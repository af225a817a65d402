"""LAPACK's factorizations of small matrices by our own kernels, one launch for a whole stack: the libraries
launch kernels for each matrix, or need an array of addresses. For the arguments see
pycuda._array.linear.lapack.
"""

from __future__ import annotations

import numpy as np

from pycuda import _driver
from pycuda._driver import _collapse_axes
from pycuda._kernels.builtin import elements
from pycuda._kernels.builtin import factorize as kernels

_MAX_GRID = 2**31 - 1
_NO_PIVOTS = np.intp(0)


def can_factor(a) -> bool:
    """Whether there are kernels for matrices of this size."""
    rows, columns = a.shape[-2:]
    return kernels.fits_shared_memory(rows, columns, a.itemsize) and a.size // (rows * columns) <= _MAX_GRID


def can_solve(a, columns: int) -> bool:
    """Whether gesv() and inverse() can solve systems of this size with so many right-hand sides."""
    return can_factor(a) and kernels.fits_with_sides(a.shape[-1], columns, a.itemsize)


def _launch(function, grid, block, shared: int, *arguments) -> None:
    """Launch on the current stream. (grid, block, shared) is what plan functions of kernels return."""
    stream = _driver.current_stream()
    function.prepared_async_call(grid, block, stream, *arguments, shared_size=shared)


def getrf(a, pivots, info) -> None:
    rows, columns = a.shape[-2:]
    plan = kernels.plan_factorization(info.size, rows, columns, a.itemsize)
    _launch(kernels.lu_kernel(elements.stored(a.dtype)), *plan, a, pivots, info, rows, columns)


def row_order(pivots, order, inverse: bool) -> None:
    """The same as lapack.row_order, for matrices of any size."""
    rows, count = order.shape[-1], pivots.shape[-1]
    *plan, shared = kernels.plan_row_order(order.size // rows, rows)
    spare = 0 if shared else _driver.GPUArray(order.shape, order.dtype)
    _launch(kernels.row_order_kernel(), *plan, shared, pivots, order, spare, rows, count, int(inverse))


def potrf(a, upper, info) -> None:
    side, element = a.shape[-1], elements.stored(a.dtype)
    if lanes := kernels.lanes(side):
        function = kernels.cholesky_by_lanes(element, lanes)
        _launch(function, *kernels.plan_lanes(info.size, side), a, info, side, int(upper), info.size)
        return
    plan = kernels.plan_factorization(info.size, side, side, a.itemsize)
    _launch(kernels.cholesky_kernel(element), *plan, a, info, side, int(upper))


def _solve(a, pivots, b, transposed: int, exchanged: int, triangles) -> None:
    side, columns = b.shape[-2:]
    count = b.size // (side * columns)
    *plan, systems = kernels.plan_systems(count, side, columns, a.itemsize, transposed, exchanged, triangles)
    _launch(kernels.systems(elements.stored(a.dtype)), *plan, a, pivots, b, systems)


def _solve_strided(a, b, info, identity: bool) -> None:
    """Solve small systems, whose matrices may have any strides. A stack whose matrices are not at equal
    distances is copied first. identity: the right-hand sides are the identity matrix, so b becomes the
    inverse.
    """
    side, columns = b.shape[-2:]
    axes, _ = _collapse_axes(list(zip(a.shape[:-2], a.strides[:-2], strict=True)), 1)
    if len(axes) > 1:
        a = a.copy("C")
        axes = [(info.size, side * side * a.itemsize)]
    strides = *a.strides[-2:], axes[0][1] if axes else 0
    element = elements.stored(a.dtype)
    lanes = kernels.lanes(side)
    *plan, packed = kernels.plan_strided(info.size, side, columns, a.itemsize, strides, identity)
    function = kernels.strided_by_lanes(element, lanes) if lanes else kernels.strided_kernel(element)
    _launch(function, *plan, a, b, info, packed)


def gesv(a, x, info) -> None:
    _solve_strided(a, x, info, identity=False)


def inverse(a, x, info) -> None:
    _solve_strided(a, x, info, identity=True)


def getrs(lu, pivots, b, transposed) -> None:
    lower, upper = (0, 1), (1, 0)
    triangles = (upper, lower) if transposed else (lower, upper)
    _solve(lu, pivots, b, transposed, -1 if transposed else 1, triangles)


def trsm(a, b, upper, transposed, unit) -> None:
    _solve(a, _NO_PIVOTS, b, transposed, 0, [(int(upper), int(unit))])
