"""Values assigned to views of any strides."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.gather import Positions, indexed_copy
from pycuda._array.core.memory import new, on_device, overlap
from pycuda._array.core.numpy_errors import shape_text
from pycuda._driver import _check_writable
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.axes import broadcast_strides

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def as_scalar(value, dtype):
    """A host value of one element as a NumPy scalar of this dtype; None for other values and for arrays on
    the device.
    """
    if isinstance(value, _driver.GPUArray):
        return None
    host = np.asarray(value)
    return np.asarray(value, dtype=dtype).reshape(())[()] if host.size == 1 else None


# NumPy's message for a value that does not broadcast; the places are for its shape and for that of the
# target.
REFUSAL = "could not broadcast input array from shape {} into shape {}"


def check_broadcast(shape, to, refusal=REFUSAL) -> tuple[int, ...]:
    """The shape without the leading axes of length 1 that `to` does not have. ValueError, with the message
    `refusal`, when it does not broadcast to the shape `to`.
    """
    extra = max(len(shape) - len(to), 0)
    short = shape[extra:]
    if math.prod(shape[:extra]) != 1 or any(
        length not in (1, wanted) for length, wanted in zip(short[::-1], to[::-1], strict=False)
    ):
        raise ValueError(refusal.format(shape_text(shape), shape_text(to)))
    return short


def values_for(value, a, shape, stream=None, refusal=REFUSAL) -> GPUArray:
    """The value as an array on the device, of the dtype of `a`, that broadcasts to `shape` and shares no
    memory with `a`. ValueError, with the message `refusal`, when it does not broadcast.
    """
    if not isinstance(value, _driver.GPUArray):
        host = np.asarray(value)
        host = host if host.dtype == a.dtype else np.asarray(value, dtype=a.dtype)
        return on_device(host.reshape(check_broadcast(host.shape, shape, refusal)), stream)
    short = check_broadcast(value.shape, shape, refusal)
    if value.dtype != a.dtype or overlap(value, a):
        value = apply(
            "copy", value, out=new(value.shape, a.dtype, a.allocator), stream=stream, casting="unsafe"
        )
    return value if value.shape == short else value.reshape(short)


@takes_arrays
def assign_element(view, value) -> None:
    """a[i, j] = value for integers, which name one element. ValueError for a value with axes."""
    if not view.dtype.names and np.ndim(value):
        raise ValueError(
            f"setting an array element with a sequence: the value has the shape {np.shape(value)}. Assign "
            "value[0], or assign to a view, a[0, ...] = value"
        )
    assign(view, value)


@takes_arrays
def assign(view, value, stream=None) -> None:
    """Every element of a view, of any strides, from a number or an array that broadcasts to it."""
    if view.dtype.names and not isinstance(value, _driver.GPUArray):
        value = np.asarray(value, view.dtype)  # tuples are elements
    number = as_scalar(value, view.dtype)
    if number is None:
        shape = value.shape if isinstance(value, _driver.GPUArray) else np.shape(value)
        short = check_broadcast(shape, view.shape)
        if not isinstance(value, _driver.GPUArray):
            host = np.asarray(value)
            host = (host if host.dtype == view.dtype else np.asarray(value, dtype=view.dtype)).reshape(short)
            if short == view.shape and view.flags.forc and not captures.is_captured(stream):
                return view.set(host, stream=stream) if view.size else None
            value = on_device(host, stream)
        elif value.shape != short:
            value = value.reshape(short)
    if view.size == 0:
        return _check_writable(view)
    if elements.kind(view.dtype) == "V":
        if number is not None:
            value = on_device(np.asarray(number, None if view.dtype.kind == "V" else view.dtype), stream)
        return _assign_raw(view, value, stream)
    apply("copy", value if number is None else number, out=view, stream=stream, casting="unsafe")
    return None


def _assign_raw(view, value, stream) -> None:
    """assign() for dtypes on which kernels do no arithmetic, such as structured ones: an indexed copy with
    one index, the offset 0.
    """
    if value.dtype != view.dtype:
        raise TypeError(f"Cannot cast array data from {value.dtype!r} to {view.dtype!r}")
    steps = broadcast_strides(value, view.shape)
    axes = [
        (length, stride, 0, step)
        for length, stride, step in zip(view.shape, view.strides, steps, strict=True)
    ]
    zero = on_device(np.zeros((), np.int64), stream)
    indexed_copy(view, Positions(zero, "OFFSET"), axes, value, put=True, stream=stream)
