"""Kernels of sparse matrices in compressed rows, as they are (pycuda-sparse-rows.hpp), and their launches."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import ceil_div, power_at_least
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled
from pycuda._kernels.sparse import spmv

# Threads of a block that adds carries, as in pycuda-sparse-rows.hpp.
CARRY_THREADS = 1024
# Elements of a row that is not cut in a product with a vector: one tile has them all, in shared memory.
LONGEST = 512

# In a product with a matrix: the maximum number of lanes that share a tile, and of columns of each lane.
_MAX_LANES, _MAX_EACH = 32, 4
# Lanes that share a tile are a multiple of this.
_MIN_LANES = 4
# Elements of the matrix that a thread loads before it uses them. Half as many if an element of each of the
# thread's columns takes more than this many bytes in all, as its registers hold x for all of them.
_AHEAD, _MAX_BYTES_AHEAD = 4, 32
# Steps of a tile of a product with a matrix, and elements of a piece of a row that is longer than a piece.
_STEPS, _PIECE = 64, 256
# CUDA's limit of blocks along the second axis of a grid.
_MAX_BLOCKS = 65535

_SOURCE = """#include "sparse/pycuda-sparse-rows.hpp"
using namespace pycuda;
typedef {t} T;
typedef {index} Index;
"""
_BOUNDS = """#include "sparse/pycuda-sparse-rows.hpp"
using namespace pycuda;
typedef {index} Index;
extern "C" __global__ void __launch_bounds__(SPARSE_THREADS)
find_bounds(const Index *starts, long long rows, long long tiles, long long size, long long longest,
            Bound<Index> *bounds)
{{
    const Cuts cuts = {{tiles, size, longest}};
    find_bound(starts, rows, cuts, bounds);
}}
"""
_VECTOR = """extern "C" __global__ void __launch_bounds__(SPARSE_THREADS)
multiply(const Bound<Index> *bounds, const Index *starts, const Index *columns, const Index *order,
         const T *values, const T *x, long long stride, T *y, T *carries)
{{
    multiply_vector<{size}, {longest}, {ordered}>(bounds, starts, columns, order, values, x, stride, y,
                                                  carries);
}}
"""
_MATRIX = """extern "C" __global__ void __launch_bounds__(SPARSE_THREADS)
multiply(const Bound<Index> *bounds, long long tiles, long long size, long long longest, const Index *starts,
         const Index *columns, const Index *order, const T *values, const T *x, long long pitch, T *y,
         long long y_pitch, T *carries, long long carry_pitch, int width)
{{
    const Cuts cuts = {{tiles, size, longest}};
    multiply_matrix<{lanes}, {each}, {ahead}, {ordered}>(bounds, cuts, starts, columns, order, values, x,
                                                         pitch, y, y_pitch, carries, carry_pitch, width);
}}
"""
_CARRIES = """extern "C" __global__ void __launch_bounds__(CARRY_THREADS)
add(const Bound<Index> *bounds, long long tiles, long long size, long long longest, const Index *starts,
    const T *carries, long long carry_pitch, T *y, long long y_pitch, int width)
{{
    const Cuts cuts = {{tiles, size, longest}};
    add_carries<{lanes}>(bounds, cuts, starts, carries, carry_pitch, y, y_pitch, width);
}}
"""


def is_supported(dtype: np.dtype) -> bool:
    """Whether there are kernels for elements of this dtype."""
    return spmv.is_inexact(dtype) or (dtype.kind in "biu" and dtype.isnative)


def element_type(dtype: np.dtype) -> str:
    """The type of elements in a kernel."""
    return spmv.c_type(dtype) if dtype.kind in "fc" else elements.computed(dtype)


def _types(dtype: np.dtype, index: np.dtype) -> str:
    return _SOURCE.format(t=element_type(dtype), index=spmv.c_offset(index))


# ---- tiles


class Tiling(NamedTuple):
    """How a matrix is cut. Rows of more than `longest` elements are cut: into pieces of `longest` elements if
    that is at least the size of a tile, otherwise where tiles begin."""

    size: int  # steps of a tile
    longest: int  # elements of a row that is not cut

    def tiles(self, rows: int, elements: int) -> int:
        """How many tiles a matrix has."""
        return max(ceil_div(rows + elements, self.size), 1)

    def carries(self, rows: int, elements: int) -> int:
        """How many partial sums of rows there may be."""
        if self.longest < self.size:
            return self.tiles(rows, elements)
        return max(ceil_div(elements, self.longest), 1)


@functools.cache
def vector_tiling(dtype: np.dtype) -> Tiling:
    """The tiling for products with a vector."""
    return Tiling(spmv.window(dtype.itemsize), LONGEST)


def matrix_tiling() -> Tiling:
    """The tiling for products with a matrix. Tiles are small, so that the rows that are multiplied at the
    same time are near each other and often read the same rows of the dense matrix, from the cache."""
    return Tiling(_STEPS, _PIECE)


@context_dependent_memoize
def _find_bounds(index: np.dtype):
    source = _BOUNDS.format(index=spmv.c_offset(index))
    return compiled(source).get_function("find_bounds").prepare("PqqqqP")


def find_bounds(tiling: Tiling, tiles: int, starts, rows: int, bounds, stream) -> None:
    """Queues the search for where each tile begins, and the end: `bounds` is an array of (tiles + 1, 2)
    indices, the Bounds of pycuda-sparse-rows.hpp."""
    _find_bounds(starts.dtype).prepared_async_call(
        (ceil_div(tiles + 1, spmv.THREADS), 1), (spmv.THREADS, 1, 1), stream,
        starts, rows, tiles, *tiling, bounds,
    )  # fmt: skip


# ---- products


@context_dependent_memoize
def _multiply_vector(dtype: np.dtype, index: np.dtype, ordered: bool):
    text = _VECTOR.format(
        size=spmv.window(dtype.itemsize), longest=LONGEST, ordered="true" if ordered else "false"
    )
    return compiled(_types(dtype, index) + text).get_function("multiply")._prepare_strided("PPPPPPqPP")


@context_dependent_memoize
def _multiply_matrix(dtype: np.dtype, index: np.dtype, ordered: bool, lanes: int, each: int):
    ahead = _AHEAD // 2 if each * dtype.itemsize > _MAX_BYTES_AHEAD else _AHEAD
    text = _MATRIX.format(lanes=lanes, each=each, ahead=ahead, ordered="true" if ordered else "false")
    return compiled(_types(dtype, index) + text).get_function("multiply")._prepare_strided("PqqqPPPPPqPqPqi")


@context_dependent_memoize
def _add_carries(dtype: np.dtype, index: np.dtype, lanes: int):
    text = _types(dtype, index) + _CARRIES.format(lanes=lanes)
    return compiled(text).get_function("add").prepare("PqqqPPqPqi")


class Tiles(NamedTuple):
    """A matrix that is cut into `count` tiles; `bounds`: where they begin, as find_bounds() writes them."""

    tiling: Tiling
    count: int
    bounds: object  # GPUArray
    starts: object  # GPUArray


class Stored(NamedTuple):
    """The elements of a matrix: arrays on the device, or 0 (NULL) for one that is empty or not needed.
    Element i is values[order[i]], or values[i] without an order."""

    columns: object
    order: object
    values: object


def multiply_vector(tiles: Tiles, stored: Stored, x, stride: int, y, carries, stream) -> None:
    """y = A x, except that the carries must be added (add_carries()). Where stored.columns is 0, y = the sums
    of the rows. x: an array, or 0 (NULL); stride: the distance of its elements, in elements."""
    ordered = not isinstance(stored.order, int)
    _multiply_vector(y.dtype, tiles.starts.dtype, ordered).prepared_async_call(
        (tiles.count, 1), (spmv.THREADS, 1, 1), stream,
        tiles.bounds, tiles.starts, *stored, x, stride, y, carries,
    )  # fmt: skip


def lanes_of(width: int) -> tuple[int, int]:
    """(threads for a tile, columns of each) of a product with this many columns."""
    lanes = min(max(power_at_least(width), _MIN_LANES), _MAX_LANES)
    return lanes, min(power_at_least(ceil_div(width, lanes)), _MAX_EACH)


def columns_at_a_time(carries: int, itemsize: int, nbytes: int) -> int:
    """How many columns of a product are computed at a time, so that their carries, `carries` for each column,
    have at most `nbytes`."""
    return max(_MAX_LANES, min(nbytes // (carries * itemsize), _MAX_BLOCKS * _MAX_LANES))


def multiply_matrix(tiles: Tiles, stored: Stored, x, pitch: int, y, carries, stream) -> None:
    """y = A x, except that the carries must be added (add_carries()). y: rows of contiguous elements; x: an
    array; pitch: the distance of its rows, in elements."""
    width, y_pitch, ordered = y.shape[1], y.strides[0] // y.itemsize, not isinstance(stored.order, int)
    lanes, each = lanes_of(width)
    grid = ceil_div(tiles.count, spmv.THREADS // lanes), ceil_div(width, lanes * each)
    _multiply_matrix(y.dtype, tiles.starts.dtype, ordered, lanes, each).prepared_async_call(
        grid, (spmv.THREADS, 1, 1), stream,
        tiles.bounds, tiles.count, *tiles.tiling, tiles.starts, *stored, x, pitch, y, y_pitch,
        carries, width, width,
    )  # fmt: skip


def add_carries(tiles: Tiles, y, carries, stream) -> None:
    """Add the carries of a product to y, which has one axis or two."""
    width, pitch = (1, 1) if y.ndim == 1 else (y.shape[1], y.strides[0] // y.itemsize)
    lanes = 1 if width == 1 else lanes_of(width)[0]
    _add_carries(y.dtype, tiles.starts.dtype, lanes).prepared_async_call(
        (ceil_div(tiles.count, CARRY_THREADS), ceil_div(width, lanes)), (CARRY_THREADS, 1, 1), stream,
        tiles.bounds, tiles.count, *tiles.tiling, tiles.starts, carries, width, y, pitch, width,
    )  # fmt: skip
