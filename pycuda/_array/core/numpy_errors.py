"""NumPy's exceptions for calls that are refused: NumPy makes them itself, from host arrays of the same shapes
and dtypes that have memory for one element only.
"""

from __future__ import annotations

import numpy as np

from pycuda import _driver


def stand_in(value):
    """A host array of the shape and dtype of a GPUArray, or a list of them; anything else as it is."""
    if isinstance(value, list | tuple):
        return type(value)(map(stand_in, value))
    if not isinstance(value, _driver.GPUArray):
        return value
    element = np.zeros((), value.dtype)
    return np.lib.stride_tricks.as_strided(element, value.shape, (0,) * value.ndim)


def numpy_error(function, *operands, **keywords) -> Exception:
    """What the function of NumPy raises for operands like these: to be called where it does raise, so that it
    computes nothing.
    """
    try:
        function(*stand_in(operands), **{name: stand_in(value) for name, value in keywords.items()})
    except Exception as problem:
        return problem.with_traceback(None)
    return NotImplementedError(f"{function.__name__} is not supported for such operands")


def shape_text(shape) -> str:
    """A shape as NumPy's messages write it: (3,4)."""
    return str(tuple(shape)).replace(" ", "")
