"""Strides and flags of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pycuda._driver import _packed_strides, _views


def f_contiguous_strides(itemsize: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in bytes of a packed Fortran-ordered array; axes of length 0 count as 1.

    Parameters
    ----------
    itemsize : int
        Bytes.
    shape : sequence of int

    Returns
    -------
    tuple of int
    """
    return _packed_strides(shape, itemsize, "F")


def c_contiguous_strides(itemsize: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in bytes of a packed C-ordered array; axes of length 0 count as 1.

    Parameters
    ----------
    itemsize : int
        Bytes.
    shape : sequence of int

    Returns
    -------
    tuple of int
    """
    return _packed_strides(shape, itemsize)


def equal_strides(strides1: Sequence[int], strides2: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether two strides address an array of this shape alike: axes of length 1, and empty
    arrays, do not count.

    Parameters
    ----------
    strides1, strides2 : sequence of int
    shape : sequence of int

    Returns
    -------
    bool
    """
    if len(strides1) != len(strides2) or len(strides2) != len(shape):
        return False
    return 0 in shape or all(
        a == b for a, b, length in zip(strides1, strides2, shape, strict=True) if length > 1
    )


def is_f_contiguous_strides(strides: Sequence[int], itemsize: int, shape: Sequence[int]) -> bool:
    """Whether these are the strides of a packed Fortran-ordered array.

    Parameters
    ----------
    strides : sequence of int
    itemsize : int
        Bytes.
    shape : sequence of int

    Returns
    -------
    bool
    """
    return equal_strides(strides, f_contiguous_strides(itemsize, shape), shape)


def is_c_contiguous_strides(strides: Sequence[int], itemsize: int, shape: Sequence[int]) -> bool:
    """Whether these are the strides of a packed C-ordered array.

    Parameters
    ----------
    strides : sequence of int
    itemsize : int
        Bytes.
    shape : sequence of int

    Returns
    -------
    bool
    """
    return equal_strides(strides, c_contiguous_strides(itemsize, shape), shape)


class ArrayFlags:
    """The attributes c_contiguous, f_contiguous and forc of an array.

    Parameters
    ----------
    ary : object
        Anything with strides, shape and dtype.
    """

    def __init__(self, ary: Any) -> None:
        """Look at the strides of ary, which is not kept."""
        itemsize = ary.dtype.itemsize
        self.f_contiguous = is_f_contiguous_strides(ary.strides, itemsize, ary.shape)
        self.c_contiguous = is_c_contiguous_strides(ary.strides, itemsize, ary.shape)
        self.forc = self.f_contiguous or self.c_contiguous

    def __repr__(self) -> str:
        return f"ArrayFlags(c_contiguous={self.c_contiguous}, f_contiguous={self.f_contiguous})"


def get_common_dtype(obj1: Any, obj2: Any, allow_double: bool) -> np.dtype[Any]:
    """The dtype that results of both go into.

    Parameters
    ----------
    obj1, obj2 : array or scalar
    allow_double : bool
        Without it double precision becomes single.

    Returns
    -------
    numpy.dtype
    """
    obj1, obj2 = _views((obj1, obj2))
    result = np.result_type(*(each.dtype if hasattr(each, "dtype") else each for each in (obj1, obj2)))
    narrow = {np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}
    return np.dtype(result if allow_double else narrow.get(result, result))


def bound(a: Any) -> tuple[int, int]:
    """The memory of an array.

    Parameters
    ----------
    a : numpy.ndarray or GPUArray

    Returns
    -------
    (low, high) : tuple of int
        The lowest address, and one past the highest.
    """
    low = high = a.ctypes.data if isinstance(a, np.ndarray) else int(a.gpudata)
    for length, stride in zip(a.shape, a.strides, strict=True):
        low, high = low + min(0, (length - 1) * stride), high + max(0, (length - 1) * stride)
    return low, high + a.dtype.itemsize


def as_strided(
    x: np.ndarray[Any, Any], shape: Sequence[int] | None = None, strides: Sequence[int] | None = None
) -> np.ndarray[Any, Any]:
    """A view of a NumPy array with another shape and strides.

    Parameters
    ----------
    x : numpy.ndarray
    shape : sequence of int
    strides : sequence of int
        Bytes.

    Returns
    -------
    numpy.ndarray
    """
    return np.lib.stride_tricks.as_strided(x, shape, strides)
