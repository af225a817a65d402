"""Scans along an axis: cumulative sums, products, maxima. The source of their kernels and the plans of
launches."""

from __future__ import annotations

import struct
from typing import NamedTuple

from pycuda._kernels import axes as layout
from pycuda._kernels import elements, reduction
from pycuda._kernels.axes import Axis
from pycuda.compiler import SourceModule
from pycuda.tools import context_dependent_memoize

THREADS = 256
_ITEMS = 8
_TILE = THREADS * _ITEMS


class Shape(NamedTuple):
    """What the kernels are compiled for, besides operation and types."""

    rows: bool  # a block walks along the axis, or threads side by side do
    aligned: bool
    partial: bool  # segments: three launches
    kept: int


class Plan(NamedTuple):
    """The launches made ready."""

    shape: Shape
    grid: tuple[int, int]
    arguments: bytes
    partials: int
    between_grid: tuple[int, int]
    between: bytes


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
typedef Scan<{between}, {between}> OpBetween;
}}
using namespace pycuda;
"""
_KERNEL = """
extern "C" __global__ void __launch_bounds__(256)
{name}(const char *in, char *out, char *totals, AxisScan<{kept}> plan)
{{
    scan_{kind}<{op}, {phase}{aligned}>(in, out, reinterpret_cast<Op::Acc *>(totals), plan);
}}
"""
# (kernel, phase): without segments there is one.
_PHASES = {
    False: (("scan", "WHOLE"),),
    True: (("totals", "TOTALS"), ("between", "BETWEEN"), ("scan", "REST")),
}


def source(name: str, types: reduction.Types, shape: Shape) -> str:
    """The kernels of the scan with the combination of this reduction."""
    row = reduction.ROWS[name]
    text = _SOURCE.format(
        include=elements.include(types.element, types.number, types.result),
        number=types.number,
        neutral=reduction.constants(types.number).get(row.neutral, row.neutral),
        combine=row.combine,
        element=types.element,
        result=types.result,
        between="truth" if types.number == "bool" else types.number,
    )
    for kernel, phase in _PHASES[shape.partial]:
        op = "OpBetween" if phase == "BETWEEN" else "Op"
        aligned = f", {str(shape.aligned and phase != 'BETWEEN').lower()}" if shape.rows else ""
        text += _KERNEL.format(
            name=kernel, kind="rows" if shape.rows else "columns", op=op, phase=phase, aligned=aligned,
            kept=1 if phase == "BETWEEN" else shape.kept,
        )  # fmt: skip
    return text


@context_dependent_memoize
def kernels(name: str, types: reduction.Types, shape: Shape) -> tuple:
    """The functions, in the order of their launches."""
    module = SourceModule(source(name, types, shape), options=[], no_extern_c=True)
    functions = []
    for kernel, phase in _PHASES[shape.partial]:
        function = module.get_function(kernel)
        function.prepare(f"PPP{8 * (7 + 3 * (1 if phase == 'BETWEEN' else shape.kept))}s")
        functions.append(function)
    return tuple(functions)


def _cut(length: int, tile: int, others: int, wanted: int) -> tuple[int, int]:
    """(elements of a segment, segments) of an axis, when there are `others` beside it."""
    splits = max(1, min(layout.ceil_div(length, 4 * tile), wanted // others))
    segment = layout.ceil_div(layout.ceil_div(length, splits), tile) * tile
    return segment, layout.ceil_div(length, segment)


def plan(address: int, itemsize: int, acc_size: int, kept: list[Axis], axis: Axis) -> Plan:
    """How an array is scanned along `axis`. `other` is the stride in the result. There are elements."""
    kept = layout.merged(layout.by_stride(kept))
    rows = 1
    for each in kept:
        rows *= each.length
    inner = kept[-1]
    by_row = inner.length < 32 or abs(axis.stride) < abs(inner.stride)
    room = layout.room(len(kept))
    if by_row:
        segment, splits = _cut(axis.length, _TILE, rows, 1024)
        # A row of totals is walked by one block.
        after = struct.pack("7q", rows, splits, acc_size, acc_size, splits, 1, 0)
        step, after_grid, groups, grid = splits * acc_size, (rows, 1), 0, rows
    else:
        groups = layout.ceil_div(inner.length, THREADS)
        segment, splits = _cut(axis.length, 16, rows, 1 << 17)
        after_groups = layout.ceil_div(rows, THREADS)
        after = struct.pack("7q", rows, splits, rows * acc_size, rows * acc_size, splits, 1, after_groups)
        step, after_grid, grid = acc_size, (after_groups, 1), groups * (rows // inner.length)
    strides = (address, *(each.stride for each in kept))
    aligned = by_row and axis.stride == itemsize and not any(number % 16 for number in strides)
    aligned = aligned and segment * itemsize % 16 == 0
    arguments = struct.pack("7q", rows, axis.length, axis.stride, axis.other, segment, splits, groups)
    return Plan(
        Shape(by_row, aligned, splits > 1, room),
        (grid, splits),
        arguments + layout.packed(kept, room),
        rows * splits if splits > 1 else 0,
        after_grid,
        after + layout.packed([Axis(rows, step, step)], 1),
    )
