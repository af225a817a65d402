"""Kernels that find values in a sorted table (pycuda-search.hpp), and how their work is divided."""

from __future__ import annotations

import struct

from pycuda import _driver
from pycuda._kernels.builtin.sort import Order, prepared_function
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize

# As in pycuda-search.hpp: threads of a block, values that a thread searches at a time, how many of these are
# neighbors.
THREADS, SEARCHED, NEIGHBORS = 512, 4, 2
# Bytes of the tree of keys of a block. What the blocks of a multiprocessor leave is cache for the table.
_MAX_SHARED = 32 << 10

_SOURCE = """#include "sort/pycuda-search.hpp"
using namespace pycuda;
typedef {order} Keys;
extern "C" __global__ void __launch_bounds__(512, {resident})
search(const Keys::Raw *keys, const index_t *sorter, index_t length, const Keys::Raw *values, {out} *out,
       SearchPlan plan, int invert)
{{
    search_values<Keys, {right}, {aligned}>(
        SearchTable<Keys>{{keys, sorter, length}}, values, out, plan,
        [=](const Keys::Bits &value, index_t place, bool found) {{ return {result}; }});
}}
"""
_PLACE, _FOUND = "place", "(found && !Keys::is_nan(value)) != (invert != 0)"


def _resident_blocks(keys: Order) -> int:
    """How many blocks a multiprocessor runs at a time: as many as its registers allow."""
    return 3 if keys.itemsize <= 4 else 2


@context_dependent_memoize
def _kernel(keys: Order, right: bool, aligned: bool, out: str, result: str):
    """Function(table, sorter, length, values, out, plan, invert)."""
    text = _SOURCE.format(
        order=keys.c_type,
        right=str(right).lower(),
        aligned=str(aligned).lower(),
        out=out,
        result=result,
        resident=_resident_blocks(keys),
    )
    return prepared_function(text, "search", "PPqPP16si")


def _launch(function, keys: Order, table, sorter, values, out, invert: bool, stream) -> None:
    """Queue a search. The upper levels of the table's binary search are read from shared memory."""
    length, count = table.size, values.size
    resident = _resident_blocks(keys) * _driver.Context.get_device().multiprocessor_count
    blocks = min(ceil_div(count, THREADS * SEARCHED), resident)
    whole = length.bit_length()
    # The tree of a block has at most about as many nodes as the block finds values: filling more of it would
    # take longer than searching the table.
    levels = min(whole, (_MAX_SHARED // keys.itemsize).bit_length() - 1, ceil_div(count, blocks).bit_length())
    function.prepared_async_call(
        (blocks, 1), (THREADS, 1, 1), stream, table, sorter, length, values, out,
        struct.pack("qii", count, levels, whole - levels), int(invert), shared_size=keys.itemsize << levels,
    )  # fmt: skip


def _is_aligned(values) -> bool:
    return values._address % min(16, NEIGHBORS * values.itemsize) == 0


def find_places(keys: Order, right: bool, table, sorter, values, out, stream) -> None:
    """out[i] = how many keys of the table are before values[i], or equal to it where `right`."""
    function = _kernel(keys, right, _is_aligned(values), "index_t", _PLACE)
    _launch(function, keys, table, 0 if sorter is None else sorter, values, out, invert=False, stream=stream)


def look_up(keys: Order, table, values, out, invert: bool, stream) -> None:
    """out[i] = whether values[i] is in the table; with `invert` whether it is not."""
    function = _kernel(keys, False, _is_aligned(values), "bool", _FOUND)
    _launch(function, keys, table, 0, values, out, invert, stream)
