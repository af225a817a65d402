"""What NCCL gets for a GPUArray: contiguous memory, with elements of a type that it has."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycuda._driver import _check_writable, _GPUArrayBase

# NCCL's element types: the numbers of NumPy's dtypes, and the names of ml_dtypes'.
_NUMBERS = {np.dtype(code).num for code in ("i1", "u1", "i", "u4", "l", "L", "q", "Q", "f2", "f4", "f8")}
_NAMES = {"bfloat16", "float8_e4m3fn", "float8_e5m2"}
# Reductions (ncclRedOp_t) of what NCCL has no type for: of pairs of reals, and of booleans as bytes.
_SUM, _MAX, _MIN, _AVG = 0, 2, 3, 4
_PARTS = {"c": ((_SUM, _AVG), "sums and averages"), "b": ((_MAX, _MIN), "MAX (any) and MIN (all)")}


def _is_known(dtype: np.dtype) -> bool:
    return (dtype.num in _NUMBERS and dtype.isnative) or dtype.name in _NAMES


def _check(array: Any, written: bool) -> None:
    """ValueError if an array is not contiguous, or is to be written and is read-only."""
    if not array.flags.forc:
        raise ValueError(
            f"NCCL needs a contiguous array, and strides {array.strides} of shape {array.shape} are not: "
            "pass a.copy()"
        )
    if written:
        _check_writable(array)


def _as(array: Any, dtype: np.dtype) -> Any:
    """A flat view with elements of another type."""
    return (array if array.flags.c_contiguous else array.T).reshape(-1).view(dtype)


def moved(array: Any, written: bool = False) -> Any:
    """For an operation that moves elements, whose type is not looked at: what NCCL does not know is bytes."""
    if not isinstance(array, _GPUArrayBase):
        return array
    _check(array, written)
    return array if _is_known(array.dtype) else _as(array, np.dtype(np.uint8))


def reduced(array: Any, op: Any, written: bool = False) -> Any:
    """For a reduction: complex numbers are pairs of reals, booleans bytes. TypeError if NCCL has neither."""
    if not isinstance(array, _GPUArrayBase):
        return array
    _check(array, written)
    dtype = array.dtype
    if _is_known(dtype):
        return array
    if dtype.kind not in _PARTS:
        raise TypeError(f"NCCL has no reductions of {dtype}: pass a.astype() of a type that it has")
    operations, named = _PARTS[dtype.kind]
    if int(op) not in operations:
        raise TypeError(f"of the reductions of {dtype} NCCL has {named} only")
    return _as(array, np.zeros(0, dtype).real.dtype if dtype.kind == "c" else np.dtype(np.uint8))


def size_of(array: Any) -> int:
    """How many elements NCCL sees; 0 for what is no GPUArray."""
    return array.size if isinstance(array, _GPUArrayBase) else 0


def part_of(array: Any, seen: Any, ranks: int) -> int:
    """How many of the elements that NCCL sees are one rank's. ValueError if the array's cannot be divided."""
    if isinstance(array, _GPUArrayBase) and array.size % ranks:
        raise ValueError(f"an array of {array.size} elements cannot be divided among {ranks} ranks")
    return size_of(seen) // ranks


def check_pair(small: Any, large: Any, in_place: tuple[int, ...]) -> None:
    """ValueError if two arrays of one operation overlap, unless `small` begins at one of the elements
    `in_place` of `large`.
    """
    if not isinstance(small, _GPUArrayBase) or not isinstance(large, _GPUArrayBase):
        return
    offset = small.ptr - large.ptr
    if offset >= large.nbytes or -offset >= small.nbytes:
        return
    if offset not in (element * large.dtype.itemsize for element in in_place):
        raise ValueError("the arrays overlap, and not as NCCL's in-place operation has it")
