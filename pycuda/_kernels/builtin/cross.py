"""Kernels of np.cross (pycuda-cross.hpp)."""

from __future__ import annotations

import math
import struct

from pycuda._driver import _collapse_axes
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import axis_capacity, ceil_div, packed_axes
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 256

_SOURCE = """{include}#include "array/pycuda-cross.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__(CROSS_THREADS)
cross_product(const char *a, const char *b, {stored} *out, Vectors<{axes}> plan)
{{
    cross<{stored}, {number}, {first}, {second}>(a, b, out, plan);
}}
"""


@context_dependent_memoize
def _cross(stored: str, first: int, second: int, axes: int):
    number = elements.computed_from(stored)
    text = _SOURCE.format(
        include=elements.include(number), stored=stored, number=number, first=first, second=second, axes=axes
    )
    function = compiled(text, ["-fmad=false"]).get_function("cross_product")
    return function._prepare_strided(f"PPP{24 + 24 * axes}s")


def plan_cross(a, b) -> tuple:
    """The launch, for plans.caches.launched(). The arrays have one dtype, and one shape except for the last
    axis, which has two or three components."""
    shape, lengths = a.shape[:-1], (a.shape[-1], b.shape[-1])
    count = math.prod(shape)
    axes, _ = _collapse_axes(list(zip(shape, a.strides[:-1], b.strides[:-1], strict=True)), 2)
    capacity = axis_capacity(len(axes))
    function = _cross(elements.stored(a.dtype), *lengths, capacity)
    plan = struct.pack("3q", count, a.strides[-1], b.strides[-1]) + packed_axes(axes, capacity)
    result = shape if lengths == (2, 2) else (*shape, 3)
    return (
        function.prepared_async_call,
        (ceil_div(count, THREADS), 1),
        (THREADS, 1, 1),
        (..., plan),
        (result, a.dtype),
    )
