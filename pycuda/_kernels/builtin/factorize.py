"""Kernels that factor small matrices, and solve systems by their triangular factors. A block has one matrix
in shared memory (pycuda-factorize.hpp), or some lanes of a warp have one in registers
(pycuda-factorize-lanes.hpp).
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import ceil_div, power_at_least
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

# Threads of a block for matrices of up to 32 rows and columns, and for larger ones.
_WARP, _THREADS = 32, 256
# Threads of a block of pycuda-factorize-lanes.hpp.
LANES_THREADS = 128
# How many lanes share a matrix; each has a row. Kernels for more than 16, which are unrolled, take long to
# compile.
_MIN_LANES, _MAX_LANES = 4, 16
# Bytes of shared memory that a block may have on every device, and that a matrix may take of them: the rest
# is for right-hand sides.
_MAX_SHARED, _MAX_MATRIX = 48 << 10, 36 << 10

_SOURCE = """{include}#include "array/pycuda-factorize{which}.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__({threads}) work({parameters})
{{
    {body};
}}
"""


def _kernel(element: str, parameters: str, body: str, arguments: str, which="", threads=_THREADS):
    """The prepared kernel with this body. which: "-lanes" for the header of kernels in registers."""
    text = _SOURCE.format(
        threads=threads, which=which, include=elements.include(element), parameters=parameters, body=body
    )
    return compiled(text).get_function("work")._prepare_strided(arguments)


@context_dependent_memoize
def lu_kernel(element: str):
    """Function(a, pivots, info, rows, columns)."""
    parameters = f"{element} *a, index_t *pivots, int *info, int rows, int columns"
    return _kernel(element, parameters, "factor_lu(a, pivots, info, rows, columns)", "PPPii")


@context_dependent_memoize
def _cholesky_kernel(element: str, lanes: int):
    """Function(a, error, info, factor, plan). lanes: how many share a matrix; 0: a block does."""
    parameters = f"const char *a, int *error, int *info, {element} *factor, StridedCholesky plan"
    codes = f"PPPP{_STRIDED_CHOLESKY.size}s"
    if not lanes:
        return _kernel(element, parameters, "cholesky_strided(a, error, info, factor, plan)", codes)
    body = f"cholesky_by_lanes<{element}, {lanes}>(a, error, info, factor, plan)"
    return _kernel(element, parameters, body, codes, "-lanes", LANES_THREADS)


_ROW_ORDER = """#include "array/pycuda-row-order.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__(ROW_ORDER_THREADS)
work(const index_t *pivots, int *order, int *spare, int rows, int count, int inverse)
{
    extern __shared__ int shared[];
    const index_t first = blockIdx.x * (index_t)rows;
    find_row_order(pivots + blockIdx.x * (index_t)count, order + first, spare ? spare + first : shared, rows,
                   count, inverse);
}
"""


@context_dependent_memoize
def row_order_kernel():
    """Function(pivots, order, spare, rows, count, inverse). spare: memory as large as `order`, or 0 where
    shared memory serves."""
    return compiled(_ROW_ORDER).get_function("work")._prepare_strided("PPPiii")


def plan_row_order(matrices: int, rows: int):
    """(grid, block, shared memory). No shared memory where the order of the rows does not fit into it: the
    kernel then takes `spare`."""
    nbytes = 4 * rows
    return (matrices, 1), (_THREADS, 1, 1), nbytes if nbytes <= _MAX_MATRIX else 0


@context_dependent_memoize
def systems(element: str):
    """Function(a, pivots, b, systems)."""
    parameters = f"const {element} *a, const index_t *pivots, {element} *b, Systems systems"
    return _kernel(element, parameters, "solve(a, pivots, b, systems)", f"PPP{_SYSTEMS.size}s")


@context_dependent_memoize
def _solve_kernel(element: str, lanes: int, sides: int):
    """Function(a, b, error, x, plan). lanes: how many share a matrix, or 0 if a block has it. sides: for how
    many right-hand sides lanes solve at a time."""
    parameters = f"const char *a, const char *b, int *error, {element} *x, StridedSystems plan"
    codes = f"PPPP{_STRIDED_SYSTEMS.size}s"
    if not lanes:
        return _kernel(element, parameters, "solve_strided(a, b, error, x, plan)", codes)
    body = f"solve_by_lanes<{element}, {lanes}, {sides}>(a, b, error, x, plan)"
    return _kernel(element, parameters, body, codes, "-lanes", LANES_THREADS)


# ---- how a launch is divided

_SYSTEMS = struct.Struct("q9i4x")  # struct Systems
_STRIDED_SYSTEMS = struct.Struct("6q4i")
_STRIDED_CHOLESKY = struct.Struct("3q3i4x")


def _bytes(rows: int, columns: int, itemsize: int) -> int:
    """Bytes of shared memory for a matrix. Its columns are an odd number of elements apart, so that the
    elements of a row are in different banks."""
    return (rows | 1) * columns * itemsize


def fits_shared_memory(rows: int, columns: int, itemsize: int) -> bool:
    """Whether there are kernels for matrices of this size."""
    return _bytes(rows, columns, itemsize) <= _MAX_MATRIX


def _block(rows: int, columns: int) -> tuple[int, int, int]:
    """The block: one warp where the matrix has at most as many rows and columns as it has lanes."""
    return (_WARP if max(rows, columns) <= _WARP else _THREADS), 1, 1


def _lanes(side: int) -> int:
    """How many lanes of a warp share a matrix of this size; 0 if a block takes it instead."""
    return 0 if side > _MAX_LANES else max(power_at_least(side), _MIN_LANES)


class Launch(NamedTuple):
    """The launch of a kernel for a stack of matrices, except addresses."""

    function: Any
    grid: tuple[int, int]
    block: tuple[int, int, int]
    shared: int  # bytes of shared memory
    arguments: bytes  # the last argument


class Stack(NamedTuple):
    """A stack of matrices of any strides, in bytes: struct Steps."""

    row: int
    column: int
    matrix: int


def _plan_lanes(count: int, lanes: int):
    """(grid, block, shared memory)"""
    return (ceil_div(count * lanes, LANES_THREADS), 1), (LANES_THREADS, 1, 1), 0


def plan_factorization(count: int, rows: int, columns: int, itemsize: int):
    """(grid, block, shared memory) of a factorization."""
    return (count, 1), _block(rows, columns), _bytes(rows, columns, itemsize)


def fits_with_sides(side: int, columns: int, itemsize: int) -> bool:
    """Whether a matrix, all right-hand sides and the solutions fit into shared memory together."""
    return _bytes(side, side + 2 * columns, itemsize) <= _MAX_SHARED


# Right-hand sides for which lanes solve at a time, where there are several.
_SIDES = 4


def plan_solve(
    element: str, itemsize: int, count: int, side: int, stacks: list[Stack], columns: int
) -> Launch:
    """The Launch(a, b, error, x) that solves `count` systems with so many columns of right-hand sides.
    stacks: of the matrices and of the right-hand sides, or of the matrices alone for their inverses."""
    is_inverse = len(stacks) == 1
    packed = _STRIDED_SYSTEMS.pack(*stacks[0], *stacks[-1], side, columns, is_inverse, count)
    lanes = _lanes(side)
    function = _solve_kernel(element, lanes, 1 if columns == 1 else _SIDES)
    if lanes:
        return Launch(function, *_plan_lanes(count, lanes), packed)
    shared = _bytes(side, side + 2 * columns, itemsize)
    return Launch(function, (count, 1), _block(side, columns), shared, packed)


def plan_cholesky(
    element: str, itemsize: int, count: int, side: int, stacks: list[Stack], upper: bool
) -> Launch:
    """The Launch(a, error, info, factor) that factors `count` matrices, of which a triangle is read."""
    (a,) = stacks
    if upper:
        a = Stack(a.column, a.row, a.matrix)
    packed = _STRIDED_CHOLESKY.pack(*a, side, upper, count)
    lanes = _lanes(side)
    function = _cholesky_kernel(element, lanes)
    if lanes:
        return Launch(function, *_plan_lanes(count, lanes), packed)
    return Launch(function, *plan_factorization(count, side, side, itemsize), packed)


def plan_systems(
    count: int, side: int, columns: int, itemsize: int, transposed: int, exchanged: int, triangles
):
    """(grid, block, bytes of shared memory, struct Systems). triangles: (upper, unit) of each, in the order
    in which they are solved. exchanged: whether rows are exchanged by pivots before (1), after (-1) or never
    (0)."""
    matrix, column = _bytes(side, side, itemsize), _bytes(side, 1, itemsize)
    tile = min(columns, max((_MAX_SHARED - matrix) // (2 * column), 1))
    flags = [flag for triangle in (*triangles, (0, 0))[:2] for flag in triangle]
    packed = _SYSTEMS.pack(columns, side, tile, transposed, exchanged, len(triangles), *flags)
    grid = count, ceil_div(columns, tile)
    return grid, _block(side, tile), matrix + 2 * tile * column, packed
