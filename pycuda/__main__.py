"""`python -m pycuda`: reports the driver, devices and compilers found, and how to install what is missing."""

from __future__ import annotations

import argparse
import platform
import sys
import warnings

import numpy as np

import pycuda
import pycuda.driver as drv
from pycuda import cache
from pycuda._base.other_copies import hidden_copies
from pycuda._base.pool_snapshot import size_text
from pycuda._compile import finder


def _driver(problems) -> int | None:
    """Says which driver there is, and its devices. The driver's major version."""
    try:
        drv.init()
    except drv.Error as error:
        print(f"driver    none: {error}")
        problems.append(
            "without a driver no kernel runs. PYCUDA_DEVICE=cpu chooses the CPU device, which needs none."
        )
        return None
    version = drv.get_driver_version()
    print(f"driver    CUDA {version // 1000}.{version % 1000 // 10}")
    for number in range(drv.Device.count()):
        device = drv.Device(number)
        major, minor = device.compute_capability()
        memory = size_text(device.total_memory())
        print(f"device {number}  {device.name()}, compute capability {major}.{minor}, {memory}")
    if not drv.Device.count():
        problems.append("the driver reports no device: CUDA_VISIBLE_DEVICES may hide them.")
    return version // 1000


def _compiler(major, problems) -> None:
    """Prints which compiler is found; what is wrong with it goes into `problems`."""
    compiler, problem = finder.find_nvrtc(major, None)
    if compiler:
        print(f"compiler  NVRTC {'.'.join(map(str, compiler.version))}, {compiler.path}")
        if major and compiler.version[0] > major:
            problems.append(f"this NVRTC is newer than the driver: {finder.what_to_install(major)}")
        return
    nvcc = finder.find_nvcc("nvcc")
    print(f"compiler  {nvcc or 'none'}" + (f" ({problem})" if problem else ""))
    if not nvcc:
        problems.append(
            f"without a compiler only PTX and cubins can be loaded: {finder.what_to_install(major)}"
        )


def main(arguments=None) -> int:
    """Print the report of ``python -m pycuda``.

    Parameters
    ----------
    arguments : list of str
        Those of the command line; None: those of this process. Only --help and --version are accepted.

    Returns
    -------
    int
        1 when something is missing that kernels need, else 0.
    """
    parser = argparse.ArgumentParser(
        prog="python -m pycuda",
        description="Show the driver, its devices, the compiler and its cache, and what to do where one is "
        "missing: the exit code is 1 then.",
        epilog="python -m pycuda.cache shows and empties the cache, python -m pycuda.check runs a program "
        "with all checks of the CPU device, python -m pycuda.debug for cuda-gdb.",
    )
    parser.add_argument("--version", action="version", version=pycuda.VERSION_TEXT)
    parser.parse_args(arguments)
    problems: list[str] = []
    print(f"pycuda    {pycuda.VERSION_TEXT}, Python {platform.python_version()}, NumPy {np.__version__}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _compiler(_driver(problems), problems)
        print(f"cache     {cache.summary()}")
    for warning in caught:
        print(f"note: {warning.message}")
    for folder, version in hidden_copies(pycuda.__file__):
        print(
            f"note: {folder} is another package of this name ({version or 'unknown version'}), not imported"
        )
    for problem in problems:
        print(f"missing: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
