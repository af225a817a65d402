"""Arrays of other libraries: what takes them."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from pycuda._driver import _ArrayFunction


def taking_arrays(namespace: dict[str, Any]) -> None:
    """Every public function of a module takes other libraries' arrays wherever it takes GPUArrays."""
    for name, value in list(namespace.items()):
        if (
            isinstance(value, FunctionType)
            and not name.startswith("_")
            and value.__module__.startswith("pycuda.")
        ):
            function = functools.update_wrapper(_ArrayFunction(value), value)
            function.__module__ = namespace["__name__"]
            namespace[name] = function
