"""Importing this makes the default device's primary context current: `context` and its `device`.

The primary context is the one that torch, CuPy, numba and the CUDA run-time library use. The device is
CUDA_DEVICE's, ~/.cuda_device's, else the first that works.
"""

from __future__ import annotations

import atexit

import pycuda.driver as drv
from pycuda.tools import clear_context_caches, make_default_context


def _retained_and_pushed(device):
    context = device.retain_primary_context()
    context.push()
    return context


drv.init()
context = make_default_context(_retained_and_pushed)
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
