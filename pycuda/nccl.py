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
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from pycuda import _driver
from pycuda._array.interop import collectives
from pycuda._driver import _library_uses, current_stream

__all__ = ["Communicator", "group", "init", "init_all"]

_Context = _driver.Context | _driver.Device | int

# .uses: [(stream, arrays)] of the operations of this thread's open group; missing if there is none.
_open_group = threading.local()


def _nccl() -> Any:
    _driver.init()
    if _driver._is_cpu_device():
        raise RuntimeError("NCCL needs NVIDIA's driver: its library contains NVIDIA's static CUDA runtime")
    import nccl.core

    return nccl.core


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
    context.push()
    try:
        primary = context.get_device().retain_primary_context()
    finally:
        context.pop()
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
    here.push()
    try:
        return Communicator(nccl.Communicator.init(nranks, rank, unique_id, config))
    finally:
        here.pop()


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
        context.push()
        devices.append(context.get_device().handle)
        context.pop()
    with _keeping_current(primary):
        return [Communicator(each) for each in nccl.Communicator.init_all(devices)]


@contextlib.contextmanager
def _keeping_current(contexts: Sequence[_driver.Context]) -> Iterator[None]:
    """NVIDIA's runtime replaces the context on top of the thread's stack: that is one of these."""
    if contexts:
        contexts[0].push()
    try:
        yield
    finally:
        if contexts:
            _driver.Context.pop()


@contextlib.contextmanager
def group() -> Iterator[None]:
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
    nccl = _nccl()
    if hasattr(_open_group, "uses"):
        with nccl.group():
            yield
        return
    uses: list[tuple[Any, tuple[Any, ...]]] = []
    _open_group.uses = uses
    try:
        with nccl.group():
            yield
        for stream, arrays in uses:
            _library_uses(stream, arrays)
    finally:
        del _open_group.uses


class Communicator:
    """A communicator of nccl4py that takes GPUArrays, on the stream that is given, else on the current one.

    An operation is queued on that stream and does not wait; what was queued there before on the arrays comes
    first, and what is queued there later comes after it. Other streams wait by events, as between all
    operations of GPUArrays. Arrays may be dropped at once: their memory is kept until the operation is done.
    An operation that is captured becomes part of the graph.

    Arrays are contiguous, in C or Fortran order, and are sent in the order of their memory. Their elements
    may be of any type where they are only moved; complex numbers are added and averaged as pairs. All else
    is nccl4py's: its attributes and methods are here as well, and its buffers (of torch, of CuPy) are taken
    in a GPUArray's place. Operations in groups belong into `pycuda.nccl.group()`.

    Parameters
    ----------
    comm : nccl.core.Communicator

    Raises
    ------
    ValueError
        By every operation, before anything is sent: an array is not contiguous or not writeable, arrays
        overlap other than in NCCL's in-place forms, or the number of elements is not divisible by that of
        ranks.
    TypeError
        By reductions: NCCL has no such elements, or not with this operation.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm

    @property
    def comm(self) -> Any:
        """The communicator of nccl4py."""
        return self._comm

    def __repr__(self) -> str:
        return f"pycuda.nccl.Communicator({self._comm!r})"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)

    def _run(
        self, name: str, sent: Any, received: Any, arguments: tuple[Any, ...], stream: Any, config: Any
    ) -> None:
        """Calls nccl4py's method with what was checked, and keeps the arrays as long as they are used."""
        stream = current_stream() if stream is None else stream
        used = sent, received
        group_uses = getattr(_open_group, "uses", None)
        if group_uses is not None:
            group_uses.append((stream, used))
        _library_uses(stream, used)
        handle = 0 if stream is None else stream.__cuda_stream__()[1]
        if config is None:
            getattr(self._comm, name)(*arguments, stream=handle)
        else:
            getattr(self._comm, name)(*arguments, stream=handle, config=config)

    def send(self, sendbuf: Any, peer: int, *, stream: Any = None) -> None:
        """Send an array to a rank (ncclSend), which receives as many elements of the same type."""
        self._run("send", sendbuf, None, (collectives.moved(sendbuf), peer), stream, None)

    def recv(self, recvbuf: Any, peer: int, *, stream: Any = None) -> None:
        """Receive into an array what a rank sends (ncclRecv)."""
        into = collectives.moved(recvbuf, written=True)
        self._run("recv", None, recvbuf, (into, peer), stream, None)

    def broadcast(
        self, sendbuf: Any, recvbuf: Any, root: int, *, stream: Any = None, config: Any = None
    ) -> None:
        """What `root` has in `sendbuf`, to `recvbuf` of all (ncclBroadcast). Others may give None to send."""
        sent = collectives.moved(sendbuf) if self._comm.rank == root else None
        into = collectives.moved(recvbuf, written=True)
        collectives.check_pair(sent, into, in_place=(0,))
        self._run(
            "broadcast", sendbuf if sent is not None else None, recvbuf, (sent, into, root), stream, config
        )

    def allreduce(
        self, sendbuf: Any, recvbuf: Any, op: Any, *, stream: Any = None, config: Any = None
    ) -> None:
        """The elements of all ranks, combined one by one, to all (ncclAllReduce).

        op: `nccl.core.SUM`, `PROD`, `MAX`, `MIN`, `AVG`, or what `create_pre_mul_sum` made.
        """
        self.reduce(sendbuf, recvbuf, op, stream=stream, config=config)

    def reduce(
        self,
        sendbuf: Any,
        recvbuf: Any,
        op: Any,
        root: int | None = None,
        *,
        stream: Any = None,
        config: Any = None,
    ) -> None:
        """As `allreduce`, to `root` alone (ncclReduce); others may give None to receive."""
        sent = collectives.reduced(sendbuf, op)
        receives = root is None or root == self._comm.rank
        into = collectives.reduced(recvbuf, op, written=True) if receives else None
        collectives.check_pair(sent, into, in_place=(0,))
        self._run("reduce", sendbuf, recvbuf if receives else None, (sent, into, op, root), stream, config)

    def reduce_scatter(
        self, sendbuf: Any, recvbuf: Any, op: Any, *, stream: Any = None, config: Any = None
    ) -> None:
        """As `allreduce`, a part of the result to each rank (ncclReduceScatter).

        sendbuf: as many elements as `recvbuf` has, for each rank.
        """
        sent, into = collectives.reduced(sendbuf, op), collectives.reduced(recvbuf, op, written=True)
        part = collectives.part_of(sendbuf, sent, self._comm.nranks)
        collectives.check_pair(into, sent, in_place=(self._comm.rank * part,))
        self._run("reduce_scatter", sendbuf, recvbuf, (sent, into, op), stream, config)

    def allgather(self, sendbuf: Any, recvbuf: Any, *, stream: Any = None, config: Any = None) -> None:
        """The arrays of all ranks, one after another, to all (ncclAllGather)."""
        self.gather(sendbuf, recvbuf, stream=stream, config=config)

    def gather(
        self, sendbuf: Any, recvbuf: Any, root: int | None = None, *, stream: Any = None, config: Any = None
    ) -> None:
        """As `allgather`, to `root` alone (ncclGather); others may give None to receive."""
        rank = self._comm.rank
        sent = collectives.moved(sendbuf)
        receives = root is None or root == rank
        into = collectives.moved(recvbuf, written=True) if receives else None
        collectives.check_pair(sent, into, in_place=(rank * collectives.size_of(sent),))
        self._run("gather", sendbuf, recvbuf if receives else None, (sent, into, root), stream, config)

    def scatter(
        self, sendbuf: Any, recvbuf: Any, root: int, *, stream: Any = None, config: Any = None
    ) -> None:
        """A part of what `root` has in `sendbuf` to each rank (ncclScatter); others may give None to send."""
        rank = self._comm.rank
        sent = collectives.moved(sendbuf) if rank == root else None
        into = collectives.moved(recvbuf, written=True)
        if sent is not None:
            part = collectives.part_of(sendbuf, sent, self._comm.nranks)
            collectives.check_pair(into, sent, in_place=(rank * part,))
        self._run(
            "scatter", sendbuf if sent is not None else None, recvbuf, (sent, into, root), stream, config
        )

    def alltoall(self, sendbuf: Any, recvbuf: Any, *, stream: Any = None, config: Any = None) -> None:
        """A part of `sendbuf` to each rank, and one from each into `recvbuf` (ncclAlltoAll)."""
        sent, into = collectives.moved(sendbuf), collectives.moved(recvbuf, written=True)
        collectives.part_of(sendbuf, sent, self._comm.nranks)
        collectives.check_pair(sent, into, in_place=())
        self._run("alltoall", sendbuf, recvbuf, (sent, into), stream, config)
