"""`await stream` and `await event`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator

# Seconds between two calls of done(): from 0, by which the delay grows each time, at most.
_GROWTH, _MAX_DELAY = 2e-5, 1e-3


async def _poll(done: Callable[[], bool]) -> None:
    delay = 0.0
    while not done():
        await asyncio.sleep(delay)
        delay = min(delay + _GROWTH, _MAX_DELAY)


def until(done: Callable[[], bool]) -> Generator[object, None, None]:
    """The iterator that __await__ returns: it ends when done() is true, and raises what that raises."""
    return _poll(done).__await__()
