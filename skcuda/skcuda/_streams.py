"""Streams of which the caller gives the number, as PyCUDA's programs do, or the Stream."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import pycuda.driver as drv
from pycuda import _driver


class _StreamNumber(NamedTuple):
    """A stream of which the number is known, for calls that take streams."""

    number: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.number


def stream_of(given) -> Any:
    """A stream, as calls take it: None is the default stream."""
    if given is None or hasattr(given, "__cuda_stream__"):
        return given
    return _StreamNumber(int(given)) if int(given) else None


@contextlib.contextmanager
def queued_on(stream) -> Iterator[None]:
    """Functions of arrays queue on this stream meanwhile. One that is known by its number is waited for."""
    if stream is None or isinstance(stream, drv.Stream):
        with stream or contextlib.nullcontext():
            yield
    else:
        drv.Event().record(stream).synchronize()
        yield
        drv.Event().record(drv.current_stream()).synchronize()


class MemoryInUse:
    """In its block a library queues work that uses this memory, which lives until the work is done."""

    def __init__(self, stream, memory):
        self._stream = stream
        self._owners = tuple(each for each in memory if not isinstance(each, int | np.ndarray | None))
        self._is_number = isinstance(stream, _StreamNumber)  # of a stream whose end is not known

    def __enter__(self) -> None:
        if self._owners and not self._is_number:
            _driver._library_uses(self._stream, self._owners)

    def __exit__(self, *exception) -> None:
        if self._owners and self._is_number:
            _driver._launch_host_func(self._stream, _keep_alive, *self._owners)


def _keep_alive(*arguments) -> None:
    """For its arguments, which are dropped after it."""
