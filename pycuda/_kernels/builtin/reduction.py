"""Reductions: a row for each, the source of their kernels, and how their work is cut into blocks.

The cut depends only on the shape, the item size and the order of axes in memory, so that results have the
same bits on every device. Sums of floats are trees: of the elements of a thread, of the threads
of a block, of blocks; only steps of one thread (at most 64 here) are added one after another. The relative
error of a sum of n elements of one sign is below about (40 + n / 2**27) units in the last place of the
accumulator.
"""

from __future__ import annotations

import struct
from collections import namedtuple  # made in a third of a NamedTuple's time: a first reduction waits for it

import numpy as np

from pycuda._driver import _WIDEST_ACCESS
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import (
    Axis,
    are_aligned,
    axis_capacity,
    ceil_div,
    collapsed,
    elements_per_access,
    packed_axes,
    power_at_least,
    power_at_most,
)
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 256
_ITEMS = 16  # elements that a thread loads before it combines them
_TILE = THREADS * _ITEMS
_MAX_WARP_COUNT = 1024  # elements of a result that the lanes of one warp combine at most
# Results are split only as long as there are at most so many blocks, of rows and of columns.
_MAX_ROW_BLOCKS, _MAX_COLUMN_BLOCKS = 4096, 2048


# One reduction: types and expressions of C++. In expressions A is the accumulator's number type, R that of
# its real part, E the type of elements.
Reduction = namedtuple(
    "Reduction",
    [
        "acc",  # the type of partial results
        "map",  # of an element: `x` (as A), `e` (as E), its number `other`, and `local`
        "neutral",  # combining it with x gives x
        "combine",  # of `a` and `b`
        "finish",  # the result, of `a`, the number of elements `count`, and a `parameter`
        "local",  # what `local` is for each result: a key of _LOCALS
    ],
    defaults=("a", ""),
)
_LOCALS = {  # type, value
    "": ("Nothing", "Nothing()"),
    "origin": ("A", "origin<Op>(first, count, reduced)"),
    "parameter": ("R", "R(parameter)"),
}
_BEST = "Best<E>::type"  # an element and its number
_MOMENTS = "Moments<A, R>"  # mean, squared distances from it, count
_NUMBER = "Acc::of(x - local, !is_nan(x))"
_VAR, _NANVAR = "variance(a.squares, (double)count, parameter)", "variance_of_counted(a, parameter)"
ROWS = {
    "sum": Reduction("A", "x", "zero<A>()", "A(a + b)", "count ? a : A(0)"),
    "prod": Reduction("A", "x", "A(1)", "A(times(a, b))"),
    "max": Reduction("A", "x", "LOWEST", "maximum(a, b)"),
    "min": Reduction("A", "x", "HIGHEST", "minimum(a, b)"),
    "nanmax": Reduction("A", "x", "NONE_OR_LOWEST", "maximum_number(a, b)"),
    "nanmin": Reduction("A", "x", "NONE_OR_HIGHEST", "minimum_number(a, b)"),
    "any": Reduction("bool", "is_true(e)", "false", "a || b"),
    "all": Reduction("bool", "is_true(e)", "true", "a && b"),
    "count_nonzero": Reduction("long long", "is_true(e)", "0", "a + b"),
    "argmax": Reduction(_BEST, "Best<E>::of<true>(e, other)", "Best<E>::none()", "best<true>(a, b)",
                        "a.number"),
    "argmin": Reduction(_BEST, "Best<E>::of<false>(e, other)", "Best<E>::none()", "best<false>(a, b)",
                        "a.number"),
    "mean": Reduction("A", "x", "zero<A>()", "A(a + b)", "mean(a, count)"),
    "var": Reduction(_MOMENTS, "Acc::of(x - local)", "Acc::none()", "merged(a, b)", _VAR, "origin"),
    "std": Reduction(_MOMENTS, "Acc::of(x - local)", "Acc::none()", "merged(a, b)", f"::sqrt({_VAR})",
                     "origin"),
    "nanvar": Reduction(_MOMENTS, _NUMBER, "Acc::none()", "merged(a, b)", _NANVAR, "origin"),
    "nanstd": Reduction(_MOMENTS, _NUMBER, "Acc::none()", "merged(a, b)", f"::sqrt({_NANVAR})", "origin"),
    "norm_0": Reduction("long long", "is_true(x)", "0", "a + b", "R(a)"),
    "norm_1": Reduction("R", "magnitude(x)", "R(0)", "a + b"),
    "norm_2": Reduction("R", "square(x)", "R(0)", "a + b", "::sqrt(a)"),
    "norm_p": Reduction("R", "::pow(magnitude(x), local)", "R(0)", "a + b", "::pow(a, R(1 / parameter))",
                        "parameter"),
    "norm_inf": Reduction("R", "magnitude(x)", "R(0)", "maximum(a, b)"),
    "norm_-inf": Reduction("R", "magnitude(x)", "HIGHEST_REAL", "minimum(a, b)"),
    # With a second array, whose element is `s`.
    "dot": Reduction("A", "A(x * To<A>::from(value(s)))", "zero<A>()", "A(a + b)", "count ? a : A(0)"),
}  # fmt: skip


# Bytes of a computed type.
SIZES = {elements.computed(np.dtype(code)): np.dtype(code).itemsize for code in "?bhiqBHIQfdFD"}


# The C types of a kernel: stored elements of the arrays, of which there may be no second one (None), the
# accumulator's number, the stored result.
Types = namedtuple("Types", ["element", "second", "number", "result"])

# What a kernel is compiled for, besides operation and types.
ReductionVariant = namedtuple(
    "ReductionVariant",
    [
        "rows",  # whether a reduced axis is the innermost in memory, or a kept one is
        "vector",  # consecutive elements that a thread has
        "aligned",  # whether these are loaded by one access
        "partial",  # whether several blocks share a result, so that a second kernel combines partial results
        "kept",  # the number of kept axes
        "reduced",  # the number of reduced axes
    ],
)

# A launch, or two, made ready.
ReductionPlan = namedtuple(
    "ReductionPlan",
    [
        "variant",
        "grid",
        "arguments",  # bytes
        "partials",  # accumulators between the two launches
        "second_grid",
        "second_arguments",
    ],
)


# ---- source

_SOURCE = """{include}#include "reduce/pycuda-reduce-ops.hpp"
#include "reduce/pycuda-axis-reduce.hpp"
namespace pycuda {{
struct Op {{
    typedef {element} Element;
    typedef {second} Second;
    typedef {computed} E;
    typedef {number} A;
    typedef {real} R;
    typedef {acc} Acc;
    typedef {local} Local;
    static const bool second = {has_second};
    static __device__ __forceinline__ Acc neutral() {{ return {neutral}; }}
    template <int RD>
    static __device__ __forceinline__ Local local(const char *first, index_t count, const Axes<RD> &reduced,
                                                  double parameter) {{ return {find_local}; }}
    static __device__ __forceinline__ Acc map(const Element &stored, const Second &s, index_t other,
                                              const Local &local)
    {{
        E e = value(stored);
        A x = To<A>::from(e);
        return {map};
    }}
    static __device__ __forceinline__ Acc combine(const Acc &a, const Acc &b) {{ return {combine}; }}
    static __device__ __forceinline__ void finish(char *result, const Acc &a, index_t count, double parameter)
    {{
        put(*reinterpret_cast<{result} *>(result), {finish});
    }}
}};
}}
extern "C" __global__ void __launch_bounds__(pycuda::THREADS)
reduce(const char *in{parameters}, char *out, pycuda::Reduction<{kept}, {reduced}> plan)
{{
    pycuda::{kernel}<pycuda::Op, {vector}, {aligned}, {items}, {partial}>(in, {operand}, out, plan);
}}
"""
_SECOND = """
extern "C" __global__ void __launch_bounds__(pycuda::THREADS)
combine(const char *partial, char *out, pycuda::Combination<{kept}> plan)
{{
    pycuda::combine_partials<pycuda::Op>(partial, out, plan);
}}
"""


def constants(number: str) -> dict[str, str]:
    """The expressions for which the names in Reduction.neutral stand, for this type of numbers."""
    lowest, highest = elements.infinity(number, "-"), elements.infinity(number, "")
    nan = elements.nan(number) if elements.is_float(number) else None
    return {
        "LOWEST": lowest,
        "HIGHEST": highest,
        "HIGHEST_REAL": elements.infinity(elements.real(number), ""),
        "NONE_OR_LOWEST": nan or lowest,
        "NONE_OR_HIGHEST": nan or highest,
    }


def reduction_source(name: str, types: Types, variant: ReductionVariant) -> str:
    """The kernels of a reduction."""
    row = ROWS[name]
    computed = elements.computed_from(types.element)
    local, find_local = _LOCALS[row.local]
    items = _ITEMS if variant.rows else max(4, 8 // variant.vector)
    values = dict(
        include=elements.include(types.element, types.number, types.result, types.second or ""),
        element=types.element,
        second=types.second or "unsigned char",
        has_second="true" if types.second else "false",
        computed=computed,
        number=types.number,
        real=elements.real(types.number),
        acc=row.acc,
        neutral=constants(types.number).get(row.neutral, row.neutral),
        map=row.map,
        combine=row.combine,
        finish=row.finish,
        result=types.result,
        local=local,
        find_local=find_local,
        parameters=", const char *second" if types.second else "",
        operand="second" if types.second else "0",
        kernel="reduce_rows" if variant.rows else "reduce_columns",
        vector=variant.vector,
        aligned=str(variant.aligned).lower(),
        items=items,
        partial=str(variant.partial).lower(),
        kept=variant.kept,
        reduced=variant.reduced,
    )
    return (_SOURCE + (_SECOND if variant.partial else "")).format(**values)


def acc_size(name: str, types: Types) -> int:
    """sizeof(Acc), the type of partial results."""
    sizes = {"A": SIZES[types.number], "bool": 1, "long long": 8}
    sizes["R"] = SIZES[elements.real(types.number)]
    sizes[_MOMENTS] = sizes["A"] + 2 * sizes["R"]
    element = SIZES[elements.computed_from(types.element)]
    sizes[_BEST] = ceil_div(element, 8) * 8 + 8
    return sizes[ROWS[name].acc]


@context_dependent_memoize
def reduction_kernels(name: str, types: Types, variant: ReductionVariant) -> tuple:
    """The two functions of a reduction in the current context, prepared: the first one takes the arrays, the
    result and a plan. The second one is None unless several blocks share a result.
    """
    module = compiled(reduction_source(name, types, variant))
    first = module.get_function("reduce")
    size = 8 * (8 + 3 * variant.kept + 3 * variant.reduced)
    first._prepare_strided(f"{'PPP' if types.second else 'PP'}{size}s")
    if not variant.partial:
        return first, None
    second = module.get_function("combine")
    second._prepare_strided(f"PP{8 * (7 + 3 * variant.kept)}s")
    return first, second


# ---- plans


def _is_aligned(address: int, axes: list[Axis], vector: int, itemsize: int) -> bool:
    """Whether `vector` elements along the last axis can be loaded by one access, at each index along the
    others."""
    unit = min(vector * itemsize, _WIDEST_ACCESS)
    *outer, last = axes
    return (
        unit > 8 * (vector == 1)
        and last.stride == itemsize
        and are_aligned([axis[:2] for axis in outer], (address,), unit)
    )


def _cut_rows(results: int, count: int, itemsize: int) -> tuple[int, int, int]:
    """(threads of a result: a power of two up to 32, or THREADS; elements of a result in a block; blocks of a
    result)."""
    if count <= _MAX_WARP_COUNT:
        # A thread has at least two full loads; a warp may then serve several results.
        return min(32, power_at_most(count * itemsize // 32)), max(count, 1), 1
    splits = max(1, min(ceil_div(count, 2 * _TILE), _MAX_ROW_BLOCKS // results))
    tile = ceil_div(ceil_div(count, splits), _TILE) * _TILE
    return THREADS, tile, ceil_div(count, tile)


def _cut_columns(inner: int, outer: int, count: int, vector: int) -> tuple[int, int, int]:
    """(threads side by side, elements of a result in a block, blocks of a result). inner, outer: the lengths
    of the innermost kept axis and of all others; vector: columns of a thread."""
    width = power_at_least(ceil_div(inner, vector))
    threads = min(THREADS, width, max(32, THREADS // power_at_most(count // 8)))
    rows = THREADS // threads
    blocks = ceil_div(inner, threads * vector) * outer
    splits = max(1, min(ceil_div(count, rows * 32), _MAX_COLUMN_BLOCKS // blocks))
    tile = max(1, ceil_div(ceil_div(count, splits), rows * 8)) * rows * 8
    return threads, tile, max(1, ceil_div(count, tile))


def _product(axes: list[Axis]) -> int:
    """The number of indices along all of these axes."""
    total = 1
    for axis in axes:
        total *= axis.length
    return total


def plan_reduction(
    address: int, itemsize: int, kept, reduced, parameter: float = 0.0, second=None
) -> ReductionPlan:
    """How an array is reduced. kept and reduced are its axes, in their order. Axis.other is, for kept axes,
    the stride in the result. For reduced axes it is the step of the element's number, 0 if numbers are not
    needed, or the stride in a second array, which has no kept axes. second: (address, itemsize) of that
    array.
    """
    reverse = not any(axis.other for axis in reduced)
    kept, _ = collapsed(kept, sort=True)
    reduced, offset = collapsed(reduced, sort=True, reverse=reverse)
    results, count = _product(kept), _product(reduced)
    far = float("inf")
    kept_step = abs(kept[-1].stride) or far if results > 1 else far
    rows = (abs(reduced[-1].stride) or far if count > 1 else far) < kept_step or results == 1
    if rows:
        return _plan_rows(address + offset, offset, itemsize, kept, reduced, parameter, second)
    return _plan_columns(address + offset, offset, itemsize, kept, reduced, parameter)


def _header(start, results, count, tile, splits, groups, threads, parameter) -> bytes:
    """The members of struct Reduction before its axes (pycuda-axis-reduce.hpp)."""
    return struct.pack(
        "7qd", start, results, count, tile, splits, groups, threads.bit_length() - 1, parameter
    )


def _plan_rows(address, offset, itemsize, kept, reduced, parameter, second) -> ReductionPlan:
    """The plan for reduced axes that are the innermost in memory: the threads of a result read along them."""
    results, count = _product(kept), _product(reduced)
    vector = elements_per_access(itemsize)
    threads, tile, splits = _cut_rows(results, count, itemsize)
    aligned = _is_aligned(address, [*kept, *reduced], vector, itemsize) and (
        len(reduced) == 1 or reduced[-1].length % vector == 0
    )
    if second:
        swapped = [Axis(axis.length, axis.other, axis.stride) for axis in reduced]
        aligned = aligned and _is_aligned(second[0], swapped, vector, second[1])
    capacities = axis_capacity(len(kept)), axis_capacity(len(reduced))
    variant = ReductionVariant(True, vector, aligned, splits > 1, *capacities)
    axes = packed_axes(kept, capacities[0])
    arguments = (
        _header(offset, results, count, tile, splits, 0, threads, parameter)
        + axes
        + packed_axes(reduced, capacities[1])
    )
    grid = ceil_div(results, THREADS // threads), splits
    # Partial results lie result by result; one block combines those of one result.
    after = struct.pack("6qd", results, count, splits, splits, 1, 0, parameter) + axes
    return ReductionPlan(variant, grid, arguments, results * splits if splits > 1 else 0, (results, 1), after)


def _plan_columns(address, offset, itemsize, kept, reduced, parameter) -> ReductionPlan:
    """The plan for reduced axes that are not the innermost: threads side by side have results side by
    side."""
    results, count = _product(kept), _product(reduced)
    inner = kept[-1].length
    vector = min(4, elements_per_access(itemsize), power_at_most(inner))
    threads, tile, splits = _cut_columns(inner, results // inner, count, vector)
    aligned = _is_aligned(address, [*reduced, *kept], vector, itemsize)
    groups = ceil_div(inner, threads * vector)
    capacities = axis_capacity(len(kept)), axis_capacity(len(reduced))
    variant = ReductionVariant(False, vector, aligned, splits > 1, *capacities)
    axes = packed_axes(kept, capacities[0])
    arguments = (
        _header(offset, results, count, tile, splits, groups, threads, parameter)
        + axes
        + packed_axes(reduced, capacities[1])
    )
    grid = groups * (results // inner), splits
    # Partial results lie split by split.
    side = min(32, power_at_least(results))
    after = struct.pack("6qd", results, count, splits, 1, results, side.bit_length() - 1, parameter) + axes
    return ReductionPlan(
        variant, grid, arguments, results * splits if splits > 1 else 0,
        (ceil_div(results, side), 1), after,
    )  # fmt: skip
