"""numpy.fft for arrays on the device: what each function is, pycuda.numpy says."""

from __future__ import annotations

from typing import Any as _Any

import numpy as _numpy

from pycuda._array.numpy_api import namespace as _namespace


def __getattr__(name: str) -> _Any:
    if name == "__all__":
        value = _namespace.names(_numpy.fft, __name__)
    else:
        value = _namespace.lookup(__name__, _numpy.fft, name)
    return globals().setdefault(name, value)  # of another thread, where that was first


def __dir__() -> list[str]:
    return __getattr__("__all__")
