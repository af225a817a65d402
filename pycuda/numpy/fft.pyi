# Written by tools/numpy_stubs.py.
# fmt: off
# ruff: noqa: F401, I001, RUF022
import builtins as _builtins
from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import Literal as _Literal
from typing import TypeAlias as _TypeAlias
from typing import overload

import numpy as _np

from pycuda._array.core import types as _types
from pycuda._array.core.types import DTypeOf as _DTypeOf
from pycuda._array.core.types import Floating as _Floating
from pycuda._array.core.types import Inexact as _Inexact
from pycuda._array.core.types import Result as _Result
from pycuda._array.core.types import Scalar as _Scalar
from pycuda.gpuarray import GPUArray as _GPUArray

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]

_Array: _TypeAlias = _GPUArray[_Scalar] | _np.ndarray[_Any, _np.dtype[_Scalar]]

def fft(
    a: _Any, n: _Any = None, axis: _Any = -1, norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.complexfloating]: ...
def fft2(
    a: _Any, s: _Any = None, axes: _Any = ..., norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.complexfloating]: ...
@overload
def fftfreq(
    n: _Any, d: _Any = 1.0, device: _Any = None, *, dtype: None = None,
) -> _GPUArray[_np.float64]: ...
@overload
def fftfreq(
    n: _Any, d: _Any = 1.0, device: _Any = None, *, dtype: _DTypeOf[_Scalar],
) -> _GPUArray[_Scalar]: ...
@overload
def fftfreq(n: _Any, d: _Any = 1.0, device: _Any = None, *, dtype: _Any = None) -> _GPUArray: ...
def fftn(
    a: _Any, s: _Any = None, axes: _Any = None, norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.complexfloating]: ...
@overload
def fftshift(x: _Array[_Scalar], axes: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def fftshift(x: _Any, axes: _Any = None) -> _GPUArray: ...
def hfft(
    a: _Any, n: _Any = None, axis: _Any = -1, norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.floating]: ...
def ifft(
    a: _Any, n: _Any = None, axis: _Any = -1, norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.complexfloating]: ...
def ifft2(
    a: _Any, s: _Any = None, axes: _Any = ..., norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.complexfloating]: ...
def ifftn(
    a: _Any, s: _Any = None, axes: _Any = None, norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.complexfloating]: ...
@overload
def ifftshift(x: _Array[_Scalar], axes: _Any = None) -> _GPUArray[_Scalar]: ...
@overload
def ifftshift(x: _Any, axes: _Any = None) -> _GPUArray: ...
def ihfft(
    a: _Any, n: _Any = None, axis: _Any = -1, norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.complexfloating]: ...
def irfft(
    a: _Any, n: _Any = None, axis: _Any = -1, norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.floating]: ...
def irfft2(
    a: _Any, s: _Any = None, axes: _Any = ..., norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.floating]: ...
def irfftn(
    a: _Any, s: _Any = None, axes: _Any = None, norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.floating]: ...
def rfft(
    a: _Any, n: _Any = None, axis: _Any = -1, norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.complexfloating]: ...
def rfft2(
    a: _Any, s: _Any = None, axes: _Any = ..., norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.complexfloating]: ...
@overload
def rfftfreq(
    n: _Any, d: _Any = 1.0, device: _Any = None, *, dtype: None = None,
) -> _GPUArray[_np.float64]: ...
@overload
def rfftfreq(
    n: _Any, d: _Any = 1.0, device: _Any = None, *, dtype: _DTypeOf[_Scalar],
) -> _GPUArray[_Scalar]: ...
@overload
def rfftfreq(n: _Any, d: _Any = 1.0, device: _Any = None, *, dtype: _Any = None) -> _GPUArray: ...
def rfftn(
    a: _Any, s: _Any = None, axes: _Any = None, norm: _Any = None, out: _Any = None,
) -> _GPUArray[_np.complexfloating]: ...
