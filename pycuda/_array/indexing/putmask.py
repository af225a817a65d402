"""Assignment in place through a mask: copyto, place, putmask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import INDEX
from pycuda._array.core.creation import arange
from pycuda._array.core.elementwise import apply
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.core.operands import as_array, as_mask, operand
from pycuda._array.indexing.take_put import put
from pycuda._driver import _check_writable
from pycuda._kernels.plans.axes import broadcasts

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def _cast(source, dtype, casting):
    """An array itself, if the casting rule allows to convert it to this dtype; a number as one of the dtype,
    as NumPy converts it. TypeError if the rule does not allow it.
    """
    if not isinstance(source, _driver.GPUArray):
        number = np.empty((), dtype)
        np.copyto(number, source, casting=casting)
        return number[()]
    if not np.can_cast(source.dtype, dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {source.dtype!r} to {dtype!r} according to the rule '{casting}'"
        )
    return source


def _cast_without_loss(values, dtype):
    """A number as one of the dtype; an array itself, if each of its values has one in the dtype, otherwise
    TypeError.
    """
    if not isinstance(operand(values), _driver.GPUArray):
        return np.asarray(values, dtype)[()]
    return _cast(values, dtype, "safe")


def copyto(dst, src, casting="same_kind", where=True) -> None:
    """Copies what broadcasts to `dst`, where a mask is true."""
    if not isinstance(dst, _driver.GPUArray):
        raise TypeError(f"copyto() argument 1 must be a GPUArray, not {type(dst).__name__}")
    src = _cast(operand(src), dst.dtype, casting)
    if where is True:
        dst[...] = src
        return
    _check_writable(dst)
    if not broadcasts(np.shape(src), dst.shape) or not broadcasts(np.shape(where), dst.shape):
        raise numpy_error(np.copyto, dst, src, casting, where)
    if dst.size:
        value = src.astype(dst.dtype, copy=False) if isinstance(src, _driver.GPUArray) else src
        apply("where", as_mask(where), value, dst, out=dst)


def _repeat_to_count(values, count: int, dtype) -> GPUArray:
    """The values repeated cyclically to `count` elements."""
    values = as_array(values).ravel().astype(dtype, copy=False)
    return values if values.size == count else values.take(arange(count, dtype=INDEX), mode="wrap")


def place(arr, mask, vals) -> None:
    """The values one after another, and over again, to where the mask is true. Waits for the stream."""
    _check_writable(arr)
    mask = as_array(mask)
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    (indices,) = mask.ravel().nonzero()
    if not indices.size:
        return
    vals = as_array(_cast_without_loss(vals, arr.dtype))
    if not vals.size:
        raise ValueError("Cannot insert from an empty array!")
    put(arr, indices, _repeat_to_count(vals, indices.size, arr.dtype), mode="clip")


def putmask(a, /, mask, values) -> None:
    """Write a[i] = values[i % len(values)] wherever the mask is true, both by flat indices."""
    mask, values = as_array(mask), as_array(_cast_without_loss(values, a.dtype))
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    _check_writable(a)
    if not a.size or not values.size:
        return
    if values.size == 1:
        values = values.reshape((1,) * a.ndim)
    else:
        values = _repeat_to_count(values, a.size, values.dtype).reshape(a.shape)
    apply("where", mask.reshape(a.shape), values.astype(a.dtype, copy=False), a, out=a)
