"""NVIDIA's libraries and headers as cuda-pathfinder finds them: in wheels, a conda environment or a toolkit.

It is imported when it is called: that takes as long as compiling a small kernel.
"""

from __future__ import annotations

import contextlib

from .files import passing


def library_path(name: str) -> str:
    """The path of a library ("cublas"), which is loaded. ImportError, RuntimeError or OSError when it is not
    found.
    """
    from cuda.pathfinder import load_nvidia_dynamic_lib

    path = load_nvidia_dynamic_lib(name).abs_path  # DynamicLibNotFoundError is a RuntimeError
    if path is None:
        raise OSError(f"lib{name} is loaded, but its path is not known")
    return path


def header_folder(library: str) -> str | None:
    """The folder of a library's headers, None when it is not found."""
    with passing, contextlib.suppress(ImportError, RuntimeError, ValueError, LookupError):
        from cuda.pathfinder import find_nvidia_header_directory

        return find_nvidia_header_directory(library)
    return None
