"""Flat indices as indices along axes and back, and bits in bytes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.axes import INDEX
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.creation import arange
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.operands import as_array
from pycuda._array.shape.joining import concatenate
from pycuda._array.shape.views import moveaxis

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

# ---- indices of several axes in one number


def _check_order(order) -> None:
    if order not in ("C", "F"):
        raise ValueError(f"order must be one of 'C' or 'F' (got {order!r})")


def _as_indices(value) -> GPUArray:
    value = as_array(value)
    if value.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    return value.astype(INDEX, copy=False)


def unravel_index(indices, shape, order="C") -> tuple[GPUArray[np.intp], ...]:
    """The index along each axis of elements with these flat indices. Waits for the stream, to check them."""
    _check_order(order)
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    flat = _as_indices(indices)
    if flat.size and not 0 <= int(flat.min()) <= int(flat.max()) < math.prod(shape):
        raise ValueError(f"an index is out of bounds for array with size {math.prod(shape)}")
    result = []
    lengths = list(reversed(shape)) if order == "C" else list(shape)
    for place, length in enumerate(lengths):
        if place == len(lengths) - 1:
            result.append(flat)
        else:
            result.append(apply("remainder", flat, length))
            flat = apply("floor_divide", flat, length)
    return tuple(reversed(result)) if order == "C" else tuple(result)


def ravel_multi_index(multi_index, dims, mode="raise", order="C") -> GPUArray[np.intp]:
    """The flat indices of the elements with these indices. mode "raise" waits for the stream."""
    _check_order(order)
    dims = (dims,) if isinstance(dims, int | np.integer) else tuple(dims)
    parts = [_as_indices(each) for each in multi_index]
    modes = (mode,) * len(dims) if isinstance(mode, str) else tuple(mode)
    if len(parts) != len(dims) or len(modes) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    total = None
    pairs = list(zip(parts, dims, modes, strict=True))
    for part, length, each in pairs if order == "C" else reversed(pairs):
        if each == "wrap":
            part = apply("remainder", part, length)
        elif each == "clip":
            part = apply("clip", part, 0, length - 1)
        elif part.size and not 0 <= int(part.min()) <= int(part.max()) < length:
            raise ValueError("invalid entry in coordinates array")
        total = part if total is None else apply("add", apply("multiply", total, length), part)
    return total


def ix_(*args) -> tuple[GPUArray, ...]:
    """Indices along each axis, of one axis each, shaped so that they broadcast to all combinations."""
    result = []
    for place, each in enumerate(args):
        each = as_array(each)
        if each.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if each.dtype.kind == "b":
            (each,) = each.nonzero()
        result.append(each.reshape(tuple(-1 if place == other else 1 for other in range(len(args)))))
    return tuple(result)


def argwhere(a) -> GPUArray[np.intp]:
    """The indices of the elements that are not 0, one row each. Waits for the stream."""
    if a.ndim == 0:
        return argwhere(a.reshape(1))[:, :0]
    found = a.nonzero()
    result = new((found[0].size, a.ndim), INDEX, a.allocator)
    for axis, each in enumerate(found):
        result[:, axis] = each
    return result


# ---- bits


def _shifts(bitorder: str) -> GPUArray:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return arange(7, -1, -1, dtype=np.uint8) if bitorder == "big" else arange(8, dtype=np.uint8)


def packbits(a, /, axis=None, bitorder="big") -> GPUArray[np.uint8]:
    """Eight booleans in each byte."""
    if a.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    shifts = _shifts(bitorder)
    a, axis = (a.ravel(), 0) if axis is None else (a, axis)
    rows = moveaxis(apply("not_equal", a, 0), axis, -1).astype(np.uint8)
    missing = -rows.shape[-1] % 8
    if missing:
        zeros = broadcast_to(as_array(np.uint8(0)), (*rows.shape[:-1], missing))
        rows = concatenate((rows, zeros), -1)
    bits = apply("left_shift", rows.reshape((*rows.shape[:-1], rows.shape[-1] // 8, 8)), shifts)
    return moveaxis(bits.sum(axis=-1, dtype=np.uint8), -1, axis)


def unpackbits(a, /, axis=None, count=None, bitorder="big") -> GPUArray[np.uint8]:
    """A byte, 0 or 1, for each bit."""
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    shifts = _shifts(bitorder)
    a, axis = (a.ravel(), 0) if axis is None else (a, axis)
    rows = moveaxis(a, axis, -1)
    bits = apply("bitwise_and", apply("right_shift", rows[..., None], shifts), 1)
    bits = bits.reshape((*rows.shape[:-1], rows.shape[-1] * 8))
    if count is not None:
        length = bits.shape[-1]
        if count < 0 and -count > length:
            raise ValueError(f"-ve count {count} is larger than number of elements")
        if count > length:
            zeros = broadcast_to(as_array(np.uint8(0)), (*bits.shape[:-1], count - length))
            bits = concatenate((bits, zeros), -1)
        bits = bits[..., :count]
    return moveaxis(bits, -1, axis)
