"""Finding and loading NVIDIA's libraries. All are optional: without them our own kernels do the work."""

from __future__ import annotations

import functools

from pycuda import _driver
from pycuda._compile.files import is_of_system
from pycuda._compile.finder import library_path


class LibraryNotFound(ImportError):
    """A library of NVIDIA's that the call needs is not installed; the message says what to install."""


@functools.cache
def problem(name: str) -> str | None:
    """Why the library cannot be used; None if it is loaded. The first call searches for it and loads it."""
    if _driver._is_cpu_device():
        return "NVIDIA's libraries do not run on the CPU device"
    try:
        _driver._library_open(name, library_path)
    except (ImportError, RuntimeError) as error:
        return str(error).partition("\n")[0] or type(error).__name__
    except OSError as error:
        if not is_of_system(error):
            raise
        return str(error)
    return None


def require(name: str) -> None:
    """Load the library; LibraryNotFound if that is not possible."""
    reason = problem(name)
    if reason is not None:
        raise LibraryNotFound(
            f'lib{name} cannot be used ({reason}): pip install "pycuda[libs]", or a CUDA toolkit, has it'
        )
