"""Messages of GPUArrays through host memory: what is copied to it before, and from it after.

A message stays one message: its peer may be a process that sends and receives arrays of NumPy. So a large one
is not cut into parts, of which MPI would send one while the next is copied.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from pycuda import _driver
from pycuda._kernels.plans.caches import memoized_in_context

_pool = memoized_in_context(_driver.PageLockedMemoryPool, 256)

# Methods whose `buf` is received into, and those whose `buf` is sent and then received into.
_RECEIVE = {"Recv", "Irecv", "Recv_init"}
_REPLACE = {"Sendrecv_replace", "Isendrecv_replace"}
# Some processes get nothing in some methods: their arrays keep what they have.
_PARTIAL = ("Exscan", "Iexscan", "Neighbor", "Ineighbor")

_LISTS = (list, tuple)


class Buffer:
    """Page-locked memory in place of an array, in the order of its memory.

    loads: MPI reads it. stores: MPI writes it. counted: how much MPI writes is in the status.
    """

    __slots__ = ("_array", "_counted", "_host", "_loads", "_order", "_stores")

    def __init__(self, array: Any, pool: Any, loads: bool, stores: bool, counted: bool) -> None:
        flags = array.flags
        self._array, self._order = array, "C" if flags.c_contiguous else "F"
        if self._order == "F" and not flags.f_contiguous:
            raise BufferError("the array of a message must be contiguous, in C or Fortran order")
        if stores and not flags.writeable:
            raise BufferError("the array of a message that is received is read-only")
        self._loads, self._stores, self._counted = loads, stores, counted
        self._host = pool.allocate(array.shape, array.dtype, self._order)

    def message(self) -> np.ndarray:
        """What mpi4py gets in place of the array. Types that it does not know are bytes."""
        dtype = self._host.dtype
        if dtype.kind == "V" and dtype.names is None:
            return self._host.reshape(-1, order=self._order).view(np.uint8)
        return self._host

    def load(self) -> None:
        """Copies from the array, after the work that is queued on it, and waits."""
        if self._loads:
            self._array.get(self._host)

    def store(self, status: Any) -> None:
        """Copies to the array what has arrived. status: of mpi4py, None if all has."""
        if not self._stores:
            return
        if self._counted and status is not None:
            from mpi4py import MPI

            arrived = status.Get_count(MPI.BYTE)
            if arrived < self._array.nbytes:
                return self._store_first(arrived // self._array.dtype.itemsize)
        self._array.set(self._host)

    def _store_first(self, count: int) -> None:
        if count > 0:
            flat = self._array if self._order == "C" else self._array.T
            flat.reshape(-1)[:count].set(self._host.reshape(-1, order=self._order)[:count])


def _buffer_of(
    message: Any, pool: Any, loads: bool, stores: bool, counted: bool, filled: bool
) -> tuple[Any, Buffer | None]:
    """(what mpi4py gets, the Buffer) for the argument of a method; (message, None) without a GPUArray.

    An array that MPI fills is not read before; any other that is written is, so that elements which MPI
    leaves as they are keep their values: filled says whether the method fills an array that is given without
    counts, counted that the status says how far.
    """
    listed = isinstance(message, _LISTS) and len(message) > 0
    array = message[0] if listed else message
    if not isinstance(array, _driver._GPUArrayBase):
        return message, None
    if not loads and not stores:
        return None, None
    loads = loads or (stores and (listed or not (filled or counted)))
    buffer = Buffer(array, pool(), loads, stores, counted and not listed)
    return ([buffer.message(), *message[1:]] if listed else buffer.message()), buffer


class Method:
    """A method of a communicator that gives MPI host memory in place of arrays.

    What depends on the method alone is found once: a small message takes a few microseconds.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    name : str
        Of a method with a parameter buf, sendbuf or recvbuf.
    pending : callable
        pending(request, buffers, started) is the result where the method's is a request.
    """

    def __init__(self, comm: Any, name: str, pending: Any) -> None:
        from mpi4py import MPI

        self._comm, self._name, self._pending = comm, name, pending
        self._mpi: Any = MPI
        self._method = getattr(comm, name)
        self._signature = inspect.signature(self._method)
        parameters = self._signature.parameters.values()
        self._defaults = tuple(each.default for each in parameters)
        self._required = self._defaults.count(inspect.Parameter.empty)
        self._places = {each.name: place for place, each in enumerate(parameters)}
        self._receives = name in _RECEIVE | _REPLACE or "recvtag" in self._places
        self._status = self._places.get("status") if self._receives else None
        self._persists = name.endswith("_init")
        self._keeps = "partitions" in self._places or name == "Attach_buffer"
        self._fills = not name.startswith(_PARTIAL)
        self._scatters = name.lstrip("I").lower().startswith("scatter")

    def _values(self, args: tuple, keywords: dict[str, Any]) -> list[Any]:
        """The arguments in the order of the parameters; TypeError as the method itself raises it."""
        if len(args) < self._required or len(args) + len(keywords) > len(self._defaults):
            return self._bound(args, keywords)
        values = [*args, *self._defaults[len(args) :]]
        for name, value in keywords.items():
            place = self._places.get(name, -1)
            if place < len(args):
                return self._bound(args, keywords)
            values[place] = value
        return values

    def _bound(self, args: tuple, keywords: dict[str, Any]) -> list[Any]:
        bound = self._signature.bind(*args, **keywords)
        bound.apply_defaults()
        return [*bound.arguments.values()]

    def _is_root(self, values: list[Any]) -> bool:
        """Whether the method has no root, or this process is it."""
        place = self._places.get("root")
        if place is None:
            return True
        inter = self._comm.Is_inter()
        return values[place] == (self._mpi.ROOT if inter else self._comm.Get_rank())

    def _directions(self, values: list[Any]) -> tuple[tuple[str, bool, bool], ...]:
        """(parameter, whether MPI reads it, whether MPI writes it) of each buffer."""
        at_root = self._is_root(values)
        if "buf" in self._places:
            if "root" in self._places:
                return (("buf", at_root, not at_root),)
            if self._name in _REPLACE:
                return (("buf", True, True),)
            return (("buf", self._name not in _RECEIVE, self._name in _RECEIVE),)
        in_place = values[self._places["sendbuf"]] is self._mpi.IN_PLACE
        return (
            ("sendbuf", at_root or not self._scatters, False),
            ("recvbuf", in_place, at_root or self._scatters),
        )

    def _stage(self, values: list[Any]) -> list[Buffer]:
        """Puts host memory in place of the arrays, with their elements if the method reads them now."""
        buffers = []
        for parameter, loads, stores in self._directions(values):
            place = self._places[parameter]
            values[place], buffer = _buffer_of(
                values[place], _pool, loads, stores, self._receives, self._fills
            )
            if buffer is not None:
                buffers.append(buffer)
        if buffers and self._keeps:
            raise NotImplementedError(
                f"{self._name} is not staged: MPI would keep the memory of the array for later messages. "
                "Give it an array of the host"
            )
        if not self._persists:
            for buffer in buffers:
                buffer.load()
        return buffers

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        values = self._values(args, keywords)
        buffers = self._stage(values)
        if not buffers:
            return self._method(*values)
        status = None
        if self._status is not None:
            status = values[self._status]
            if status is None:
                status = values[self._status] = self._mpi.Status()
        result = self._method(*values)
        if isinstance(result, self._mpi.Request):
            return self._pending(result, buffers, not self._persists)
        values.clear()
        while buffers:  # the last one first: the next call finds the same memory for the same argument
            buffers.pop().store(status)
        return result
