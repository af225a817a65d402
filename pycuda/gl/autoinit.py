"""Importing this makes a context that shares memory with the current context of OpenGL: `context`, `device`.

The device is CUDA_DEVICE's, ~/.cuda_device's, else the first on which OpenGL's context is.
"""

from __future__ import annotations

import atexit

import pycuda.driver as drv
from pycuda.gl import make_context
from pycuda.tools import clear_context_caches, make_default_context

drv.init()
context = make_default_context(make_context)
device = context.get_device()


def _finish() -> None:
    """At exit. The context may be gone by now, or popped by the program: neither matters any more."""
    global context
    try:
        if drv.Context.get_current() == context:
            drv._driver._finish()
            drv.Context.pop()
    except drv.Error:
        pass
    context = None
    clear_context_caches()


atexit.register(_finish)
