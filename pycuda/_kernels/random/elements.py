"""The kernels of pycuda.numpy.random: one for each distribution of numpy.random.Generator and dtype; the
device code is in pycuda/cuda/random/pycuda-random-elements.hpp.
"""

from __future__ import annotations

import numpy as np

from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

# The numbers do not depend on the grid. MAX_BLOCKS fill a large GPU; for more elements their threads loop.
THREADS, MAX_BLOCKS = 256, 4096
# Distributions that take a known number of bits, so that a block of Philox makes several numbers.
_OF_BLOCKS = frozenset(("Uniform", "Normal", "Exponential"))

_FLOATS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(np.int64): "long long"}
_INTEGERS = {
    np.dtype(np.bool_): "bool",
    np.dtype(np.int8): "signed char",
    np.dtype(np.int16): "short",
    np.dtype(np.int32): "int",
    np.dtype(np.int64): "long long",
    np.dtype(np.uint8): "unsigned char",
    np.dtype(np.uint16): "unsigned short",
    np.dtype(np.uint32): "unsigned int",
    np.dtype(np.uint64): "unsigned long long",
}
_FILL = """#include "random/pycuda-random-elements.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__({threads})
fill({type} *out, index_t count, u32 key0, u32 key1, u32 call, const u32 *launch, const {parameter} *as,
     {parameter} a, const {parameter} *bs, {parameter} b)
{{
    {function}(out, count, key0, key1, call, launch, as, a, bs, b);
}}
"""


def grid(count: int) -> tuple[int, int]:
    """The grid of a launch for `count` elements."""
    return min(-(-count // THREADS), MAX_BLOCKS), 1


@context_dependent_memoize
def distribution(name: str, dtype):
    """Function(out, count, key0, key1, call, launch, as, a, bs, b). The parameters of the distribution are a
    and b or, for each element, those in the arrays `as` and `bs` where these are not null."""
    fill = "fill_blocks" if name in _OF_BLOCKS else "fill_elements"
    text = _FILL.format(
        threads=THREADS, type=_FLOATS[dtype], parameter="double", function=f"{fill}<elements::{name}>"
    )
    function = compiled(text).get_function("fill")
    function.prepare("PqIIIPPdPd")
    return function


@context_dependent_memoize
def integers(dtype):
    """Function(out, count, key0, key1, call, launch, lows, low, ranges, range): integers from low to low +
    range - 1, or, for each element, by the arrays `lows` and `ranges` where these are not null."""
    text = _FILL.format(threads=THREADS, type=_INTEGERS[dtype], parameter="u64", function="fill_integers")
    function = compiled(text).get_function("fill")
    function.prepare("PqIIIPPQPQ")
    return function
