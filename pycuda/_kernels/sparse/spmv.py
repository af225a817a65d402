"""Kernels of sparse matrices (pycuda-sparse.hpp), and how a matrix is cut into tiles for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 256

# Elements of the longest row that shares a tile with others. A tile may have up to this many elements more
# than a window, as it ends with a whole row.
_LONGEST_SHORT_ROW = 512
# Elements of a piece of a longer row.
_PIECE = 12 * THREADS
_TYPES = {"f4": "float", "f8": "double", "c8": "float2", "c16": "double2"}
# Tile and LongRow of pycuda-sparse.hpp.
TILE = np.dtype([("first", "i8"), ("row", "i4"), ("packed", "u4")])
# The first bits of two fields of Tile.packed: the logarithm of lanes, and the number of elements.
_PACKED_LANES, _PACKED_COUNT = 12, 16
LONG_ROW = np.dtype([("row", "i4"), ("begin", "i4"), ("end", "i4"), ("unused", "i4")])

_SOURCE = """#include "sparse/pycuda-sparse.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__(SPARSE_THREADS{resident})
multiply_tiles(const Tile *tiles, const {offset} *starts, const void *low, const void *high,
               const {t} *values, const {t} *x, {t} *y, {t} *pieces, int add)
{{
    multiply<{t}, {offset}, {columns}, {window}, {longest}>(tiles, starts, low, high, values, x, y, pieces,
                                                            add);
}}
"""
_SUM_LONG_ROWS = """#include "sparse/pycuda-sparse.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__(SPARSE_THREADS)
sum_long_rows(const LongRow *rows, const {t} *pieces, {t} *y, int add)
{{
    sum_pieces(rows, pieces, y, add);
}}
"""


def window(itemsize: int) -> int:
    """The number of elements and rows, taken together, after which a tile of short rows ends with the row."""
    return 1536 if itemsize == 8 else 1024


def is_inexact(dtype: np.dtype) -> bool:
    """Whether it is one of the four dtypes of float and complex numbers that there are kernels for."""
    return dtype.isnative and f"{dtype.kind}{dtype.itemsize}" in _TYPES


def check_dtype(dtype) -> np.dtype:
    """The dtype; TypeError when there are no kernels for it."""
    dtype = np.dtype(dtype)
    if not is_inexact(dtype):
        raise TypeError(
            f"sparse matrices of dtype {dtype} are not supported: use float32, float64, complex64 or "
            "complex128"
        )
    return dtype


def c_type(dtype) -> str:
    """The type of elements in a kernel."""
    return _TYPES[f"{dtype.kind}{dtype.itemsize}"]


def c_offset(dtype) -> str:
    """The type of the starts of rows in a kernel."""
    return "int" if dtype.itemsize == 4 else "long long"


@context_dependent_memoize
def multiply(dtype, offset, columns: str):
    """Function(tiles, starts, low, high, values, x, y, pieces, add) for a dtype of elements, one of the
    starts of rows and a kind of Columns."""
    text = _SOURCE.format(
        t=c_type(dtype),
        offset=c_offset(offset),
        columns=columns,
        window=window(dtype.itemsize),
        # Bounds the registers of a thread, so that a multiprocessor has 7 blocks.
        resident=", 7" if dtype.itemsize == 4 else "",
        longest=_LONGEST_SHORT_ROW,
    )
    return compiled(text).get_function("multiply_tiles").prepare("PPPPPPPPi")


@context_dependent_memoize
def sum_long_rows(dtype):
    """Function(long rows, pieces, y, add)."""
    return compiled(_SUM_LONG_ROWS.format(t=c_type(dtype))).get_function("sum_long_rows").prepare("PPPi")


class RowTilePlan(NamedTuple):
    """How a matrix is cut: an array of TILE, one of LONG_ROW, the number of pieces of these rows in all."""

    tiles: np.ndarray
    long_rows: np.ndarray
    pieces: int


def plan_row_tiles(starts, itemsize: int) -> RowTilePlan:
    """The tiles of a matrix whose rows begin at the elements `starts`, ending with their count."""
    lengths = np.diff(starts)
    is_long = lengths > _LONGEST_SHORT_ROW
    short = _short_tiles(starts, lengths, is_long, window(itemsize))
    pieces, long_rows = _pieces(starts, lengths, np.flatnonzero(is_long))
    tiles = np.concatenate([short, pieces])
    if not len(pieces):
        return RowTilePlan(short, long_rows, 0)
    # In the order of the matrix, so that blocks that run at the same time read elements of x near each other.
    tiles = tiles[np.argsort(tiles["first"], kind="stable")]
    return RowTilePlan(tiles, long_rows, int((long_rows["end"] - long_rows["begin"]).sum()))


class Columns(NamedTuple):
    """The columns of a matrix's elements, in as few bytes as possible; `low` and `high` are the constructor's
    arguments."""

    kind: str  # the class of pycuda-sparse.hpp
    low: np.ndarray
    high: np.ndarray


def narrow_columns(tiles, columns, count: int) -> Columns:
    """The Columns of all elements. `columns`: the column of each element; `count`: columns of the matrix."""
    if len(columns):
        # Tiles are in the order of the elements and have all of them.
        counts = tiles["packed"] >> _PACKED_COUNT
        first = tiles["first"][counts > 0]
        bases = np.zeros(len(tiles), np.int32)
        bases[counts > 0] = np.minimum.reduceat(columns, first)
        if (np.maximum.reduceat(columns, first) - bases[counts > 0]).max() < 1 << 16:
            beyond = columns - np.repeat(bases, counts)
            return Columns("NearColumns", beyond.astype(np.uint16), bases)
    if count <= 1 << 24:
        return Columns("SplitColumns", columns.astype(np.uint16), (columns >> 16).astype(np.uint8))
    return Columns("WholeColumns", columns.astype(np.int32, copy=False), np.empty(0, np.uint8))


def _short_tiles(starts, lengths, is_long, size: int) -> np.ndarray:
    """Tiles of the rows that are not long: consecutive rows whose elements fit into a window of `size`."""
    rows = len(lengths)
    if not rows:
        return np.empty(0, TILE)
    window_number = (starts[:-1] + np.arange(rows, dtype=np.int64)) // size
    begins = np.empty(rows, bool)
    begins[0] = True
    begins[1:] = (np.diff(window_number) != 0) | is_long[1:] | is_long[:-1]
    first_row = np.flatnonzero(begins)
    longest = np.maximum.reduceat(lengths, first_row)
    row_count = np.diff(np.append(first_row, rows))
    keep = ~is_long[first_row]
    first_row, longest, row_count = first_row[keep], longest[keep], row_count[keep]
    tiles = np.empty(len(first_row), TILE)
    tiles["first"], tiles["row"] = starts[first_row], first_row
    count = starts[first_row + row_count] - starts[first_row]
    lanes = _logarithm_of_lanes(row_count, longest)
    tiles["packed"] = row_count | lanes << _PACKED_LANES | count << _PACKED_COUNT
    return tiles


def _logarithm_of_lanes(rows, longest) -> np.ndarray:
    """For each tile the logarithm (base 2) of the cheapest number of lanes for a row, 1 to 32. `longest`:
    elements of the tile's longest row. The block takes as many rows at a time as its threads suffice for, in
    rounds. The estimated cost of a round is the elements of a lane, 1, and 2 for each exchange of sums
    between lanes."""
    costs = [-(-(rows << shift) // THREADS) * (-(-longest >> shift) + 1 + 2 * shift) for shift in range(6)]
    return np.argmin(costs, axis=0).astype(np.int64)


def _pieces(starts, lengths, rows) -> tuple[np.ndarray, np.ndarray]:
    """(tiles of the pieces of long rows, LONG_ROW structures of the rows that have several pieces)."""
    counts = -(-lengths[rows] // _PIECE)
    ends = np.cumsum(counts)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
    tiles = np.empty(len(within), TILE)
    tiles["first"] = np.repeat(starts[rows], counts) + within * _PIECE
    length = np.minimum(np.repeat(lengths[rows], counts) - within * _PIECE, _PIECE)
    tiles["packed"] = length << _PACKED_COUNT
    several = counts > 1
    tiles["row"] = targets(np.repeat(rows, counts), np.repeat(several, counts))
    return tiles, long_rows(rows[several], counts[several])


def targets(rows, is_piece) -> np.ndarray:
    """The target of each sum: its row; for a piece of a row, -1 - the number of the piece."""
    return np.where(is_piece, -np.cumsum(is_piece), rows).astype(np.int32)


def long_rows(rows, counts) -> np.ndarray:
    """The LONG_ROW structures of these rows. counts: how many pieces each has."""
    found = np.zeros(len(rows), LONG_ROW)
    found["row"], found["end"] = rows, np.cumsum(counts)
    found["begin"] = found["end"] - counts
    return found
