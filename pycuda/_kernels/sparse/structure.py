"""Kernels that look at the structure of a sparse matrix or fill a dense one (pycuda-sparse-structure.hpp)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled
from pycuda._kernels.sparse.rows import element_type
from pycuda._kernels.sparse.spmv import c_offset

THREADS = 256

# The kernels that count use at most this many blocks, whose threads loop: each block adds its counts to the
# Facts, by atomic operations.
_MAX_BLOCKS = 1024
_SOURCE = """#include "sparse/pycuda-sparse.hpp"
#include "sparse/pycuda-sparse-structure.hpp"
using namespace pycuda;
typedef {index} Index;
"""
_LOOK = """extern "C" __global__ void __launch_bounds__(STRUCTURE_THREADS)
look_in_rows(const Index *starts, long long rows, const Index *columns, long long size, long long width,
             StructureFacts *facts)
{
    look_at_rows(starts, rows, columns, size, width, facts);
}
extern "C" __global__ void __launch_bounds__(STRUCTURE_THREADS)
look_at(const Index *rows, const Index *columns, long long count, long long height, long long width,
        StructureFacts *facts)
{
    look_at_places(rows, columns, count, height, width, facts);
}
extern "C" __global__ void __launch_bounds__(STRUCTURE_THREADS)
number(const Index *starts, long long rows, long long count, Index *numbers)
{
    number_rows(starts, rows, count, numbers);
}
"""
_FILL = """typedef {t} T;
extern "C" __global__ void __launch_bounds__(STRUCTURE_THREADS)
fill(const Index *rows, const Index *columns, const T *values, long long count, T *dense, long long row_step,
     long long column_step)
{{
    fill_dense(rows, columns, values, count, dense, row_step, column_step);
}}
extern "C" __global__ void __launch_bounds__(STRUCTURE_THREADS)
fill_k(const Index *rows, const Index *columns, const T *values, long long count, long long k, T *diagonal)
{{
    fill_diagonal(rows, columns, values, count, k, diagonal);
}}
"""


class Facts(NamedTuple):
    """StructureFacts of pycuda-sparse-structure.hpp. Neighbors are consecutive elements of a row; for
    elements that have a row and a column each, consecutive elements, compared by row, then by column."""

    bad_starts: int  # rows that end before they begin; 1 more if the first row does not begin at 0
    bad_places: int  # elements outside of the matrix
    not_rising: int  # neighbors in falling order or in one place
    falling: int  # neighbors in falling order
    longest: int  # elements of the longest row
    count: int  # elements


class _Kernels(NamedTuple):
    look_in_rows: object
    look_at: object
    number: object


@context_dependent_memoize
def _kernels(index: np.dtype) -> _Kernels:
    module = compiled(_SOURCE.format(index=c_offset(index)) + _LOOK)
    codes = {"look_in_rows": "PqPqqP", "look_at": "PPqqqP", "number": "PqqP"}
    return _Kernels(*(module.get_function(name).prepare(each) for name, each in codes.items()))


@context_dependent_memoize
def _fill(dtype: np.dtype, index: np.dtype):
    module = compiled(_SOURCE.format(index=c_offset(index)) + _FILL.format(t=element_type(dtype)))
    return module.get_function("fill").prepare("PPPqPqq"), module.get_function("fill_k").prepare("PPPqqP")


def _grid(count: int, max_blocks: int = 2**31 - 1) -> tuple[int, int]:
    """A grid with a thread for each of `count` items, of at most `max_blocks` blocks."""
    return min(max(ceil_div(count, THREADS), 1), max_blocks), 1


def look_in_rows(starts, columns, width: int, facts, stream=None) -> None:
    """Count the Facts about compressed rows. facts: an array of zeros, one for each fact."""
    rows = starts.size - 1
    grid, size = _grid(max(rows, columns.size), _MAX_BLOCKS), columns.size
    _kernels(starts.dtype).look_in_rows.prepared_async_call(
        grid, (THREADS, 1, 1), stream, starts, rows, columns if size else 0, size, width, facts
    )


def look_at(rows, columns, shape: tuple[int, int], facts, stream=None) -> None:
    """Count the Facts about elements that have a row and a column each."""
    _kernels(rows.dtype).look_at.prepared_async_call(
        _grid(rows.size, _MAX_BLOCKS), (THREADS, 1, 1), stream, rows, columns, rows.size, *shape, facts
    )


def number_rows(starts, numbers, stream=None) -> None:
    """Write the row of each element to `numbers`."""
    _kernels(starts.dtype).number.prepared_async_call(
        _grid(numbers.size), (THREADS, 1, 1), stream, starts, starts.size - 1, numbers.size, numbers
    )


def fill_dense(rows, columns, values, dense, stream=None) -> None:
    """dense[row, column] = value for each element. No two elements are in one place."""
    steps = (step // dense.itemsize for step in dense.strides)
    _fill(dense.dtype, rows.dtype)[0].prepared_async_call(
        _grid(rows.size), (THREADS, 1, 1), stream, rows, columns, values, rows.size, dense, *steps
    )


def fill_diagonal(rows, columns, values, k: int, diagonal, stream=None) -> None:
    """For each element whose column is its row + k: diagonal[its number on the diagonal] = value. No two
    elements are in one place."""
    _fill(values.dtype, rows.dtype)[1].prepared_async_call(
        _grid(rows.size), (THREADS, 1, 1), stream, rows, columns, values, rows.size, k, diagonal
    )
