"""Finding and loading NVIDIA's libraries. None is needed: without it our own kernels do the work."""

from __future__ import annotations

import functools

from pycuda import _driver
from pycuda._compile.files import is_of_system


class LibraryNotFound(ImportError):
    """A library of NVIDIA's that was asked for by name is not there; the text says what to install."""


def _path(name: str) -> str:
    """The library's path, as cuda-pathfinder finds it: in a wheel, a conda environment or a toolkit."""
    from cuda.pathfinder import load_nvidia_dynamic_lib

    path = load_nvidia_dynamic_lib(name).abs_path
    if path is None:
        raise OSError(f"lib{name} is loaded, but from a place that is not known")
    return path


@functools.cache
def problem(name: str) -> str | None:
    """Why the library cannot be used, None when it is loaded: it is looked for once."""
    if _driver._is_cpu_device():
        return "NVIDIA's libraries do not run on the CPU device"
    try:
        _driver._library_open(name, _path)
    except (ImportError, RuntimeError) as error:  # DynamicLibNotFoundError is a RuntimeError
        return str(error).partition("\n")[0] or type(error).__name__
    except OSError as error:
        if not is_of_system(error):
            raise
        return str(error)
    return None


def need(name: str) -> None:
    """LibraryNotFound unless the library is loaded."""
    reason = problem(name)
    if reason is not None:
        raise LibraryNotFound(
            f'lib{name} cannot be used ({reason}): pip install "pycuda[libs]", or a CUDA toolkit, has it'
        )
