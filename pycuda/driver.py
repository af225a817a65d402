"""The CUDA driver API: what pycuda._driver defines, and a few helpers.

Importing this makes no call into CUDA.
"""

from __future__ import annotations

import atexit
import os  # noqa: F401  programs use driver.os and driver.np
from typing import TYPE_CHECKING

import numpy as np  # noqa: F401

from pycuda import _driver
from pycuda._base.driver_extras import LEGACY_DEFAULT_STREAM, CompileError  # noqa: F401
from pycuda._base.public_names import name_public_module as _name_public_module
from pycuda._base.texture_arrays import (  # noqa: F401
    bind_array_to_texref,
    dtype_to_array_format,
    gpuarray_to_array,
    make_multichannel_2d_array,
    matrix_to_array,
    matrix_to_texref,
    np_to_array,
)
from pycuda._driver import *  # noqa: F403
from pycuda._driver import _live_objects  # noqa: F401  for tests that count what they leave

# Read at each compilation.
CUDA_DEBUGGING = False

if not TYPE_CHECKING:

    def __getattr__(name: str) -> type:
        if name == "GPUArray":  # of pycuda.gpuarray, which is imported with the first use
            return _driver.GPUArray
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def set_debugging(flag: bool = True) -> None:
    """Compile every kernel from now on for cuda-gdb (-g -G), uncached, its files kept.

    Parameters
    ----------
    flag : bool
    """
    global CUDA_DEBUGGING
    CUDA_DEBUGGING = flag


def have_gl_ext() -> bool:
    """Whether pycuda.gl is there: always, as nothing is linked with OpenGL.

    Returns
    -------
    bool
    """
    return True


_name_public_module(
    globals(),
    [
        "CompileError",
        "bind_array_to_texref",
        "dtype_to_array_format",
        "gpuarray_to_array",
        "make_multichannel_2d_array",
        "matrix_to_array",
        "matrix_to_texref",
        "np_to_array",
    ],
)
atexit.register(_driver._finish)
