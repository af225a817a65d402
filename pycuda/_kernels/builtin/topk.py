"""Top-k: kernels that find the first elements of long rows (pycuda-topk.hpp), and how their work is
divided."""

from __future__ import annotations

import math
from typing import NamedTuple

from pycuda._kernels.builtin.sort import Order
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS, FIRST_THREADS, GROUPS = 256, 1024, 2048  # pycuda-topk.hpp
MAX_K = FIRST_THREADS  # elements of the result
LONGEST = (1 << 32) - 1  # row
MAX_ROWS = (1 << 16) - 1  # of a grid
LIMIT_BYTES = 32  # of a Limit, at most

_BYTES = 64  # that a thread reads
_MIN_GROUP, _MAX_GROUP = 4, 128  # elements of a row, for each thread of those that sample it
_PARTS, _MIN_PART = 256, 1 << 14  # of all rows, where samples misled; elements

_SOURCE = """#include "sort/pycuda-topk.hpp"
using namespace pycuda;
typedef {order} Keys;
typedef Pair<Keys::Bits> KeyPair;
extern "C" __global__ void __launch_bounds__(TOP_THREADS)
sample_rows(const Keys::Raw *keys, index_t length, unsigned group, unsigned step, KeyPair *samples)
{{
    sample<Keys>(keys, length, group, step, samples);
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
    """Functions(keys, length, ...)."""

    sample: object  # group, step, samples
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
    """How rows are worked on."""

    group: int  # elements that a thread samples
    step: int  # a sampled element is one of that many
    rank: int  # of the limit in the sample
    capacity: int  # pairs that are collected of a row, at most
    parts: int  # of a row, where its sample misled


def plan_topk(rows: int, length: int, k: int) -> TopkPlan:
    """The plan for the first k elements. About rank * step elements are before the limit: in one of ten
    thousand rows of any order they are fewer than k, in none do they not fit. Of the elements of a thread
    that are before the limit the sample has only one, so the limit is rather too large."""
    group = min(max(length >> 23, _MIN_GROUP), _MAX_GROUP)
    step = length // (group * GROUPS)
    expected = k / step
    rank = int(expected + 4 * math.sqrt(expected)) + 3
    parts = max(min(_PARTS // rows, length // _MIN_PART), 1)
    return TopkPlan(group, step, rank, max((2 * rank + 24) * step, parts * k), parts)


def pair_size(itemsize: int) -> int:
    """Bytes of a Pair."""
    return max(8, 2 * itemsize)


def collect_grid(length: int, itemsize: int) -> int:
    """Blocks for a row."""
    return ceil_div(length * itemsize, THREADS * _BYTES)
