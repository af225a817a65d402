"""Streams, events and devices by the names of cupy.cuda."""

from __future__ import annotations

from typing import Any

import pycuda.driver as drv
from pycuda._base.public_names import documented_init as _documented_init
from pycuda.compat.cupy._context import require

__all__ = ["Device", "Event", "Stream", "get_current_stream", "get_elapsed_time", "runtime"]


def driver_stream(stream: Any) -> drv.Stream | None:
    """The driver's stream of an argument `stream`: None for the current one."""
    return None if stream is None or isinstance(stream, _NullStream) else stream


class _NullStream:
    """The default stream of the current context, Stream.null."""

    ptr = 0

    def synchronize(self) -> None:
        """Wait for all work of the context."""
        require()
        drv.Context.synchronize()

    @property
    def done(self) -> bool:
        """Whether all work that was queued is done."""
        require()
        return drv.Event().record().query()

    def __repr__(self) -> str:
        return "<Stream.null>"

    def __enter__(self) -> _NullStream:
        if drv.current_stream() is not None:
            raise NotImplementedError("Stream.null cannot be made current within another stream's block")
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class Stream(drv.Stream):
    """A stream. In ``with stream:`` work without a stream of its own is queued on it.

    Parameters
    ----------
    null : bool, optional
        Not possible: see Stream.null.
    non_blocking : bool, optional
        Whether the stream does not wait for the default stream.
    ptds : bool, optional
        Not possible.
    priority : int, optional

    Attributes
    ----------
    null : Stream
        The default stream.
    """

    null = _NullStream()

    def __new__(
        cls, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> Stream:
        if null or ptds:
            raise NotImplementedError("Stream(null=True) is Stream.null; there is no Stream(ptds=True)")
        require()
        return super().__new__(cls, int(drv.stream_flags.NON_BLOCKING) if non_blocking else 0, priority)

    @property
    def ptr(self) -> int:
        """The driver's handle."""
        return self.handle

    @property
    def done(self) -> bool:
        """Whether all work that was queued is done."""
        return self.is_done()

    def record(self, event: Event | None = None) -> Event:
        """Record an event on the stream.

        Parameters
        ----------
        event : Event, optional
            Without it a new one.

        Returns
        -------
        Event
        """
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: drv.Event) -> None:
        """Work that is queued from now on waits for the event.

        Parameters
        ----------
        event : Event
        """
        self.wait_for_event(event)


class Event(drv.Event):
    """A point in a stream's work.

    Parameters
    ----------
    block : bool, optional
        Whether a waiting thread sleeps.
    disable_timing, interprocess : bool, optional
    """

    def __new__(cls, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> Event:
        require()
        flags = drv.event_flags
        chosen = int(flags.BLOCKING_SYNC) * bool(block) | int(flags.DISABLE_TIMING) * bool(disable_timing)
        return super().__new__(cls, chosen | int(flags.INTERPROCESS) * bool(interprocess))

    @property
    def done(self) -> bool:
        """Whether what was queued before the event is done."""
        return self.query()

    def record(self, stream: Any = None) -> Event:
        """Record the event.

        Parameters
        ----------
        stream : Stream, optional
            Without it the current stream.
        """
        super().record(driver_stream(stream))
        return self


def get_current_stream() -> Any:
    """The stream whose ``with`` block this is in, else Stream.null.

    Returns
    -------
    Stream
    """
    current = drv.current_stream()
    return Stream.null if current is None else current


def get_elapsed_time(start_event: drv.Event, end_event: drv.Event) -> float:
    """Milliseconds from one event to another.

    Parameters
    ----------
    start_event, end_event : Event
        The second must be done (synchronize).

    Returns
    -------
    float
    """
    return end_event.time_since(start_event)


@_documented_init
class Device:
    """A device. In ``with device:`` its primary context is current.

    Parameters
    ----------
    device : int, optional
        Without it the current device.

    Attributes
    ----------
    id : int
    """

    def __init__(self, device: int | None = None) -> None:
        require()
        self._device = drv.Context.get_device() if device is None else drv.Device(int(device))
        self.id = self._device.handle if device is None else int(device)

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __enter__(self) -> Device:
        self._device.retain_primary_context().push()
        return self

    def __exit__(self, *exception: object) -> None:
        drv.Context.pop()

    def use(self) -> Device:
        """Make the device's primary context current; nothing changes where the device is current."""
        if drv.Context.get_device() != self._device:
            self._device.retain_primary_context().push()
        return self

    def synchronize(self) -> None:
        """Wait for all work of the device's primary context."""
        if drv.Context.get_device() == self._device:
            drv.Context.synchronize()
            return
        with self:
            drv.Context.synchronize()

    @property
    def compute_capability(self) -> str:
        """As text, "90" for 9.0."""
        return "".join(map(str, self._device.compute_capability()))

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes."""
        with self:
            return drv.mem_get_info()


class runtime:
    """The functions of the run-time library that programs ask most."""

    @staticmethod
    def getDeviceCount() -> int:
        """The number of devices."""
        drv.init()
        return drv.Device.count()

    @staticmethod
    def getDevice() -> int:
        """The number of the current device."""
        return Device().id

    @staticmethod
    def deviceSynchronize() -> None:
        """Wait for all work of the current context."""
        Stream.null.synchronize()

    @staticmethod
    def memGetInfo() -> tuple[int, int]:
        """Free and total bytes of the current device."""
        return Device().mem_info

    @staticmethod
    def driverGetVersion() -> int:
        """The driver's version, 12040 for 12.4."""
        return drv.get_driver_version()
