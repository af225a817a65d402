"""What array operations do where their stream is captured.

An operation for which the host has to wait cannot be captured: it is refused, by its name, before a driver
call invalidates the capture. Data that is the same at each launch of the graph, such as indices and tables,
is not part of the graph: it is computed at once, on another stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycuda import _driver
from pycuda._driver import _before_capture, _is_captured, _outside_captures


def is_captured(stream: Any = None) -> bool:
    """Whether the stream, or without one the current stream, is captured."""
    return _is_captured(_driver.current_stream() if stream is None else stream)


def refuse(what: str, why: str, stream: Any = None, instead: str = "") -> None:
    """LogicError when the stream is captured. what: the operation; why: what the host has to wait for;
    instead: what can be captured.
    """
    if is_captured(stream):
        also = f"; {instead}" if instead else ""
        raise _driver.LogicError(
            f"{what} cannot be captured: {why}, so the call has to wait for the stream{also}"
        )


def last_work(stream: Any) -> _driver.Event:
    """An event after all work that is queued on the stream; if it is captured, after the work that was queued
    before the capture began.
    """
    before = _before_capture(stream)
    if before is None and is_captured(stream):
        raise _driver.LogicError(
            "the last work on this memory is on a stream that is being captured outside of pycuda"
        )
    return before or _driver.Event(_driver.event_flags.DISABLE_TIMING).record(stream)


def _run_on_own_stream(
    before: _driver.Event | None, work: Callable[..., Any], arguments: tuple[Any, ...]
) -> Any:
    """The result of work(*arguments), which runs with a new stream as the current one, after the event
    `before`. The stream is done when this returns.
    """
    with _driver.Stream() as stream:
        if before is not None:
            stream.wait_for_event(before)
        result = work(*arguments)
        stream.synchronize()
    return result


def in_own_stream(stream: Any, work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of work(*arguments), which runs with a new stream as the current one, as `stream` is
    captured. What it queues comes after the work that was queued on `stream` before the capture began, and is
    done when this returns.
    """
    return _outside_captures(_run_on_own_stream, _before_capture(stream), work, arguments)


def in_own_stream_after(before: _driver.Event | None, work: Callable[..., Any], *arguments: Any) -> Any:
    """As in_own_stream(), but after an event that last_work() returned."""
    return _outside_captures(_run_on_own_stream, before, work, arguments)
