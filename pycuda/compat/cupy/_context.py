"""The context that a program written for CuPy expects to be there."""

from __future__ import annotations

import pycuda.driver as drv


def require() -> None:
    """Make the primary context of the default device current, where no context is."""
    drv.init()
    if drv.Context.get_current() is not None:
        return
    from pycuda import autoprimaryctx

    # The import makes the context current only the first time, and only in the thread that does it.
    if drv.Context.get_current() is None:
        autoprimaryctx.device.retain_primary_context().push()
