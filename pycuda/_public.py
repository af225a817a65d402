"""Where users find what private modules define."""

from __future__ import annotations

from types import FunctionType
from typing import Any


def name_public_module(namespace: dict[str, Any], names: list[str] | None = None) -> None:
    """Let functions and classes of private modules say that they are of this module, under whose names (by
    default those of __all__) users find them: for help(), pickle and the text of errors.
    """
    for name in namespace["__all__"] if names is None else names:
        value = namespace[name]
        if isinstance(value, FunctionType | type) and value.__module__.startswith("pycuda._"):
            value.__module__ = namespace["__name__"]
