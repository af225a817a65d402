"""Flags in host memory, by which kernels report errors: the host waits for them, and copies nothing."""

from __future__ import annotations

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


# (spare flags, flags in use) of each context. Spare flags are 0. A flag whose wait was interrupted stays in
# use and is never spare again, as its kernel may still write to it.
_flags = memoized_in_context(lambda: ([], []), 256)


class ErrorCheck:
    """A `with` block around launches of kernels that report an error. Its end waits for the kernels, and
    raises the exception that make_error() returns if one did.

    is_wanted: False for a block that checks nothing and does not wait.
    """

    __slots__ = "flag", "is_recorded", "make_error", "spare", "stream", "used"

    def __init__(self, is_wanted: bool, stream: Any, make_error: Callable[[], Exception]) -> None:
        self.stream, self.flag, self.is_recorded, self.make_error = stream, None, False, make_error
        if is_wanted:
            self.spare, self.used = _flags()
            try:
                self.flag = self.spare.pop()
            except IndexError:
                self.flag = _Flag()
            self.used.append(self.flag)

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
        if flag is None or kind is not None:
            return
        self.record()
        flag.event.synchronize()
        is_set, flag.value[0] = flag.value[0], 0
        self.used.remove(flag)
        self.spare.append(flag)
        if is_set:
            raise self.make_error()
