"""CUDA from Python: the driver API, kernels compiled at run time, and arrays on the device."""

VERSION = (2026, 2)
VERSION_STATUS = ""
VERSION_TEXT = ".".join(map(str, VERSION)) + VERSION_STATUS
__version__ = VERSION_TEXT

from ._base.same_bits import same_bits as same_bits  # noqa: E402
