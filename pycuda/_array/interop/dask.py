"""Registers GPUArrays with dask, once both are imported.

dask counts the elements of chunks for means and variances. By default it does so with NumPy arrays, which
cannot be operands with a GPUArray; it has a table of functions for other array types, CuPy's among them.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import sys

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


def register() -> None:
    """Put GPUArray into dask's tables."""
    from dask.array import dispatch, register_chunk_type

    register_chunk_type(_driver.GPUArray)
    dispatch.empty_lookup.register(_driver.GPUArray, _driver.GPUArray)
    dispatch.numel_lookup.register(_driver.GPUArray, _count_elements)
    dispatch.percentile_lookup.register(_driver.GPUArray, _percentile)
    dispatch.to_numpy_dispatch.register(_driver.GPUArray, _on_host)


_registered = False


def register_once() -> None:
    """register(), if it was not called yet and dask's arrays are loaded."""
    global _registered
    if not _registered and "dask.array.dispatch" in sys.modules:
        _registered = True
        register()


def register_if_dask_is_loaded() -> None:
    """register(), if dask is loaded: a worker of dask may count the elements of a chunk before it calls any
    function of NumPy's with it, which would call register_once().
    """
    if "dask" in sys.modules:
        with contextlib.suppress(ImportError):
            importlib.import_module("dask.array.dispatch")
        register_once()


def token(array):
    """A value from which dask makes the array's name in a graph. It is a new one at each call, while other
    arrays with equal elements have equal tokens: the elements are not copied to the host to be compared.
    """
    import uuid

    register_once()
    return "pycuda.GPUArray", uuid.uuid4().hex
