"""Importing this makes the default device's primary context current: `context` and its `device`. The same as
pycuda.autoinit.
"""

from __future__ import annotations

from pycuda.autoinit import context, device

__all__ = ["context", "device"]
