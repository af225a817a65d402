"""The arguments of a launch that failed, in the text of its exception."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import _driver

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_ARGUMENTS = 24  # more are counted only
_MAX_TEXT = 60  # characters of a value


def _of_array(array: Any, what: str) -> str:
    """A description of an array, of which no element is read."""
    return f"{array.dtype} {what} {array.shape}".replace(",)", ")")


def described(value: Any) -> str:
    """A kernel's argument in words, without a read of device memory: dtype, shape and address of an array,
    dtype and value of a number."""
    if isinstance(value, _driver.GPUArray):
        strides = "" if value.flags.c_contiguous else f", strides {value.strides}"
        return f"{_of_array(value, 'array')} at {value.ptr:#x}{strides}"
    if isinstance(value, _driver.DeviceAllocation):
        return f"{type(value).__name__} at {int(value):#x}"
    if isinstance(value, _driver.ArgumentHandler):
        return f"{type(value).__name__} of {_of_array(value.array, 'array')}"
    if isinstance(value, np.ndarray):
        return _of_array(value, "array of the host")
    if isinstance(value, list | tuple):
        return f"list of {len(value)} arrays: {described(value[0])}, ..." if value else "empty list"
    if isinstance(value, np.generic):
        return f"{value.dtype} {value!s:.{_MAX_TEXT}}"
    if isinstance(value, int | float | complex):
        return f"{value!s:.{_MAX_TEXT}}"
    return type(value).__name__


def name_arguments(problem: BaseException, reader: Any, arguments: Sequence[Any]) -> None:
    """Append the arguments of a launch to the text of the driver's error. reader: what Function._note_types()
    was given, which knows their names, or None."""
    text, *more = problem.args
    is_of_launch = getattr(problem, "routine", "").startswith("cuLaunchKernel")
    if isinstance(problem, _driver.KernelError) and "or an earlier launch" not in text:
        return  # the fault is of another launch
    if not is_of_launch or not arguments:
        return
    names = reader.names() if reader is not None else None
    if names is None or len(names) != len(arguments):
        names = [f"#{k}" for k in range(len(arguments))]
    shown = [
        f"{name} = {described(value)}"
        for name, value in zip(names[:_MAX_ARGUMENTS], arguments[:_MAX_ARGUMENTS], strict=True)
    ]
    if len(arguments) > _MAX_ARGUMENTS:
        shown.append(f"and {len(arguments) - _MAX_ARGUMENTS} more")
    problem.args = (f"{text} - arguments: {'; '.join(shown)}", *more)
