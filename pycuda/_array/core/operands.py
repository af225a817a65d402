"""Operands of NumPy's functions: GPUArrays and numbers. Data in host memory is refused, so that no copy is
implicit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.creation import full
from pycuda._array.core.memory import write_back
from pycuda._driver import _check_writable

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


# What NumPy's functions have as the value of an argument that is not given, and may pass on.
MISSING = getattr(np, "_NoValue", None)


def keeps_axes(keepdims) -> bool:
    """Whether reduced axes are kept, with length 1, by an argument keepdims= that may be MISSING."""
    return keepdims is not MISSING and bool(keepdims)


def is_number(value) -> bool:
    """Whether the value is a number that a launch passes to the kernel: of Python's, of NumPy's, or a 0-d
    array in host memory.
    """
    return isinstance(value, int | float | complex | np.generic) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    )


def host_data_error(value) -> TypeError:
    """The exception for data in host memory, and for objects that are not arrays."""
    return TypeError(
        f"{type(value).__name__} with a GPUArray: data in host memory is never copied implicitly, copy it "
        "with pycuda.gpuarray.to_gpu()"
    )


def operand(value):
    """The value itself, which an elementwise operation takes. TypeError unless it is a GPUArray or a
    number.
    """
    if isinstance(value, _driver.GPUArray) or is_number(value):
        return value
    raise host_data_error(value)


def as_array(value) -> GPUArray:
    """The value as an array on the device: a number becomes a 0-d one, of NumPy's dtype for it. TypeError for
    anything else.
    """
    if isinstance(value, _driver.GPUArray):
        return value
    if not is_number(value):
        raise host_data_error(value)
    return full((), value)


def dtype_of(value) -> np.dtype:
    """The dtype of an array or a number, for which it is that of np.asarray."""
    return value.dtype if isinstance(value, _driver.GPUArray) else np.asarray(operand(value)).dtype


def real_dtype(dtype) -> np.dtype:
    """The dtype of the real parts."""
    return np.empty(0, dtype).real.dtype


def limits_of(dtype):
    """numpy.finfo, of bfloat16 too."""
    if dtype.kind == "V":
        import ml_dtypes

        return ml_dtypes.finfo(dtype)
    return np.finfo(dtype)


def checked_out(out, shape, dtype, casting="same_kind") -> GPUArray:
    """The argument out= itself. TypeError or ValueError if a result of this shape and dtype cannot be stored
    in it.
    """
    if not isinstance(out, _driver.GPUArray):
        raise TypeError(f"out must be a GPUArray, not {type(out).__name__}")
    _check_writable(out)
    if out.shape != tuple(shape):
        raise ValueError(f"out has the shape {out.shape}, the result has {tuple(shape)}")
    if not np.can_cast(dtype, out.dtype, casting):
        raise TypeError(f"Cannot cast output from {dtype!r} to {out.dtype!r} with casting rule {casting!r}")
    return out


def as_mask(where) -> GPUArray:
    """where= as an array. TypeError for one that is not boolean, which NumPy does not take for a mask."""
    where = as_array(bool(where) if type(where) is int else where)
    if where.dtype.kind != "b":
        raise TypeError(
            f"Cannot cast array data from {where.dtype!r} to dtype('bool') according to the rule 'safe': "
            "use where != 0"
        )
    return where


def result_or_out(result, out, casting="same_kind") -> GPUArray:
    """The result, or `out` after it was copied there."""
    if out is None:
        return result
    return write_back(result, checked_out(out, result.shape, result.dtype, casting))
