"""Kernels of histograms (pycuda-histogram.hpp), and how their work is divided."""

from __future__ import annotations

import numpy as np

from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 256
NUMBERS = 4096  # bins of a block for numbers
_CHUNK, _CHUNKS = 1 << 15, 1 << 12  # elements of a block, at least; blocks, at most
_STEP = 1 << 14  # elements that a block loads at once, at most
_CAPACITIES = {256: 32, 2048: 1}  # bins of a block between edges, and counters of each of them
LARGEST = max(_CAPACITIES)
_MAX_GRID = 1 << 16

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
    """struct Even of increasing edges; None where they are not equidistant, or too close for arithmetic in
    their own precision.
    """
    dtype = edge_dtype(edge)
    limits = np.finfo(dtype)
    bins, first, last = len(edges) - 1, float(edges[0]), float(edges[-1])
    parts, width = bins + 1, (last - first) / bins
    if not limits.tiny * 4 <= 1 / width / parts <= limits.max / 4:  # inf and 0, too
        return None
    places = (edges.astype(np.float64) - first) / width
    off = np.abs(places - np.arange(parts)).max()
    # In bins: scale and shift are rounded, by half an eps of a place, and the sum of both by half an eps of
    # all parts. Doubles are rounded before, where this function computes.
    half = float(limits.eps) * (0.5 if edge == "float" else 4)
    rounded = half * (2 * max(abs(first), abs(last)) / width + parts + 2)
    sure = 0.5 - 1.125 * (off + rounded)
    if not sure > 0.25:
        return None
    return np.array([1 / width / parts, (0.5 - first / width) / parts, parts, sure], dtype).tobytes()


def capacity(bins: int) -> int:
    """The number of bins for which the kernel is compiled that counts this many."""
    return next(each for each in _CAPACITIES if each >= bins)


def chunk(count: int) -> tuple[int, int]:
    """(blocks, elements of each)."""
    size = max(_CHUNK, ceil_div(ceil_div(count, _CHUNKS), _STEP) * _STEP)
    return ceil_div(count, size), size


def histogram_grid(count: int) -> tuple[int, int]:
    """The grid for `count` elements: a thread for each, up to the largest grid, whose threads loop."""
    return min(ceil_div(count, THREADS), _MAX_GRID), 1


def sum_grid(bins: int) -> tuple[int, int]:
    """A warp for each bin."""
    return min(ceil_div(bins, THREADS // 32), _MAX_GRID), 1
