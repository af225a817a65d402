"""Devices of arrays: that of the current context, on which new arrays are."""

from __future__ import annotations

from pycuda import _driver


def current_device() -> _driver.Device:
    """The device of the current context."""
    return _driver.Context.get_device()


def check_device(device: object) -> None:
    """ValueError for a device= on which no array can be made now; None is the current one."""
    if device is not None and device != current_device():
        raise ValueError(
            f"unsupported device {device!r}: new arrays are on that of the current context, "
            f"{current_device()!r}"
        )
