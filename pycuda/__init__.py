"""CUDA from Python: the driver API, kernels compiled at run time, and arrays on the device."""

VERSION = (2026, 2)
VERSION_STATUS = ""
VERSION_TEXT = ".".join(map(str, VERSION)) + VERSION_STATUS
__version__ = VERSION_TEXT

from ._base.same_bits import same_bits as same_bits  # noqa: E402


def _left_by_pycuda(folder: str) -> str | None:
    """The file that a build of PyCUDA leaves in a folder of this package, None if there is none: its
    extension module `_pvt_struct`, which would be imported in place of ours. Its others are overwritten."""
    import os
    from _imp import extension_suffixes  # what importlib.machinery, which takes longer to import, has

    paths = [os.path.join(folder, "_pvt_struct" + suffix) for suffix in extension_suffixes()]
    return next(filter(os.path.exists, paths), None)


def _warn_of_left_file() -> None:
    left = _left_by_pycuda(__file__.rpartition("/")[0])
    if left:
        from ._base.other_copies import warn_of_left_file

        warn_of_left_file(left)


_warn_of_left_file()


def __getattr__(name: str) -> object:
    """`random`, `arange` and `array`, which dask.array.random takes from the package of a bit generator."""
    if name == "random":
        from ._dask import random

        return random
    if name in {"arange", "array"}:
        from . import numpy

        return getattr(numpy, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
