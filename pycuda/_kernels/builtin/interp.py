"""Kernels of np.interp (pycuda-interp.hpp)."""

from __future__ import annotations

from pycuda import _driver
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

# As in pycuda-interp.hpp: threads of a block, positions that a thread loads at a time, parts of equal width
# between the first and the last point.
THREADS, _ROUNDS, _BUCKETS = 512, 4, 2048
# Blocks that a multiprocessor has at a time: as many as its 2048 threads allow.
_RESIDENT = 4
# Bytes of shared memory that a block may have on every device.
_MAX_SHARED = 48 << 10

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
    """Queue the kernel that writes to `out` the function through the points (xp, fp) at x. All arrays are
    packed; xp has doubles; fp, left, right and out have doubles or complex doubles. left and right are arrays
    of one value."""
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
