"""Kernels that move elements by number."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from pycuda._kernels.plans import axes as layout
from pycuda._kernels.plans.modules import compiled
from pycuda.tools import context_dependent_memoize

THREADS = 256
TOGETHER = 4  # numbers of a thread of gather()
_LARGEST_GRID = (1 << 31) - 1

_PICK = """#include "array/pycuda-gather.hpp"
extern "C" __global__ void __launch_bounds__(256)
pick(char *array, const char *numbers, char *other, int *error, pycuda::Picking<{rooms}> plan)
{{
    using namespace pycuda;
    pycuda::pick<{element}, {number}, {mode}, {put}>(array, numbers, other, error, plan);
}}
"""
_GATHER = """#include "array/pycuda-gather.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__(256)
gather(const char *array, const {number} *numbers, {element} *out, int *error, index_t count, index_t length,
       index_t step)
{{
    pycuda::gather<{element}, {number}, {mode}, {together}>(array, numbers, out, error, count, length, step);
}}
"""
_OFFSETS = """#include "array/pycuda-gather.hpp"
extern "C" __global__ void __launch_bounds__(256)
offsets(pycuda::index_t *offsets, const char *numbers, int *error, pycuda::Picking<{rooms}> plan)
{{
    using namespace pycuda;
    add_offsets<{number}, {mode}, {add}>(offsets, numbers, error, plan);
}}
"""


def _walk_size(rooms: int) -> int:
    return 8 * (3 + 4 * rooms)


def _flag(value: bool) -> str:
    return str(value).lower()


@context_dependent_memoize
def pick(element: str, number: str, mode: str, put: bool, rooms: int):
    """Function(array, numbers, other, error, plan): gather, or scatter."""
    text = _PICK.format(element=element, number=number, mode=mode, put=_flag(put), rooms=rooms)
    function = compiled(text).get_function("pick")
    function._prepare_strided(f"PPPP{_walk_size(rooms)}s")
    return function


@context_dependent_memoize
def gather(element: str, number: str, mode: str):
    """Function(array, numbers, out, error, count, length, step): picked from one axis to packed elements."""
    text = _GATHER.format(element=element, number=number, mode=mode, together=TOGETHER)
    return compiled(text).get_function("gather")._prepare_strided("PPPPqqq")


@context_dependent_memoize
def offsets(number: str, mode: str, add: bool, rooms: int):
    """Function(offsets, numbers, error, plan): bytes from numbers."""
    text = _OFFSETS.format(number=number, mode=mode, add=_flag(add), rooms=rooms)
    function = compiled(text).get_function("offsets")
    function._prepare_strided(f"PPP{_walk_size(rooms)}s")
    return function


def merged(axes: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Axes (length, stride, stride, stride), the neighbours that are walked as one made one."""
    result: list[tuple[int, ...]] = []
    for length, *strides in axes:
        if length == 1:
            continue
        if result and all(
            outer == length * inner for outer, inner in zip(result[-1][1:], strides, strict=True)
        ):
            length *= result.pop()[0]
        result.append((length, *strides))
    return result or [(1, 0, 0, 0)]


def picking(count: int, length: int, step: int, axes: list[tuple[int, ...]], rooms: int) -> bytes:
    """struct Picking<rooms>."""
    full = [(1, 0, 0, 0)] * (rooms - len(axes)) + axes
    return struct.pack(
        f"{3 + 4 * rooms}q", count, length, step, *(axis[field] for field in range(4) for axis in full)
    )


def grid(count: int, together: int = 1) -> tuple[int, int]:
    """A thread for so many of them together."""
    return min(layout.ceil_div(count, THREADS * together), _LARGEST_GRID), 1
