"""A function of two elements folded over runs of an array: what ufunc.reduceat and ufunc.at are made of.

First the function is folded over 1, 2, 4, ... elements from each element on. A run of any length is then a
few of these results: a run of 13 is one of 1, one of 4 and one of 8 elements. So the order of operands is
kept, and sums are made by pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import INDEX
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.creation import arange
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import on_device
from pycuda._array.core.operands import as_array
from pycuda._array.indexing.take_put import put
from pycuda._array.sorting.sorting import sort_by_key
from pycuda._array.sorting.unique import unique
from pycuda._driver import _check_writable
from pycuda._kernels.builtin.functions import ufunc_dtypes

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def fold_runs(name, values, starts, lengths, longest: int) -> GPUArray:
    """The folds of runs along the first axis of a packed array: of run r the `lengths[r]` elements, at least
    one, from `starts[r]` on. longest: the maximum of the lengths.
    """
    shape = (-1,) + (1,) * (values.ndim - 1)  # of a mask of runs, to broadcast against their folds
    places, folded = starts, None
    step = 1
    while True:
        # Element i of values is now the fold of `step` elements from i on. A run takes it in if its length
        # has that bit; places: where the part of each run that is not folded yet begins.
        has_bit = apply("not_equal", apply("bitwise_and", lengths, step), 0)
        found = values.take(places, 0, mode="clip")
        if folded is None:
            folded, has_begun = found, has_bit
        else:
            both = apply(name, folded, found)
            either = apply("where", has_begun.reshape(shape), both, found)
            folded = apply("where", has_bit.reshape(shape), either, folded)
            has_begun = apply("logical_or", has_begun, has_bit)
        if 2 * step > longest:
            return folded
        places = apply("where", has_bit, apply("add", places, step), places)
        values = apply(name, values[: len(values) - step], values[step:])
        step *= 2


def read_starts(name, indices, length: int) -> np.ndarray:
    """The starts of the segments of ufunc.reduceat, on the host. The call waits for indices on the device."""
    host = indices.get() if isinstance(indices, _driver.GPUArray) else np.asarray(indices)
    host = host if host.size else host.astype(INDEX)
    if host.ndim != 1 or host.dtype.kind not in "iu":
        raise TypeError("the indices of reduceat must be a 1-d array of integers")
    host = host.astype(INDEX)
    wrong = (host < 0) | (host >= length)
    if wrong.any():
        raise IndexError(f"index {host[wrong][0]} out-of-bounds in {name}.reduceat [0, {length})")
    return host


def fold_from(name, a, starts, axis, dtype) -> GPUArray:
    """ufunc.reduceat. starts: on the host, where each run begins."""
    ends = np.append(starts[1:], a.shape[axis])
    lengths = np.maximum(ends - starts, 1)
    moved = a.transpose((axis, *(each for each in range(a.ndim) if each != axis)))
    values = moved.astype(dtype, order="C")
    if not starts.size:
        result = values[:0]
    else:
        result = fold_runs(name, values, on_device(starts), on_device(lengths), int(lengths.max()))
    return result.transpose((*range(1, axis + 1), 0, *range(axis + 1, a.ndim)))


# Functions whose operands for one element are first folded by another function: a - b - c is a - (b + c).
_FOLDED = {"subtract": "add", "divide": "multiply"}


def assign_at(name, a, indices, values, folds) -> None:
    """ufunc.at: a[indices] op= values, where an element whose index occurs several times gets all its values.
    Waits for the stream, as the number of different indices depends on them. folds: the names of functions
    that fold_runs() can fold.
    """
    _check_writable(a)
    inner = _FOLDED.get(name, name)
    if inner not in folds:
        raise TypeError(f"np.{name}.at on GPUArrays: operands of one element are not supported")
    elements = arange(a.size, dtype=INDEX).reshape(a.shape)[indices]
    values = as_array(values)
    ufunc_dtypes(getattr(np, name), (a.dtype, values.dtype))  # or TypeError
    if inner.startswith("logical"):
        values = apply("not_equal", values, 0)
    values = values if values.shape == elements.shape else broadcast_to(values, elements.shape)
    if not elements.size:
        return
    keys, operands = sort_by_key(elements.ravel(), values.ravel())
    places, starts, lengths = unique(keys, return_index=True, return_counts=True)
    longest = int(lengths.max())
    folded = fold_runs(inner, operands, starts, lengths, longest)
    flat = a.ravel() if a.ndim != 1 else a
    result = apply(name, flat.take(places, mode="clip"), folded)
    put(a, places, result.astype(a.dtype, copy=False), mode="clip")
