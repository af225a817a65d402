"""Elements, parts and whole arrays repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.axes import flat_or_axis
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.indexing.take_put import take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pycuda._array.core.types import Allocator, Array, Scalar, Stream
    from pycuda.gpuarray import GPUArray


@takes_arrays
def repeat(
    self: Array[Scalar],
    repeats: Any,
    axis: int | None = None,
    *,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray[Scalar]:
    """Repeat each element, or each part along an axis, as numpy.repeat.

    Parameters
    ----------
    repeats : int or sequence of int
        One number for all, or one for each.
    axis : int, optional
        The flattened array by default.
    stream : Stream, optional
    allocator : callable, optional
        For the result.
    """
    self, axis = flat_or_axis(self, axis, scalars=True)
    allocator = allocator or self.allocator
    if isinstance(repeats, _driver.GPUArray):
        captures.refuse("repeat() with counts on the device", "the host reads the counts", stream)
    counts = np.asarray(repeats.get() if isinstance(repeats, _driver.GPUArray) else repeats)
    if counts.size == 0 or counts.dtype.kind == "b":
        counts = counts.astype(np.intp)
    if counts.dtype.kind not in "iu":
        raise ValueError(f"repeats are {counts.dtype}: they must be integers")
    if counts.ndim > 1:
        raise ValueError(f"repeats have {counts.ndim} axes: one is allowed")
    if (counts < 0).any():
        raise ValueError(
            "repeats may not contain negative values."
            if counts.ndim
            else "negative dimensions are not allowed"
        )
    if counts.size != 1:
        if counts.size != self.shape[axis]:
            raise ValueError(
                f"operands could not be broadcast together with shape ({self.shape[axis]},) "
                f"({counts.size},)"
            )
        numbers = np.repeat(np.arange(counts.size), counts.astype(np.intp))
        return take(self, numbers, axis, stream=stream, allocator=allocator)
    count = int(counts.reshape(()))
    # Each part is broadcast along a new axis after the repeated one; reshape merges the two.
    before, after = self.shape[:axis], self.shape[axis + 1 :]
    result = new((*before, self.shape[axis], count, *after), self.dtype, allocator)
    if result.size:
        apply("copy", self[(slice(None),) * (axis + 1) + (None,)], out=result, stream=stream)
    return result.reshape(*before, self.shape[axis] * count, *after)


@takes_arrays
def tile(
    a: Array[Scalar], reps: int | Sequence[int], *, stream: Stream = None, allocator: Allocator = None
) -> GPUArray[Scalar]:
    """The array as a whole repeated along each axis, as numpy.tile."""
    reps = (reps,) if isinstance(reps, int | np.integer) else tuple(reps)
    ndim = max(len(reps), a.ndim)
    reps = (1,) * (ndim - len(reps)) + reps
    shape = (1,) * (ndim - a.ndim) + a.shape
    # The array is broadcast along a new axis before each of its own; reshape merges the two.
    pairs = [each for pair in zip(reps, shape, strict=True) for each in pair]
    result = new(tuple(pairs), a.dtype, allocator or a.allocator)
    if result.size:
        parts = [each for length in shape for each in (1, length)]
        apply("copy", a.reshape(*parts), out=result, stream=stream)
    return result.reshape(*(count * length for count, length in zip(reps, shape, strict=True)))
