"""Kernels of histograms (pycuda-histogram.hpp), and how their work is divided."""

from __future__ import annotations

import numpy as np

from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 256
# Up to this many bins are counted in shared memory when elements are numbers of bins (bincount): 16 KB of it,
# so that a multiprocessor runs several blocks.
NUMBERS = 4096
# A block adds all of its bins to global memory at its end. So that this takes little of the time, a block
# counts at least _MIN_CHUNK elements, and there are at most _MAX_CHUNKS blocks.
_MIN_CHUNK, _MAX_CHUNKS = 1 << 15, 1 << 12
# The number of elements of a block is a multiple of this, which is the maximum number of elements that a
# block loads at a time: 4 vectors of 16 bytes for each thread.
_STEP = 1 << 14
# The copies of each bin's counter, by the maximum number of bins. For up to 256 bins there is a copy for each
# lane of a warp (33 KB of shared memory), so that lanes do not wait for each other.
_CAPACITIES = {256: 32, 2048: 1}
LARGEST = max(_CAPACITIES)
# Blocks of kernels whose threads, or warps, loop.
_MAX_GRID = 1 << 16
# If elements are sure to be in a bin only within less than this part of its width to either side of its
# middle, because of rounding, all elements are compared with edges instead.
_MIN_SURE = 0.25

_COUNTS = "unsigned long long *counts"
_KERNEL = """#include "array/pycuda-histogram.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__(COUNT_THREADS) count({parameters})
{{
    {body};
}}
"""


def _build(parameters: str, body: str, arguments: str):
    text = _KERNEL.format(parameters=parameters, body=body)
    return compiled(text).get_function("count")._prepare_strided(arguments)


@context_dependent_memoize
def numbers(element: str, vector: int):
    """Function(in, count, chunk, used, counts, extremes)."""
    return _build(
        "const char *in, index_t count, index_t chunk, unsigned used, "
        f"{_COUNTS}, unsigned long long *extremes",
        f"count_numbers<{element}, {vector}, {NUMBERS}>(in, count, chunk, used, counts, extremes)",
        "PqqIPP",
    )


@context_dependent_memoize
def many_numbers(element: str):
    """Function(in, count, counts)."""
    return _build(
        f"const char *in, index_t count, {_COUNTS}", f"count_many<{element}>(in, count, counts)", "PqP"
    )


@context_dependent_memoize
def values_between(element: str, edge: str, vector: int, capacity: int):
    """Function(in, count, chunk, edges, bins, counts)."""
    return _build(
        f"const char *in, index_t count, index_t chunk, const {edge} *edges, int bins, {_COUNTS}",
        f"count_between<{element}, {edge}, {vector}, {capacity}>(in, count, chunk, edges, bins, counts)",
        "PqqPiP",
    )


@context_dependent_memoize
def between_even(element: str, edge: str, vector: int, capacity: int):
    """Function(in, count, chunk, edges, bins, even, counts)."""
    template = f"count_between_even<{element}, {edge}, {vector}, {capacity}, {_CAPACITIES[capacity]}>"
    size = 4 * np.dtype(_EDGES[edge]).itemsize
    return _build(
        f"const char *in, index_t count, index_t chunk, const {edge} *edges, int bins, Even<{edge}> even, "
        f"{_COUNTS}",
        f"{template}(in, count, chunk, edges, bins, even, counts)",
        f"PqqPi{size}sP",
    )


@context_dependent_memoize
def bins_of(element: str, edge: str):
    """Function(in, count, edges, bins, out): the bin of each element, `bins` for none."""
    return _build(
        f"const char *in, index_t count, const {edge} *edges, int bins, unsigned *out",
        f"bins_of<{element}>(in, count, edges, bins, out)",
        "PqPiP",
    )


@context_dependent_memoize
def sums(number: str):
    """Function(sorted numbers, their weights, count, sums, bins)."""
    return _build(
        f"const {number} *numbers, const double *weights, index_t count, double *sums, index_t bins",
        "sum_bins(numbers, weights, count, sums, bins)",
        "PPqPq",
    )


# ---- how edges are compared with elements

_EDGES = {
    "float": np.float32,
    "double": np.float64,
    "long long": np.int64,
    "unsigned long long": np.uint64,
}


def edge_type(dtype) -> str:
    """The C type in which values of a dtype are compared with edges."""
    if elements.kind(dtype) == "f":
        return "double" if dtype.itemsize == 8 else "float"
    return "unsigned long long" if dtype == np.uint64 else "long long"


def edge_dtype(edge: str):
    """The dtype of this C type."""
    return np.dtype(_EDGES[edge])


def even(edges, edge: str) -> bytes | None:
    """struct Even for increasing edges. None if they are not equidistant, or so close to each other that
    arithmetic in their own precision cannot distinguish the bins.
    """
    dtype = edge_dtype(edge)
    limits = np.finfo(dtype)
    bins, first, last = len(edges) - 1, float(edges[0]), float(edges[-1])
    parts, width = bins + 1, (last - first) / bins
    # The scale must be a normal number with room for rounding: this excludes infinities and 0 as well.
    if not limits.tiny * 4 <= 1 / width / parts <= limits.max / 4:
        return None
    places = (edges.astype(np.float64) - first) / width
    off = np.abs(places - np.arange(parts)).max()
    # The error of a position, in widths of a bin. The kernel rounds scale and shift by half an eps of the
    # place that they are multiplied by, and their sum by half an eps of all parts. For doubles, which this
    # function computes with too, its own rounding is allowed for by 8 times as much.
    half = float(limits.eps) * (0.5 if edge == "float" else 4)
    rounded = half * (2 * max(abs(first), abs(last)) / width + parts + 2)
    # An eighth is added to the error, for what was neglected.
    sure = 0.5 - 1.125 * (off + rounded)
    if not sure > _MIN_SURE:
        return None
    return np.array([1 / width / parts, (0.5 - first / width) / parts, parts, sure], dtype).tobytes()


def capacity(bins: int) -> int:
    """The number of bins that the kernel for this many bins is compiled for."""
    return next(each for each in _CAPACITIES if each >= bins)


def chunk(count: int) -> tuple[int, int]:
    """(number of blocks, elements of a block)."""
    size = max(_MIN_CHUNK, ceil_div(ceil_div(count, _MAX_CHUNKS), _STEP) * _STEP)
    return ceil_div(count, size), size


def histogram_grid(count: int) -> tuple[int, int]:
    """The grid for `count` elements: a thread for each, up to the largest grid, whose threads loop."""
    return min(ceil_div(count, THREADS), _MAX_GRID), 1


def sum_grid(bins: int) -> tuple[int, int]:
    """The grid: a warp for each bin, up to the largest grid, whose warps loop."""
    return min(ceil_div(bins, THREADS // 32), _MAX_GRID), 1
