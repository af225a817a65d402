"""Kernels of the discrete correlation of two vectors, for convolve and correlate."""

from __future__ import annotations

import struct

from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

# As in pycuda-convolve.hpp: threads of a block, results of a block that reads its operands from shared
# memory.
THREADS = 128
_TILE = 9 * THREADS
# Results that are sums of fewer products are computed from global memory: filling shared memory would take
# longer.
_MIN_PRODUCTS = 16
# Blocks whose threads compute one result at a time, from global memory; they loop over the results.
_MAX_BLOCKS = 1024
_SLIDE = struct.Struct("7q")

_SOURCE = """{include}#include "array/pycuda-convolve.hpp"
extern "C" __global__ void __launch_bounds__(pycuda::SLIDE_THREADS)
slide(const char *a, const char *v, char *c, pycuda::Slide plan)
{{
    using namespace pycuda;
    pycuda::slide<{a}, {v}, {c}, {number}>(a, v, reinterpret_cast<{c} *>(c), plan);
}}
"""


@context_dependent_memoize
def convolution_kernel(a, v, c):
    """Function(a, v, c, plan) for these dtypes."""
    types = {name: elements.stored(dtype) for name, dtype in zip("avc", (a, v, c), strict=True)}
    include = elements.include(*types.values())
    text = _SOURCE.format(include=include, number=elements.computed(c), **types)
    return compiled(text).get_function("slide")._prepare_strided(f"PPP{_SLIDE.size}s")


def plan_convolution(a, v, count: int, before: int) -> tuple[tuple[int, int], bytes]:
    """(grid, arguments). a and v: (step in bytes, size) of each, v not longer than `a`. There are `count`
    results; for the first of them v begins `before` elements before `a`."""
    middle = a[1] - v[1] + 1
    tiles = ceil_div(middle, _TILE) if v[1] >= _MIN_PRODUCTS else 0
    ends = count - middle if tiles else count
    blocks = min(ceil_div(ends, THREADS), _MAX_BLOCKS)
    return (tiles + blocks, 1), _SLIDE.pack(*a, *v, count, before, tiles)
