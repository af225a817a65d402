"""GPUArrays in several processes of a machine, in the same memory.

::

    import multiprocessing

    import pycuda.gpuarray as gpuarray
    import pycuda.ipc

    def work(a):                            # a GPUArray, whichever way it came
        a += 1
        return float(a.sum().get())

    if __name__ == "__main__":
        a = gpuarray.zeros(1000, float)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(work, (a,)))                       # a copy of the elements: pickle
            print(pool.apply(work, (pycuda.ipc.share(a),)))     # the memory itself
        print(a[0])                         # 1.0

A GPUArray that is sent to another process is copied through host memory. What share() makes of it is sent as
a handle of its memory, and arrives as a GPUArray in this memory.
"""

from __future__ import annotations

import collections
import contextlib
import gc
import os
import threading
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._array.core.devices import context_on
from pycuda._array.interop import process_leases
from pycuda._array.interop.process_leases import OwnerGone
from pycuda._driver import GPUArray

__all__ = ["OwnerGone", "SharedArray", "collect", "share"]

_lock = threading.RLock()


class _Description(NamedTuple):
    """What another process has to know of an array."""

    process: int
    folder: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    read_only: bool
    device: str  # as PCI knows it: the numbers of devices may differ
    handle: bytes  # of the memory; b"" without elements
    offset: int  # of element 0, in bytes


# ---- The owner


class _Export:
    """An array that is shared: kept until no process uses it."""

    def __init__(self, array: GPUArray, description: _Description) -> None:
        self.array = array
        self.description = description
        self.lease = process_leases.Share()


_exports: dict[str, _Export] = {}  # by the name of the lease
_dropped: set[str] = set()  # those that nothing in this process holds any more


def _is_shareable(array: GPUArray) -> bool:
    """In the array's context: whether its memory has a handle, as far as the driver says so."""
    attribute = _driver.pointer_attribute.IS_LEGACY_CUDA_IPC_CAPABLE
    try:
        return bool(_driver.pointer_get_attribute(attribute, array._address))
    except _driver.LogicError as error:
        if error.name == "CUDA_ERROR_INVALID_VALUE":  # the driver is too old to know
            return True
        raise


def _describe(array: GPUArray) -> _Description:
    """In the array's context, if it has elements."""
    handle, offset = b"", 0
    if array.size:
        base, _ = _driver.mem_get_address_range(array._address)
        handle, offset = bytes(_driver.mem_get_ipc_handle(base)), array._address - base
    return _Description(
        os.getpid(),
        str(process_leases.own_folder()),
        array.shape,
        array.strides,
        array.dtype,
        not array.flags.writeable,  # type: ignore[attr-defined]
        array.device.pci_bus_id(),
        handle,
        offset,
    )


def _copy(array: GPUArray) -> GPUArray:
    """In the array's context: a copy in memory that has a handle."""
    packed = array.copy()
    copy = GPUArray(packed.shape, packed.dtype, _driver.mem_alloc, strides=packed.strides)
    copy.set(packed)
    return copy


def _collect_garbage(phase: str, _info: object) -> None:
    if phase == "stop":
        collect()


def collect() -> int:
    """Free the memory of shared arrays that no process uses any more.

    That is done by itself when an array is shared, and when Python collects garbage, as before an allocation
    fails.

    Returns
    -------
    int
        How many arrays are kept only because other processes have them, or are going to get them.
    """
    with _lock:
        for name in list(_dropped):
            export = _exports.get(name)
            if export is None or export.lease.release():
                _dropped.discard(name)
                _exports.pop(name, None)
        if not _dropped and _collect_garbage in gc.callbacks:
            gc.callbacks.remove(_collect_garbage)
        return len(_dropped)


def _drop(name: str, process: int) -> None:
    """Nothing in this process holds the shared array any more."""
    if process != os.getpid():
        return
    with _lock:
        _dropped.add(name)
        if collect() and _collect_garbage not in gc.callbacks:
            gc.callbacks.append(_collect_garbage)


class SharedArray:
    """What share() returns: pickled, it becomes a GPUArray in the same memory.

    In the process that shared it the pickle becomes the array itself. The memory is kept as long as this
    object lives, a pickle of it is on its way, or another process has the array. It is freed in this process,
    after that.
    """

    def __init__(self, array: GPUArray, description: _Description) -> None:
        export = _Export(array, description)
        with _lock:
            _exports[export.lease.name] = export
        self._export = export
        self._closed = False
        self._end = weakref.finalize(self, _drop, export.lease.name, os.getpid())
        self._end.atexit = False

    @property
    def array(self) -> GPUArray:
        """The array that is shared: that of share(), or the copy that it made."""
        return self._export.array

    def close(self) -> None:
        """Share the array no more.

        Processes that have it keep it. A pickle that has not arrived by now cannot be opened: `OwnerGone`.
        """
        self._closed = True
        if self._end.alive:
            self._export.lease.release(cancel=True)
            self._end()

    def __enter__(self) -> SharedArray:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        description = self._export.description
        return f"<pycuda.ipc.SharedArray of shape {description.shape}, {description.dtype}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._closed or self._export.description.process != os.getpid():
            raise ValueError(
                "the shared array was closed, or is of the process that this one was forked from"
            )
        _driver._wait_for_work(self.array)
        collect()
        return _open, (self._export.lease.announce(), *self._export.description)


def share(array: GPUArray, *, copy: bool | None = None) -> SharedArray:
    """Let other processes of this machine have a GPUArray in the same memory.

    Parameters
    ----------
    array : GPUArray
        Of any strides.
    copy : bool, optional
        By default a copy is made, once, where the memory cannot be shared: that of managed and stream-ordered
        pools, mapped physical memory, and memory of other processes. True: always. False: never.

    Returns
    -------
    SharedArray
        To be sent by multiprocessing, concurrent.futures, joblib or pickle. It arrives as a GPUArray.

    Raises
    ------
    ValueError
        `copy` is False, and the memory cannot be shared.
    LogicError
        The array's memory was freed, its work is captured, or the system shares no memory between processes.

    Notes
    -----
    Calls cuIpcGetMemHandle, and cuIpcOpenMemHandle in the other process. The work that is queued on the array
    is done before it is sent. After that the processes order their work themselves: a function that writes
    into the array calls Context.synchronize() before it returns, as its answer may be there before its work
    is done otherwise.

    The array is opened in the current context of the other process if that is on the same device, else in the
    primary context of the device.

    The process must live as long as others have the array. Processes must be started by "spawn" or
    "forkserver": no driver works in a process that was forked after CUDA was initialized.

    Examples
    --------
    >>> import pickle
    >>> import pycuda.autoinit
    >>> from pycuda import gpuarray, ipc
    >>> a = gpuarray.zeros(5, float)
    >>> message = pickle.dumps(ipc.share(a))    # for another process; in this one it is the array itself
    >>> pickle.loads(message) is a
    True
    """
    if not isinstance(array, GPUArray):
        raise TypeError(f"array must be a GPUArray, not {type(array).__name__}")
    collect()
    if not array.size:
        return SharedArray(array, _describe(array))
    _driver._wait_for_work(array)
    if not copy and not _driver._in_context_of(array, _is_shareable, array):
        if copy is not None:
            raise ValueError(
                "the memory of this array cannot be shared with other processes: only that of mem_alloc and "
                "of a DeviceMemoryPool can"
            )
        copy = True
    if copy:
        array = _driver._in_context_of(array, _copy, array)
    return SharedArray(array, _driver._in_context_of(array, _describe, array))


# ---- The others


class _Mapping:
    """Memory of another process that is mapped here."""

    def __init__(self, handle: bytes, context: _driver.Context) -> None:
        with context:
            self.memory = _driver.IPCMemoryHandle(handle)
        self.context = context
        self.handle = handle
        self.users = 0


class _Lease:
    """The lock by which the owner keeps a shared array, and the mapping of its memory."""

    def __init__(self, name: tuple[str, str], file: int, mapping: _Mapping) -> None:
        self.name, self.file, self.mapping = name, file, mapping
        self.users = 0


class _Use:
    """What the arrays keep that were made of one message."""

    def __init__(self, lease: _Lease) -> None:
        lease.users += 1
        weakref.finalize(self, _end_use, lease, os.getpid())


_opening = threading.Lock()  # guards the mappings, the leases and their numbers of users
_mappings: dict[bytes, _Mapping] = {}  # by handle: an allocation is mapped once
_leases: dict[tuple[str, str], _Lease] = {}  # by folder and name: a process opens a lock's file once
_ended: collections.deque[_Lease] = collections.deque()  # a user of each of them has ended


def _end_use(lease: _Lease, process: int) -> None:
    """Called in any thread, also while that holds the lock, as Python may collect garbage then."""
    if process == os.getpid():
        _ended.append(lease)
        _end_leases()


def _end_leases() -> None:
    """End those without users. Who holds the lock calls this when it has released it."""
    while _ended and _opening.acquire(blocking=False):
        try:
            while _ended:
                _release(_ended.popleft())
        finally:
            _opening.release()


def _release(lease: _Lease) -> None:
    """A use less. At the last one the memory ends first, which waits for the work on it, then the lock."""
    mapping = lease.mapping
    lease.users -= 1
    if lease.users:
        return
    del _leases[lease.name]
    mapping.users -= 1
    if not mapping.users:
        if _mappings.get(mapping.handle) is mapping:
            del _mappings[mapping.handle]
        with contextlib.suppress(_driver.LogicError):
            mapping.memory.close()
    process_leases.end(lease.file)


def _device(name: str, process: int) -> _driver.Device:
    try:
        return _driver.Device(name)
    except _driver.LogicError as error:
        raise RuntimeError(
            f"the array of process {process} is on the device {name}, which this process does not see: "
            "CUDA_VISIBLE_DEVICES differs"
        ) from error


def _mapping(description: _Description) -> _Mapping:
    """A mapping of the memory, made again if the context of the last one is gone."""
    mapping = _mappings.get(description.handle)
    if mapping is not None:
        try:
            mapping.memory.get_pointer()
            return mapping
        except _driver.LogicError:
            pass
    context = context_on(_device(description.device, description.process))
    mapping = _mappings[description.handle] = _Mapping(description.handle, context)
    return mapping


def _lease(message: str, description: _Description) -> _Lease:
    name = description.folder, message.partition(".")[0]
    lease = _leases.get(name)
    if lease is not None:
        process_leases.arrived(Path(description.folder), message)
        return lease
    file = process_leases.join(Path(description.folder), message, description.process)
    try:
        mapping = _mapping(description)
    except BaseException:
        process_leases.end(file)
        raise
    mapping.users += 1
    lease = _leases[name] = _Lease(name, file, mapping)
    return lease


def _open(message: str, *given: Any) -> GPUArray:
    """The array of a message. What a SharedArray is pickled to calls it."""
    description = _Description(*given)
    _driver.init()
    if description.process == os.getpid():
        return _own(message, description)
    if not description.handle:
        process_leases.arrived(Path(description.folder), message)
        return _empty(description)
    try:
        with _opening:
            lease = _lease(message, description)
            use = _Use(lease)
    finally:
        _end_leases()
    with lease.mapping.context:
        array = GPUArray(
            description.shape,
            description.dtype,
            gpudata=lease.mapping.memory.get_pointer() + description.offset,
            base=use,
            strides=description.strides,
        )
    return _driver._forbid_writing(array) if description.read_only else array


def _empty(description: _Description) -> GPUArray:
    """An array without elements, which has no memory to be opened."""
    with context_on(_device(description.device, description.process)):
        array = GPUArray(description.shape, description.dtype)
    return _driver._forbid_writing(array) if description.read_only else array


def _own(message: str, description: _Description) -> GPUArray:
    """The array itself, for a message that came back. CUDA opens no handle in the process that made it."""
    process_leases.arrived(Path(description.folder), message)
    export = _exports.get(message.partition(".")[0])
    if export is None:
        raise OwnerGone("the array was released in this process before the message came back")
    return export.array
