"""Diagonals of arrays, and the indices of diagonals and triangles."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.assign import assign
from pycuda._array.core.axes import INDEX, one_axis
from pycuda._array.core.creation import arange, full, tri
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.operands import as_array
from pycuda._array.indexing.mask import coordinates_of_true
from pycuda._array.shape.views import strided
from pycuda._driver import _check_writable

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Inexact, Scalar
    from pycuda.gpuarray import GPUArray


def diagonal(a: Array[Scalar], offset=0, axis1=0, axis2=1) -> GPUArray[Scalar]:
    """A view of the elements whose indices along two axes differ by `offset`; their axis is the last one."""
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first, second = one_axis(axis1, a.ndim, "axis1"), one_axis(axis2, a.ndim, "axis2")
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    offset = operator.index(offset)
    lengths = a.shape[first] - max(-offset, 0), a.shape[second] - max(offset, 0)
    length = max(min(lengths), 0)
    others = [axis for axis in range(a.ndim) if axis not in (first, second)]
    shape = (*(a.shape[axis] for axis in others), length)
    if 0 in shape:
        return new(shape, a.dtype, a.allocator)
    index: list = [slice(None)] * a.ndim
    index[first], index[second] = slice(max(-offset, 0), None), slice(max(offset, 0), None)
    step = a.strides[first] + a.strides[second]
    return strided(a[tuple(index)], shape, (*(a.strides[axis] for axis in others), step))


def trace(a: Array[Inexact], offset=0, axis1=0, axis2=1, dtype=None, out=None) -> GPUArray[Inexact]:
    """The sum of a diagonal."""
    return diagonal(a, offset, axis1, axis2).sum(axis=-1, dtype=dtype, out=out)


def last_diagonal(x: Array[Scalar], /, *, offset=0) -> GPUArray[Scalar]:
    """numpy.linalg.diagonal: of the last two axes."""
    return diagonal(x, offset, -2, -1)


def last_trace(x: Array[Inexact], /, *, offset=0, dtype=None) -> GPUArray[Inexact]:
    """numpy.linalg.trace: of the last two axes."""
    return trace(x, offset, -2, -1, dtype)


def diag(v: Array[Scalar], k=0) -> GPUArray[Scalar]:
    """The diagonal of a matrix, or a matrix with this diagonal and zeros elsewhere."""
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    side = v.size + abs(k)
    result = full((side, side), 0, v.dtype, v.allocator)
    if v.size:
        assign(diagonal(result, k), v)
    return result


def diagflat(v: Array[Scalar], k=0) -> GPUArray[Scalar]:
    """A matrix with the elements on its diagonal."""
    return diag(v.ravel(), k)


def _diagonal_step(a) -> int:
    """Elements from one of the main diagonal to the next, in C order."""
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim == 2:
        return a.shape[1] + 1
    if len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return 1 + sum(int(np.prod(a.shape[: axis + 1])) for axis in range(a.ndim - 1))


def fill_diagonal(a, val, wrap=False) -> None:
    """Set the main diagonal, in place. With `wrap` the diagonal of a matrix with more rows than columns
    begins again after it has ended, one row further down.
    """
    step = _diagonal_step(a)
    _check_writable(a)
    values = val if isinstance(val, _driver.GPUArray) else np.asarray(val, a.dtype)
    if not a.size:
        return
    end = a.shape[1] * a.shape[1] if a.ndim == 2 and not wrap else a.size
    count = -(-min(end, a.size) // step)
    if wrap and a.ndim == 2 and a.shape[0] > a.shape[1]:
        numbers = apply("multiply", arange(count, dtype=INDEX), step)
        a.put(numbers, val, mode="clip")
        return
    # The step from one element to the next goes along all axes at once.
    view = strided(a, (min(count, *a.shape),), (sum(a.strides),))
    if values.ndim and values.size != view.size:
        values = np.resize(values, view.size)
    assign(view, values)


# ---- indices


def diag_indices_from(arr) -> tuple[GPUArray[np.intp], ...]:
    """The indices of the main diagonal of an array whose axes are of one length."""
    _diagonal_step(arr)
    if len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return (arange(arr.shape[0], dtype=INDEX),) * arr.ndim


def _rows_and_columns(arr) -> tuple[int, int]:
    """The shape of a matrix. ValueError for other arrays."""
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return arr.shape


def tril_indices_from(arr, k=0) -> tuple[GPUArray[np.intp], ...]:
    """The indices of the elements on and below the diagonal k."""
    rows, columns = _rows_and_columns(arr)
    return coordinates_of_true(tri(rows, columns, k, np.bool_))


def triu_indices_from(arr, k=0) -> tuple[GPUArray[np.intp], ...]:
    """The indices of the elements on and above the diagonal k."""
    rows, columns = _rows_and_columns(arr)
    return coordinates_of_true(apply("logical_not", as_array(tri(rows, columns, k - 1, np.bool_))))
