"""Kernels of matrix products."""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from pycuda._driver import _collapse_axes
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import axis_capacity, ceil_div, packed_axes
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 256
_QUADS = 64  # rows, or columns, of a block that has one quad of each thread there
_LEAST_BLOCKS = 128  # for larger tiles: fewer leave processors of a large GPU idle


class Tile(NamedTuple):
    """How many quads of rows and of columns a thread has, and how much of the inner axis a part has."""

    down: int
    across: int
    depth: int


# Larger ones, by the size of a result: sums and what is loaded next are in a thread's registers.
_LARGE = {1: Tile(2, 2, 8), 2: Tile(2, 2, 8), 4: Tile(2, 2, 8), 8: Tile(2, 1, 8)}

_SOURCE = """{include}#include "array/pycuda-matmul.hpp"
extern "C" __global__ void __launch_bounds__(pycuda::MATMUL_THREADS, 2)
matmul(const char *a, const char *b, char *c, pycuda::Matmul<{axes}> plan)
{{
    using namespace pycuda;
    pycuda::matmul<{a}, {b}, {c}, {number}, {down}, {across}, {depth}>(a, b, c, plan);
}}
"""


@context_dependent_memoize
def kernel(a, b, c, axes: int, tile: Tile):
    """Function(a, b, c, plan) for these dtypes."""
    number = elements.computed(c)
    types = {name: elements.stored(dtype) for name, dtype in zip("abc", (a, b, c), strict=True)}
    include = elements.include(*types.values())
    text = _SOURCE.format(include=include, number=number, axes=axes, **types, **tile._asdict())
    function = compiled(text).get_function("matmul")
    function._prepare_strided(f"PPP{8 * (10 + 4 * axes)}s")
    return function


def _grid(rows, columns, batches, tile: Tile) -> tuple[int, int, int]:
    down, across = ceil_div(rows, _QUADS * tile.down), ceil_div(columns, _QUADS * tile.across)
    return down, across, min(batches, 65535)


def _tile(rows, columns, batches, itemsize: int) -> Tile:
    large = _LARGE.get(itemsize)
    is_filled = large and rows > _QUADS * (large.down - 1) and columns > _QUADS * (large.across - 1)
    if is_filled and math.prod(_grid(rows, columns, batches, large)) >= _LEAST_BLOCKS:
        return large
    return Tile(1, 1, 16 if itemsize <= 8 else 8)


def plan(rows, columns, inner, steps, batch_axes, itemsize: int):
    """(capacity, tile, grid, arguments). steps: row and inner of a, inner and column of b, row and column of
    c; batch_axes: (length, stride in a, in b, in c); itemsize: of the result.
    """
    axes, _ = _collapse_axes(batch_axes, 3)
    capacity = axis_capacity(len(axes))
    batches = math.prod(axis[0] for axis in axes)
    arguments = struct.pack("10q", rows, columns, inner, batches, *steps) + packed_axes(axes, capacity)
    tile = _tile(rows, columns, batches, itemsize)
    grid = _grid(rows, columns, batches, tile)
    if grid[1] > 65535:
        raise ValueError(f"a product of {columns} columns: at most {65535 * _QUADS} are possible")
    return capacity, tile, grid, arguments
