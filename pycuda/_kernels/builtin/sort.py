"""Kernels that sort rows: short ones in registers, long ones by radix sort, and how these are divided.

Parameters tuned on a GPU (threads, items) are here; the kernels are in pycuda-radix-sort.hpp and
pycuda-row-sort.hpp.
"""

from __future__ import annotations

import functools
import struct
from typing import NamedTuple

from pycuda import _driver
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

# Threads of a block of pycuda-row-sort.hpp.
ROW_THREADS = 256
# A thread holds its cells (a key, or a key and its place) in registers: at most 16 of them and 128 bytes.
_ROW_ITEMS, _ROW_BYTES = 16, 128
# The cells of a thread for rows that are shorter than that, so that fewer of its cells are padding.
_TINY_ROW_ITEMS = 4
# The values of a byte, as in pycuda-radix-sort.hpp.
DIGITS = 256
# A block of a radix pass has this many threads; each holds so many elements, by the bytes of a key or its
# value, whichever is larger. A tile of 384 * 23 keys of 4 bytes takes 35 KB of shared memory.
PASS_THREADS = 384
_ITEMS = {1: 23, 2: 23, 4: 23, 8: 11, 16: 5}
# The same for keys without values. With 19 keys of 4 bytes a multiprocessor has room for a third block.
_ITEMS_ALONE = {4: 19, 8: 15}
# The same for rows so short that larger tiles would be half empty.
_FEW_ITEMS = {1: 7, 2: 7, 4: 7, 8: 5, 16: 3}
# The additional cost of a tile, as a number of elements: the counts of its 256 digits are published and read.
_TILE_COST = 2048
# Up to this many elements a count fits into 32 bits together with the two bits that say what it covers.
_NARROW_COUNTS = 1 << 30

# From this many keys on, each counter has up to 32 copies: the time to clear and to sum up the copies no
# longer matters, and lanes that count the same value do not wait for each other.
_MANY_KEYS = 1 << 22
# Bytes of the counters of a block, where the device allows so many.
_MAX_COUNTERS = 128 << 10

_MANTISSA = {"f2": 10, "f4": 23, "f8": 52}
_COMPLEX = {"c8": ("u64", "FloatOrder<unsigned, 23>"), "c16": ("Wide", "FloatOrder<u64, 52>")}
_RAW = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "u64", 16: "Wide"}


class Order(NamedTuple):
    """How keys of a dtype are compared: a type of pycuda-order.hpp."""

    c_type: str
    raw: str  # the type by which keys are moved
    itemsize: int
    passes: int  # of a radix sort: one for each byte


@functools.cache
def order(dtype, descending: bool = False) -> Order:
    """The order of a dtype's numbers. TypeError for dtypes that have none."""
    elements.stored(dtype)
    raw = _RAW[dtype.itemsize]
    code = f"{dtype.kind}{dtype.itemsize}"
    if dtype.name == "bfloat16":
        c_type = f"FloatOrder<{raw}, 7>"
    elif code in _COMPLEX:
        c_type = "ComplexOrder<{}, {}>".format(*_COMPLEX[code])
    elif code in _MANTISSA:
        c_type = f"FloatOrder<{raw}, {_MANTISSA[code]}>"
    elif dtype.kind == "b":
        c_type = "BoolOrder"
    else:
        c_type = f"{'Signed' if dtype.kind == 'i' else 'Unsigned'}Order<{raw}>"
    if descending:
        c_type = f"Reversed<{c_type}>"
    return Order(c_type, raw, dtype.itemsize, dtype.itemsize)


def prepared_function(text: str, name: str, arguments: str):
    """The kernel of this name in a source, compiled and prepared. arguments: codes of their types."""
    function = compiled(text).get_function(name)
    return function._prepare_strided(arguments)


# ---- short rows

_ROWS = """#include "sort/pycuda-row-sort.hpp"
using namespace pycuda;
typedef {order} Keys;
extern "C" __global__ void __launch_bounds__(ROW_THREADS)
sort_rows(const Keys::Raw *in, Keys::Raw *out, long long *places, RowPlan plan)
{{
    sort_rows<Keys, {cells}<Keys>, {items}>(in, out, places, plan);
}}
"""


class RowShape(NamedTuple):
    """How short rows are sorted."""

    cells: str  # the class of pycuda-row-sort.hpp
    items: int  # cells of a thread, at most

    @property
    def slots(self) -> int:
        """The longest row."""
        return ROW_THREADS * self.items


def row_shape(keys: Order, alone: bool) -> RowShape:
    """How rows in this order are sorted. alone: keys are sorted without places, and zeros of both signs need
    not keep their order."""
    alone = alone and "Complex" not in keys.c_type and "Bool" not in keys.c_type
    cell = max(keys.itemsize, 4) * (1 if alone else 2)
    return RowShape("KeysAlone" if alone else "KeysWithPlaces", min(_ROW_ITEMS, _ROW_BYTES // cell))


@context_dependent_memoize
def _row_kernels(keys: Order, cells: str, items: int):
    text = _ROWS.format(order=keys.c_type, cells=cells, items=items)
    return prepared_function(text, "sort_rows", "PPP16s")


def sort_rows(keys: Order, shape: RowShape, source, out, places, rows: int, length: int, stream) -> None:
    """Queue the kernel for rows of at most shape.slots elements. out, places: 0 where it is not wanted."""
    bits = max(length - 1, 1).bit_length()
    items = shape.items if 1 << bits >= shape.items else _TINY_ROW_ITEMS
    bits = max(bits, items.bit_length() - 1)
    grid = ceil_div(rows, (ROW_THREADS * items) >> bits), 1
    _row_kernels(keys, shape.cells, items).prepared_async_call(
        grid, (ROW_THREADS, 1, 1), stream, source, out, places, struct.pack("qII", rows, length, bits)
    )


# ---- long rows

_COUNTS = "unsigned", "u64"
_COUNT = """#include "sort/pycuda-radix-sort.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__({threads})
count(const {order}::Raw *keys, {count} *counts, index_t length, index_t splits, index_t chunk, int passes)
{{
    count_all_digits<{order}, {count}, {passes}, {vector}, {threads}, {copies}>(keys, counts, length, splits,
                                                                                chunk, passes);
}}
extern "C" __global__ void __launch_bounds__(DIGITS) starts({count} *counts) {{ starts_of_digits(counts); }}
"""
_PASS = """#include "sort/pycuda-radix-sort.hpp"
using namespace pycuda;
typedef {order} Keys;
extern "C" __global__ void __launch_bounds__({threads}, {resident})
pass(const Keys::Raw *keys, Keys::Raw *keys_out, const {value} *values, {out} *values_out,
     const {count} *starts, {count} *states, unsigned *counter, RadixPlan plan)
{{
    radix_pass<Keys, {value}, {out}, {count}, {threads}, {items}, {read}, {write}>(
        keys, keys_out, values, values_out, starts, states, counter, plan);
}}
"""


class PassOrders(NamedTuple):
    """How the keys of a long row are compared: as they are given, and while passes move them."""

    given: Order
    moved: Order
    first: str  # how the first pass converts the keys that it reads
    last: str  # how the last pass converts the keys that it writes


def pass_orders(keys: Order, alone: bool) -> PassOrders:
    """How passes compare keys in this order. alone: as in row_shape; floats are then converted to integers by
    the first pass and back by the last, instead of in each pass."""
    if not (alone and keys.c_type.startswith("FloatOrder")):
        return PassOrders(keys, keys, "AsTheyAre", "AsTheyAre")
    return PassOrders(
        keys._replace(c_type=f"TotalOrder<{keys.c_type}>"),
        keys._replace(c_type=f"UnsignedOrder<{keys.raw}>"),
        f"ToTotal<{keys.c_type}>",
        f"FromTotal<{keys.c_type}>",
    )


class CountShape(NamedTuple):
    """How keys are counted: `splits` blocks for each row, each of which counts `chunk` of them."""

    threads: int
    copies: int  # of each counter
    splits: int
    chunk: int

    def shared(self, passes: int) -> int:
        """Bytes of shared memory."""
        return 4 * DIGITS * passes * self.copies


def count_shape(rows: int, length: int, passes: int, max_shared: int) -> CountShape:
    """The launch of the counting kernel for this many rows and this much shared memory of a block."""
    threads, copies, chunk, blocks = 256, max(16 // max(passes, 4), 1), 1 << 14, 1 << 11
    if rows * length >= _MANY_KEYS:
        threads, copies, chunk, blocks = 1024, 32, 1 << 16, 1 << 9
        while 4 * DIGITS * passes * copies > min(max_shared, _MAX_COUNTERS):
            copies //= 2
    of_block = ceil_div(ceil_div(length, max(blocks // rows, 1)), chunk) * chunk
    return CountShape(threads, copies, ceil_div(length, of_block), of_block)


@context_dependent_memoize
def counting(keys: Order, vector: int, wide: bool, threads: int, copies: int):
    """(count, starts): Function(keys, counts, length, splits, chunk, passes), Function(counts)."""
    text = _COUNT.format(
        order=keys.c_type,
        count=_COUNTS[wide],
        passes=keys.passes,
        vector=vector,
        threads=threads,
        copies=copies,
    )
    module = compiled(text)
    count, starts = module.get_function("count"), module.get_function("starts")
    shared = 4 * DIGITS * keys.passes * copies
    count.set_attribute(_driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
    return count.prepare("PPqqqi"), starts.prepare("P")


@context_dependent_memoize
def radix_pass(
    keys: Order, value: str, out: str, wide: bool, items: int, resident: int, read: str, write: str
):
    """Function(keys, keys_out, values, values_out, starts, states, counter, plan)."""
    text = _PASS.format(
        order=keys.c_type,
        value=value,
        out=out,
        count=_COUNTS[wide],
        threads=PASS_THREADS,
        items=items,
        resident=resident,
        read=read,
        write=write,
    )
    return prepared_function(text, "pass", "PPPPPPP24s")


def raw_value(dtype) -> str:
    """The C type by which a value is carried along."""
    return _RAW.get(dtype.itemsize, "")


class PassShape(NamedTuple):
    """How passes cut rows."""

    items: int
    tiles: int  # of a row
    resident: int  # blocks of a multiprocessor, at least
    wide: bool  # whether counts need 64 bits


def pass_shape(count: int, length: int, itemsize: int, alone: bool) -> PassShape:
    """The launch of one pass over `count` rows. `itemsize`: the larger one of a key and a value."""
    has_room_for_third = alone and itemsize == 4  # of a multiprocessor, for a third block
    many = _ITEMS_ALONE.get(itemsize) if alone else None
    choices = _FEW_ITEMS[itemsize], many or _ITEMS[itemsize]
    sizes = [(ceil_div(length, PASS_THREADS * items), -items) for items in choices]
    # The choice for which all tiles together cost less: small tiles for short rows.
    tiles, items = min(sizes, key=lambda size: size[0] * (PASS_THREADS * -size[1] + _TILE_COST))
    return PassShape(-items, tiles, 3 if has_room_for_third else 2, count * length >= _NARROW_COUNTS)


def pass_plan(length: int, tiles: int, number: int, passes: int) -> bytes:
    """struct RadixPlan."""
    return struct.pack("qIii4x", length, tiles, number, passes)
