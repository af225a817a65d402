"""Programs in any language on the CPU device, with no GPU and no NVIDIA driver.

::

    python -m pycuda.cpu --devices 2 -- ./program argument
    cuda-cpu --devices 2 -- ./program argument

run a program that opens ``libcuda.so.1`` or ``libcuda.so``, by itself or through a library such as numba-cuda
or cuda.core, with the CPU device in that place. ``cuda-cpu --help`` prints the options. The exit status is
the program's.

The distribution pycuda-cpu has this package alone, as ``pycuda_cpu``: it needs neither pycuda nor NumPy.
(PYTEST_DONT_REWRITE: pytest need not rewrite assertions here, although a plugin of it is in this package.)
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

__all__ = ["path"]

_DRIVER, _RUNNER = "libcuda.so.1", "cuda-cpu"


def path() -> str:
    """The folder of the CPU device's libraries, ``libcuda.so.1`` and ``libcudart.so.13`` among them.

    Returns
    -------
    str
        For LD_LIBRARY_PATH, for a linker's ``-L``, or to open a library by its path.

    Raises
    ------
    FileNotFoundError
        This installation has no CPU device.

    Examples
    --------
    >>> import ctypes
    >>> from pycuda import cpu  # or: import pycuda_cpu as cpu
    >>> driver = ctypes.CDLL(cpu.path() + "/libcuda.so.1")
    >>> driver.cuInit(0)
    0
    """
    driver = os.path.join(os.path.dirname(__file__), "lib", _DRIVER)
    if not os.path.exists(driver):  # in an editable installation the loader knows where it was built
        from importlib.resources import files

        found = files(__name__).joinpath("lib", _DRIVER)
        if not found.is_file():
            raise FileNotFoundError(f"there is no {driver}: install {__name__.partition('.')[0]} again")
        driver = str(found)
    return os.path.realpath(os.path.dirname(driver))


def _main() -> NoReturn:
    """The command cuda-cpu: its arguments are those of this process, which becomes the program."""
    runner = os.path.join(path(), _RUNNER)
    os.execv(runner, [runner, *sys.argv[1:]])
