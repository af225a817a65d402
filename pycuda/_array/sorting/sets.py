"""Set operations (isin, intersect1d, union1d, setdiff1d, setxor1d), by sorting. The length of a result
depends on values, so each call waits for its stream once or twice; isin() does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from pycuda._array.core.creation import full
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.operands import as_array
from pycuda._array.core.packed import as_packed
from pycuda._array.indexing.mask import take_true
from pycuda._array.shape.joining import concatenate
from pycuda._array.sorting.sorting import argsort, sort
from pycuda._array.sorting.unique import unique
from pycuda._kernels.builtin.search import look_up
from pycuda._kernels.builtin.sort import order

if TYPE_CHECKING:
    from typing import Any, Literal

    from pycuda._array.core.types import Array, Scalar
    from pycuda.gpuarray import GPUArray


def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None) -> GPUArray[np.bool_]:
    """Which elements are among the test elements. `assume_unique` and `kind` change nothing."""
    element, test = as_array(element), as_array(test_elements).ravel()
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    if not test.size:
        return full(element.shape, bool(invert), np.bool_)
    dtype = np.result_type(element.dtype, test.dtype)
    element, test = as_packed(element.astype(dtype, copy=False)), test.astype(dtype, copy=False)
    result = new(element.shape, np.bool_, element.allocator)
    if result.size:
        look_up(order(dtype), sort(test), element, result, invert=bool(invert), stream=None)
    return result


def in1d(ar1, ar2, assume_unique=False, invert=False, *, kind=None) -> GPUArray[np.bool_]:
    """isin() of the flattened array."""
    return isin(as_array(ar1).ravel(), ar2, assume_unique, invert, kind=kind)


def _unique_unless_assumed(a, assume_unique) -> GPUArray:
    return a.ravel() if assume_unique else unique(a)


def _one_dtype(*arrays) -> list[GPUArray]:
    """The arrays, converted to the dtype that they promote to."""
    arrays = [as_array(each) for each in arrays]
    dtype = np.result_type(*(each.dtype for each in arrays))
    return [each.astype(dtype, copy=False) for each in arrays]


@overload
def intersect1d(
    ar1: Array[Scalar],
    ar2: Array[Scalar],
    assume_unique: bool = False,
    return_indices: Literal[False] = False,
) -> GPUArray[Scalar]: ...
@overload
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: Literal[False] = False
) -> GPUArray: ...
@overload
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, return_indices: Literal[True]
) -> tuple[GPUArray, GPUArray[np.intp], GPUArray[np.intp]]: ...


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False) -> GPUArray | tuple[GPUArray, ...]:
    """The elements that are in both, sorted."""
    ar1, ar2 = _one_dtype(ar1, ar2)
    if not return_indices:
        both = sort(
            concatenate(
                (_unique_unless_assumed(ar1, assume_unique), _unique_unless_assumed(ar2, assume_unique))
            )
        )
        return take_true(both[:-1], _equal_to_next(both)) if both.size > 1 else both[:0]
    ar1, ar2 = ar1.ravel(), ar2.ravel()
    first, second = None, None
    if not assume_unique:
        ar1, first = unique(ar1, return_index=True)
        ar2, second = unique(ar2, return_index=True)
    both = concatenate((ar1, ar2))
    order = argsort(both)
    ordered = both[order]
    mask = _equal_to_next(ordered) if both.size > 1 else full((0,), False)
    found = take_true(ordered[:-1], mask) if mask.size else ordered[:0]
    if mask.size:
        left = take_true(order[:-1], mask)
        right = apply("subtract", take_true(order[1:], mask), ar1.size)
    else:
        left = right = order[:0]
    return (
        found,
        left if first is None else first.take(left),
        right if second is None else second.take(right),
    )


def _equal_to_next(ordered) -> GPUArray:
    """A mask of the elements that are equal to the next one."""
    return apply("equal", ordered[1:], ordered[:-1])


def union1d(ar1: Array[Scalar], ar2: Array[Scalar]) -> GPUArray[Scalar]:
    """The elements that are in one of both, sorted."""
    return unique(concatenate([each.ravel() for each in map(as_array, (ar1, ar2))]))


def setdiff1d(ar1: Array[Scalar], ar2, assume_unique=False) -> GPUArray[Scalar]:
    """The elements of the first that are not in the second."""
    ar1 = _unique_unless_assumed(as_array(ar1), assume_unique)
    return ar1[isin(ar1, as_array(ar2), invert=True)]


def setxor1d(ar1: Array[Scalar], ar2: Array[Scalar], assume_unique=False) -> GPUArray[Scalar]:
    """The elements that are in one of both only, sorted."""
    ar1, ar2 = _one_dtype(ar1, ar2)
    both = concatenate(
        (_unique_unless_assumed(ar1, assume_unique), _unique_unless_assumed(ar2, assume_unique))
    )
    if not both.size:
        return both
    both = sort(both)
    edge = full((1,), True)
    differs = concatenate((edge, apply("not_equal", both[1:], both[:-1]), edge))
    return both[apply("logical_and", differs[1:], differs[:-1])]
