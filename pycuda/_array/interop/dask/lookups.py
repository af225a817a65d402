"""The functions for GPUArrays in the tables of dask.array.dispatch.

dask counts the elements of chunks for means and variances. By default it does so with NumPy arrays, which
cannot be operands with a GPUArray; it has a table of functions for other array types, CuPy's among them.
"""

from __future__ import annotations

import math

import numpy as np

from pycuda import _driver


def _count_elements(x, *, axis=None, keepdims=False, dtype=np.float64, **others):
    """How many elements each result of a reduction is made of: a number for all, else an array on the
    device.
    """
    from pycuda._array.core.axes import normalized_axes
    from pycuda._array.core.creation import full
    from pycuda._array.reduction.reduce import result_shape

    axes = normalized_axes(axis, x.ndim)
    count = math.prod(x.shape[each] for each in axes)
    shape = result_shape(x.shape, axes, keepdims)
    return full(shape, count, dtype) if shape or keepdims else np.dtype(dtype).type(count)


def _on_host(data, **others):
    return data.get()


def _percentile(a, q, method="linear"):
    """(the percentiles of a chunk, its number of elements)"""
    return (np.percentile(a, q, method=method) if len(a) else None), len(a)


def register_lookups() -> None:
    """Put GPUArray into the tables of dask's arrays."""
    # Not from dask.array, which is not complete when what it imports has imported pycuda.
    from dask.array import dispatch
    from dask.array.chunk_types import register_chunk_type

    register_chunk_type(_driver.GPUArray)
    dispatch.empty_lookup.register(_driver.GPUArray, _driver.GPUArray)
    dispatch.numel_lookup.register(_driver.GPUArray, _count_elements)
    dispatch.percentile_lookup.register(_driver.GPUArray, _percentile)
    dispatch.to_numpy_dispatch.register(_driver.GPUArray, _on_host)
