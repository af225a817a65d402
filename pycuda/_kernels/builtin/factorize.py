"""Kernels that factor small matrices, and solve systems by their triangular factors. A block has one matrix
in shared memory (pycuda-factorize.hpp), or some lanes of a warp have one in registers
(pycuda-factorize-lanes.hpp).
"""

from __future__ import annotations

import struct

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
def cholesky_kernel(element: str):
    """Function(a, info, side, upper)."""
    parameters = f"{element} *a, int *info, int side, int upper"
    return _kernel(element, parameters, "factor_cholesky(a, info, side, upper)", "PPii")


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
def strided_kernel(element: str):
    """Function(a, b, info, plan)."""
    parameters = f"const char *a, {element} *b, int *info, Strided plan"
    return _kernel(element, parameters, "solve_strided(a, b, info, plan)", f"PPP{_STRIDED.size}s")


@context_dependent_memoize
def strided_by_lanes(element: str, lanes: int):
    """Function(a, b, info, plan)."""
    parameters = f"const char *a, {element} *b, int *info, Strided plan"
    body = f"solve_by_lanes<{element}, {lanes}>(a, b, info, plan)"
    return _kernel(element, parameters, body, f"PPP{_STRIDED.size}s", "-lanes", LANES_THREADS)


@context_dependent_memoize
def cholesky_by_lanes(element: str, lanes: int):
    """Function(a, info, side, upper, count)."""
    parameters = f"{element} *a, int *info, int side, int upper, int count"
    body = f"cholesky_by_lanes<{element}, {lanes}>(a, info, side, upper, count)"
    return _kernel(element, parameters, body, "PPiii", "-lanes", LANES_THREADS)


# ---- how a launch is divided

_SYSTEMS = struct.Struct("q9i4x")
_STRIDED = struct.Struct("3q4i")


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


def lanes(side: int) -> int:
    """How many lanes of a warp share a matrix of this size; 0 if a block takes it instead."""
    return 0 if side > _MAX_LANES else max(power_at_least(side), _MIN_LANES)


def plan_lanes(count: int, side: int):
    """(grid, block, shared memory)"""
    return (ceil_div(count * lanes(side), LANES_THREADS), 1), (LANES_THREADS, 1, 1), 0


def plan_factorization(count: int, rows: int, columns: int, itemsize: int):
    """(grid, block, shared memory) of a factorization."""
    return (count, 1), _block(rows, columns), _bytes(rows, columns, itemsize)


def fits_with_sides(side: int, columns: int, itemsize: int) -> bool:
    """Whether a matrix, all right-hand sides and the solutions fit into shared memory together."""
    return _bytes(side, side + 2 * columns, itemsize) <= _MAX_SHARED


def plan_strided(count: int, side: int, columns: int, itemsize: int, strides, identity: bool):
    """(grid, block, bytes of shared memory, struct Strided). strides: in bytes, from row to row, from column
    to column and from matrix to matrix."""
    packed = _STRIDED.pack(*strides, side, columns, identity, count)
    if lanes(side):
        return *plan_lanes(count, side), packed
    return (count, 1), _block(side, columns), _bytes(side, side + 2 * columns, itemsize), packed


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
