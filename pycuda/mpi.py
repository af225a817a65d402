"""Message passing (MPI) with mpi4py: whether the MPI library accesses device memory, and a communicator that
sends through host memory where it does not.

::

    import pycuda.gpuarray as gpuarray
    import pycuda.mpi
    from mpi4py import MPI

    context = pycuda.mpi.local_device(MPI.COMM_WORLD).retain_primary_context()
    context.push()
    comm = pycuda.mpi.communicator(MPI.COMM_WORLD)
    comm.Allreduce(gpuarray.zeros(4, float), total := gpuarray.empty(4, float))

mpi4py is imported by the functions, not by this module. Importing mpi4py.MPI calls MPI_Init.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from typing import Any

from pycuda import _driver
from pycuda._array.interop import message_passing
from pycuda._array.interop.staged_messages import Buffer, Method
from pycuda._base.public_names import documented_init as _documented_init

__all__ = ["Request", "StagedComm", "communicator", "is_cuda_aware", "local_device", "staged"]


@functools.cache
def _mpi() -> Any:
    from mpi4py import MPI

    return MPI


def is_cuda_aware() -> bool | None:
    """Whether the MPI library that mpi4py has loaded accesses a GPU's memory.

    Asks `MPIX_Query_cuda_support`, which Open MPI and MPICH have.

    Returns
    -------
    bool or None
        None if the library does not say: it has no such function.

    Raises
    ------
    ImportError
        mpi4py is not installed.
    RuntimeError
        MPI is not initialized.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import pycuda.mpi
    >>> pycuda.mpi.is_cuda_aware() in {True, False, None}  # False by PyPI's MPICH and Open MPI
    True
    """
    mpi = _mpi()
    if not mpi.Is_initialized() or mpi.Is_finalized():
        raise RuntimeError("MPI is not initialized")
    return message_passing.cuda_support(mpi)


def staged(comm: Any) -> StagedComm:
    """A communicator that copies the elements of GPUArrays through page-locked host memory.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm

    Returns
    -------
    StagedComm

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import pycuda.autoprimaryctx
    >>> import pycuda.gpuarray as gpuarray
    >>> import pycuda.mpi
    >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
    >>> a, total = gpuarray.zeros(3, int) + 2, gpuarray.empty(3, int)
    >>> comm.Allreduce(a, total)
    >>> total.get() == 2 * comm.Get_size()
    array([ True,  True,  True])
    """
    return comm if isinstance(comm, StagedComm) else StagedComm(comm)


def communicator(comm: Any) -> Any:
    """The communicator for the GPUArrays of the current driver: `comm` itself where the MPI library accesses
    their memory, else `staged(comm)`.

    The memory of the CPU device is host memory, which every MPI library accesses. A library that does not
    say whether it is CUDA-aware gets no address of a GPU.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm

    Returns
    -------
    mpi4py.MPI.Comm or StagedComm

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import pycuda.autoprimaryctx
    >>> import pycuda.gpuarray as gpuarray
    >>> import pycuda.mpi
    >>> comm = pycuda.mpi.communicator(MPI.COMM_WORLD)
    >>> a = gpuarray.zeros(3, int) + comm.Get_rank()
    >>> comm.Bcast(a, root=0)  # the elements of process 0, for all
    >>> a
    array([0, 0, 0])
    """
    return comm if _driver._is_cpu_device() or is_cuda_aware() else staged(comm)


def local_device(comm: Any) -> _driver.Device:
    """The device for this process: the processes of one host take its devices in turn.

    Collective: every process of the communicator calls it.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm

    Returns
    -------
    pycuda.driver.Device

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import pycuda.driver as drv
    >>> import pycuda.mpi
    >>> with pycuda.mpi.local_device(MPI.COMM_WORLD).retain_primary_context():
    ...     memory = drv.mem_alloc(1000)
    """
    here = comm.Split_type(_mpi().COMM_TYPE_SHARED)
    try:
        _driver.init()
        return _driver.Device(here.Get_rank() % _driver.Device.count())
    finally:
        here.Free()


@_documented_init
class Request:
    """A request of a `StagedComm`: what has arrived is in the GPUArray once `Wait` or `Test` says so.

    mpi4py's own functions for several requests refuse it, as they would not copy; `Waitall`, `Waitany` and
    `Testall` here take it and mpi4py's requests.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import pycuda.autoprimaryctx
    >>> import pycuda.gpuarray as gpuarray
    >>> import pycuda.mpi
    >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
    >>> a, total = gpuarray.zeros(3, int) + 2, gpuarray.empty(3, int)
    >>> request = comm.Iallreduce(a, total)
    >>> b = a + 1  # the device goes on
    >>> request.Wait()
    True
    >>> total.get() == 2 * comm.Get_size()
    array([ True,  True,  True])
    """

    def __init__(self, request: Any, buffers: list[Buffer], started: bool) -> None:
        self._request, self._buffers, self._pending = request, buffers, started
        self._persists = not started

    def _finish(self, status: Any) -> None:
        if self._pending:
            self._pending = False
            for buffer in self._buffers:
                buffer.store(status)
            if not self._persists:
                self._buffers = []  # its memory is free for other messages, however long the request is kept

    def Wait(self, status: Any = None) -> bool:
        """Wait until the message is complete, and copy what has arrived. Returns True.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import pycuda.autoprimaryctx
        >>> import pycuda.gpuarray as gpuarray
        >>> import pycuda.mpi
        >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
        >>> other = (comm.Get_rank() + 1) % comm.Get_size()
        >>> a, b = gpuarray.zeros(3, int) + 5, gpuarray.empty(3, int)
        >>> requests = comm.Isend(a, other), comm.Irecv(b)
        >>> [request.Wait() for request in requests]
        [True, True]
        >>> b
        array([5, 5, 5])
        """
        status = _mpi().Status() if status is None else status
        self._request.Wait(status)
        self._finish(status)
        return True

    def Test(self, status: Any = None) -> bool:
        """Whether the message is complete; then what has arrived is copied.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import pycuda.autoprimaryctx
        >>> import pycuda.gpuarray as gpuarray
        >>> import pycuda.mpi
        >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
        >>> other = (comm.Get_rank() + 1) % comm.Get_size()
        >>> a, b = gpuarray.zeros(3, int) + 5, gpuarray.empty(3, int)
        >>> sent, received = comm.Isend(a, other), comm.Irecv(b)
        >>> while not received.Test():
        ...     pass  # some other work
        >>> sent.Wait()
        True
        >>> b
        array([5, 5, 5])
        """
        status = _mpi().Status() if status is None else status
        done = self._request.Test(status)
        if done:
            self._finish(status)
        return done

    def wait(self, status: Any = None) -> None:
        """`Wait`, without a result.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import pycuda.autoprimaryctx
        >>> import pycuda.gpuarray as gpuarray
        >>> import pycuda.mpi
        >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
        >>> other = (comm.Get_rank() + 1) % comm.Get_size()
        >>> a, b = gpuarray.zeros(3, int) + 5, gpuarray.empty(3, int)
        >>> sent, received = comm.Isend(a, other), comm.Irecv(b)
        >>> received.wait()
        >>> sent.wait()
        >>> b
        array([5, 5, 5])
        """
        self.Wait(status)

    def test(self, status: Any = None) -> tuple[bool, None]:
        """`Test`, as mpi4py's lower-case method returns it: (whether complete, None).

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import pycuda.autoprimaryctx
        >>> import pycuda.gpuarray as gpuarray
        >>> import pycuda.mpi
        >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
        >>> other = (comm.Get_rank() + 1) % comm.Get_size()
        >>> a, b = gpuarray.zeros(3, int) + 5, gpuarray.empty(3, int)
        >>> sent, received = comm.Isend(a, other), comm.Irecv(b)
        >>> while not received.test()[0]:
        ...     pass  # some other work
        >>> sent.test()[0] or sent.Wait()
        True
        """
        return self.Test(status), None

    def Start(self) -> None:
        """Start a persistent request: the array is read now, after the work that is queued on it.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import pycuda.autoprimaryctx
        >>> import pycuda.gpuarray as gpuarray
        >>> import pycuda.mpi
        >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
        >>> other = (comm.Get_rank() + 1) % comm.Get_size()
        >>> a, b = gpuarray.zeros(3, int) + 5, gpuarray.empty(3, int)
        >>> sent, received = comm.Send_init(a, other), comm.Recv_init(b)
        >>> for step in range(3):  # the same message again and again
        ...     a += 1
        ...     received.Start()
        ...     sent.Start()
        ...     done = received.Wait() and sent.Wait()
        >>> b
        array([8, 8, 8])
        >>> sent.Free()
        >>> received.Free()
        """
        for buffer in self._buffers:
            buffer.load()
        self._pending = True
        self._request.Start()

    def Cancel(self) -> None:
        """Cancel the request; `Wait` must follow.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import pycuda.autoprimaryctx
        >>> import pycuda.gpuarray as gpuarray
        >>> import pycuda.mpi
        >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
        >>> other = (comm.Get_rank() + 1) % comm.Get_size()
        >>> a, b = gpuarray.zeros(3, int) + 5, gpuarray.empty(3, int)
        >>> request = comm.Irecv(b, tag=99)  # there is no such message
        >>> request.Cancel()
        >>> request.Wait()
        True
        """
        self._request.Cancel()

    def Free(self) -> None:
        """Free the request. A persistent one is not started any more.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import pycuda.autoprimaryctx
        >>> import pycuda.gpuarray as gpuarray
        >>> import pycuda.mpi
        >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
        >>> other = (comm.Get_rank() + 1) % comm.Get_size()
        >>> a, b = gpuarray.zeros(3, int) + 5, gpuarray.empty(3, int)
        >>> request = comm.Send_init(a, other)
        >>> request.Free()
        """
        self._request.Free()

    @staticmethod
    def Waitall(requests: Iterable[Any], statuses: list[Any] | None = None) -> bool:
        """Wait for all of the requests, of this class or mpi4py's. Returns True.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import pycuda.autoprimaryctx
        >>> import pycuda.gpuarray as gpuarray
        >>> import pycuda.mpi
        >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
        >>> other = (comm.Get_rank() + 1) % comm.Get_size()
        >>> a, b = gpuarray.zeros(3, int) + 5, gpuarray.empty(3, int)
        >>> pycuda.mpi.Request.Waitall([comm.Isend(a, other), comm.Irecv(b)])
        True
        >>> b
        array([5, 5, 5])
        """
        for number, each in enumerate(requests):
            each.Wait(statuses[number] if statuses else None)
        return True

    @staticmethod
    def Testall(requests: Iterable[Any], statuses: list[Any] | None = None) -> bool:
        """Whether all of the requests are complete.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import pycuda.autoprimaryctx
        >>> import pycuda.gpuarray as gpuarray
        >>> import pycuda.mpi
        >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
        >>> other = (comm.Get_rank() + 1) % comm.Get_size()
        >>> a, b = gpuarray.zeros(3, int) + 5, gpuarray.empty(3, int)
        >>> requests = [comm.Isend(a, other), comm.Irecv(b)]
        >>> while not pycuda.mpi.Request.Testall(requests):
        ...     pass  # some other work
        >>> b
        array([5, 5, 5])
        """
        return all([each.Test(statuses[n] if statuses else None) for n, each in enumerate([*requests])])

    @staticmethod
    def Waitany(requests: list[Any], status: Any = None) -> int:
        """Wait for one of the requests. Returns its index, MPI.UNDEFINED if none is active.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import pycuda.autoprimaryctx
        >>> import pycuda.gpuarray as gpuarray
        >>> import pycuda.mpi
        >>> comm = pycuda.mpi.staged(MPI.COMM_WORLD)
        >>> other = (comm.Get_rank() + 1) % comm.Get_size()
        >>> a, b = gpuarray.zeros(3, int) + 5, gpuarray.empty(3, int)
        >>> requests = [comm.Isend(a, other), comm.Irecv(b)]
        >>> {pycuda.mpi.Request.Waitany(requests) for _ in range(2)} == {0, 1}
        True
        >>> b
        array([5, 5, 5])
        """
        status = _mpi().Status() if status is None else status
        raw = [each._request if isinstance(each, Request) else each for each in requests]
        index = _mpi().Request.Waitany(raw, status)
        for each, handle in zip(requests, raw, strict=True):  # Waitany sets completed handles in its list
            if isinstance(each, Request):
                each._request = handle
        if index >= 0 and isinstance(requests[index], Request):
            requests[index]._finish(status)
        return index


@_documented_init
class StagedComm:
    """A communicator of mpi4py whose upper-case methods take GPUArrays and give MPI host memory.

    Each array is copied to page-locked memory of a pool before MPI reads it, after the work that is queued on
    it, and what arrives is copied to the array before the method returns, or at `Request.Wait`. The arrays
    are those that mpi4py takes: contiguous, in C or Fortran order; [array, count], [array, datatype] and so
    on as well. Where MPI may leave elements as they are, they stay. All else is the communicator's:
    attributes, lower-case methods, messages of host arrays. A method that returns a communicator returns a
    staged one.

    Windows, partitioned communication and attached buffers give MPI the address for longer than a call and
    are not staged.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import pycuda.autoprimaryctx
    >>> import pycuda.gpuarray as gpuarray
    >>> import pycuda.mpi
    >>> comm = pycuda.mpi.StagedComm(MPI.COMM_WORLD)  # as staged() makes it
    >>> rank, size = comm.Get_rank(), comm.Get_size()
    >>> a, all_ranks = gpuarray.zeros(1, int) + rank, gpuarray.empty(size, int)
    >>> comm.Allgather(a, all_ranks)
    >>> all_ranks.get().tolist() == list(range(size))
    True
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm

    @property
    def comm(self) -> Any:
        """The communicator of mpi4py.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import pycuda.mpi
        >>> pycuda.mpi.staged(MPI.COMM_WORLD).comm == MPI.COMM_WORLD
        True
        """
        return self._comm

    def __repr__(self) -> str:
        return f"pycuda.mpi.staged({self._comm!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return StagedComm, (self._comm,)

    def __getattr__(self, name: str) -> Any:
        """Methods are remembered in the object, and found there the next time."""
        value = getattr(self._comm, name)
        if not name[0].isupper() or not callable(value):
            return value
        parameters = inspect.signature(value).parameters
        if {"buf", "sendbuf", "recvbuf"} & {*parameters}:
            method: Any = Method(self._comm, name, Request)
        else:
            method = functools.partial(_wrapped, value)
        self.__dict__[name] = method
        return method


def _wrapped(method: Any, *args: Any, **keywords: Any) -> Any:
    result = method(*args, **keywords)
    return staged(result) if isinstance(result, _mpi().Comm) else result
