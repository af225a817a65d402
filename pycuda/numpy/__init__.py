"""NumPy's names for arrays on the device: ``import pycuda.numpy as xp``.

Functions, ufuncs, dtypes and constants have NumPy 2's names and parameters, and so have `linalg` and `fft`.
What creates an array does that on the device; operands are GPUArrays, other libraries' arrays on the device,
numbers, and data in host memory (lists, NumPy's arrays), which is copied to the device. Since NumPy 2's names
are those of the array API standard, this is its namespace, too: what ``a.__array_namespace__()`` returns.

Nothing is written twice: a function is what NumPy's own calls when it is given a GPUArray, found in the table
of pycuda._array.numpy_api.protocols when its name is used first. Dtypes and what computes with them are
NumPy's objects. What NumPy has and this module lacks raises AttributeError.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

import numpy as _numpy

# ruff: noqa: F401
from pycuda._array.interop.interchange import asnumpy, from_dlpack
from pycuda._array.numpy_api import namespace as _namespace
from pycuda._array.numpy_api.inspection import __array_namespace_info__, finfo
from pycuda._array.numpy_api.ufunc_objects import Ufunc as ufunc
from pycuda.gpuarray import GPUArray as ndarray

#: The version of the array API standard.
__array_api_version__ = "2025.12"

_MODULES = "fft", "linalg", "random", "special"


def __getattr__(name: str) -> _Any:
    value: _Any
    if name == "__all__":
        own = "__array_namespace_info__", "asnumpy", "finfo", "from_dlpack", "ndarray", "ufunc"
        value = _namespace.names(_numpy, __name__, *own, *_MODULES)
    elif name in _MODULES:
        value = _import_module(f"{__name__}.{name}")
    else:
        value = _namespace.lookup(__name__, _numpy, name)
    return globals().setdefault(name, value)  # of another thread, where that was first


def __dir__() -> list[str]:
    return __getattr__("__all__")
