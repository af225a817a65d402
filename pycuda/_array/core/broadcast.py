"""Shapes and strides of arrays that broadcast to one shape."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.memory import new
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._driver import _forbid_writing

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Shape
    from pycuda.gpuarray import GPUArray


def broadcast_strides(array, shape) -> tuple[int, ...]:
    """The strides with which an array has this shape: 0 along axes that it does not have."""
    missing = len(shape) - len(array.shape)
    return (0,) * missing + tuple(
        0 if length == 1 else stride for length, stride in zip(array.shape, array.strides, strict=True)
    )


def fit(*shapes) -> bool:
    """Whether they broadcast to one."""
    columns = itertools.zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    return all(len({*lengths} - {1}) < 2 for lengths in columns)


def broadcasts(shape, to) -> bool:
    """Whether an array of this shape can be repeated to the other."""
    missing = len(to) - len(shape)
    return (
        missing >= 0
        and min(to, default=0) >= 0
        and all(length in (1, wanted) for length, wanted in zip(shape, to[missing:], strict=True))
    )


@takes_arrays
def broadcast_to(a: Array, shape: Shape) -> GPUArray:
    """A view of this shape with the elements of `a` repeated by strides of 0. It is read-only."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if not broadcasts(a.shape, shape):
        raise numpy_error(np.broadcast_to, a, shape)
    if 0 in shape:
        return _forbid_writing(new(shape, a.dtype, a.allocator))
    strides = broadcast_strides(a, shape)
    return _forbid_writing(_driver.GPUArray(shape, a.dtype, a.allocator, base=a, gpudata=a, strides=strides))
