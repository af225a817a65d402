"""The kernels of random numbers, one for each generator, distribution and type. Their device code is in
pycuda/cuda/random/.

The number of generators determines which numbers are generated, so it is a constant.
"""

from __future__ import annotations

import numpy as np

from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

# Pseudo-random generators, one for each thread: 65,536 fill a large GPU, and are seeded in a millisecond.
THREADS, BLOCKS = 128, 512
GENERATORS = THREADS * BLOCKS
STATE_WORDS = 6
# How many groups of numbers a thread makes, for a generator that can jump to any place of its sequence: by
# distribution, MORE_ROUNDS for those that are not listed, whose numbers cost more.
ROUNDS = {"Raw": 8, "Uniform": 8}
MORE_ROUNDS = 32

# Quasi-random generators: a generator is a dimension, whose numbers are made by SOBOL_POINTS threads.
DIMENSIONS = 256
SOBOL_POINTS = 1024

# rand(): threads of a block, and the bytes that a block makes: 4 times 16 for each thread.
RAND_THREADS = 256
RAND_TILE = 16 * 4 * RAND_THREADS

STEPS, SEQUENCES, SUBSEQUENCES = 0, 1, 2  # `kind` of skip(), as in pycuda-random.hpp

_TYPES = {
    np.dtype(np.uint32): "u32",
    np.dtype(np.int32): "u32",
    np.dtype(np.uint64): "u64",
    np.dtype(np.int64): "u64",
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "double",
}
_FILL = """#include "random/pycuda-random-{name}.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__({threads})
fill(u32 *states, {type} *out, index_t count, index_t rounds, double a, double b)
{{
    pycuda::fill<{name}_generator, {type}, {distribution}>(states, {generators}, out, count, rounds, a, b);
}}
"""
_STATES = """#include "random/pycuda-random-{name}.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__({threads})
prepare(u32 *states, const int *seeds, u32 first, u32 last, const u32 *by_sequence, int bits,
        const u32 *by_offset, u64 offset)
{{
    pycuda::prepare<{name}_generator>(states, {generators}, seeds, first, last, by_sequence, bits, by_offset,
                                      offset);
}}
extern "C" __global__ void __launch_bounds__({threads})
skip(u32 *states, const u32 *jumps, const u64 *times, u64 time, int kind)
{{
    pycuda::skip<{name}_generator>(states, {generators}, jumps, times, time, kind);
}}
"""
_ADVANCE = """extern "C" __global__ void __launch_bounds__({threads})
advance(u32 *states, index_t count, int words)
{{
    pycuda::advance<{name}_generator>(states, {generators}, count, words);
}}
"""
_FILL_SOBOL = """#include "random/pycuda-random-sobol.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__({threads})
fill(const u64 *indices, const {name}::word *directions, const {name}::word *scramble, {type} *out,
     index_t count, double a, double b)
{{
    fill_sobol<{name}, {type}, {distribution}>(indices, directions, scramble, out, count, a, b);
}}
"""
_INDICES = """#include "random/pycuda-random-sobol.hpp"
using namespace pycuda;
extern "C" __global__ void advance(u64 *indices, index_t count) { advance_sobol(indices, count); }
extern "C" __global__ void skip(u64 *indices, const u64 *times, u64 time)
{
    skip_sobol(indices, times, time);
}
"""
_RAND = """#include "random/pycuda-random-philox.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__(RAND_THREADS)
fill(unsigned char *out, index_t bytes, u32 key0, u32 key1)
{{
    pycuda::rand<{kind}>(out, bytes, key0, key1);
}}
"""
_RAND_ROUND = """#include "random/pycuda-random-philox.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__(RAND_THREADS)
fill(unsigned char *out, index_t bytes, u32 key0, u32 key1, const u32 *round)
{{
    pycuda::rand<{kind}>(out, bytes, key0, key1, *round);
}}
"""


def group_words(distribution: str, dtype) -> int:
    """How many outputs of 32 bits a group of four numbers takes."""
    return 8 if dtype.itemsize == 8 or distribution.startswith("Poisson") else 4


@context_dependent_memoize
def fill(name: str, distribution: str, dtype):
    """Function(states, out, count, rounds, a, b) of a pseudo-random generator."""
    text = _FILL.format(
        name=name, type=_TYPES[dtype], distribution=distribution, threads=THREADS, generators=GENERATORS
    )
    function = compiled(text).get_function("fill")
    function.prepare("PPqqdd")
    return function


@context_dependent_memoize
def states(name: str) -> dict:
    """By name: the module, prepare(states, seeds, first, last, by_sequence, bits, by_offset, offset),
    skip(states, jumps, times, time, kind) and, of Philox, advance(states, count, words)."""
    types = {"prepare": "PPIIPiPQ", "skip": "PPPQi"}
    text = _STATES
    if name == "philox":
        types["advance"] = "Pqi"
        text += _ADVANCE
    module = compiled(text.format(name=name, threads=THREADS, generators=GENERATORS))
    found = {"module": module}
    for kernel, codes in types.items():
        found[kernel] = module.get_function(kernel)
        found[kernel].prepare(codes)
    return found


@context_dependent_memoize
def fill_sobol(name: str, distribution: str, dtype):
    """Function(indices, directions, scramble, out, count, a, b) of sobol32 or sobol64."""
    text = _FILL_SOBOL.format(name=name, type=_TYPES[dtype], distribution=distribution, threads=THREADS)
    function = compiled(text).get_function("fill")
    function.prepare("PPPPqdd")
    return function


@context_dependent_memoize
def indices() -> dict:
    """By name: the module, advance(indices, count) and skip(indices, times, time). Their launches have one
    block."""
    module = compiled(_INDICES)
    advance, skip = module.get_function("advance"), module.get_function("skip")
    advance.prepare("Pq")
    skip.prepare("PPQ")
    return {"module": module, "advance": advance, "skip": skip}


@context_dependent_memoize
def rand(kind: str):
    """Function(out, bytes, key0, key1). kind: Bits, Float, Double or Half, a class of
    pycuda-random-philox.hpp."""
    function = compiled(_RAND.format(kind=kind)).get_function("fill")
    function.prepare("PqII")
    return function


@context_dependent_memoize
def rand_round(kind: str):
    """Function(out, bytes, key0, key1, round), where `round` is on the device. Round 0 gives the numbers of
    rand()."""
    function = compiled(_RAND_ROUND.format(kind=kind)).get_function("fill")
    function.prepare("PqIIP")
    return function
