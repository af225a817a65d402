"""Kernels of arange and linspace: elements computed from their index."""

from __future__ import annotations

from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 256

_ARANGE = """{include}#include "reduce/pycuda-reduce-ops.hpp"
using namespace pycuda;
extern "C" __global__ void arange({stored} *z, {number} start, {number} step, index_t count)
{{
    index_t stride = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        put(z[i], ({number})(start + To<{number}>::from(i) * step));
}}
"""
_LINSPACE = """#include "reduce/pycuda-reduce-ops.hpp"
using namespace pycuda;
extern "C" __global__ void linspace(double *z, double start, double stop, double step, index_t count,
                                    int last)
{
    index_t stride = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        z[i] = last && i == count - 1 ? stop : __dadd_rn(__dmul_rn((double)i, step), start);
}
"""


@context_dependent_memoize
def arange(dtype):
    """Function(z, start, step, count): z[i] is start + i * step."""
    number = elements.computed(dtype)
    text = _ARANGE.format(include=elements.include(number), stored=elements.stored(dtype), number=number)
    function = compiled(text).get_function("arange")
    code = elements.code(number)
    function.prepare(f"P{code}{code}q")
    return function


@context_dependent_memoize
def linspace():
    """Function(z, start, stop, step, count, last): z[i] is start + i * step; if `last`, the last element is
    stop."""
    function = compiled(_LINSPACE).get_function("linspace")
    function.prepare("Pdddqi")
    return function
