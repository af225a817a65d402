"""Matrices as LAPACK takes them: their dtype, their layout, and NumPy's exceptions for others."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.assign import assign
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.core.operands import as_array

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def complex_dtype(dtype) -> np.dtype:
    """The complex dtype of the same precision."""
    return np.result_type(dtype, np.complex64)


def common_dtype(*arrays) -> np.dtype:
    """The dtype in which NumPy gives results for these: single precision only if all have it, and double for
    integers. TypeError for half.
    """
    return _common_dtype(tuple(each.dtype for each in arrays))


@functools.cache
def _common_dtype(dtypes: tuple) -> np.dtype:
    for each in dtypes:
        if each.kind not in "biufc" or each == np.float16:
            raise TypeError(f"array type {each.name} is unsupported in linalg")
    return np.result_type(*(np.float64 if each.kind in "biu" else each for each in dtypes))


def stacked(function, a, *rest, **keywords) -> GPUArray:
    """The operand as a stack of matrices. NumPy's LinAlgError unless it has two axes."""
    a = as_array(a)
    if a.ndim < 2:
        raise numpy_error(function, a, *rest, **keywords)
    return a


def stacked_square(function, a, *rest, **keywords) -> GPUArray:
    """The operand as a stack of square matrices. NumPy's LinAlgError unless it is one."""
    a = stacked(function, a, *rest, **keywords)
    if a.shape[-1] != a.shape[-2]:
        raise numpy_error(function, a, *rest, **keywords)
    return a


def new_columns(shape, dtype, allocator=None) -> GPUArray:
    """A new array each of whose matrices lies in memory column by column, as LAPACK has them."""
    *batch, rows, columns = shape
    return new((*batch, columns, rows), dtype, allocator).swapaxes(-1, -2)


def in_columns(a, dtype, batch=None) -> GPUArray:
    """A copy of the matrices, column by column. batch: the axes before them, to which they broadcast."""
    batch = a.shape[:-2] if batch is None else batch
    result = new_columns((*batch, *a.shape[-2:]), dtype, a.allocator)
    assign(result, a)
    return result


def zero_unless_finite(a) -> GPUArray:
    """Whether each matrix is finite. One that is not becomes zero: LAPACK need not end for it."""
    finite = apply("isfinite", a).all(axis=(-2, -1))
    apply("where", finite[..., None, None], a, 0, out=a)
    return finite


def in_rows(a) -> GPUArray:
    """The matrices C-contiguous: results are, as NumPy's are."""
    return a if a.flags.c_contiguous else a.copy("C")


def adjoint(a) -> GPUArray:
    """The transposed matrices, conjugated."""
    return a.swapaxes(-1, -2).conj()
