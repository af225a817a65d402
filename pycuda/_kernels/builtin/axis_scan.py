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

THREADS = 256
_WARPS = THREADS // 32
_CHUNKS = 4
TILED_THREADS = 128
RESIDENT = 7  # blocks that a multiprocessor has at a time, in each of which three tiles are under way
_VALUES_OF_COLUMNS = 64  # of a tile of 32 columns
_TILED = "ROW_TILES", "ROW_BLOCKS"
_MANY = 1 << 13  # rows that keep every block busy to the end


class AxisScanVariant(NamedTuple):
    """What a kernel is compiled for, besides operation and types."""

    name: str  # a ScanShape of pycuda-axis-scan.hpp
    aligned: bool
    kept: int


class AxisScanPlan(NamedTuple):
    """A launch made ready. `partials`: what blocks learn from each other (scratch.States)."""

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
    """The function, prepared."""
    module = compiled(axis_scan_source(name, types, variant))
    return module.get_function("scan")._prepare_strided(f"PP{8 * (6 + 3 * variant.kept)}sPPPPI")


def _vector(*sizes: int) -> int:
    """Elements that a thread loads or stores together, of which each is of one of these sizes."""
    return elements_per_access(max(sizes))


def axis_scan_tile(itemsize: int, result_size: int, acc_size: int) -> int:
    """Elements of a tile of a long row: TiledRow of pycuda-axis-scan.hpp."""
    vector = _vector(itemsize, result_size)
    return TILED_THREADS * vector * min(112 // (vector * itemsize + acc_size), 4)


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
    if rows >= _MANY:
        return _Cut("ROW_BLOCKS", tiles, min(rows, max_blocks), scratch.NOTHING, _WARPS)
    return _Cut(
        "ROW_TILES", tiles, min(rows * tiles, max_blocks), scratch.partials_of_tiles(rows, tiles), _WARPS
    )


def _column_cut(length: int, columns: int, outer: int, acc_size: int) -> _Cut:
    """How columns are cut: a thread, a block or tiles for each, by their length."""
    items = min(128 // acc_size, 32)
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
    """How an array is scanned along `axis`. `other` is the stride in the result; addresses and sizes of items
    are the array's and the result's. There are elements."""
    kept, _ = collapsed(kept, sort=True)
    rows = 1
    for each in kept:
        rows *= each.length
    inner = kept[-1]
    by_row = inner.length < 32 or abs(axis.stride) < abs(inner.stride)
    if by_row and axis.length <= 16 <= inner.length:
        by_row = False  # a thread for each
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
