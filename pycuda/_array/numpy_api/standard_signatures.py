"""Functions of pycuda.numpy with the array API standard's parameters, where NumPy's allow less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycuda._array.core.operands import MISSING
from pycuda._array.numpy_api import numpy_signatures

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


def clip(a, min=None, max=None, out=None, *, a_min=MISSING, a_max=MISSING, **kwargs) -> GPUArray:
    """numpy.clip, whose bounds are both optional, by position and by name.

    Parameters
    ----------
    a : array
    min, max : array or number, optional
        No bound by default. They and `a` are broadcast together.
    out : GPUArray, optional
    a_min, a_max : array or number, optional
        NumPy's other names of the bounds.

    Raises
    ------
    ValueError
        A bound is given by both of its names.
    """
    bounds = []
    for name, bound, numpys in (("min", min, a_min), ("max", max, a_max)):
        if bound is not None and numpys is not MISSING:
            raise ValueError(f"clip() got {name} and a_{name}, two names of one bound: give one of them")
        bounds.append(bound if numpys is MISSING else numpys)
    return numpy_signatures.clip(a, *bounds, out, **kwargs)
