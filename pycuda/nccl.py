"""Collective communication (NCCL) of GPUArrays with nccl4py: its communicators, with the checks that an array
of NumPy's kind needs.

::

    import pycuda.driver as drv
    import pycuda.gpuarray as gpuarray
    import pycuda.nccl
    from nccl.core import SUM, get_unique_id

    context = drv.Device(rank).retain_primary_context()
    context.push()
    comm = pycuda.nccl.init(processes, rank, unique_id)  # of get_unique_id() in one of the processes
    comm.allreduce(gpuarray.zeros(4, float), total := gpuarray.empty(4, float), SUM)

nccl4py is imported by the functions, not by this module. NCCL needs NVIDIA's driver: the CPU device cannot
run it, as its library contains NVIDIA's CUDA runtime.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pycuda import _driver
from pycuda._array.interop.collectives import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    GATHER_ELSEWHERE,
    RECV,
    REDUCE,
    REDUCE_ELSEWHERE,
    REDUCE_SCATTER,
    SCATTER,
    SCATTER_ELSEWHERE,
    SEND,
    Operation,
    collective,
)

__all__ = ["Communicator", "group", "init", "init_all"]

_Context = _driver.Context | _driver.Device | int


class _OpenGroup(threading.local):
    """The group that is open in this thread."""

    uses: list[Any] | None = None  # the arrays of its operations; None: there is no group


_open_group = _OpenGroup()


def _check_driver() -> None:
    _driver.init()
    if _driver._is_cpu_device():
        raise RuntimeError("NCCL needs NVIDIA's driver: its library contains NVIDIA's static CUDA runtime")


def _nccl() -> Any:
    _check_driver()
    import nccl.core

    return nccl.core


@functools.cache
def _bindings() -> Any:
    _check_driver()
    import nccl.bindings.nccl

    return nccl.bindings.nccl


def _primary(context: _Context | None) -> _driver.Context:
    """The primary context that is meant: of a device, or the context itself if it is one."""
    if context is None:
        context = _driver.Context.get_current()
        if context is None:
            raise RuntimeError("no context is current, and none was given")
    if isinstance(context, int):
        context = _driver.Device(context)
    if isinstance(context, _driver.Device):
        return context.retain_primary_context()
    with context:
        primary = context.get_device().retain_primary_context()
    if primary != context:
        raise ValueError(
            "NCCL works in primary contexts: make the context by Device.retain_primary_context() "
            "or pycuda.autoprimaryctx"
        )
    return primary


def init(
    nranks: int, rank: int, unique_id: Any, *, context: _Context | None = None, config: Any = None
) -> Communicator:
    """A communicator of several threads or processes: all ranks call this at the same time.

    Parameters
    ----------
    nranks : int
        How many ranks there are.
    rank : int
        This one, from 0 on.
    unique_id : nccl.core.UniqueId
        The same for all, from `nccl.core.get_unique_id()` of one of them.
    context : pycuda.driver.Context, pycuda.driver.Device or int, optional
        The primary context of this rank's device, or the device: the current context if left out. Two ranks
        cannot have one device.
    config : nccl.core.NCCLConfig, optional

    Returns
    -------
    Communicator

    Raises
    ------
    ValueError
        The context is not a primary one.
    RuntimeError
        The driver is the CPU device, or no context is current.
    nccl.bindings.nccl.NCCLError
        NCCL's own errors.
    """
    nccl, here = _nccl(), _primary(context)
    with _keeping_current(here):
        return Communicator(nccl.Communicator.init(nranks, rank, unique_id, config))


def init_all(contexts: Sequence[_Context] | None = None) -> list[Communicator]:
    """The communicators of one process that uses several devices.

    Parameters
    ----------
    contexts : sequence of pycuda.driver.Context, pycuda.driver.Device or int, optional
        The primary contexts, or the devices: all devices if left out.

    Returns
    -------
    list of Communicator
        In the order of `contexts`, whose index is the rank. One thread calls the operations of several
        within `group()`.

    Raises
    ------
    ValueError
        A context is not a primary one.
    RuntimeError
        The driver is the CPU device.
    """
    nccl = _nccl()
    chosen = range(_driver.Device.count()) if contexts is None else contexts
    primary = [_primary(each) for each in chosen]
    devices = []
    for context in primary:
        with context:
            devices.append(context.get_device().handle)
    if not primary:
        return []
    with _keeping_current(primary[0]):
        return [Communicator(each) for each in nccl.Communicator.init_all(devices)]


@contextlib.contextmanager
def _keeping_current(context: _driver.Context) -> Iterator[None]:
    """The context is current, and the one below it stays there. A with statement of the context itself would
    raise, as NVIDIA's runtime may replace what is on top of the thread's stack.
    """
    context.push()
    try:
        yield
    finally:
        _driver.Context.pop()


class _Group:
    """What `group()` returns."""

    __slots__ = ("_is_outer",)

    def __enter__(self) -> None:
        _bindings().group_start()
        self._is_outer = _open_group.uses is None
        if self._is_outer:
            _open_group.uses = []

    def __exit__(self, *exception: object) -> None:
        try:
            _bindings().group_end()
        finally:
            if self._is_outer:
                _open_group.uses = None


def group() -> contextlib.AbstractContextManager[None]:
    """Operations in one group: NCCL starts them together at its end.

    As `nccl.core.group`, which does not know that an array of a `Communicator` is in use until then: here
    the arrays are kept until the group ends. A thread that calls operations of several communicators, or
    sends and receives, does so in a group.

    Examples
    --------
    ::

        with pycuda.nccl.group():
            comm.send(a * 2, peer)
            comm.recv(b, peer)
    """
    return _Group()


class Communicator:
    """A communicator of nccl4py that takes GPUArrays, on the stream that is given, else on the current one.

    An operation is queued on that stream and does not wait; what was queued there before on the arrays comes
    first, and what is queued there later comes after it. The order between streams you establish by events.
    Arrays may be dropped at once: their memory is kept until the operation is done.
    An operation that is captured becomes part of the graph. The context of the communicator's device is
    current.

    Arrays are contiguous, in C or Fortran order, and are sent in the order of their memory; parts of arrays
    (`a[10:20]`) and arrays of other libraries on the device as well. Their elements may be of any type where
    they are only moved; complex numbers are added and averaged as pairs, of booleans there are MAX and MIN.
    Operations in groups belong into `pycuda.nccl.group()`. All else is nccl4py's communicator: its attributes
    and other methods are here as well.

    Parameters
    ----------
    comm : nccl.core.Communicator
        An initialized one.

    Raises
    ------
    ValueError
        By every operation, before anything is sent: an array is not contiguous, not writeable, too small or
        of another device; arrays overlap other than in NCCL's in-place forms; the number of elements is not
        divisible by that of ranks.
    TypeError
        The arrays of an operation have different dtypes, or NCCL does not have the reduction for theirs.
    RuntimeError
        The communicator was destroyed, or the current context is of another device.
    """

    def __init__(self, comm: Any) -> None:
        self._comm, self._rank, bindings = comm, comm.rank, _bindings()

        def make(operation: Operation) -> Callable[..., None]:
            return collective(operation, comm, bindings)

        self._send, self._recv = make(SEND), make(RECV)
        self._broadcast, self._all_reduce = make(BROADCAST), make(ALL_REDUCE)
        self._reduce, self._reduce_elsewhere = make(REDUCE), make(REDUCE_ELSEWHERE)
        self._reduce_scatter, self._all_gather = make(REDUCE_SCATTER), make(ALL_GATHER)
        self._gather, self._gather_elsewhere = make(GATHER), make(GATHER_ELSEWHERE)
        self._scatter, self._scatter_elsewhere = make(SCATTER), make(SCATTER_ELSEWHERE)
        self._all_to_all = make(ALL_TO_ALL)

    @property
    def comm(self) -> Any:
        """The communicator of nccl4py."""
        return self._comm

    def __repr__(self) -> str:
        return f"pycuda.nccl.Communicator({self._comm!r})"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)

    def send(self, sendbuf: Any, peer: int, *, stream: Any = None) -> None:
        """Send an array to a rank (ncclSend), which receives as many bytes."""
        self._send(sendbuf, None, stream, _open_group.uses, peer)

    def recv(self, recvbuf: Any, peer: int, *, stream: Any = None) -> None:
        """Receive into an array what a rank sends (ncclRecv)."""
        self._recv(None, recvbuf, stream, _open_group.uses, peer)

    def broadcast(self, sendbuf: Any, recvbuf: Any, root: int, *, stream: Any = None) -> None:
        """What `root` has in `sendbuf`, to `recvbuf` of all (ncclBroadcast). Others may give None to send."""
        sent = sendbuf if self._rank == root else recvbuf
        self._broadcast(sent, recvbuf, stream, _open_group.uses, root)

    def allreduce(self, sendbuf: Any, recvbuf: Any, op: Any, *, stream: Any = None) -> None:
        """The elements of all ranks, combined one by one, to all (ncclAllReduce).

        op: `nccl.core.SUM`, `PROD`, `MAX`, `MIN`, `AVG`, or what `create_pre_mul_sum` made.
        """
        self._all_reduce(sendbuf, recvbuf, stream, _open_group.uses, op)

    def reduce(
        self, sendbuf: Any, recvbuf: Any, op: Any, root: int | None = None, *, stream: Any = None
    ) -> None:
        """As `allreduce`, to `root` alone (ncclReduce) unless it is None; others may give None to receive."""
        if root is None:
            self.allreduce(sendbuf, recvbuf, op, stream=stream)
            return
        queue = self._reduce if self._rank == root else self._reduce_elsewhere
        queue(sendbuf, recvbuf, stream, _open_group.uses, op, root)

    def reduce_scatter(self, sendbuf: Any, recvbuf: Any, op: Any, *, stream: Any = None) -> None:
        """As `allreduce`, a part of the result to each rank (ncclReduceScatter).

        sendbuf: as many elements for each rank as `recvbuf` has room for.
        """
        self._reduce_scatter(sendbuf, recvbuf, stream, _open_group.uses, op)

    def allgather(self, sendbuf: Any, recvbuf: Any, *, stream: Any = None) -> None:
        """The arrays of all ranks, one after another, to all (ncclAllGather)."""
        self._all_gather(sendbuf, recvbuf, stream, _open_group.uses)

    def gather(self, sendbuf: Any, recvbuf: Any, root: int | None = None, *, stream: Any = None) -> None:
        """As `allgather`, to `root` alone (ncclGather) unless it is None; others may give None to receive."""
        if root is None:
            self.allgather(sendbuf, recvbuf, stream=stream)
            return
        queue = self._gather if self._rank == root else self._gather_elsewhere
        queue(sendbuf, recvbuf, stream, _open_group.uses, root)

    def scatter(self, sendbuf: Any, recvbuf: Any, root: int, *, stream: Any = None) -> None:
        """A part of what `root` has in `sendbuf` to each rank (ncclScatter); others may give None to send."""
        queue = self._scatter if self._rank == root else self._scatter_elsewhere
        queue(sendbuf, recvbuf, stream, _open_group.uses, root)

    def alltoall(self, sendbuf: Any, recvbuf: Any, *, stream: Any = None) -> None:
        """A part of `sendbuf` to each rank, and one from each into `recvbuf` (ncclAlltoAll)."""
        self._all_to_all(sendbuf, recvbuf, stream, _open_group.uses)
