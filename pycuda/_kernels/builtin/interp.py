"""Kernels of np.interp (pycuda-interp.hpp)."""

from __future__ import annotations

from pycuda import _driver
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 512
_ROUNDS = 4  # positions of a thread at a time
_RESIDENT = 4  # blocks of a multiprocessor
_BUCKETS = 2048
_MAX_SHARED = 48 << 10  # bytes that a block may have

_SOURCE = """#include "array/pycuda-interp.hpp"
using namespace pycuda;
extern "C" __global__ void __launch_bounds__(INTERP_THREADS)
interp(const {x} *x, Parts<{parts}> *out, index_t size, const double *xp, const Parts<{parts}> *fp,
       const Parts<{parts}> *left, const Parts<{parts}> *right, index_t count)
{{
    {function}<{x}, {parts}>(x, out, size, Points<{parts}>{{xp, fp, left, right, count}});
}}
"""


@context_dependent_memoize
def _kernel(x, parts: int, shared: bool):
    function = "interp_shared" if shared else "interp"
    text = _SOURCE.format(x=elements.stored(x), parts=parts, function=function)
    return compiled(text).get_function("interp")._prepare_strided("PPqPPPPq")


def launch(x, out, xp, fp, left, right, stream=None) -> None:
    """out is the function of the points at x. All arrays are packed, and all but x are of doubles, or complex
    numbers of them; left and right are arrays of one value."""
    parts = fp.itemsize // 8
    shared = (1 + 2 * parts) * 8 * xp.size + 4 * _BUCKETS
    fits = shared <= _MAX_SHARED
    blocks = min(
        ceil_div(x.size, THREADS * _ROUNDS), _RESIDENT * _driver.Context.get_device().multiprocessor_count
    )
    _kernel(x.dtype, parts, fits).prepared_async_call(
        (blocks, 1), (THREADS, 1, 1), stream, x, out, x.size, xp, fp, left, right, xp.size,
        shared_size=shared if fits else 0,
    )  # fmt: skip
