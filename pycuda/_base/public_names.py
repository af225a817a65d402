"""Where users find what private modules define."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from pycuda._driver import _ArrayFunction

_Function = TypeVar("_Function", bound=Callable[..., Any])


def also_named(**others: str) -> Callable[[_Function], _Function]:
    """Decorate a function so that a parameter may be passed by another name, too:
    also_named(other="parameter").
    """

    def decorate(function):
        @functools.wraps(function)
        def renaming(*args, **kwargs):
            for other, parameter in others.items():
                if other in kwargs and parameter not in kwargs:
                    kwargs[parameter] = kwargs.pop(other)
            return function(*args, **kwargs)

        return renaming

    return decorate


_Class = TypeVar("_Class", bound=type)


def documented_init(cls: _Class) -> _Class:
    """Decorate a class so that `help(cls.__init__)` shows the class's docstring, where its parameters are."""
    vars(cls)["__init__"].__doc__ = cls.__doc__
    return cls


def name_public_module(namespace: dict[str, Any], names: list[str] | None = None) -> None:
    """Set `__module__` of functions and classes of private modules to the public module with this namespace,
    in which users find them: help(), pickle and tracebacks then show that one. names: by default those of
    __all__.
    """
    for name in namespace["__all__"] if names is None else names:
        value = namespace[name]
        if isinstance(value, FunctionType | _ArrayFunction | type) and value.__module__.startswith(
            "pycuda._"
        ):
            value.__module__ = namespace["__name__"]
