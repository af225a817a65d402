"""Top-k: kernels that find the first elements of long rows (pycuda-topk.hpp), and how their work is
divided."""

from __future__ import annotations

import math
from typing import NamedTuple

from pycuda._kernels.builtin.sort import Order
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

# THREADS, FIRST_THREADS, GROUPS and _BYTES are those of pycuda-topk.hpp: the threads of a block that passes
# over memory and of one that keeps the first k elements, the groups of a sample, the bytes that a thread
# reads.
THREADS, FIRST_THREADS, GROUPS = 256, 1024, 2048
_BYTES = 64
# Each thread of the last kernel writes one element of the result.
MAX_K = FIRST_THREADS
# The kernels count positions in 32 bits, and one of them means that there is no element.
LONGEST = (1 << 32) - 1
# The second axis of a grid counts the rows.
MAX_ROWS = (1 << 16) - 1
# An upper bound of sizeof(Limit): a key of at most 16 bytes, two numbers of 4, padding.
LIMIT_BYTES = 32

# A sampled element stands for this many of the row, where the bounds of a group's size allow it. To load one
# takes a sector of 32 bytes, so that the sample of a row of float32 costs 1/512 of a pass over the row.
_SAMPLE_STEP = 4096
# The size of a group: shorter rows are sampled more densely, and a thread loads no more than 128 elements.
_MIN_GROUP_SIZE, _MAX_GROUP_SIZE = 4, 128
# The rank of the limit is above the number of sampled elements that are expected among the first k by 4
# standard deviations (of a Poisson distribution, which that number has), and by 3 for small expectations.
_RANK_DEVIATIONS, _RANK_MARGIN = 4, 3
# What is collected may be up to 2 * rank + 24 times `step`, of which about rank * step are expected.
_OVERSHOOT_FACTOR, _OVERSHOOT_MARGIN = 2, 24
# If a sample misled, blocks take the first k elements of the parts of a row. About 256 blocks, for all rows
# together, fill a large GPU. A part is much longer than the MAX_K pairs that it may leave to the last kernel.
_FALLBACK_BLOCKS, _MIN_PART = 256, 1 << 14

_SOURCE = """#include "sort/pycuda-topk.hpp"
using namespace pycuda;
typedef {order} Keys;
typedef Pair<Keys::Bits> KeyPair;
extern "C" __global__ void __launch_bounds__(TOP_THREADS)
sample_rows(const Keys::Raw *keys, index_t length, unsigned group_size, unsigned step,
            KeyPair *samples)
{{
    sample<Keys>(keys, length, group_size, step, samples);
}}
extern "C" __global__ void __launch_bounds__(FIRST_THREADS)
find_limits(const Keys::Raw *keys, index_t length, const KeyPair *samples, unsigned rank, Limit<Keys> *limits)
{{
    find_limit<Keys>(keys, length, samples, rank, limits);
}}
extern "C" __global__ void __launch_bounds__(TOP_THREADS)
collect_pairs(const Keys::Raw *keys, index_t length, Limit<Keys> *limits, KeyPair *pairs, unsigned capacity)
{{
    collect<Keys, {vector}>(keys, length, limits, pairs, capacity);
}}
extern "C" __global__ void __launch_bounds__(FIRST_THREADS)
collect_otherwise(const Keys::Raw *keys, index_t length, const Limit<Keys> *limits, KeyPair *pairs,
                  unsigned capacity, unsigned k)
{{
    collect_fallback<Keys>(keys, length, limits, pairs, capacity, k);
}}
extern "C" __global__ void __launch_bounds__(FIRST_THREADS)
finish_rows(const Keys::Raw *keys, index_t length, const Limit<Keys> *limits, const KeyPair *pairs,
            unsigned capacity, unsigned k, unsigned parts, Keys::Raw *values, index_t *indices)
{{
    finish<Keys>(keys, length, limits, pairs, capacity, k, parts, values, indices);
}}
"""


class TopkKernels(NamedTuple):
    """The kernels in the order of their launches. Each takes keys, length and what its comment lists."""

    sample: object  # group_size, step, samples
    find_limits: object  # samples, rank, limits
    collect: object  # limits, pairs, capacity
    collect_fallback: object  # limits, pairs, capacity, k
    finish: object  # limits, pairs, capacity, k, parts, values, indices


@context_dependent_memoize
def topk_kernels(keys: Order, vector: int) -> TopkKernels:
    """The kernels for rows in this order, of which `vector` elements are loaded together."""
    module = compiled(_SOURCE.format(order=keys.c_type, vector=vector))
    arguments = {
        "sample_rows": "PqIIP",
        "find_limits": "PqPIP",
        "collect_pairs": "PqPPI",
        "collect_otherwise": "PqPPII",
        "finish_rows": "PqPPIIIPP",
    }
    return TopkKernels(*(module.get_function(name).prepare(each) for name, each in arguments.items()))


class TopkPlan(NamedTuple):
    """How rows are sampled, and how many pairs are collected."""

    group_size: int  # elements that a thread samples; the first of them in the order represents the group
    step: int  # elements of the row for each sampled one
    rank: int  # the limit is number `rank`, from 1, of those that represent the groups
    capacity: int  # pairs for which a row has memory
    parts: int  # parts of a row that are searched one by one where its sample misled


def rank_of_limit(expected: float) -> int:
    """The rank, from 1, of the limit in a sample in which `expected` of the first k elements are expected."""
    return int(expected + _RANK_DEVIATIONS * math.sqrt(expected)) + _RANK_MARGIN


def plan_topk(rows: int, length: int, k: int) -> TopkPlan:
    """The plan for the first k elements of each row.

    The result is right for every row: where fewer than k elements are before the limit, or more than
    `capacity`, the kernels search the row's parts, which takes longer. `capacity` has room for `parts * k`.
    How often that happens, for rows whose order is independent of the sampled positions: the number of
    sampled elements among the first k is Poisson distributed, so that fewer than k are before the limit in
    less than one of 10,000 rows (8.3e-5, at the worst `expected`), more than `capacity` in less than one of a
    million. A group with several elements before the limit counts once, so that the limit can only be later
    in the order, and more elements be before it; _OVERSHOOT_FACTOR covers this for ranks up to
    that of MAX_K."""
    group_size = min(max(length // (GROUPS * _SAMPLE_STEP), _MIN_GROUP_SIZE), _MAX_GROUP_SIZE)
    step = length // (group_size * GROUPS)
    expected = k / step
    rank = rank_of_limit(expected)
    most_before_limit = (_OVERSHOOT_FACTOR * rank + _OVERSHOOT_MARGIN) * step
    parts = max(min(_FALLBACK_BLOCKS // rows, length // _MIN_PART), 1)
    return TopkPlan(group_size, step, rank, max(most_before_limit, parts * k), parts)


def pair_size(itemsize: int) -> int:
    """sizeof(Pair): an element and its position in 4 bytes, aligned as the larger of the two."""
    return max(8, 2 * itemsize)


def collect_grid(length: int, itemsize: int) -> int:
    """The number of blocks that read a row."""
    return ceil_div(length * itemsize, THREADS * _BYTES)
