"""Kernels that move elements by index."""

from __future__ import annotations

import struct

from pycuda._kernels.plans.axes import ceil_div, packed_axes
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 256
TOGETHER = 4  # numbers of a thread of gather()
_LARGEST_GRID = (1 << 31) - 1

_PICK = """#include "array/pycuda-gather.hpp"
extern "C" __global__ void __launch_bounds__({threads})
pick(char *array, const char *numbers, char *other, int *error, pycuda::Picking<{axes}> plan)
{{
    using namespace pycuda;
    pycuda::pick<{element}, {number}, {mode}, {put}>(array, numbers, other, error, plan);
}}
"""
_GATHER = """#include "array/pycuda-gather.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__({threads})
gather(const char *array, const {number} *numbers, {element} *out, int *error, index_t count, index_t length,
       index_t step)
{{
    pycuda::gather<{element}, {number}, {mode}, {together}>(array, numbers, out, error, count, length, step);
}}
"""
_OFFSETS = """#include "array/pycuda-gather.hpp"
extern "C" __global__ void __launch_bounds__({threads})
offsets(pycuda::index_t *offsets, const char *numbers, int *error, pycuda::Picking<{axes}> plan)
{{
    using namespace pycuda;
    add_offsets<{number}, {mode}, {add}>(offsets, numbers, error, plan);
}}
"""


def _walk_size(axes: int) -> int:
    return 8 * (3 + 4 * axes)


def _flag(value: bool) -> str:
    return str(value).lower()


@context_dependent_memoize
def pick(element: str, number: str, mode: str, put: bool, axes: int):
    """Function(array, numbers, other, error, plan): gather, or scatter."""
    text = _PICK.format(threads=THREADS, element=element, number=number, mode=mode, put=_flag(put), axes=axes)
    function = compiled(text).get_function("pick")
    function._prepare_strided(f"PPPP{_walk_size(axes)}s")
    return function


@context_dependent_memoize
def gather(element: str, number: str, mode: str):
    """Function(array, numbers, out, error, count, length, step): picked from one axis to packed elements."""
    text = _GATHER.format(threads=THREADS, element=element, number=number, mode=mode, together=TOGETHER)
    return compiled(text).get_function("gather")._prepare_strided("PPPPqqq")


@context_dependent_memoize
def offsets(number: str, mode: str, add: bool, axes: int):
    """Function(offsets, numbers, error, plan): bytes from numbers."""
    text = _OFFSETS.format(threads=THREADS, number=number, mode=mode, add=_flag(add), axes=axes)
    function = compiled(text).get_function("offsets")
    function._prepare_strided(f"PPP{_walk_size(axes)}s")
    return function


def picking(count: int, length: int, step: int, axes: list[tuple[int, ...]], capacity: int) -> bytes:
    """struct Picking<capacity>."""
    return struct.pack("3q", count, length, step) + packed_axes(axes, capacity)


def grid(count: int, together: int = 1) -> tuple[int, int]:
    """The grid for `count` elements, of which each thread takes `together` at a time."""
    return min(ceil_div(count, THREADS * together), _LARGEST_GRID), 1
