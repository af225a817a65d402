"""Kernels that move elements by index."""

from __future__ import annotations

import struct
from typing import NamedTuple

from pycuda._kernels.plans.axes import ceil_div, packed_axes
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 256
# Elements of a thread: it loads all of them before it stores the first.
ITEMS_PER_THREAD = 4
_SIZES = {"threads": THREADS, "items": ITEMS_PER_THREAD}
# How many rows a thread gathers from together, if all have the same indices.
_ROWS = 4
STAGED_THREADS = 512
_STAGES = tuple(kibibytes << 10 for kibibytes in (8, 16, 32, 48))
_MANY_ROWS = 256  # with a block for each, about two blocks for each multiprocessor of an H100
MAX_WORD = 16
WORDS = {2: "unsigned short", 4: "unsigned", 8: "unsigned long long", MAX_WORD: "uint4"}
_MAX_GRID, _MAX_GRID_Y = (1 << 31) - 1, 65535

_PICK = """#include "array/pycuda-gather.hpp"
extern "C" __global__ void __launch_bounds__({threads})
pick(char *array, const char *indices, int *error, char *other, pycuda::Picking<{axes}> plan)
{{
    using namespace pycuda;
    pycuda::pick<{element}, {index}, {mode}, {put}, {axes}, {items}>(array, indices, error, other, plan);
}}
"""
_MOVE_ROWS = """#include "array/pycuda-gather.hpp"
extern "C" __global__ void __launch_bounds__({threads})
move_rows(char *array, const char *indices, int *error, char *other, pycuda::RowMove plan)
{{
    using namespace pycuda;
    pycuda::move_rows<{index}, {mode}, {put}>(array, indices, error, other, plan);
}}
"""
_CHECK = """#include "array/pycuda-gather.hpp"
extern "C" __global__ void __launch_bounds__({threads})
check(const char *indices, int *error, int *refused, pycuda::Picking<{axes}> plan)
{{
    pycuda::check<{index}, {axes}, {items}>(indices, error, refused, plan);
}}
"""
_GATHER = """#include "array/pycuda-gather.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__({threads})
gather(const char *array, const char *indices, int *error, {element} *out, index_t count, index_t length,
       index_t step, Rows rows)
{{
    pycuda::gather<{element}, {index}, {mode}, {items}, {rows}>(array, indices, error, out, count, length,
                                                                    step, rows);
}}
"""
_STAGED = """#include "array/pycuda-gather.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__(STAGED_THREADS)
gather(const char *array, const char *indices, int *error, {element} *out, index_t count, index_t length,
       Rows rows)
{{
    gather_staged<{element}, {index}, {mode}, {nbytes}>(array, indices, error, out, count, length, rows);
}}
"""
_OFFSETS = """#include "array/pycuda-gather.hpp"
extern "C" __global__ void __launch_bounds__({threads})
offsets(pycuda::index_t *offsets, const char *indices, int *error, pycuda::Picking<{axes}> plan)
{{
    using namespace pycuda;
    add_offsets<{index}, {mode}, {add}>(offsets, indices, error, plan);
}}
"""


def _walk_size(axes: int) -> int:
    """sizeof(Picking<axes>)."""
    return 8 * (3 + 4 * axes)


def _c_bool(value: bool) -> str:
    return str(value).lower()


@context_dependent_memoize
def pick(element: str, index: str, mode: str, put: bool, axes: int):
    """Function(array, indices, error, other, plan): other = array[indices] or, if put,
    array[indices] = other. element, index: types of C++; mode: RAISE, WRAP, CLIP, or OFFSET (in bytes).
    """
    text = _PICK.format(element=element, index=index, mode=mode, put=_c_bool(put), axes=axes, **_SIZES)
    function = compiled(text).get_function("pick")
    function._prepare_strided(f"PPPP{_walk_size(axes)}s")
    return function


@context_dependent_memoize
def _move_rows(index: str, mode: str, put: bool):
    text = _MOVE_ROWS.format(threads=THREADS, index=index, mode=mode, put=_c_bool(put))
    return compiled(text).get_function("move_rows")._prepare_strided("PPPP40s")


def are_long_rows(axes: list[tuple[int, ...]]) -> bool:
    """Whether move_rows() can move elements along these axes, which indexed_copy() of pycuda._array has
    found, in words: there is an index for each row, and rows have words for at least half the threads of a
    block."""
    if len(axes) != 2:
        return False
    (rows, in_array, *_), (words, *steps) = axes
    has_words = steps == [MAX_WORD, 0, MAX_WORD] and words >= THREADS // 2
    return in_array == 0 and rows <= _MAX_GRID and has_words


def move_rows(index: str, mode: str, put: bool, length: int, step: int, axes: list[tuple[int, ...]]):
    """(Function(array, indices, error, other, plan), grid, struct RowMove) for axes that are long rows. step:
    bytes from row to row of the array."""
    (rows, _, in_indices, in_other), (words, *_) = axes
    blocks = min(ceil_div(words, THREADS), _MAX_GRID_Y)
    plan = struct.pack("5q", words, length, step, in_indices, in_other)
    return _move_rows(index, mode, put), (rows, blocks), plan


@context_dependent_memoize
def check(index: str, axes: int):
    """Function(indices, error, refused, plan): reports indices that are out of bounds."""
    text = _CHECK.format(index=index, axes=axes, **_SIZES)
    return compiled(text).get_function("check")._prepare_strided(f"PPP{_walk_size(axes)}s")


@context_dependent_memoize
def _gather(element: str, index: str, mode: str, items: int, rows: int):
    text = _GATHER.format(threads=THREADS, element=element, index=index, mode=mode, items=items, rows=rows)
    return compiled(text).get_function("gather")._prepare_strided("PPPPqqq24s")


@context_dependent_memoize
def _staged_kernel(element: str, index: str, mode: str, nbytes: int):
    text = _STAGED.format(element=element, index=index, mode=mode, nbytes=nbytes)
    return compiled(text).get_function("gather")._prepare_strided("PPPPqq24s")


def gathers(axes: list[tuple[int, ...]], index_size: int, itemsize: int) -> bool:
    """Whether gather() can move elements along these axes, which indexed_copy() of pycuda._array has found:
    results and indices are contiguous along rows, and there is one row, or each is long enough for a
    block."""
    *outer, (length, *steps) = axes
    if steps != [0, index_size, itemsize] or len(outer) > 1:
        return False
    return not outer or (length >= 2 * THREADS and outer[0][3] == length * itemsize)


class Source(NamedTuple):
    """An axis that is gathered from: its mode, length and stride, and the size of its elements."""

    mode: str
    length: int
    step: int
    itemsize: int


def _staging_bytes(source: Source, rows: int, count: int) -> int:
    """Bytes of shared memory into which a block loads its row before it gathers from it. 0 to gather from
    global memory: if rows are too long or too few, or if fewer than a quarter as many elements are taken as a
    row has."""
    nbytes = source.length * source.itemsize
    pays = rows >= _MANY_ROWS and 4 * count >= source.length
    if source.mode == "OFFSET" or source.step != source.itemsize or not pays:
        return 0
    return next((size for size in _STAGES if size >= nbytes), 0)


def gather(element: str, index: str, source: Source, axes: list[tuple[int, ...]]):
    """(Function(array, indices, error, out, ...), grid, block, the arguments after `out`)."""
    (rows, in_array, in_indices, _), (count, *_) = [(1, 0, 0, 0), *axes][-2:]
    packed_rows = struct.pack("3q", rows, in_array, in_indices)
    stage = _staging_bytes(source, rows, count)
    if stage:
        function = _staged_kernel(element, index, source.mode, stage)
        return function, (rows, 1), (STAGED_THREADS, 1, 1), (count, source.length, packed_rows)
    at_once = _ROWS if rows > 1 and in_indices == 0 else 1
    items = ITEMS_PER_THREAD if source.itemsize <= 8 else 1
    blocks = ceil_div(count, THREADS * items) * ceil_div(rows, at_once)
    function = _gather(element, index, source.mode, items, at_once)
    return function, (blocks, 1), (THREADS, 1, 1), (count, source.length, source.step, packed_rows)


@context_dependent_memoize
def offsets(index: str, mode: str, add: bool, axes: int):
    """Function(offsets, indices, error, plan), which turns indices into offsets in bytes."""
    text = _OFFSETS.format(threads=THREADS, index=index, mode=mode, add=_c_bool(add), axes=axes)
    function = compiled(text).get_function("offsets")
    function._prepare_strided(f"PPP{_walk_size(axes)}s")
    return function


def picking(count: int, length: int, step: int, axes: list[tuple[int, ...]], capacity: int) -> bytes:
    """struct Picking<capacity>."""
    return struct.pack("3q", count, length, step) + packed_axes(axes, capacity)


def gather_grid(count: int) -> tuple[int, int]:
    """The grid of pick and check. The driver refuses a grid that is too large."""
    return ceil_div(count, THREADS * ITEMS_PER_THREAD), 1


def offsets_grid(count: int) -> tuple[int, int]:
    """The grid of offsets, whose threads take as many elements as needed."""
    return min(ceil_div(count, THREADS), _MAX_GRID), 1
