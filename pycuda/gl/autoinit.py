"""Importing this makes a context that shares memory with the current context of OpenGL: `context`, `device`.

The device is CUDA_DEVICE's, ~/.cuda_device's, else the first on which OpenGL's context is.
"""

from __future__ import annotations

import pycuda.driver as drv
from pycuda._at_exit import drop_context
from pycuda.gl import make_context
from pycuda.tools import make_default_context

drv.init()
context = make_default_context(make_context)
device = context.get_device()
drop_context(globals())
