"""Allocators of other libraries, as an ExternalMemoryPool and the allocators of arrays need them."""

from __future__ import annotations

import importlib
import numbers
import operator
from typing import Any

from pycuda import _driver as drv

# Attributes by which objects that own memory give its address: in cuda.core, in CuPy and RMM, in numba.
_ADDRESSES = ("handle", "ptr", "device_ctypes_pointer")


class StreamHandle:
    """A stream for another library: its handle under every name that libraries use.

    Parameters
    ----------
    handle : int
        0 is the default stream.
    """

    __slots__ = ("handle",)

    def __init__(self, handle):
        self.handle = handle

    @property
    def ptr(self):
        """The handle, as CuPy names it."""
        return self.handle

    def __index__(self):
        return self.handle

    __int__ = __index__

    def __cuda_stream__(self):
        """The protocol of cuda.core.

        Returns
        -------
        (version, handle) : tuple of int
        """
        return 0, self.handle

    def __repr__(self):
        return f"StreamHandle({self.handle:#x})"


def _stream_arguments_for(resource):
    """A function that converts a StreamHandle to the arguments and the keywords that the resource takes."""
    libraries = (kind.__module__.partition(".")[0] for kind in type(resource).__mro__)
    library = next((name for name in libraries if name in ("rmm", "cuda")), None)
    if library == "rmm":
        rmm = importlib.import_module("rmm.pylibrmm.stream")
        return lambda stream: ((rmm.Stream(stream),), {})
    if library == "cuda":
        core = importlib.import_module("cuda.core")
        if not hasattr(core, "Stream"):
            core = importlib.import_module("cuda.core.experimental")
        return lambda stream: ((), {"stream": core.Stream.from_handle(stream.handle)})
    return lambda stream: ((stream,), {})


def _address_of(memory) -> int:
    """The address of an object that owns memory."""
    for name in _ADDRESSES:
        value = getattr(memory, name, None)
        if value is not None:
            return int(getattr(value, "value", value))
    interface = getattr(memory, "__cuda_array_interface__", None)
    if interface is not None:
        return interface["data"][0]
    try:
        return operator.index(memory)
    except TypeError:
        raise TypeError(
            f"the allocator returned a {type(memory).__name__}: it must return an address, or an object "
            "with one"
        ) from None


class Resource:
    """Adapts an allocator of another library: takes stream handles, returns addresses.

    Parameters
    ----------
    resource : object
        With ``allocate(nbytes, stream)``, or a callable that takes the number of bytes. It returns an
        address, which is freed by ``deallocate(address, nbytes, stream)``, or an object that owns the memory,
        which is freed by its ``close(stream)`` or by dropping the object after the work on the memory.
    """

    def __init__(self, resource):
        self.resource = resource
        self._owners: dict[int, Any] = {}  # address -> the object that owns the memory
        allocate = getattr(resource, "allocate", None)
        # _stream_arguments: from a StreamHandle to the arguments and keywords of _allocate after the size.
        if callable(allocate):
            self._allocate, self._stream_arguments = allocate, _stream_arguments_for(resource)
        elif callable(resource):  # which takes no stream
            self._allocate, self._stream_arguments = resource, lambda stream: ((), {})
        else:
            raise TypeError(
                f"resource is a {type(resource).__name__}: it must have allocate(nbytes, stream), or be "
                "callable with a size"
            )

    def allocate(self, size: int, stream: int) -> int:
        """Memory for use on a stream.

        Parameters
        ----------
        size : int
            Bytes.
        stream : int

        Returns
        -------
        int
            Its address.
        """
        arguments, keywords = self._stream_arguments(StreamHandle(stream))
        memory = self._allocate(size, *arguments, **keywords)
        if isinstance(memory, numbers.Integral):
            if not callable(getattr(self.resource, "deallocate", None)):
                raise TypeError(
                    "the allocator returned an address, but has no deallocate(address, nbytes, stream)"
                )
            return int(memory)
        address = _address_of(memory)
        self._owners[address] = memory
        return address

    def deallocate(self, address: int, size: int, stream: int) -> Any:
        """Free memory, which may be used again after the work that is now on a stream.

        Parameters
        ----------
        address : int
        size : int
            Bytes.
        stream : int

        Returns
        -------
        object or None
            The owner of the memory if it has no method that takes a stream: the caller drops it after the
            work.
        """
        handle = StreamHandle(stream)
        arguments, keywords = self._stream_arguments(handle)
        owner = self._owners.pop(address, None)
        if owner is None:
            self.resource.deallocate(address, size, *arguments, **keywords)
        elif isinstance(owner, drv.PooledDeviceAllocation):
            owner.free(handle)
        elif isinstance(owner, drv.DeviceAllocation):
            return None  # its release waits
        elif callable(getattr(owner, "close", None)):
            owner.close(*(arguments or keywords.values()))
        else:
            return owner
        return None


def allocator_of(allocator):
    """The callable by which arrays allocate memory.

    Parameters
    ----------
    allocator : object
        A callable, a memory pool, or anything with ``allocate(nbytes, stream)``.

    Returns
    -------
    callable
    """
    if isinstance(allocator, drv.DeviceMemoryPool):
        return allocator.allocate
    if callable(allocator):
        return allocator
    return drv.ExternalMemoryPool(allocator).allocate
