"""CUDA from Python: the driver API, kernels compiled at run time, and arrays on the device."""

VERSION = (2026, 2)
VERSION_STATUS = ""
VERSION_TEXT = ".".join(map(str, VERSION)) + VERSION_STATUS
__version__ = VERSION_TEXT

from ._base.other_copies import warn_of_left_files as _warn_of_left_files  # noqa: E402
from ._base.same_bits import same_bits as same_bits  # noqa: E402

_warn_of_left_files(__file__)


def __getattr__(name: str) -> object:
    """`random`, `arange` and `array`, which dask.array.random takes from the package of a bit generator."""
    if name == "random":
        from ._dask import random

        return random
    if name in {"arange", "array"}:
        from . import numpy

        return getattr(numpy, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
