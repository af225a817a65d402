"""What NCCL is given for a GPUArray: (address, number of elements, ncclDataType_t)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycuda._driver import _check_writable, _GPUArrayBase, _views

# ncclDataType_t by NumPy's names, and ml_dtypes'.
_NUMBERS = {
    "int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6, "float32": 7,
    "float64": 8, "bfloat16": 9, "float8_e4m3fn": 10, "float8_e5m2": 11,
}  # fmt: skip
BYTES = _NUMBERS["uint8"]
# Reductions (ncclRedOp_t) of what NCCL has no type for: of pairs of reals, and of booleans as bytes.
_SUM, _MAX, _MIN, _AVG = 0, 2, 3, 4
_PARTS = {"c": ((_SUM, _AVG), "sums and averages"), "b": ((_MAX, _MIN), "MAX (any) and MIN (all)")}
_PAIRS = {"complex64": "float32", "complex128": "float64"}

_types: dict[np.dtype, int | None] = {}


def _type_of(dtype: np.dtype) -> int | None:
    """ncclDataType_t of a dtype, None if it has none."""
    if dtype not in _types:
        _types[dtype] = _NUMBERS.get(dtype.name) if dtype.isnative else None
    return _types[dtype]


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


def reduction(array: Any, op: Any) -> tuple[int, int]:
    """(number of elements, ncclDataType_t) of an array that is reduced: complex numbers are pairs of reals,
    booleans bytes. TypeError if NCCL has neither.
    """
    dtype = array.dtype
    number = _type_of(dtype)
    if number is not None:
        return array.size, number
    if dtype.kind not in _PARTS or not dtype.isnative:
        raise TypeError(f"NCCL has no reductions of {dtype}: pass a.astype() of a type that it has")
    operations, named = _PARTS[dtype.kind]
    if int(op) not in operations:
        raise TypeError(f"of the reductions of {dtype} NCCL has {named} only")
    return (array.size, BYTES) if dtype.kind == "b" else (2 * array.size, _NUMBERS[_PAIRS[dtype.name]])


def check_room(sent: Any, received: Any, needed: int, exactly: bool = False) -> None:
    """TypeError if the dtypes differ; ValueError if `needed` elements do not fit into what is received."""
    if sent.dtype != received.dtype:
        raise TypeError(f"what is sent is {sent.dtype}, what is received {received.dtype}")
    if received.size < needed or (exactly and received.size > needed):
        raise ValueError(f"the array that is received into has {received.size} elements, {needed} are needed")


def part_of(array: Any, ranks: int) -> int:
    """How many elements are each rank's. ValueError if the array cannot be divided."""
    part, rest = divmod(array.size, ranks)
    if rest:
        raise ValueError(f"an array of {array.size} elements cannot be divided among {ranks} ranks")
    return part


def check_overlap(small: Any, large: Any, in_place: int | None) -> None:
    """ValueError if two arrays of one operation overlap, unless `small` begins at the byte `in_place` of
    `large`.
    """
    offset = address_of(small) - address_of(large)
    if offset < large.nbytes and -offset < small.nbytes and offset != in_place:
        raise ValueError("the arrays overlap, and not as NCCL's in-place operation has it")
