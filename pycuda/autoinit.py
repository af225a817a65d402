"""Importing this makes the default device's primary context current: `context` and its `device`.

The primary context is the one that torch, CuPy, numba and the CUDA run-time library use. The device is
CUDA_DEVICE's, ~/.cuda_device's, else the first that works.
"""

from __future__ import annotations

import pycuda.driver as drv
from pycuda._at_exit import drop_context
from pycuda.tools import make_default_context


def _retained_and_pushed(device):
    context = device.retain_primary_context()
    context.push()
    return context


drv.init()
context = make_default_context(_retained_and_pushed)
device = context.get_device()
drop_context(globals())
