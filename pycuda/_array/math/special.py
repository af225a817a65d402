"""Special functions that are not ufuncs: np.sinc, np.i0."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.elementwise import apply
from pycuda._array.core.operands import limits_of

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Floating, Inexact
    from pycuda.gpuarray import GPUArray


def sinc(x: Array[Inexact]) -> GPUArray[Inexact]:
    """sin(pi x) / (pi x), 1 where x is 0."""
    inexact = x.astype(np.float64) if x.dtype.kind in "biu" else x
    tiny = float(limits_of(inexact.dtype).eps)
    angle = apply("multiply", math.pi, apply("where", apply("equal", inexact, 0), tiny, inexact))
    return apply("divide", apply("sin", angle), angle)


def i0(x: Array[Floating]) -> GPUArray[Floating]:
    """The modified Bessel function of the first kind, of order 0."""
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    return apply("i0", x)
