"""Variables that the preamble of a user's kernel declares: get_global() of all kinds of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _Method = TypeVar("_Method", bound=Callable[..., tuple[int, int]])

_DOC = """Find a ``__device__`` or ``__constant__`` variable that the preamble declares, in the current
context.

Parameters
----------
name : str
{other}
Returns
-------
(address, size) : tuple of int
    The device address and the size in bytes. Each context has variables of its own.

Raises
------
LogicError
    The kernel's module has no variable of this name.
CompileError
    The text does not compile.

Notes
-----
Calls cuModuleGetGlobal. The module is kept until the context ends, or until
`pycuda.tools.clear_context_caches`: then the next call has new variables.
{note}"""
_OTHER = """{name} : bool
    Whether it is for calls with {calls}, which have a module, and variables, of their own.
"""


def documented(other: str = "", calls: str = "", note: str = "") -> Callable[[_Method], _Method]:
    """A decorator that gives get_global() its docstring. other: its second parameter, for calls with these
    arguments.
    """
    other = _OTHER.format(name=other, calls=calls) if other else ""

    def decorate(method: _Method) -> _Method:
        method.__doc__ = _DOC.format(other=other, note=note)
        return method

    return decorate


class OneModule:
    """A kernel whose calls all launch from one module once there may be variables in it: what is set in them
    is to count. Those that the preamble declares are known before; those of headers that it includes are not.
    """

    _one_module = False
    _launches: Any = None  # the launch_cache, where there is one

    def _module(self, other: bool):
        """The module that calls launch from; other: the one for the calls that have their own."""
        raise NotImplementedError

    def _only_module(self, other: bool = False):
        if not self._one_module:
            self._one_module = True
            if self._launches is not None:
                self._launches.clear()
        return self._module(other)
