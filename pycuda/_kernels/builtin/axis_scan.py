"""Scans along an axis: cumulative sums, products, maxima. The source of their kernels and the plans of
launches."""

from __future__ import annotations

import struct
from typing import NamedTuple

from pycuda import _driver
from pycuda._driver import _WIDEST_ACCESS
from pycuda._kernels.builtin import elements, reduction
from pycuda._kernels.plans import scratch
from pycuda._kernels.plans.axes import (
    Axis,
    are_aligned,
    axis_capacity,
    ceil_div,
    collapsed,
    elements_per_access,
    packed_axes,
    power_at_least,
)
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

# As in pycuda-axis-scan.hpp: threads of a block, of a block that scans tiles of long rows, vectors that a
# thread has of a short row.
THREADS, TILED_THREADS, _CHUNKS = 256, 128, 4
_WARPS = THREADS // 32
# Blocks that a multiprocessor runs at a time. Each of them has three tiles in shared memory.
RESIDENT = 7
# A thread's bytes of a tile, elements and accumulators together, and the maximum number of vectors that it
# loads. Three tiles of 128 threads take 42 KB then, of the 48 KB of shared memory that a block may declare.
_TILE_BYTES, _MAX_TILE_CHUNKS = 112, 4
# A thread's bytes of accumulators of a column, and the maximum number of elements: what its registers hold.
_COLUMN_BYTES, _MAX_COLUMN_ITEMS = 128, 32
# Values that a tile of 32 columns publishes: a total and a prefix of each.
_VALUES_OF_COLUMNS = 64
_TILED = "ROW_TILES", "ROW_BLOCKS"
# From this many rows on, each is scanned by one block: blocks are then busy to the end without sharing rows.
_MANY_ROWS = 1 << 13


class AxisScanVariant(NamedTuple):
    """What a kernel is compiled for, besides operation and types."""

    name: str  # a ScanShape of pycuda-axis-scan.hpp
    aligned: bool
    kept: int


class AxisScanPlan(NamedTuple):
    """The launch of a scan, except addresses. `partials`: what blocks exchange (scratch.states())."""

    variant: AxisScanVariant
    grid: tuple[int, int]
    block: tuple[int, int, int]
    arguments: bytes
    partials: scratch.Partials


_SOURCE = """{include}#include "reduce/pycuda-reduce-ops.hpp"
#include "scan/pycuda-axis-scan.hpp"
namespace pycuda {{
template <class Stored, class Left> struct Scan {{
    typedef Stored Element;
    typedef Left Result;
    typedef {number} A;
    typedef A Acc;
    static __device__ __forceinline__ A neutral() {{ return {neutral}; }}
    static __device__ __forceinline__ A map(const Element &e) {{ return To<A>::from(value(e)); }}
    static __device__ __forceinline__ A combine(const A &a, const A &b) {{ return {combine}; }}
    static __device__ __forceinline__ void finish(Result &result, const A &a) {{ put(result, a); }}
}};
typedef Scan<{element}, {result}> Op;
}}
using namespace pycuda;
extern "C" __global__ void __launch_bounds__({bounds})
scan(const char *in, char *out, AxisScan<{kept}> plan, unsigned *counter, unsigned long long *counts,
     unsigned long long *entries, void *values, unsigned launch)
{{
    {call};
}}
"""

_STATE = "scan_state{counter, counts, entries, values, launch}"


def axis_scan_source(name: str, types: reduction.Types, variant: AxisScanVariant) -> str:
    """The kernel of the scan with the combination of this reduction."""
    row = reduction.ROWS[name]
    aligned = str(variant.aligned).lower()
    call = {
        "ROW_WARPS": f"scan_short_rows<Op, {aligned}>(in, out, plan)",
        "ROW_TILES": f"scan_tiled_rows<Op, {aligned}>(in, out, plan, {_STATE})",
        "ROW_BLOCKS": f"scan_block_rows<Op, {aligned}>(in, out, plan)",
    }.get(variant.name, f"scan_columns<Op, {variant.name}>(in, out, plan, {_STATE})")
    return _SOURCE.format(
        include=elements.include(types.element, types.number, types.result),
        number=types.number,
        neutral=reduction.constants(types.number).get(row.neutral, row.neutral),
        combine=row.combine,
        element=types.element,
        result=types.result,
        kept=variant.kept,
        call=call,
        bounds=f"{TILED_THREADS}, {RESIDENT}" if variant.name in _TILED else THREADS,
    )


@context_dependent_memoize
def axis_scan_kernel(name: str, types: reduction.Types, variant: AxisScanVariant):
    """Function(in, out, plan, the members of a scan_state)."""
    module = compiled(axis_scan_source(name, types, variant))
    return module.get_function("scan")._prepare_strided(f"PP{8 * (6 + 3 * variant.kept)}sPPPPI")


def _vector(*sizes: int) -> int:
    """Elements that a thread loads or stores together, for the largest of these item sizes."""
    return elements_per_access(max(sizes))


def axis_scan_tile(itemsize: int, result_size: int, acc_size: int) -> int:
    """Elements of a tile of a long row: TiledRow of pycuda-axis-scan.hpp."""
    vector = _vector(itemsize, result_size)
    return TILED_THREADS * vector * min(_TILE_BYTES // (vector * itemsize + acc_size), _MAX_TILE_CHUNKS)


class _Cut(NamedTuple):
    """How rows or columns are cut."""

    name: str  # a ScanShape of pycuda-axis-scan.hpp
    tiles: int  # of each
    blocks: int
    partials: scratch.Partials
    groups: int  # warps for a row, or blocks of columns side by side


def _row_cut(length: int, rows: int, itemsize: int, result_size: int, acc_size: int) -> _Cut:
    """How rows are cut: several warps or tiles for each, by their length and number."""
    of_warp = 32 * _vector(itemsize, result_size) * _CHUNKS
    warps = power_at_least(ceil_div(length, of_warp))
    if warps <= _WARPS:
        return _Cut("ROW_WARPS", 1, ceil_div(rows, _WARPS // warps), scratch.NOTHING, warps)
    tiles = ceil_div(length, axis_scan_tile(itemsize, result_size, acc_size))
    max_blocks = RESIDENT * _driver.Context.get_device().multiprocessor_count
    if rows >= _MANY_ROWS:
        return _Cut("ROW_BLOCKS", tiles, min(rows, max_blocks), scratch.NOTHING, _WARPS)
    return _Cut(
        "ROW_TILES", tiles, min(rows * tiles, max_blocks), scratch.partials_of_tiles(rows, tiles), _WARPS
    )


def _column_cut(length: int, columns: int, outer: int, acc_size: int) -> _Cut:
    """How columns are cut: a thread, a block or tiles for each, by their length."""
    items = min(_COLUMN_BYTES // acc_size, _MAX_COLUMN_ITEMS)
    if length <= items:
        groups = ceil_div(columns, THREADS)
        return _Cut("COLUMN_THREAD", 1, groups * outer, scratch.NOTHING, groups)
    groups, tiles = ceil_div(columns, 32), ceil_div(length, items * _WARPS)
    blocks = groups * outer
    if tiles == 1:
        return _Cut("COLUMN_BLOCK", 1, blocks, scratch.NOTHING, groups)
    partials = scratch.Partials(blocks * tiles * _VALUES_OF_COLUMNS, 0)
    return _Cut("COLUMN_TILES", tiles, blocks * tiles, partials, groups)


def plan_axis_scan(
    addresses: tuple[int, int], sizes: tuple[int, int], acc_size: int, kept: list[Axis], axis: Axis
) -> AxisScanPlan:
    """How an array that is not empty is scanned along `axis`. In each Axis `other` is the stride in the
    result. addresses, sizes: the address and the item size of the array, then of the result."""
    kept, _ = collapsed(kept, sort=True)
    rows = 1
    for each in kept:
        rows *= each.length
    inner = kept[-1]
    by_row = inner.length < 32 or abs(axis.stride) < abs(inner.stride)
    if by_row and axis.length <= 16 <= inner.length:
        by_row = False  # a thread scans a column: neighbors in a warp read neighbors in memory
    if by_row:
        cut = _row_cut(axis.length, rows, *sizes, acc_size)
    else:
        cut = _column_cut(axis.length, inner.length, rows // inner.length, acc_size)
    aligned = by_row and (axis.stride, axis.other) == sizes and are_aligned(kept, addresses, _WIDEST_ACCESS)
    capacity = axis_capacity(len(kept))
    arguments = struct.pack("6q", rows, axis.length, axis.stride, axis.other, cut.tiles, cut.groups)
    threads = TILED_THREADS if cut.name in _TILED else THREADS
    return AxisScanPlan(
        AxisScanVariant(cut.name, aligned, capacity),
        (cut.blocks, 1),
        (threads, 1, 1),
        arguments + packed_axes(kept, capacity),
        cut.partials,
    )
