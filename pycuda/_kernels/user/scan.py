"""The source of scan kernels; what a scan does is in pycuda-scan.hpp."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pycuda._kernels.user import parsing
from pycuda._kernels.user.c_types import dtype_to_ctype
from pycuda._kernels.user.elementwise import module

# The maximum number of bytes of the tiles that a block has in shared memory. Together with the other
# variables there, they fit into the 48 KB that a block may have on every device.
_MAX_SHARED = 45 << 10
# The maximum number of vectors that a thread has of a tile: enough loads to hide their latency.
_MAX_CHUNKS = 4
# The number of blocks of a launch for each multiprocessor, if so many fit.
RESIDENT = 7


class ScanText(NamedTuple):
    """The user's text of a scan."""

    dtype: np.dtype
    scan_expr: str
    neutral: str | None
    exclusive: bool
    name: str
    preamble: str


class NamedArray(NamedTuple):
    """The name of a call's array in errors, and its dtype."""

    name: str
    dtype: np.dtype


class ScanTiling(NamedTuple):
    """How a block scans: template arguments of scan_shared (pycuda-scan.hpp)."""

    threads: int
    slots: int  # tiles in shared memory
    chunks: int  # vectors of a thread in a tile
    vector: int  # items of a vector

    @property
    def items(self) -> int:
        """Items of a thread."""
        return self.chunks * self.vector

    @property
    def tile(self) -> int:
        return self.threads * self.items


# (threads of a block, slots): for larger items the later ones, which need less shared memory.
_SHAPES = (128, 3), (128, 2), (64, 2), (32, 2)


def scan_tiling(vector: int, item_size: int, max_chunks: int = _MAX_CHUNKS) -> ScanTiling:
    """The tiling for vectors of so many items, by the size of an item in bytes. ValueError if items are too
    large for shared memory."""
    of_chunk = (vector + 1) * item_size
    for threads, slots in _SHAPES:
        chunks = min(_MAX_SHARED // (threads * slots * of_chunk), max_chunks)
        if chunks:
            return ScanTiling(threads, slots, chunks, vector)
    raise ValueError(
        f"items of {item_size} bytes are too large for a scan: the maximum is {_MAX_SHARED // 128} bytes"
    )


def user_expression(what: str, text: str, name: str) -> str:
    return f"({parsing.line(f'{what} of {name}')}{text}{parsing.line(f'kernel {name}')})"


_FLAGGED = """
// An item that begins a segment forgets what precedes it.
struct pycuda_item {{ scan_type value; {flag} starts; }};
"""


_FLAG_TYPES = {8: "unsigned long long", 4: "unsigned", 2: "unsigned short", 1: "unsigned char"}


def _flag_bytes(itemsize: int) -> int:
    """Bytes of the flag that is stored with a value of this size: as many as an item without padding
    allows."""
    return next(size for size in _FLAG_TYPES if itemsize % size == 0)


def flagged_item(itemsize: int) -> str:
    """The definition of pycuda_item, for values of this size."""
    return _FLAGGED.format(flag=_FLAG_TYPES[_flag_bytes(itemsize)])


def flagged_bytes(itemsize: int) -> int:
    """The maximum bytes of a pycuda_item."""
    return itemsize + (16 if itemsize % 16 == 0 else _flag_bytes(itemsize))


def scan_source(text: ScanText, tiling: ScanTiling, segmented: bool) -> str:
    """The kernel. Its parameters: in, its stride in items, out, its stride, n, the number of tiles, the
    members of a scan_state; if segmented, also the flags and their stride.
    """
    combined = f"""[&](scan_type a, scan_type b) -> scan_type {{
    return {user_expression("scan_expr", text.scan_expr, text.name)};
  }}"""
    neutral = (
        ""
        if not text.exclusive
        else f"""
  const scan_type pycuda_neutral = {user_expression("neutral", text.neutral, text.name)};"""
    )
    if segmented:
        item, more = "pycuda_item", ", const unsigned char *pycuda_flags, long long pycuda_flag_step"
        make = "pycuda_item{value, pycuda_flags[(long long)k * pycuda_flag_step] != 0}"
        combine = """[&](const pycuda_item &a, const pycuda_item &b) -> pycuda_item {
    pycuda_item c = {b.starts ? b.value : pycuda_two(a.value, b.value), b.starts};
    c.starts |= a.starts;
    return c;
  }"""
        with_, before = "with.value", "has && !item.starts ? before.value : pycuda_neutral"
    else:
        item, more = "scan_type", ""
        make, combine = "value", "pycuda_two"
        with_, before = "with", "has ? before : pycuda_neutral"
    emitted = f"scan_type({before})" if text.exclusive else with_
    return f"""{parsing.headers([], text.dtype)}#include <scan/pycuda-scan-user.hpp>
{parsing.line(f"preamble of {text.name}")}{text.preamble}
{parsing.line(f"kernel {text.name}")}
typedef {dtype_to_ctype(text.dtype)} scan_type;
static_assert(sizeof(scan_type) == {text.dtype.itemsize}, "the type does not have the size of its dtype");
{flagged_item(text.dtype.itemsize) if segmented else ""}
extern "C" __global__ void __launch_bounds__({tiling.threads}) {text.name}(
  const scan_type *pycuda_in, long long pycuda_in_step, scan_type *pycuda_out, long long pycuda_out_step,
  size_t n, unsigned pycuda_tiles, unsigned *pycuda_counter, unsigned long long *pycuda_counts,
  unsigned long long *pycuda_entries, void *pycuda_values, unsigned pycuda_launch{more})
{{{neutral}
  const auto pycuda_two = {combined};
  const auto pycuda_combine = {combine};
  const pycuda::scan_state pycuda_state = {{pycuda_counter, pycuda_counts, pycuda_entries, pycuda_values,
                                           pycuda_launch}};
  pycuda::scan<{tiling.threads}, {tiling.slots}, {tiling.chunks}, {tiling.vector}, {item}>(
    pycuda_in, pycuda_in_step, pycuda_out, pycuda_out_step, n, pycuda_tiles, pycuda_state,
    [&](const scan_type &value, size_t k) -> {item} {{ (void)k; return {make}; }}, pycuda_combine,
    [&](bool has, const {item} &before, const {item} &item, const {item} &with) -> scan_type {{
      (void)has; (void)before; (void)item; (void)with;
      return {emitted};
    }});
}}
"""


def build_scan(text: ScanText, tiling: ScanTiling, segmented: bool, options):
    """(module, prepared function) of scan_source()."""
    compiled = module(scan_source(text, tiling, segmented), keep=False, options=options)
    codes = "PqPqLIPPPPI" + ("Pq" if segmented else "")
    return compiled, compiled.get_function(text.name)._prepare_strided(codes)
