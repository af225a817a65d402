"""axis= of a call as axes of an array."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

INDEX = np.dtype(np.intp)  # the dtype of indices in results


def normalized_axes(axis, ndim: int, scalars=True) -> tuple[int, ...]:
    """The axes that an axis argument names. AxisError, or ValueError for one named twice.

    With `scalars` a 0-d array has the axis 0, as it has for the reductions of NumPy's ufuncs.
    """
    if axis is None:
        return tuple(range(ndim))
    if not scalars:
        return normalize_axis_tuple(axis, ndim)
    if ndim == 0 and axis in (0, -1):
        return ()
    axes = tuple(one_axis(each, ndim) for each in (axis if isinstance(axis, tuple | list) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return axes


def one_axis(axis, ndim: int, parameter: str | None = None) -> int:
    """The axis counted from 0. AxisError, which names the parameter, if the array has no such axis; a 0-d
    array has none.
    """
    return normalize_axis_index(operator.index(axis), ndim, parameter)


def flat_or_axis(a, axis, scalars=False) -> tuple[GPUArray, int]:
    """(array, axis counted from 0). If axis is None, the array is flattened. With `scalars` a 0-d array
    counts as a vector of one element."""
    if axis is None:
        return a.ravel(), 0
    if scalars and a.ndim == 0:
        a = a.ravel()
    return a, one_axis(axis, a.ndim)


def starts(axes, operands: int) -> list[tuple[int, ...]]:
    """For every index along `axes`, the offsets of that element from the start of each operand.

    axes: (length, stride in the first operand, stride in the second operand, ...).
    """
    return [
        tuple(
            sum(i * axis[1 + which] for i, axis in zip(index, axes, strict=True)) for which in range(operands)
        )
        for index in itertools.product(*(range(length) for length, *_ in axes))
    ]
