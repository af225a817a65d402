"""The device that code is compiled for: a GPU loads machine code, the CPU device (known by its name) PTX."""

from __future__ import annotations

import os
from typing import NamedTuple

from pycuda import _driver

from .files import passing

_known: dict = {}  # the CompileTarget by device


class CompileTarget(NamedTuple):
    """The device that code is compiled for."""

    capability: tuple[int, int]
    takes_ptx: bool  # whether it loads PTX: the CPU device
    driver: tuple[int, int]  # the newest CUDA that the driver supports

    @property
    def arch(self) -> str:
        return f"sm_{self.capability[0]}{self.capability[1]}"

    @property
    def newest_major(self) -> int | None:
        """The newest major version of CUDA whose code the driver loads; None if there is no limit."""
        return None if self.takes_ptx else self.driver[0]

    @property
    def ptx_version(self) -> tuple[int, int]:
        """The newest PTX version that the driver reads: 9.0 for CUDA 13.0, 8.7 for 12.8, 7.4 for 11.4. CUDA
        12.5 and 12.6 have the same one, so that versions from 12.6 on are one behind."""
        major, minor = self.driver
        return major - 4, minor - ((12, 6) <= self.driver < (13, 0))


def default_ordinal() -> int | None:
    """The device number from CUDA_DEVICE or ~/.cuda_device.

    A file that cannot be read, or says no number, is ignored.

    Returns
    -------
    int or None
        None when neither says one.

    Raises
    ------
    ValueError
        CUDA_DEVICE is not a number.
    """
    text = os.environ.get("CUDA_DEVICE")
    if text:
        if not text.strip().isdecimal():
            raise ValueError(f'CUDA_DEVICE is "{text}": it must be a device ordinal')
        return int(text)
    with passing, open(os.path.join(os.path.expanduser("~"), ".cuda_device"), errors="replace") as file:
        text = file.read().strip()
        return int(text) if text.isdecimal() else None
    return None


def _device_in_use():
    """The current context's device; without a context the default device. Makes no context."""
    if _driver.Context.get_current() is not None:
        return _driver.Context.get_device()
    return _driver.Device(default_ordinal() or 0)


def _describe(device) -> CompileTarget:
    """The CompileTarget of a device."""
    version = _driver.get_driver_version()
    return CompileTarget(
        capability=tuple(device.compute_capability()),
        takes_ptx=device.name().startswith("CPU device"),
        driver=(version // 1000, version % 1000 // 10),
    )


def current() -> CompileTarget | None:
    """The target of the calling thread, or None where there is no driver or no device.

    Other errors of the driver are raised, as code without a target might be compiled for another device; and
    so are a wrong setting and a shortage of memory in cuInit.
    """
    try:
        _driver.init()
    except _driver.Error as error:
        if error.name in ("CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_OUT_OF_MEMORY"):
            raise
        return None
    try:
        device = _device_in_use()
    except _driver.Error as error:
        if error.name in ("CUDA_ERROR_INVALID_DEVICE", "CUDA_ERROR_NO_DEVICE"):
            return None
        raise
    found = _known.get(device)
    if found is None:
        found = _known[device] = _describe(device)
    return found
