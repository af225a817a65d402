"""Buffers and textures of OpenGL as device memory.

A context of OpenGL must be current in the thread that registers, maps and unmaps: make it first, with the
library that draws, and then a CUDA context by `make_context` or by importing pycuda.gl.autoinit.
"""

from __future__ import annotations

import warnings

from pycuda._base.public_names import documented_init as _documented_init
from pycuda._driver import (
    RegisteredBuffer,
    RegisteredImage,
    RegisteredMapping,
    Stream,
    graphics_map_flags,
    graphics_register_flags,
)
from pycuda._driver import make_gl_context as make_context

__all__ = [
    "BufferObject",
    "BufferObjectMapping",
    "RegisteredBuffer",
    "RegisteredImage",
    "RegisteredMapping",
    "graphics_map_flags",
    "graphics_register_flags",
    "init",
    "make_context",
]


def _warn(name: str, instead: str) -> None:
    text = f"pycuda.gl.{name} dates from before CUDA 3.0: use {instead}"
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def init() -> None:
    """Do nothing, with a DeprecationWarning: `make_context` does what is needed."""
    _warn("init", "make_context")


@_documented_init
class BufferObject:
    """A buffer of OpenGL, by the names of CUDA before 3.0. With a DeprecationWarning: use RegisteredBuffer.

    Parameters
    ----------
    handle : int
        What glGenBuffers gave.
    """

    def __init__(self, handle: int) -> None:
        _warn("BufferObject", "RegisteredBuffer")
        self._registered = RegisteredBuffer(handle)

    def handle(self) -> int:
        """OpenGL's name of it."""
        return self._registered.gl_handle()

    def unregister(self) -> None:
        """End the registration now.

        Raises
        ------
        LogicError
            The second time, or while it is mapped.
        """
        self._registered.unregister()

    def map(self, stream: Stream | None = None) -> BufferObjectMapping:
        """Map the memory for kernels.

        Parameters
        ----------
        stream : Stream
            Work of OpenGL before this is done before its work after it.

        Returns
        -------
        BufferObjectMapping
        """
        return BufferObjectMapping(self._registered.map(stream))


@_documented_init
class BufferObjectMapping:
    """A mapped BufferObject, made by its method map()."""

    def __init__(self, mapping: RegisteredMapping) -> None:
        self._mapping = mapping
        self._place = mapping.device_ptr_and_size()

    def unmap(self) -> None:
        """Give the memory back to OpenGL.

        Raises
        ------
        LogicError
            The second time.
        """
        self._mapping.unmap()

    def device_ptr(self) -> int:
        """The device address."""
        return self._place[0]

    def size(self) -> int:
        """How many bytes."""
        return self._place[1]
