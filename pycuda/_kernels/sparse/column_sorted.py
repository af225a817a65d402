"""Kernels of sparse matrices whose rows have scattered columns (pycuda-sparse-sorted.hpp): when they are
faster, and the layout of a matrix for them."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled
from pycuda._kernels.sparse.spmv import LONG_ROW, c_offset, c_type, long_rows, targets

# Elements of a chunk. Their columns are stored as 16-bit differences from the first of them: SORTED_CHUNK of
# pycuda-sparse-sorted.hpp.
_CHUNK, _CHUNK_COLUMNS = 256, 1 << 16
# Elements of a row that is not cut. Longer rows are cut, so that a row never takes much of a tile.
_LONGEST = 1024
# A place in a tile is stored in 16 bits.
_MAX_TILE_ELEMENTS = 1 << 16
# Columns of a matrix: at most this many, as each 65,536 of them may need a chunk of their own in every tile.
_MAX_COLUMNS = 1 << 23
# An x of at most this many bytes may be in the first-level cache of a multiprocessor: sorting saves nothing.
_CACHED = 256 << 10
# Bytes of x that one memory request loads: a cache line.
_LINE = 128
# SortedTile of pycuda-sparse-sorted.hpp.
TILE = np.dtype([("chunk", "i4"), ("chunks", "i4"), ("row", "i4"), ("rows", "i4")])

# Elements of a matrix for which there are enough large tiles to give every multiprocessor work.
MIN_ELEMENTS = 1 << 22
# is_worth_it() counts requests in _SAMPLES evenly spaced tiles, whose products have _TILE_BYTES (192 KB: what
# a tile has on large GPUs, and the same on every device). Sorting pays if it saves _MIN_SAVED requests for
# each element, as it adds traffic of its own: a place is stored for each element.
_SAMPLES, _TILE_BYTES, _MIN_SAVED = 16, 192 << 10, 0.15


class BlockShape(NamedTuple):
    """The threads of a block, how many blocks a multiprocessor runs at a time, and the bytes of shared memory
    of each. What they leave of that memory is first-level cache, for x."""

    threads: int
    resident: int
    shared: int


# By the bytes of an element.
_BLOCK_SHAPES = {
    4: BlockShape(1024, 1, 176 << 10),
    8: BlockShape(512, 2, 96 << 10),
}
_SOURCE = """#include "sparse/pycuda-sparse-sorted.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__({threads}, {resident})
multiply_tiles(const SortedTile *tiles, const {offset} *starts, const int *targets, const int *bases,
               const unsigned *places, const {t} *values, const {t} *x, {t} *y, {t} *pieces, int add)
{{
    multiply_sorted<{threads}, {t}, {offset}>(tiles, starts, targets, bases, places, values, x, y, pieces,
                                              add);
}}
"""


@context_dependent_memoize
def column_sorted_kernel(dtype, offset):
    """Function(tiles, starts, targets, bases, places, values, x, y, pieces, add) for a dtype of elements and
    one of the starts of rows."""
    shape = shape_of(dtype.itemsize)
    text = _SOURCE.format(
        t=c_type(dtype), offset=c_offset(offset), threads=shape.threads, resident=shape.resident
    )
    function = compiled(text).get_function("multiply_tiles")
    function.set_attribute(_driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shape.shared)
    return function.prepare("PPPPPPPPPi")


def shape_of(itemsize: int) -> BlockShape:
    """The BlockShape for elements of this size. Shared memory is limited to what the current device has."""
    shape = _BLOCK_SHAPES[itemsize]
    attribute = _driver.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    return shape._replace(shared=min(shape.shared, _driver.Context.get_device().get_attribute(attribute)))


def shared(count: int, itemsize: int) -> int:
    """Bytes of shared memory for that many products, one place in 33 of which stays unused: bank() of
    pycuda-sparse.hpp."""
    return (count + count // 32) * itemsize


def _requests(lines) -> int:
    """The number of memory requests by warps that read elements of these lines, one after another."""
    warps = np.sort(lines[: len(lines) // 32 * 32].reshape(-1, 32))
    return len(warps) + np.count_nonzero(np.diff(warps))


def is_worth_it(columns, width: int, itemsize: int) -> bool:
    """Whether sorting by column saves enough requests for x, which has `width` elements. The answer depends
    on the matrix alone, so that the bits of sums, which depend on it, are the same on every device."""
    count = len(columns)
    if count < MIN_ELEMENTS or itemsize not in _BLOCK_SHAPES:
        return False
    if width > _MAX_COLUMNS or width * itemsize <= _CACHED:
        return False
    size, saved = _TILE_BYTES // itemsize, 0
    for first in np.linspace(0, count - size, _SAMPLES).astype(np.int64):
        lines = columns[first : first + size] // (_LINE // itemsize)
        saved += _requests(lines) - _requests(np.sort(lines))
    return bool(saved > _MIN_SAVED * _SAMPLES * size)


class ColumnSortedPlan(NamedTuple):
    """How a matrix is cut into rows of up to _LONGEST elements, and these into tiles."""

    starts: np.ndarray  # the first element of each row, and the number of all
    targets: np.ndarray | None  # where the sum of each row goes; None: to the row of its number
    tiles: np.ndarray
    long_rows: np.ndarray  # the rows of the matrix that were cut
    pieces: int  # how many parts they have in all


def plan_column_sorted(starts, itemsize: int) -> ColumnSortedPlan:
    """The plan, on the current device, for a matrix whose rows begin at the elements `starts`, ending with
    their count."""
    starts, targets, cut_rows, pieces = _cut_rows(starts)
    number = starts[:-1] // _tile_size(int(starts[-1]), itemsize)
    first_row = np.flatnonzero(np.diff(number, prepend=-1))
    tiles = np.zeros(len(first_row), TILE)
    tiles["row"], tiles["rows"] = first_row, np.diff(first_row, append=len(number))
    return ColumnSortedPlan(starts, targets, tiles, cut_rows, pieces)


def _tile_size(count: int, itemsize: int) -> int:
    """Elements after which a new tile begins with the next row. Two conditions: the elements fit into shared
    memory, and the number of tiles is a multiple of the number of blocks that run at a time, so that the last
    blocks of a launch end together."""
    shape = shape_of(itemsize)
    # A tile ends with a whole row, of up to _LONGEST elements more. 32 / 33: see shared().
    max_elements = min(shape.shared // itemsize * 32 // 33, _MAX_TILE_ELEMENTS) - _LONGEST - 1
    blocks = _driver.Context.get_device().multiprocessor_count * shape.resident
    return ceil_div(count, blocks * ceil_div(count, blocks * max_elements))


def _cut_rows(starts):
    """(starts, targets, long rows, number of pieces) with long rows cut into parts."""
    lengths = np.diff(starts)
    parts = np.maximum(-(-lengths // _LONGEST), 1)
    is_long = parts > 1
    if not is_long.any():
        return starts, None, np.empty(0, LONG_ROW), 0
    row = np.repeat(np.arange(len(lengths)), parts)
    first_part = np.cumsum(parts) - parts
    begins = starts[row] + (np.arange(len(row)) - first_part[row]) * _LONGEST
    found = long_rows(np.flatnonzero(is_long), parts[is_long])
    return np.append(begins, starts[-1]), targets(row, is_long[row]), found, int(found["end"][-1])


class Elements(NamedTuple):
    """The elements of a matrix in the order of columns within each tile, in chunks."""

    bases: np.ndarray  # the first column of each chunk
    places: np.ndarray  # for each element: column - base, and its place in the order of rows << 16
    values: np.ndarray


def by_column(found: ColumnSortedPlan, columns, values) -> tuple[Elements, int]:
    """(the elements of a matrix by column, the maximum number of products of a tile). Writes into
    `found.tiles` which chunks each tile has."""
    tiles, starts = found.tiles, found.starts
    firsts = starts[np.append(tiles["row"], len(starts) - 1)]
    largest = int(np.diff(firsts).max())
    parts = [
        _tile_by_column(columns[first:end], values[first:end])
        for first, end in itertools.pairwise(firsts.tolist())
    ]
    tiles["chunks"] = [len(part.bases) for part in parts]
    tiles["chunk"] = np.cumsum(tiles["chunks"]) - tiles["chunks"]
    return Elements(*map(np.concatenate, zip(*parts, strict=True))), largest


def _tile_by_column(columns, values) -> Elements:
    """The elements of a tile, sorted by column. A chunk is padded with copies of its first element; their
    products are written to the place of that element, and are equal."""
    numbers = np.arange(len(columns))
    # Sorts by column, then by place: a place has 16 bits (_MAX_TILE_ELEMENTS).
    keys = columns.astype(np.int64) << 16 | numbers
    keys.sort()
    column, place = keys >> 16, keys & 0xFFFF
    begins = _chunks(column)
    lengths = np.diff(begins, append=len(columns))
    bases = column[begins].astype(np.int32)
    places = np.repeat((place[begins] << 16).astype(np.uint32), _CHUNK)
    in_chunks = np.repeat(values[place[begins]], _CHUNK)
    # Where each element goes in the padded arrays.
    at = np.repeat(np.arange(len(begins)) * _CHUNK - begins, lengths) + numbers
    places[at] = place << 16 | column - np.repeat(bases, lengths)
    in_chunks[at] = values[place]
    return Elements(bases, places.reshape(-1, _CHUNK), in_chunks.reshape(-1, _CHUNK))


def _chunks(column) -> np.ndarray:
    """The starts of chunks: each has at most _CHUNK elements, whose columns differ by less than 2^16."""
    whole = np.arange(0, len(column), _CHUNK)
    last = np.minimum(whole + _CHUNK, len(column)) - 1
    if (column[last] - column[whole] < _CHUNK_COLUMNS).all():
        return whole
    begins, at = [], 0
    while at < len(column):
        begins.append(at)
        at = min(at + _CHUNK, int(np.searchsorted(column, column[at] + _CHUNK_COLUMNS)))
    return np.array(begins, np.int64)
