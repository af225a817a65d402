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
from pycuda._kernels.plans.axes import broadcast_strides, broadcasts

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Scalar, Shape
    from pycuda.gpuarray import GPUArray


def fit(*shapes) -> bool:
    """Whether these shapes broadcast against each other."""
    columns = itertools.zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    return all(len({*lengths} - {1}) < 2 for lengths in columns)


@takes_arrays
def broadcast_to(a: Array[Scalar], shape: Shape) -> GPUArray[Scalar]:
    """A view of this shape with the elements of `a` repeated by strides of 0. It is read-only."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if not broadcasts(a.shape, shape):
        raise numpy_error(np.broadcast_to, a, shape)
    if 0 in shape:
        return _forbid_writing(new(shape, a.dtype, a.allocator))
    strides = broadcast_strides(a, shape)
    return _forbid_writing(_driver.GPUArray(shape, a.dtype, a.allocator, base=a, gpudata=a, strides=strides))
