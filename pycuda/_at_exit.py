"""The end of a context that an import has made current for the whole program."""

from __future__ import annotations

import atexit

from pycuda import _driver
from pycuda._kernels.plans.caches import clear_context_caches


def drop_context(namespace) -> None:
    """Pop the module's `context` and delete it. Called at exit.

    It may be gone by then, or popped by the program: neither matters any more.

    Parameters
    ----------
    namespace : dict
        The module's globals.
    """

    def drop():
        _driver._finish()
        try:
            if _driver.Context.get_current() == namespace["context"]:
                _driver.Context.pop()
        except _driver.Error:
            pass
        namespace["context"] = None
        clear_context_caches()

    atexit.register(drop)
