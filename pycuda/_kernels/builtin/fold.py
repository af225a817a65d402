"""Kernels that fold elements by an elementwise function one after another: a op b op c is (a op b) op c."""

from __future__ import annotations

import numpy as np

from pycuda._kernels.builtin import elementwise
from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.plans.modules import compiled

THREADS = 128

# A thread folds a column, whose elements are `columns` apart. Each result is rounded to the dtype before it
# is used.
_SOURCE = """{head}
extern "C" __global__ void fold_in_order(const T0 *from, T0 *to, long long columns,
                                         long long length, int running)
{{
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += stride) {{
        T0 last = from[i];
        if (running) to[i] = last;
#pragma unroll 1
        for (long long k = 1; k < length; k++) {{
            X0 x;
            operation(x, pycuda::convert<L1>(last), pycuda::convert<L2>(from[k * columns + i]));
            last = pycuda::convert<T0>(x);
            if (running) to[k * columns + i] = last;
        }}
        if (!running) to[i] = last;
    }}
}}
"""


@context_dependent_memoize
def fold_kernel(name: str, dtype: np.dtype):
    """Function(from, to, columns, length, running) for a function of two operands of a dtype. running:
    whether all intermediate results are written, as ufunc.accumulate does."""
    loop, _, _ = elementwise.resolve(name, ((dtype, False), (dtype, False)), (None,), None)
    if loop.storage != (dtype,) * 3:
        raise TypeError(f"{name} of {dtype} gives {loop.storage[0]}: such results cannot be accumulated")
    head = elementwise.elementwise_head(loop)
    function = compiled(_SOURCE.format(head=head), elementwise.elementwise_options(loop)).get_function(
        "fold_in_order"
    )
    function.prepare("PPqqi")
    return function
