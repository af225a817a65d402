"""The CUDA driver API: what pycuda._driver defines, and a few helpers.

Importing this makes no call into CUDA.
"""

from __future__ import annotations

import atexit
import os  # noqa: F401  programs use driver.os and driver.np
from typing import TYPE_CHECKING

import numpy as np  # noqa: F401

from pycuda import _driver
from pycuda._arrays import (  # noqa: F401
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
from pycuda._public import name_public_module as _name_public_module

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


class _DefaultStream:
    """The legacy default stream (CU_STREAM_LEGACY); None is the stream of a `with` block."""

    @staticmethod
    def __cuda_stream__() -> tuple[int, int]:
        """The protocol by which libraries share streams."""
        return 0, 1

    def __repr__(self) -> str:
        return "pycuda.driver.LEGACY_DEFAULT_STREAM"


LEGACY_DEFAULT_STREAM = _DefaultStream()


def have_gl_ext() -> bool:
    """Whether pycuda.gl is there: always, as nothing is linked with OpenGL.

    Returns
    -------
    bool
    """
    return True


class CompileError(Error):  # noqa: F405
    """The source does not compile.

    Parameters
    ----------
    msg : str
    command_line : list of str
        The compiler's arguments.
    stdout, stderr : str
        All that it wrote.
    """

    def __init__(self, msg, command_line, stdout=None, stderr=None):
        super().__init__(msg, command_line, stdout, stderr)
        self.msg = msg
        self.command_line = command_line
        self.stdout = stdout
        self.stderr = stderr

    def __str__(self):
        parts = [self.msg]
        if self.command_line:
            parts.append(f"[command: {' '.join(map(str, self.command_line))}]")
        parts += [
            f"[{name}:\n{text}]" for name, text in (("stdout", self.stdout), ("stderr", self.stderr)) if text
        ]
        return "\n".join(parts)


_name_public_module(
    globals(),
    [
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
