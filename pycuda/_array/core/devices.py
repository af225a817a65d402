"""Devices of arrays. New arrays are on that of the current context."""

from __future__ import annotations

import operator
from typing import Any

from pycuda import _driver


def as_device(value: Any) -> _driver.Device:
    """A Device, or the one of this number. ValueError if there is no such device, also for a word; TypeError
    for other objects.
    """
    if isinstance(value, _driver.Device):
        return value
    if isinstance(value, str):
        raise ValueError(
            f"unsupported device {value!r}: 'cpu' is the host, others are a pycuda.driver.Device, a "
            "pycuda.driver.Context or a number"
        )
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"a device is a pycuda.driver.Device, a pycuda.driver.Context or a number, not {value!r}"
        ) from None
    if not 0 <= number < _driver.Device.count():
        raise ValueError(f"unsupported device {number}: there are {_driver.Device.count()}, from 0 on")
    return _driver.Device(number)


def context_on(device: _driver.Device) -> _driver.Context:
    """The current context if it is on this device, else the device's primary one."""
    current = _driver.Context.get_current()
    if current is not None and current_device() == device:
        return current
    return device.retain_primary_context()


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
