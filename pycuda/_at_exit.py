"""The end of a context that an import has made current for the whole program."""

from __future__ import annotations

import atexit

import pycuda.driver as drv
from pycuda.tools import clear_context_caches


def drop_context(namespace) -> None:
    """At exit: pop the context that the module has as `context`, and drop it.

    It may be gone by then, or popped by the program: neither matters any more.

    Parameters
    ----------
    namespace : dict
        The module's globals.
    """

    def drop():
        drv._driver._finish()
        try:
            if drv.Context.get_current() == namespace["context"]:
                drv.Context.pop()
        except drv.Error:
            pass
        namespace["context"] = None
        clear_context_caches()

    atexit.register(drop)
