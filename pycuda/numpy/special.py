"""scipy.special's names for arrays on the device: ufuncs, and functions of them.

What each takes is that of the ufuncs of pycuda.numpy; real numbers alone. SciPy need not be installed. With
its support for other libraries' arrays switched on (SCIPY_ARRAY_API=1) scipy.special calls these.
"""

from __future__ import annotations

from typing import Any as _Any

from pycuda._array.numpy_api import special_functions as _make
from pycuda._array.numpy_api.special_functions import multigammaln, polygamma, zeta  # noqa: F401


def __getattr__(name: str) -> _Any:
    value = _make.special_names() if name == "__all__" else _make.special_ufunc(name)
    return globals().setdefault(name, value)  # of another thread, where that was first


def __dir__() -> list[str]:
    return __getattr__("__all__")
