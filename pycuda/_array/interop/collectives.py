"""The operations of NCCL on GPUArrays: what each does with its arrays, what is refused, and what the
functions of nccl4py's bindings are given. `collective` makes one for a communicator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._driver import (
    _check_writable,
    _device_number,
    _FastCollective,
    _GPUArrayBase,
    _library_uses,
    _views,
    current_stream,
)

# ncclDataType_t by NumPy's names, and ml_dtypes'.
_NUMBERS = {
    "int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6, "float32": 7,
    "float64": 8, "bfloat16": 9, "float8_e4m3fn": 10, "float8_e5m2": 11,
}  # fmt: skip
_BYTES = _NUMBERS["uint8"]
# Reductions (ncclRedOp_t) of what NCCL has no type for: of pairs of reals, and of booleans as bytes.
_SUM, _MAX, _MIN, _AVG = 0, 2, 3, 4
_PARTS = {"c": ((_SUM, _AVG), "sums and averages"), "b": ((_MAX, _MIN), "MAX (any) and MIN (all)")}
_PAIRS = {"complex64": "float32", "complex128": "float64"}


class Operation(NamedTuple):
    """What an operation does with its arrays. An array in parts has one for each rank, any other is one part,
    and the elements of a part are what NCCL counts.
    """

    name: str  # of the bindings' function
    sends: bool = True
    receives: bool = True
    has_two_addresses: bool = True  # in its arguments; with one array both are that array's
    sent_in_parts: bool = False
    received_in_parts: bool = False
    is_exact: bool = False  # what is received has no more room than is needed
    reduces: bool = False  # counts numbers of a type; all others count bytes


SEND = Operation("send", receives=False, has_two_addresses=False)
RECV = Operation("recv", sends=False, has_two_addresses=False)
BROADCAST = Operation("broadcast", is_exact=True)
ALL_REDUCE = Operation("all_reduce", reduces=True)
REDUCE = ALL_REDUCE._replace(name="reduce")
REDUCE_SCATTER = Operation("reduce_scatter", sent_in_parts=True, reduces=True)
ALL_GATHER = Operation("all_gather", received_in_parts=True)
GATHER = ALL_GATHER._replace(name="gather")
SCATTER = Operation("scatter", sent_in_parts=True, is_exact=True)
ALL_TO_ALL = Operation("allto_all", sent_in_parts=True, received_in_parts=True)
# Of the ranks that are not the root.
REDUCE_ELSEWHERE = REDUCE._replace(receives=False)
GATHER_ELSEWHERE = GATHER._replace(receives=False)
SCATTER_ELSEWHERE = SCATTER._replace(sends=False)


def collective(operation: Operation, comm: Any, bindings: Any) -> Callable[..., None]:
    """The operation for a rank: a `Collective` that costs less for GPUArrays that break no rule."""
    return _FastCollective(Collective(operation, comm, bindings))


class Collective:
    """An operation for a rank, with all checks.

    Called with what is sent and what is received (of which it takes those that the operation has), a stream
    or None, a list that keeps the arrays or None, and what NCCL's function has besides: operation, root or
    peer. Raises what pycuda.nccl.Communicator says, before anything is queued.
    """

    moved_as = _BYTES

    def __init__(self, operation: Operation, comm: Any, bindings: Any) -> None:
        self.operation, self.comm, self.handle = operation, comm, bindings.Comm(comm.ptr)
        self.function = getattr(bindings, operation.name)
        self.device, self.rank, self.ranks = comm.device.device_id, comm.rank, comm.nranks

    def __call__(self, sendbuf: Any, recvbuf: Any, stream: Any, uses: list[Any] | None, *extra: Any) -> None:
        sent = array_of(sendbuf, stream) if self.operation.sends else None
        received = array_of(recvbuf, stream, written=True) if self.operation.receives else None
        arrays = [each for each in (sent, received) if each is not None]
        part = self.part_of(sent, received)
        if sent is not None and received is not None:
            self.check_room(sent, received, part)
            self.check_overlap(sent, received, part)
        unit, number, *rest = self.unit_of(arrays[0].dtype, *extra)
        self.check_place(arrays)
        stream = current_stream() if stream is None else stream
        _library_uses(stream, tuple(arrays))
        if uses is not None:
            uses += arrays
        addresses = [address_of(arrays[0])]
        if self.operation.has_two_addresses:
            addresses.append(address_of(arrays[-1]))
        queue = 0 if stream is None else stream.__cuda_stream__()[1]
        self.function(*addresses, unit * part, number, *rest, self.handle, queue)

    def part_of(self, sent: Any, received: Any) -> int:
        """How many elements a part has. ValueError if the array cannot be divided."""
        array, in_parts = sent, self.operation.sent_in_parts
        if sent is None:
            array, in_parts = received, self.operation.received_in_parts
        part, rest = divmod(array.size, self.ranks if in_parts else 1)
        if rest:
            raise ValueError(f"an array of {array.size} elements cannot be divided among {self.ranks} ranks")
        return part

    def check_room(self, sent: Any, received: Any, part: int) -> None:
        """TypeError if the dtypes differ; ValueError if what is needed does not fit into what is received."""
        if sent.dtype != received.dtype:
            raise TypeError(f"what is sent is {sent.dtype}, what is received {received.dtype}")
        needed = part * (self.ranks if self.operation.received_in_parts else 1)
        if received.size < needed or (self.operation.is_exact and received.size > needed):
            raise ValueError(
                f"the array that is received into has {received.size} elements, {needed} are needed"
            )

    def check_overlap(self, sent: Any, received: Any, part: int) -> None:
        """ValueError if the arrays overlap, except in NCCL's in-place forms: both are the same, or the array
        that is not in parts is this rank's part of the other.
        """
        in_parts = self.operation.sent_in_parts, self.operation.received_in_parts
        small, large = (received, sent) if in_parts == (True, False) else (sent, received)
        offset = address_of(small) - address_of(large)
        in_place = offset == (self.rank * part * sent.itemsize if any(in_parts) else 0) and not all(in_parts)
        if offset < large.nbytes and -offset < small.nbytes and not in_place:
            raise ValueError("the arrays overlap, and not as NCCL's in-place operation has it")

    def unit_of(self, dtype: np.dtype, *extra: Any) -> tuple[Any, ...]:
        """(what NCCL counts in an element, ncclDataType_t, *extra as the bindings take it)"""
        if not self.operation.reduces:
            return dtype.itemsize, self.moved_as, *extra
        return *self.reduce(dtype, extra[0]), *extra[1:]

    @staticmethod
    def reduce(dtype: np.dtype, op: Any) -> tuple[int, int, int]:
        """(numbers in an element, ncclDataType_t, ncclRedOp_t): complex numbers are pairs of reals, booleans
        bytes. TypeError if NCCL does not have the reduction.
        """
        number, op = _NUMBERS.get(dtype.name) if dtype.isnative else None, int(op)
        if number is not None:
            return 1, number, op
        if dtype.kind not in _PARTS or not dtype.isnative:
            raise TypeError(f"NCCL has no reductions of {dtype}: pass a.astype() of a type that it has")
        operations, named = _PARTS[dtype.kind]
        if op not in operations:
            raise TypeError(f"of the reductions of {dtype} NCCL has {named} only")
        return (1, _BYTES, op) if dtype.kind == "b" else (2, _NUMBERS[_PAIRS[dtype.name]], op)

    def check_place(self, arrays: list[Any]) -> None:
        """RuntimeError if the communicator was destroyed, or another device's context is current. ValueError
        if an array is on another device, also with peer access: NCCL does not take it.
        """
        if self.comm.ptr != self.handle.handle:
            raise RuntimeError("the communicator was destroyed")
        if _driver.Context.get_device().handle != self.device:
            raise RuntimeError(
                f"the context of the communicator's device, device {self.device}, is not current"
            )
        for array in arrays:
            number = _device_number(array)
            if array.size and number not in (None, self.device):
                raise ValueError(
                    f"an array is on device {number}, but the communicator is on device {self.device}, and "
                    f"NCCL takes arrays of that device alone: copy the array with to_device({self.device})"
                )


def array_of(buffer: Any, stream: Any, written: bool = False) -> Any:
    """The GPUArray of a buffer, which may be an array of another library on the device.

    Raises ValueError if it is not contiguous or, to be written, read-only; TypeError if it is something else.
    """
    array = buffer if isinstance(buffer, _GPUArrayBase) else _views((buffer,), stream)[0]
    if not isinstance(array, _GPUArrayBase):
        raise TypeError(f"NCCL needs an array on the device, not {type(buffer).__name__}")
    if not array.flags.forc:
        raise ValueError(
            f"NCCL needs a contiguous array, and strides {array.strides} of shape {array.shape} are not: "
            "pass a.copy()"
        )
    if written:
        _check_writable(array)
    return array


def address_of(array: Any) -> int:
    """The address of element 0; 0 of an array without elements. LogicError if the memory was freed."""
    return array.ptr if array.size else 0
