"""LAPACK's factorizations of small matrices by our own kernels, one launch for a whole stack: the libraries
launch kernels for each matrix, or need an array of addresses. For the arguments see
pycuda._array.linear.lapack. `error` is the address of an int that becomes 1 if a matrix fails, or 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pycuda import _driver
from pycuda._driver import _collapse_axes
from pycuda._kernels.builtin import elements
from pycuda._kernels.builtin import factorize as kernels
from pycuda._kernels.plans.caches import planned

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

_MAX_GRID = 2**31 - 1


def can_factor(a) -> bool:
    """Whether there are kernels for matrices of this size."""
    rows, columns = a.shape[-2:]
    return kernels.fits_shared_memory(rows, columns, a.itemsize) and a.size // (rows * columns) <= _MAX_GRID


def can_solve(a, columns: int) -> bool:
    """Whether solve() takes systems of this size with so many right-hand sides."""
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


def _stacks(*arrays) -> list[kernels.Stack] | None:
    """Each array, whose axes before the last two are the same, as a stack of matrices at equal distances.
    None if there is one whose matrices are not.
    """
    steps = zip(arrays[0].shape[:-2], *(each.strides[:-2] for each in arrays), strict=True)
    axes, _ = _collapse_axes(list(steps), len(arrays))
    if len(axes) > 1:
        return None
    distances = axes[0][1:] if axes else (0,) * len(arrays)
    return [
        kernels.Stack(each.strides[-2], each.strides[-1], distance)
        for each, distance in zip(arrays, distances, strict=True)
    ]


def _plan(make, more, *arrays) -> tuple[kernels.Launch | None, None]:
    """make(element, itemsize, count, side, stacks, more) for the arrays, as planned() calls it; None if they
    are no _stacks()."""
    stacks, first = _stacks(*arrays), arrays[0]
    if stacks is None:
        return None, None
    count, side = math.prod(first.shape[:-2]), first.shape[-1]
    return make(elements.stored(first.dtype), first.itemsize, count, side, stacks, more), None


def _planned(make, more, *arrays) -> tuple:
    """(the plan of _plan(), the arrays). Arrays that are no _stacks() are replaced by copies."""
    plan = planned((_plan, len(arrays), make, more), arrays)
    if plan is None:
        return _planned(make, more, *(each.copy("C") for each in arrays))
    return plan, *arrays


def _new_by(plan: kernels.Launch, shape, like, *addresses) -> GPUArray:
    """A new array of the dtype of `like`, which the kernel of the plan writes; its address is the last."""
    result = _driver.GPUArray(shape, like.dtype, like.allocator)
    _launch(plan.function, plan.grid, plan.block, plan.shared, *addresses, result, plan.arguments)
    return result


def solve(a, b, error: int = 0) -> GPUArray:
    """The solutions x of a x = b, NaN where a matrix is singular. The operands have one dtype and are stacks
    of equally many matrices, of any strides.
    """
    plan, a, b = _planned(kernels.plan_solve, b.shape[-1], a, b)
    return _new_by(plan, b.shape, b, a, b, error)


def inverse(a, error: int = 0) -> GPUArray:
    """The inverses of matrices of any strides, NaN where one is singular."""
    plan, a = _planned(kernels.plan_solve, a.shape[-1], a)
    return _new_by(plan, a.shape, a, a, a, error)


def cholesky(a, upper: bool, error: int = 0, info=0) -> GPUArray:
    """The factors of Hermitian matrices of any strides, of which a triangle is read, with zeros in the other
    triangle; NaN where a matrix is not positive definite. info: becomes, for each matrix, the size of the
    first leading minor that is not positive, or 0.
    """
    plan, a = _planned(kernels.plan_cholesky, upper, a)
    return _new_by(plan, a.shape, a, a, error, info)


def _solve(a, pivots, b, transposed: int, exchanged: int, triangles) -> None:
    side, columns = b.shape[-2:]
    count = b.size // (side * columns)
    *plan, systems = kernels.plan_systems(count, side, columns, a.itemsize, transposed, exchanged, triangles)
    _launch(kernels.systems(elements.stored(a.dtype)), *plan, a, pivots, b, systems)


def getrs(lu, pivots, b, transposed) -> None:
    lower, upper = (0, 1), (1, 0)
    triangles = (upper, lower) if transposed else (lower, upper)
    _solve(lu, pivots, b, transposed, -1 if transposed else 1, triangles)


def trsm(a, b, upper, transposed, unit) -> None:
    _solve(a, 0, b, transposed, 0, [(int(upper), int(unit))])
