"""Packing of kernel arguments: the struct module in native mode, with F and D for complex64 and complex128.

Sizes and alignments are the host compiler's, which are the device's too. Nothing is padded at the end.
"""

from __future__ import annotations

import functools

from pycuda._driver import _PackError as error
from pycuda._driver import _PackStruct as Struct

__all__ = ["Struct", "calcsize", "error", "pack", "pack_into", "unpack", "unpack_from"]

_struct = functools.lru_cache(maxsize=128)(Struct)


def pack(format, *values) -> bytes:
    """pack(format, *values) -> bytes"""
    return _struct(format).pack(*values)


def pack_into(format, buffer, offset, *values) -> None:
    """pack_into(format, buffer, offset, *values)"""
    _struct(format).pack_into(buffer, offset, *values)


def unpack(format, data) -> tuple:
    """unpack(format, data) -> tuple"""
    return _struct(format).unpack(data)


def unpack_from(format, buffer, offset=0) -> tuple:
    """unpack_from(format, buffer, offset=0) -> tuple"""
    return _struct(format).unpack_from(buffer, offset)


def calcsize(format) -> int:
    """calcsize(format) -> int: bytes that the format takes."""
    return _struct(format).size


def _clearcache() -> None:
    _struct.cache_clear()
