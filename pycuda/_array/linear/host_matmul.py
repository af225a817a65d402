"""Products of matrices by NumPy's BLAS, on the CPU device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda._libraries import host

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def _in_its_dtype(a, b, c) -> None:
    np.matmul(a, b, out=c, dtype=c.dtype, casting="unsafe")


def _in_float(a, b, c) -> None:
    """Products of 16-bit floats, which BLAS does not have."""
    c[...] = np.matmul(a.astype(np.float32), b.astype(np.float32))


_FUNCTIONS = dict.fromkeys(("float32", "float64", "complex64", "complex128"), _in_its_dtype)
_FUNCTIONS |= dict.fromkeys(("float16", "bfloat16"), _in_float)


def matmul_by_numpy(a: GPUArray, b: GPUArray, c: GPUArray, stream) -> tuple[bool, None]:
    """c = a @ b of the last two axes. Returns, like matmul_by_cublas, whether it is queued, and None as there
    are no calls of a library. For dtypes that BLAS does not have it is (False, None), and c is unchanged.
    """
    function = _FUNCTIONS.get(c.dtype.name)
    if function is not None:
        host.queue(function, (a, b), (c,), stream=stream)
    return function is not None, None
