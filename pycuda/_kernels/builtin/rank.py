"""Kernels that find elements of given ranks in long rows (pycuda-rank.hpp), and how their work is divided."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from pycuda import _driver
from pycuda._kernels.builtin.sort import Order, prepared_function
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize

# As in pycuda-rank.hpp: threads of a block, bits of a key that a pass looks at, ranks that are found
# together, vectors that a thread loads at a time; threads of a block that partitions, elements of each of
# them.
THREADS, BITS, MAX_RANKS, LOADS = 512, 11, 4, 4
PARTITION_THREADS, PARTITION_ITEMS = 256, 16
# Shorter rows are sorted as quickly.
MIN_LENGTH = 1 << 16
# Positions are counted in 31 bits.
LONGEST = (1 << 31) - 1
# Bytes of the counts of a row: 4 for each value of the bits, of each rank.
COUNT_BYTES = 4 * MAX_RANKS << BITS
# Blocks that a multiprocessor has at a time. Each takes 32 KB of shared memory for its counters.
_RESIDENT = 3
# sizeof(RankState) without the keys: 15 numbers of 4 bytes.
_STATE_NUMBERS = 60

_SOURCE = """#include "sort/pycuda-rank.hpp"
using namespace pycuda;
typedef {order} Keys;
extern "C" __global__ void __launch_bounds__(RANK_THREADS, {resident})
find(const Keys::Raw *keys, Keys::Raw *copies, RankState<Keys::Bits> *states, unsigned *counts,
     Keys::Raw *out, RankPlan plan)
{{
    rank_pass<Keys, {number}, {vector}>(keys, copies, states, counts, out, plan);
}}
"""
_PARTITION = """#include "sort/pycuda-rank.hpp"
using namespace pycuda;
typedef {order} Keys;
extern "C" __global__ void __launch_bounds__(PARTITION_THREADS, 3)
partition(const Keys::Raw *keys, Keys::Raw *out, const RankState<Keys::Bits> *found, u64 *states,
          unsigned *counter, unsigned length, unsigned tiles)
{{
    partition_tile<Keys>(keys, out, found, states, counter, length, tiles);
}}
"""
_PASSES = "FIRST_DIGIT", "SECOND_DIGIT", "LATER_DIGIT"


@context_dependent_memoize
def find_ranks(keys: Order, number: int, vector: int):
    """Function(keys, copies, states, counts, out, plan) of a pass."""
    text = _SOURCE.format(order=keys.c_type, number=_PASSES[number], vector=vector, resident=_RESIDENT)
    return prepared_function(text, "find", "PPPPP32s")


@context_dependent_memoize
def partition_kernel(keys: Order):
    """Function(keys, out, found, states, counter, length, tiles)."""
    return prepared_function(_PARTITION.format(order=keys.c_type), "partition", "PPPPPII")


def state_bytes(itemsize: int) -> int:
    """sizeof(RankState): padded to the alignment of its largest member."""
    return ceil_div(MAX_RANKS * itemsize + _STATE_NUMBERS, max(itemsize, 4)) * max(itemsize, 4)


def plans(length: int, ranks, itemsize: int) -> Iterator[bytes]:
    """struct RankPlan of each pass."""
    shift = 8 * itemsize
    padded = [*ranks, *[0] * (MAX_RANKS - len(ranks))]
    while shift:
        bits = min(BITS, shift)
        shift -= bits
        yield struct.pack("5I3i", length, *padded, len(ranks), shift, bits)


def find_grid(rows: int, length: int, vector: int) -> tuple[int, int]:
    """The grid: blocks for each row, rows. All are resident at the same time if the rows are few enough."""
    resident = _RESIDENT * _driver.Context.get_device().multiprocessor_count
    return max(min(ceil_div(length, THREADS * LOADS * vector), resident // rows), 1), rows
