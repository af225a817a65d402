"""Kernels of the discrete correlation of two vectors, for convolve and correlate."""

from __future__ import annotations

from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 128

_SOURCE = """{include}#include "array/pycuda-convolve.hpp"
extern "C" __global__ void slide(const char *a, pycuda::index_t a_step, pycuda::index_t a_size,
                                 const char *v, pycuda::index_t v_step, pycuda::index_t v_size, char *c,
                                 pycuda::index_t count, pycuda::index_t before)
{{
    using namespace pycuda;
    pycuda::slide<{a}, {v}, {c}, {number}>(a, a_step, a_size, v, v_step, v_size, reinterpret_cast<{c} *>(c),
                                           count, before);
}}
"""


@context_dependent_memoize
def kernel(a, v, c):
    """Function(a, step, size, v, step, size, c, count, before) for these dtypes."""
    types = {name: elements.stored(dtype) for name, dtype in zip("avc", (a, v, c), strict=True)}
    include = elements.include(*types.values())
    function = compiled(_SOURCE.format(include=include, number=elements.computed(c), **types)).get_function(
        "slide"
    )
    function._prepare_strided("PqqPqqPqq")
    return function
