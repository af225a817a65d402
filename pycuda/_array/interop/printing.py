"""str() and repr() of arrays: NumPy's text of a host array with only the elements shown copied from the
device."""

from __future__ import annotations

import html
import itertools
import math
import mmap

import numpy as np

from pycuda import _driver

# MAP_NORESERVE of Linux: pages take memory only when they are touched.
_NORESERVE = 0x4000


def _new_host_array(shape, dtype) -> np.ndarray:
    """A host array of which no page is in memory yet."""
    size = math.prod(shape) * dtype.itemsize
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    return np.frombuffer(memory, dtype).reshape(shape)


def _printed_part(array) -> np.ndarray:
    """A host array of which NumPy makes the text of an array: if that is summarized, only the elements at the
    edges are copied, and axes with a stride of 0 have the length 1.
    """
    options = np.get_printoptions()
    if array.size <= options["threshold"] or not array.dtype.itemsize:
        return array.get()
    edge, parts = options["edgeitems"], []
    # Along an axis with a stride of 0 all elements are the same one.
    array = array[tuple(slice(1 if stride == 0 else None) for stride in array.strides)]
    for length in array.shape:
        whole = length <= 2 * edge
        parts.append([slice(None)] if whole else [slice(edge), slice(length - edge, None)])
    host = _new_host_array(array.shape, array.dtype)
    for part in itertools.product(*parts):
        if array[part].size:
            host[part] = array[part].get()
    return host


def text(array, show) -> str:
    """show(host array) for a host array of the same shape with the elements that the text shows."""
    shown = _printed_part(array)
    return show(shown if shown.shape == array.shape else np.broadcast_to(shown, array.shape))


def to_str(array) -> str:
    """str(array.get())"""
    return text(array, str)


def to_repr(array) -> str:
    """repr(array.get())"""
    return text(array, repr)


def _answer_or_error(question) -> str:
    """The answer, or why there is none: the array may be freed, its context gone."""
    try:
        return question()
    except _driver.Error as problem:
        return f"not available: {str(problem).splitlines()[0]}"


def _device(array) -> str:
    number = array.__dlpack_device__()[1]
    return f"{number}: {_driver.Device(number).name()}"


def to_html(array) -> str:
    """The HTML that notebooks show."""
    rows = {
        "shape": str(array.shape),
        "dtype": str(array.dtype),
        "device": _answer_or_error(lambda: _device(array)),
    }
    cells = (f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in rows.items())
    values = html.escape(_answer_or_error(lambda: to_str(array)))
    return f"<div><table>{''.join(cells)}</table><pre>{values}</pre></div>"
