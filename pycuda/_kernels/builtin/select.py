"""Kernels of stream compaction (pycuda-select.hpp): those that mark elements, those that write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import Axis, axis_capacity, collapsed
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

if TYPE_CHECKING:
    from pycuda._kernels.builtin.sort import Order

THREADS = 256
TILE = THREADS * 32
# Blocks of keep_changes() that a multiprocessor has at a time. They take tiles until none are left.
CHANGES_RESIDENT = 4

_KERNEL = """{include}#include "select/pycuda-select.hpp"
#include "sort/pycuda-order.hpp"
using namespace pycuda;
{typedefs}
extern "C" __global__ void __launch_bounds__(SELECT_THREADS) choose({parameters})
{{
    {body};
}}
"""
_MARK = "unsigned *words, index_t *counts, index_t count"
_WRITE = "const unsigned *words, const index_t *ends"


def _build(parameters: str, body: str, arguments: str, include: str = "", typedefs: str = ""):
    text = _KERNEL.format(include=include, typedefs=typedefs, parameters=parameters, body=body)
    function = compiled(text).get_function("choose")
    return function._prepare_strided(arguments)


def _mark_kernel(parameters: str, test: str, arguments: str, include: str = "", typedefs: str = ""):
    body = f"mark_chosen(words, counts, count, [&](index_t i) -> bool {{ return {test}; }})"
    return _build(f"{_MARK}, {parameters}", body, f"PPq{arguments}", include, typedefs)


# ---- tests: Function(words, counts, count, ...)


@context_dependent_memoize
def mark_true(element: str, axes: int):
    """..., array, axes: the elements of a stored type that are not 0."""
    test = f"is_true(value(*(const {element} *)(in + place<{axes}>(axes, i).offset)))"
    include = elements.include(element)
    return _mark_kernel(f"const char *in, Axes<{axes}> axes", test, f"P{24 * axes}s", include)


_CHANGES = "i == 0 || !same(Keys::bits(keys[i - 1]), Keys::bits(keys[i]))"


def _equality_test(keys: Order, equal_nan: bool) -> str:
    same = "a == b || (Keys::is_nan(a) && Keys::is_nan(b))" if equal_nan else "a == b && !Keys::is_nan(a)"
    return f"""typedef {keys.c_type} Keys;
__device__ __forceinline__ bool same(const Keys::Bits &a, const Keys::Bits &b) {{ return {same}; }}"""


@context_dependent_memoize
def mark_changes(keys: Order, equal_nan: bool):
    """..., sorted keys: the first of each run of equal keys."""
    return _mark_kernel("const Keys::Raw *keys", _CHANGES, "P", typedefs=_equality_test(keys, equal_nan))


_CHANGES_KERNEL = """#include "select/pycuda-changes.hpp"
#include "sort/pycuda-order.hpp"
using namespace pycuda;
{typedefs}
extern "C" __global__ void __launch_bounds__(CHANGES_THREADS, {resident})
keep(const Keys::Raw *keys, index_t count, unsigned tiles, Keys::Raw *out, index_t *total, unsigned *counter,
     unsigned long long *counts, unsigned long long *entries, void *values, unsigned launch)
{{
    const scan_state state = {{counter, counts, entries, values, launch}};
    keep_changes<{rows}>(state, keys, count, tiles, out, total, [](const Keys::Raw &a, const Keys::Raw &b) {{
        return same(Keys::bits(a), Keys::bits(b));
    }});
}}
"""


def changes_rows(itemsize: int) -> int:
    """Elements of a thread in a tile of keep_changes(): 64 bytes in registers, or 16 elements."""
    return min(16, 64 // itemsize)


@context_dependent_memoize
def keep_changes(keys: Order, equal_nan: bool):
    """Function(sorted keys, count, tiles, out, total, the parts of a scan_state): the first of each run of
    equal keys, in one pass."""
    text = _CHANGES_KERNEL.format(
        typedefs=_equality_test(keys, equal_nan), rows=changes_rows(keys.itemsize), resident=CHANGES_RESIDENT
    )
    return compiled(text).get_function("keep")._prepare_strided("PqIPPPPPPI")


_RELATIONS = {"not after": "!(limit < key)", "before": "key < limit", "equal": "key == limit"}


@context_dependent_memoize
def mark_by_limit(keys: Order, relation: str):
    """..., keys, address of the limit: the keys that are in this relation to the limit."""
    typedefs = f"""typedef {keys.c_type} Keys;
__device__ __forceinline__ bool test(const Keys::Bits &key, const Keys::Bits &limit)
{{
    return {_RELATIONS[relation]};
}}"""
    parameters = "const Keys::Raw *keys, const Keys::Raw *at"
    body = """const Keys::Bits limit = Keys::bits(*at);
    mark_chosen(words, counts, count, [&](index_t i) -> bool { return test(Keys::bits(keys[i]), limit); })"""
    return _build(f"{_MARK}, {parameters}", body, "PPqPP", typedefs=typedefs)


# ---- what is written: Function(words, ends, ...)


@context_dependent_memoize
def write_coordinates(axes: int):
    """..., out, total, axes."""
    body = (
        "write_chosen(words, ends, [&](index_t k, index_t i) { write_coordinates(out + k, total, i, axes); })"
    )
    return _build(f"{_WRITE}, index_t *out, index_t total, Axes<{axes}> axes", body, f"PPPq{24 * axes}s")


@context_dependent_memoize
def write_offsets(axes: int):
    """..., out, axes: the sums of the coordinates by `axes.other`."""
    body = f"""write_chosen(words, ends, [&](index_t k, index_t i) {{
        out[k] = place<{axes}>(axes, i).other;
    }})"""
    return _build(f"{_WRITE}, index_t *out, Axes<{axes}> axes", body, f"PPP{24 * axes}s")


@context_dependent_memoize
def write_elements(raw: str):
    """..., elements, out, starts, places, firsts, max_count. Writes, for the first `max_count` marked
    elements: the element to `out`, its index to `starts`, and places[index] to `firsts`. `starts` and
    `places` may be null.
    """
    body = """write_chosen(words, ends, [&](index_t k, index_t i) {
        if (k >= max_count) return;
        out[k] = in[i];
        if (starts) starts[k] = i;
        if (places) firsts[k] = places[i];
    })"""
    parameters = f"const {raw} *in, {raw} *out, index_t *starts, const index_t *places, index_t *firsts"
    return _build(f"{_WRITE}, {parameters}, index_t max_count", body, "PPPPPPPq")


@context_dependent_memoize
def write_numbers():
    """..., count, places, out: out[places[i]] = the number, among the marked elements, of the last one up to
    element i."""
    body = "number_all(words, ends, count, [&](index_t i, index_t k) { out[places[i]] = k; })"
    return _build(f"{_WRITE}, index_t count, const index_t *places, index_t *out", body, "PPqPP")


# ---- layouts


def element_axes(shape, strides, others=None) -> list[Axis]:
    """Axes for mark_true and write_offsets, as many as the kernel has."""
    others = strides if others is None else others
    axes, _ = collapsed(list(zip(shape, strides, others, strict=True)))
    return [Axis(1, 0, 0)] * (axis_capacity(len(axes)) - len(axes)) + axes


def coordinate_axes(shape) -> list[Axis]:
    """Axes for write_coordinates: `other` is the number of the axis, -1 for padding."""
    capacity = axis_capacity(max(len(shape), 1))
    axes = [Axis(length, 0, number) for number, length in enumerate(shape)]
    return [Axis(1, 0, -1)] * (capacity - len(axes)) + axes
