"""Kernels of matrix products."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from pycuda._driver import Context, _collapse_axes, _is_cpu_device, device_attribute, function_attribute
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import axis_capacity, ceil_div, elements_per_access, packed_axes
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

# A thread's results are quads of 4 x 4 neighbors: MATMUL_QUAD of pycuda-matmul.hpp.
_QUAD = 4
# A tile is chosen only if there are this many blocks: fewer leave multiprocessors of a large GPU idle.
_MIN_BLOCKS = 128
# Blocks along the second and the third axis of a grid.
_MAX_GRID = 65535


class Way(NamedTuple):
    """One of the ways in which a block computes its tile of the result: a template with its arguments."""

    header: str
    call: str
    threads: int
    blocks: int  # of a multiprocessor at a time, at least
    rows: int  # of a tile
    columns: int
    has_same_bits: bool = True  # whether results have the same bits on every device
    shared: int = 0  # bytes of dynamic shared memory


class MatmulPlan(NamedTuple):
    """The launch of a product, except addresses."""

    kernel: Any
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: bytes
    way: Way

    def queue(self, a, b, c, stream) -> None:
        self.kernel.prepared_async_call(
            self.grid, self.block, stream, a, b, c, self.arguments, shared_size=self.way.shared
        )


_SOURCE = """{include}#include "array/{header}"
extern "C" __global__ void __launch_bounds__({threads}, {blocks})
matmul(const char *a, const char *b, char *c, pycuda::Matmul<{axes}> plan)
{{
    using namespace pycuda;
    {call}(a, b, c, plan);
}}
"""


@context_dependent_memoize
def matmul_kernel(types: tuple[str, ...], way: Way, axes: int):
    """Function(a, b, c, plan) for these C types of elements."""
    text = _SOURCE.format(include=elements.include(*types), axes=axes, **way._asdict())
    function = compiled(text).get_function("matmul")
    if way.shared:
        function.set_attribute(function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, way.shared)
    function._prepare_strided(f"PPP{8 * (10 + 4 * axes)}s")
    return function


# ---- how operands are read


class _Operand(NamedTuple):
    """An operand of a product. Its lines are the rows of a, or the columns of b."""

    lines: int  # how many there are
    inner: int
    line_step: int  # in bytes
    inner_step: int
    other_steps: tuple[int, ...]  # of the axes before the last two
    address: int
    itemsize: int

    def reading(self, width: int) -> str:
        """The enumerator of Reading (pycuda-matmul.hpp): by vectors of `width` elements if all of them are
        aligned and within the matrix, along one of the axes; otherwise BY_ELEMENTS."""
        unit = width * self.itemsize
        if all(step % unit == 0 for step in (self.address, *self.other_steps)):
            if self._is_along(self.inner_step, self.inner, self.line_step, self.lines, width):
                return "ALONG_INNER"
            if self._is_along(self.line_step, self.lines, self.inner_step, self.inner, width):
                return "ALONG_LINES"
        return "BY_ELEMENTS"

    def _is_along(self, step, length, other_step, other_length, width) -> bool:
        """Whether vectors of `width` elements along the axis of this step and length are aligned and
        whole."""
        return (
            step == self.itemsize
            and length % width == 0
            and (other_length == 1 or other_step % (width * self.itemsize) == 0)
        )

    def neighbors(self, width: int) -> tuple[str, int]:
        """(the enumerator of Reading, how many elements are read at once): `width` if vectors can be read,
        otherwise 1, along the axis with the shorter step."""
        reading = self.reading(width)
        if reading != "BY_ELEMENTS":
            return reading, width
        return "ALONG_INNER" if abs(self.inner_step) < abs(self.line_step) else "ALONG_LINES", 1


# ---- ways


class _Tile(NamedTuple):
    """The arguments of MatmulShape (pycuda-matmul.hpp), except how operands are read."""

    side: int  # the block has side x side threads
    down: int  # quads of a thread, down
    across: int  # and across
    depth: int  # places of the inner axis that are in shared memory at a time
    blocks: int  # that a multiprocessor runs at a time, at least

    @property
    def rows(self) -> int:
        return self.side * _QUAD * self.down

    @property
    def columns(self) -> int:
        return self.side * _QUAD * self.across

    def width(self, lines: int, itemsize: int) -> int:
        """Elements of the vectors by which an operand is read, `lines` of whose lines are in the tile."""
        return min(lines * self.depth // self.side**2, elements_per_access(itemsize), _QUAD)


# By the bytes of a result, at most: the tiles to choose from, the largest first. They are as large as the
# registers of a thread allow, which hold its sums and the elements that it loads next.
_TILES = {
    4: (_Tile(16, 4, 2, 8, 1), _Tile(16, 2, 2, 8, 2), _Tile(16, 1, 1, 16, 2), _Tile(8, 1, 1, 16, 8)),
    8: (_Tile(16, 2, 1, 8, 2), _Tile(16, 1, 1, 16, 2), _Tile(8, 1, 1, 16, 4)),
    16: (_Tile(16, 1, 1, 8, 2), _Tile(8, 1, 1, 8, 2)),
}
# For an inner axis of up to this length a multiprocessor runs more blocks: the time that each block waits at
# its beginning and end is then a large part of the whole, and other blocks use it.
_SHORT_INNER = 128


def _grid(rows, columns, batches, tile_rows, tile_columns) -> tuple[int, int, int]:
    return ceil_div(rows, tile_rows), ceil_div(columns, tile_columns), min(batches, _MAX_GRID)


def _tile(first: _Operand, second: _Operand, batches: int, itemsize: int) -> _Tile:
    """The largest tile that the matrices fill and that gives at least _MIN_BLOCKS blocks; if there is none,
    the smallest tile.
    """
    tiles = next(tiles for size, tiles in _TILES.items() if itemsize <= size)
    for tile in tiles:
        # More than half of the tile has results along both axes.
        is_filled = first.lines > tile.rows // 2 and second.lines > tile.columns // 2
        grid = _grid(first.lines, second.lines, batches, tile.rows, tile.columns)
        if is_filled and math.prod(grid) >= _MIN_BLOCKS:
            break
    if tile.side == 16 and tile.down == tile.across and itemsize <= 4 and first.inner <= _SHORT_INNER:
        return tile._replace(blocks=4 // tile.down)
    return tile


def _by_threads(first: _Operand, second: _Operand, batches: int, types, itemsize: int) -> Way:
    """The way for all types and strides, without tensor cores: each thread computes results of its own."""
    tile = _tile(first, second, batches, itemsize)
    readings = (
        first.reading(tile.width(tile.rows, first.itemsize)),
        second.reading(tile.width(tile.columns, second.itemsize)),
    )
    shape = ", ".join(map(str, (*tile[:-1], *readings)))
    call = f"matmul<{', '.join(types)}, MatmulShape<{shape}>>"
    return Way("pycuda-matmul.hpp", call, tile.side**2, tile.blocks, tile.rows, tile.columns)


# The side of a block's square tile and its threads, as in pycuda-matmul-double.hpp.
_DOUBLE_SIDE, _DOUBLE_THREADS = 64, 128


# A warp has a square of so many rows and columns of the result: HALF_WARP of pycuda-matmul-half.hpp.
HALF_WARP = 64


class HalfShape(NamedTuple):
    """The arguments of HalfShape (pycuda-matmul-half.hpp), except how operands are read."""

    rows: int
    columns: int
    depth: int
    stages: int

    @property
    def threads(self) -> int:
        return self.rows * self.columns // HALF_WARP**2 * 32

    @property
    def blocks(self) -> int:
        """How many a multiprocessor runs at a time: its registers are for 256 threads with 255 each."""
        return 256 // self.threads

    @property
    def shared(self) -> int:
        return self.stages * self.depth * (self.rows + self.columns) * 2


# The small shape is for products with few tiles, and for GPUs with little shared memory.
HALF_SMALL, HALF_LARGE = HalfShape(128, 128, 32, 3), HalfShape(128, 256, 64, 3)


def by_tensor_cores_of_doubles(first: _Operand, second: _Operand) -> Way:
    """The way for doubles on tensor cores. Its results have the same bits as those of `_by_threads`."""
    readings = (*first.neighbors(elements_per_access(8)), *second.neighbors(elements_per_access(8)))
    call = f"matmul_of_doubles<{', '.join(map(str, readings))}>"
    return Way("pycuda-matmul-double.hpp", call, _DOUBLE_THREADS, 4, _DOUBLE_SIDE, _DOUBLE_SIDE)


def _half_shape(rows: int, columns: int, batches: int) -> HalfShape:
    """The large shape where it gives at least _MIN_BLOCKS blocks and the device has the shared memory."""
    grid = _grid(rows, columns, batches, HALF_LARGE.rows, HALF_LARGE.columns)
    most = Context.get_device().get_attribute(device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    return HALF_LARGE if math.prod(grid) >= _MIN_BLOCKS and HALF_LARGE.shared <= most else HALF_SMALL


def by_tensor_cores_of_halves(first: _Operand, second: _Operand, dtypes, shape: HalfShape) -> Way | None:
    """The way for 16-bit floats on tensor cores. Its results differ in their last bits between GPUs. None for
    operands that are not aligned."""
    readings = tuple(each.reading(elements_per_access(2)) for each in (first, second))
    if "BY_ELEMENTS" in readings:
        return None
    is_bfloat = str(dtypes[0] != np.float16).lower()
    arguments = ", ".join(map(str, (*shape, *readings)))
    call = f"matmul_of_halves<{elements.stored(dtypes[2])}, {is_bfloat}, HalfShape<{arguments}>>"
    return Way(
        "pycuda-matmul-half.hpp", call, shape.threads, shape.blocks, shape.rows, shape.columns,
        has_same_bits=False, shared=shape.shared,
    )  # fmt: skip


def _by_tensor_cores(first: _Operand, second: _Operand, batches: int, dtypes, same_bits: bool) -> Way | None:
    """The way on tensor cores for these dtypes; None where there is none. same_bits: choose only a way whose
    results have the same bits on all devices.
    """
    if _is_cpu_device() or Context.get_device().compute_capability() < (8, 0):
        return None
    a, b, c = dtypes
    if a == b == c == np.float64:
        return by_tensor_cores_of_doubles(first, second)
    if not same_bits and a == b and a.itemsize == 2 and elements.kind(a) == "f" and c in (a, np.float32):
        shape = _half_shape(first.lines, second.lines, batches)
        return by_tensor_cores_of_halves(first, second, dtypes, shape)
    return None


# ---- plans


def plan_matmul(
    a, b, c, batch_axes: Iterable[tuple[int, int, int, int]], same_bits: bool, way=None
) -> MatmulPlan:
    """The launch of c = a @ b. The last two axes of each array are those of its matrices. batch_axes:
    (length, stride in a, in b, in c) of each axis before them. way: by default the fastest one.
    """
    axes, _ = _collapse_axes(list(batch_axes), 3)
    batches = math.prod(axis[0] for axis in axes)
    rows, columns = c.shape[-2:]
    inner = a.shape[-1]
    first = _Operand(rows, inner, *a.strides[-2:], tuple(axis[1] for axis in axes), a._address, a.itemsize)
    second = _Operand(
        columns, inner, *b.strides[:-3:-1], tuple(axis[2] for axis in axes), b._address, b.itemsize
    )
    dtypes = a.dtype, b.dtype, c.dtype
    types = (*map(elements.stored, dtypes), elements.computed(c.dtype))
    chosen = way or _by_tensor_cores(first, second, batches, dtypes, same_bits)
    if chosen is None:
        chosen = _by_threads(first, second, batches, types, c.itemsize)
    grid = _grid(rows, columns, batches, chosen.rows, chosen.columns)
    if grid[1] > _MAX_GRID:
        raise ValueError(f"a product of {columns} columns: at most {_MAX_GRID * chosen.columns} are possible")
    capacity = axis_capacity(len(axes))
    steps = (*a.strides[-2:], *b.strides[-2:], *c.strides[-2:])
    arguments = struct.pack("10q", rows, columns, inner, batches, *steps) + packed_axes(axes, capacity)
    function = matmul_kernel(types, chosen, capacity)
    return MatmulPlan(function, grid, (chosen.threads, 1, 1), arguments, chosen)
