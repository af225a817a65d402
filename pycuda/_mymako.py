"""The mako templates package, with advice when it is missing."""

from __future__ import annotations

try:
    import mako.template  # noqa: F401  so that `_mymako.template` is there
except ImportError:
    raise ImportError("pycuda's kernel templates need mako: pip install mako") from None

from mako import *  # noqa: F403
from mako import template  # noqa: F401
