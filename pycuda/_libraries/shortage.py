"""The exception for a library's workspace that does not fit into the device's memory."""

from __future__ import annotations

from pycuda import _driver
from pycuda._base.pool_snapshot import size_text


def no_room(caller: str, size: int | None) -> _driver.MemoryError:
    """A MemoryError that says how much memory was needed and how much is free. caller: the beginning of the
    message. size: bytes of the workspace; None if a plan of cuFFT could not be made."""
    free, total = _driver.mem_get_info()
    needed = "its plan" if size is None else f"its workspace of {size_text(size)}"
    return _driver.MemoryError(
        f"{caller}: no room for {needed}; {size_text(free)} of {size_text(total)} are free"
    )
