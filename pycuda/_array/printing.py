"""Text of arrays: NumPy's, of a host array in which only what NumPy shows was copied from the device."""

from __future__ import annotations

import itertools
import math
import mmap

import numpy as np

_NORESERVE = 0x4000  # Linux: pages that nobody touches cost nothing


def _untouched(shape, dtype) -> np.ndarray:
    """A host array of which no page is in memory yet."""
    size = math.prod(shape) * dtype.itemsize
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    return np.frombuffer(memory, dtype).reshape(shape)


def _shown(array) -> np.ndarray:
    """What NumPy needs for the text of an array."""
    options = np.get_printoptions()
    if array.size <= options["threshold"] or not array.dtype.itemsize:
        return array.get()
    edge, parts = options["edgeitems"], []
    # An axis without steps has one element for all.
    array = array[tuple(slice(1 if stride == 0 else None) for stride in array.strides)]
    for length in array.shape:
        whole = length <= 2 * edge
        parts.append([slice(None)] if whole else [slice(edge), slice(length - edge, None)])
    host = _untouched(array.shape, array.dtype)
    for part in itertools.product(*parts):
        if array[part].size:
            host[part] = array[part].get()
    return host


def text(array, show) -> str:
    shown = _shown(array)
    return show(shown if shown.shape == array.shape else np.broadcast_to(shown, array.shape))


def to_str(array) -> str:
    """str(array.get())"""
    return text(array, str)


def to_repr(array) -> str:
    """repr(array.get())"""
    return text(array, repr)
