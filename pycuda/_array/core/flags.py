"""Flags in host memory, by which kernels report errors: the host waits for them, and copies nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from pycuda import _driver
from pycuda._kernels.plans.caches import memoized_in_context


class _Flag:
    """An int of host memory that kernels set to 1, and an event to wait for them: a stream of another library
    cannot be waited for, an event recorded in it can.
    """

    __slots__ = "address", "event", "value"

    def __init__(self):
        self.value = _driver.pagelocked_zeros(1, np.int32, mem_flags=_driver.host_alloc_flags.DEVICEMAP)
        self.address = self.value.base.get_device_pointer()
        self.event = _driver.Event(_driver.event_flags.DISABLE_TIMING)


class _Flags:
    """The flags of a context."""

    __slots__ = "abandoned", "spare", "used"

    def __init__(self):
        self.spare: list[_Flag] = []  # which are 0
        self.used: list[_Flag] = []
        # Flags whose block or wait was interrupted: kernels may write to them until their events are reached.
        self.abandoned: list[_Flag] = []

    def take(self) -> _Flag:
        flag = self._unused()
        self.used.append(flag)
        return flag

    def _unused(self) -> _Flag:
        try:
            return self.spare.pop()
        except IndexError:
            pass
        try:
            flag = self.abandoned.pop(0)
        except IndexError:
            return _Flag()
        if flag.event.query():
            flag.value[0] = 0
            return flag
        self.abandoned.append(flag)
        return _Flag()

    def give_back(self, flag: _Flag) -> bool:
        """Make a flag that no kernel writes to spare. Returns whether it was set."""
        is_set, flag.value[0] = bool(flag.value[0]), 0
        self.used.remove(flag)
        self.spare.append(flag)
        return is_set

    def abandon(self, flag: _Flag) -> None:
        self.used.remove(flag)
        self.abandoned.append(flag)


_flags = memoized_in_context(_Flags, 256)


class ErrorCheck:
    """A `with` block around launches of kernels that report an error. Its end waits for the kernels, and
    raises the exception that make_error() returns if one did.

    is_wanted: False for a block that checks nothing and does not wait.
    """

    __slots__ = "flag", "flags", "is_recorded", "make_error", "stream"

    def __init__(self, is_wanted: bool, stream: Any, make_error: Callable[[], Exception]) -> None:
        self.stream, self.flag, self.is_recorded, self.make_error = stream, None, False, make_error
        if is_wanted:
            self.flags = _flags()
            self.flag = self.flags.take()

    @property
    def address(self) -> int:
        """The address of the flag, for the next kernel; 0 if that kernel need not report anything."""
        return 0 if self.is_recorded or self.flag is None else self.flag.address

    def record(self) -> None:
        """End the checking: kernels that are launched from now on are not waited for."""
        if self.flag is not None and not self.is_recorded:
            self.flag.event.record(self.stream)
            self.is_recorded = True

    def __enter__(self) -> ErrorCheck:
        return self

    def __exit__(self, kind, problem, traceback) -> None:
        flag = self.flag
        if flag is None:
            return
        if kind is not None:
            with contextlib.suppress(_driver.Error):  # that of the block is raised
                self.record()
                self.flags.abandon(flag)
            return
        self.record()
        try:
            flag.event.synchronize()
        except BaseException:
            self.flags.abandon(flag)
            raise
        if self.flags.give_back(flag):
            raise self.make_error()
