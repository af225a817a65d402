"""Kernels of matrix products."""

from __future__ import annotations

import math
import struct

from pycuda._driver import _collapse_axes
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import axis_capacity, ceil_div, packed_axes
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 256
_SIDE = 64

_SOURCE = """{include}#include "array/pycuda-matmul.hpp"
extern "C" __global__ void __launch_bounds__(256)
matmul(const char *a, const char *b, char *c, pycuda::Matmul<{axes}> plan)
{{
    using namespace pycuda;
    pycuda::matmul<{a}, {b}, {c}, {number}>(a, b, c, plan);
}}
"""


@context_dependent_memoize
def kernel(a, b, c, axes: int):
    """Function(a, b, c, plan) for these dtypes."""
    number = elements.computed(c)
    types = {name: elements.stored(dtype) for name, dtype in zip("abc", (a, b, c), strict=True)}
    text = _SOURCE.format(include=elements.include(*types.values()), number=number, axes=axes, **types)
    function = compiled(text).get_function("matmul")
    function._prepare_strided(f"PPP{8 * (10 + 4 * axes)}s")
    return function


def plan(rows, columns, inner, steps, batch_axes) -> tuple[int, tuple[int, int, int], bytes]:
    """(capacity, grid, arguments). steps: row and inner of a, inner and column of b, row and column of c;
    batch_axes: (length, stride in a, in b, in c).
    """
    axes, _ = _collapse_axes(batch_axes, 3)
    capacity = axis_capacity(len(axes))
    batches = math.prod(axis[0] for axis in axes)
    arguments = struct.pack("10q", rows, columns, inner, batches, *steps) + packed_axes(axes, capacity)
    grid = ceil_div(rows, _SIDE), ceil_div(columns, _SIDE), min(batches, 65535)
    if grid[1] > 65535:
        raise ValueError(f"a product of {columns} columns: at most {65535 * _SIDE} are possible")
    return capacity, grid, arguments
