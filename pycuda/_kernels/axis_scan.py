"""Scans along an axis: cumulative sums, products, maxima. The source of their kernels and the plans of
launches."""

from __future__ import annotations

import struct
from typing import NamedTuple

from pycuda._kernels import axes as layout
from pycuda._kernels import elements, reduction
from pycuda._kernels.axes import Axis
from pycuda._kernels.modules import compiled
from pycuda.tools import context_dependent_memoize

THREADS = 256
_WARPS = THREADS // 32
_CHUNKS = 4
RESIDENT = 8  # blocks of tiles that a multiprocessor has at a time: they wait for each other
_VALUES_OF_COLUMNS = 64  # of a tile of 32 columns


class Shape(NamedTuple):
    """What a kernel is compiled for, besides operation and types."""

    name: str  # a ScanShape of pycuda-axis-scan.hpp
    aligned: bool
    kept: int


class Plan(NamedTuple):
    """A launch made ready. `values` is how many of them blocks learn from each other (scratch.States)."""

    shape: Shape
    grid: tuple[int, int]
    arguments: bytes
    values: int


_SOURCE = """{include}#include "pycuda-reduce-ops.hpp"
#include "pycuda-axis-scan.hpp"
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
extern "C" __global__ void __launch_bounds__(256{resident})
scan(const char *in, char *out, AxisScan<{kept}> plan, unsigned *counter, unsigned long long *entries,
     void *values, unsigned launch)
{{
    {call};
}}
"""

_STATE = "scan_state{counter, entries, values, launch}"


def source(name: str, types: reduction.Types, shape: Shape) -> str:
    """The kernel of the scan with the combination of this reduction."""
    row = reduction.ROWS[name]
    aligned = str(shape.aligned).lower()
    call = {
        "ROW_WARPS": f"scan_short_rows<Op, {aligned}>(in, out, plan)",
        "ROW_TILES": f"scan_tiled_rows<Op, {aligned}>(in, out, plan, {_STATE})",
    }.get(shape.name, f"scan_columns<Op, {shape.name}>(in, out, plan, {_STATE})")
    return _SOURCE.format(
        include=elements.include(types.element, types.number, types.result),
        number=types.number,
        neutral=reduction.constants(types.number).get(row.neutral, row.neutral),
        combine=row.combine,
        element=types.element,
        result=types.result,
        kept=shape.kept,
        call=call,
        resident=f", {RESIDENT}" if shape.name == "ROW_TILES" else "",
    )


@context_dependent_memoize
def kernel(name: str, types: reduction.Types, shape: Shape):
    """The function, prepared."""
    module = compiled(source(name, types, shape))
    return module.get_function("scan").prepare(f"PP{8 * (6 + 3 * shape.kept)}sPPPI")


def _row_shape(length: int, rows: int, itemsize: int, result_size: int) -> tuple[str, int, int, int, int]:
    """(name, tiles of a row, blocks, values, warps for a row)"""
    of_warp = 32 * max(16 // max(itemsize, result_size), 1) * _CHUNKS
    warps = layout.power_at_least(layout.ceil_div(length, of_warp))
    if warps <= _WARPS:
        return "ROW_WARPS", 1, layout.ceil_div(rows, _WARPS // warps), 0, warps
    tiles = layout.ceil_div(length, of_warp * _WARPS)
    return "ROW_TILES", tiles, rows * tiles, rows * (tiles + 2 * layout.ceil_div(tiles, 32)), _WARPS


def _column_shape(length: int, columns: int, outer: int, acc_size: int) -> tuple[str, int, int, int, int]:
    """(name, tiles of a column, blocks, values, blocks side by side)"""
    items = 16 if acc_size > 8 else 32
    if length <= items:
        groups = layout.ceil_div(columns, THREADS)
        return "COLUMN_THREAD", 1, groups * outer, 0, groups
    groups, tiles = layout.ceil_div(columns, 32), layout.ceil_div(length, items * _WARPS)
    blocks = groups * outer
    if tiles == 1:
        return "COLUMN_BLOCK", 1, blocks, 0, groups
    return "COLUMN_TILES", tiles, blocks * tiles, blocks * tiles * _VALUES_OF_COLUMNS, groups


def plan(
    addresses: tuple[int, int], sizes: tuple[int, int], acc_size: int, kept: list[Axis], axis: Axis
) -> Plan:
    """How an array is scanned along `axis`. `other` is the stride in the result; addresses and sizes of items
    are the array's and the result's. There are elements."""
    kept = layout.merged(layout.by_stride(kept))
    rows = 1
    for each in kept:
        rows *= each.length
    inner = kept[-1]
    by_row = inner.length < 32 or abs(axis.stride) < abs(inner.stride)
    if by_row and axis.length <= 16 <= inner.length:
        by_row = False  # a thread for each
    if by_row:
        name, tiles, blocks, values, groups = _row_shape(axis.length, rows, *sizes)
    else:
        outer = rows // inner.length
        name, tiles, blocks, values, groups = _column_shape(axis.length, inner.length, outer, acc_size)
    places = [*addresses, *(each.stride for each in kept), *(each.other for each in kept)]
    aligned = by_row and (axis.stride, axis.other) == sizes and not any(place % 16 for place in places)
    room = layout.room(len(kept))
    arguments = struct.pack("6q", rows, axis.length, axis.stride, axis.other, tiles, groups)
    return Plan(Shape(name, aligned, room), (blocks, 1), arguments + layout.packed(kept, room), values)
