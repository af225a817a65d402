"""Norms of vectors and matrices."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.axes import normalized_axes, one_axis
from pycuda._array.linear.decompositions import svdvals
from pycuda._array.reduction.reduce import reduce
from pycuda._array.shape.views import expand_dims, moveaxis

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


_NAMES = {None: "norm_2", 0: "norm_0", 1: "norm_1", 2: "norm_2", np.inf: "norm_inf", -np.inf: "norm_-inf"}


def _vector(x, order, axis, keepdims) -> GPUArray:
    axis = normalized_axes(axis, x.ndim, scalars=False)
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    name = _NAMES.get(order, "norm_p")
    return reduce(name, x, axis, None, None, keepdims, parameter=float(order) if name == "norm_p" else 0.0)


def _of_singular_values(matrices, order) -> GPUArray:
    s = svdvals(matrices)
    if order == "nuc":
        return s.sum(axis=-1)
    return s.max(axis=-1, initial=0) if order == 2 else s.min(axis=-1)


def _matrix(x, order, axes, keepdims) -> GPUArray:
    """numpy.linalg.norm of matrices along two axes."""
    row, column = (one_axis(each, x.ndim) for each in axes)
    if row == column:
        raise ValueError("Duplicate axes given.")
    if order in (None, "fro", "f"):
        return _vector(x, 2, (row, column), keepdims)
    if order in (2, -2, "nuc"):
        result = _of_singular_values(moveaxis(x, (row, column), (-2, -1)), order)
        return expand_dims(result, (row, column)) if keepdims else result
    if order not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    summed, chosen = (row, column) if abs(order) == 1 else (column, row)
    sums = _vector(x, 1, summed, keepdims=True)
    initial = {"initial": 0} if order > 0 else {}
    result = (sums.max if order > 0 else sums.min)(axis=chosen, keepdims=True, **initial)
    if keepdims:
        return result
    return result[tuple(0 if axis in (row, column) else slice(None) for axis in range(x.ndim))]


def norm(x, ord=None, axis=None, keepdims=False) -> GPUArray[np.floating]:
    """numpy.linalg.norm"""
    if axis is None:
        if ord is None or (x.ndim == 1 and ord == 2) or (x.ndim == 2 and ord in ("f", "fro")):
            return _vector(x, 2, None, keepdims)
        axis = tuple(range(x.ndim))
    elif not isinstance(axis, tuple):
        try:
            axis = (operator.index(axis),)
        except TypeError:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from None
    if len(axis) == 1:
        return _vector(x, ord, axis, keepdims)
    if len(axis) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    return _matrix(x, ord, axis, keepdims)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2) -> GPUArray[np.floating]:
    """numpy.linalg.vector_norm: over several axes, or all, as if they were one."""
    return _vector(x, ord, axis, keepdims)


def matrix_norm(x, /, *, keepdims=False, ord="fro") -> GPUArray[np.floating]:
    """numpy.linalg.matrix_norm: of the last two axes."""
    return _matrix(x, ord, (-2, -1), keepdims)
