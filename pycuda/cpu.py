"""Programs in any language on the CPU device, with no GPU and no NVIDIA driver.

::

    python -m pycuda.cpu --devices 2 -- ./program argument

runs a program that opens ``libcuda.so.1`` or ``libcuda.so``, by itself or through a library such as
numba-cuda or cuda.core, with the CPU device in that place. The installed command ``cuda-cpu`` is the same:
``cuda-cpu --help`` prints the options. Its exit status is the program's.
"""

from __future__ import annotations

import importlib.util
import os
import sys

__all__ = ["path"]

_RUNNER = "cuda-cpu"


def path() -> str:
    """The folder of the CPU device's libraries, ``libcuda.so.1`` and ``libcudart.so.13`` among them.

    Returns
    -------
    str
        For LD_LIBRARY_PATH, for a linker's ``-L``, or to open a library by its path.

    Raises
    ------
    FileNotFoundError
        This build has no CPU device.

    Examples
    --------
    >>> import ctypes
    >>> import pycuda.cpu
    >>> driver = ctypes.CDLL(pycuda.cpu.path() + "/libcuda.so.1")
    >>> driver.cuInit(0)
    0
    """
    spec = importlib.util.find_spec("pycuda._driver")
    extension = os.path.dirname((spec and spec.origin) or "pycuda/")
    # Where core/driver_locate.c looks: in an installed package, and in a build.
    for folder in os.path.join(extension, "_cpu"), os.path.join(extension, "..", "device"):
        if os.path.isabs(folder) and os.path.exists(os.path.join(folder, "libcuda.so.1")):
            return os.path.realpath(folder)
    raise FileNotFoundError(f"no CPU device in the folder {extension}: install pycuda again")


def _main() -> None:
    runner = os.path.join(path(), _RUNNER)
    os.execv(runner, [runner, *sys.argv[1:]])


if __name__ == "__main__":
    _main()
