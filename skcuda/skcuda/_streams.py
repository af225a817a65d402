"""Streams that a caller gives as a number (a CUstream), as programs of PyCUDA do, or as a Stream."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import pycuda.driver as drv
from pycuda import _driver


class _StreamNumber(NamedTuple):
    """A stream of which only the number is known, never 0. Calls take it like a Stream."""

    number: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.number


def stream_of(given) -> Any:
    """The stream as calls of pycuda take it; None is the default stream."""
    if given is None or hasattr(given, "__cuda_stream__"):
        return given
    return _StreamNumber(int(given)) if int(given) else None


@contextlib.contextmanager
def queued_on(stream) -> Iterator[None]:
    """In its block, functions of arrays queue work on this stream.

    A stream of which only the number is known cannot become the current stream. Work for it is queued on the
    current one instead: after the given stream is done, and the block ends when the work is.
    """
    if stream is None or isinstance(stream, drv.Stream):
        with stream or contextlib.nullcontext():
            yield
    else:
        drv.Event().record(stream).synchronize()
        yield
        drv.Event().record(drv.current_stream()).synchronize()


class MemoryInUse:
    """In its block a library queues work on the stream that uses this memory; what owns the memory is kept
    alive until the work is done.

    For a Stream its keep-alives hold the owners, from before the call. For a stream known by its number a
    host function that holds them is queued after the call.
    """

    def __init__(self, stream, memory):
        self._stream = stream
        self._owners = tuple(each for each in memory if not isinstance(each, int | np.ndarray | None))
        self._is_number = isinstance(stream, _StreamNumber)

    def __enter__(self) -> None:
        if self._owners and not self._is_number:
            _driver._library_uses(self._stream, self._owners)

    def __exit__(self, *exception) -> None:
        if self._owners and self._is_number:
            _driver._launch_host_func(self._stream, _keep_alive, *self._owners)


def _keep_alive(*arguments) -> None:
    """Does nothing: a host function that is queued because its arguments are referenced until it has run."""
