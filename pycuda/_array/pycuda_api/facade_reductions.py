"""The reductions of pycuda.gpuarray, which keep PyCUDA's signatures and rules: of all elements, in the
array's dtype, maxima past NaNs. Results are 0-d arrays, nothing is copied to the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core.decorators import array_function, takes_arrays
from pycuda._array.indexing.take_put import take
from pycuda._array.reduction.reduce import plan_reduction, reduce, reduce_by, reduce_products
from pycuda._kernels.plans.caches import launches

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Array, Stream
    from pycuda.gpuarray import GPUArray

_COUNT = np.dtype(np.int64)


def _counting(dtype) -> np.dtype:
    """What sums of this dtype are: those of booleans count."""
    return _COUNT if dtype.kind == "b" else dtype


def _plan_sum(a):
    return plan_reduction("sum", None, _counting(a.dtype), False, 0.0, a)


_SUMS = _plan_sum, 1


def _quick_sum(function):
    return array_function(function, launches[_SUMS])


@_quick_sum
def sum(
    a: Array, dtype: DTypeLike | None = None, stream: Stream = None, allocator: Allocator = None
) -> GPUArray:
    """The sum of the elements.

    Parameters
    ----------
    a : GPUArray
    dtype : dtype, optional
        What is summed in and results; that of `a` by default, also for small integers. Of booleans the true
        ones are counted, as int64.
    stream : pycuda.driver.Stream, optional
    allocator : callable, optional
        Makes the memory of the result; by default the array's.

    Returns
    -------
    GPUArray
        Without axes. 0 when there are no elements.

    Notes
    -----
    Floats are added by pairs in an order that depends on shape and strides alone, float16 in float32.
    """
    if dtype is not None:
        return reduce("sum", a, None, dtype, None, False, stream, allocator)
    result = launches[_SUMS].launch((a,), stream, allocator)
    return reduce_by(_SUMS, (a,), stream, allocator) if result is None else result


def _extreme(name):
    def extreme(a: Array, stream: Stream = None) -> GPUArray:
        if a.dtype.kind == "c":
            raise TypeError(f"{name} is not supported for complex numbers")
        return reduce(f"nan{name}", a, None, None, None, False, stream)

    extreme.__name__ = name
    extreme.__doc__ = f"""The {"greatest" if name == "max" else "least"} element, of those that are numbers.

    Parameters
    ----------
    a : GPUArray
    stream : pycuda.driver.Stream, optional

    Returns
    -------
    GPUArray
        Without axes, of the array's dtype. NaN where all elements are; a.{name}() is NaN where one is.

    Raises
    ------
    TypeError
        For complex numbers.
    ValueError
        Without elements.
    """
    return takes_arrays(extreme)


max, min = _extreme("max"), _extreme("min")


@takes_arrays
def any(a: Array, stream: Stream = None, allocator: Allocator = None) -> GPUArray:
    """Whether an element is not 0: a 0-d bool array."""
    return reduce("any", a, None, None, None, False, stream, allocator)


@takes_arrays
def all(a: Array, stream: Stream = None, allocator: Allocator = None) -> GPUArray:
    """Whether no element is 0: a 0-d bool array."""
    return reduce("all", a, None, None, None, False, stream, allocator)


@takes_arrays
def dot(
    a: Array, b: Array, dtype: DTypeLike | None = None, stream: Stream = None, allocator: Allocator = None
) -> GPUArray:
    """The sum of the products of elements, in C order, without conjugation.

    Parameters
    ----------
    a, b : GPUArray
        Of the same number of elements.
    dtype : dtype, optional
        What is summed in and results; by default what both dtypes promote to, for booleans int64.
    stream : pycuda.driver.Stream, optional
    allocator : callable, optional

    Returns
    -------
    GPUArray
        Without axes.

    Raises
    ------
    ValueError
        When the numbers of elements differ.
    """
    if a.size != b.size:
        raise ValueError(f"shapes {a.shape} and {b.shape} not aligned")
    result = _counting(np.result_type(a.dtype, b.dtype)) if dtype is None else np.dtype(dtype)
    return reduce_products(a, b, result, stream, allocator)


@takes_arrays
def subset_sum(
    subset: Array,
    a: Array,
    dtype: DTypeLike | None = None,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray:
    """sum() of the elements whose numbers, in C order, are in `subset`."""
    return sum(take(a, subset, stream=stream), dtype, stream, allocator)


@takes_arrays
def subset_dot(
    subset: Array,
    a: Array,
    b: Array,
    dtype: DTypeLike | None = None,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray:
    """dot() of the elements whose numbers, in C order, are in `subset`."""
    return dot(take(a, subset, stream=stream), take(b, subset, stream=stream), dtype, stream, allocator)


@takes_arrays
def subset_max(subset: Array, a: Array, stream: Stream = None) -> GPUArray:
    """max() of the elements whose numbers, in C order, are in `subset`."""
    return max(take(a, subset, stream=stream), stream)


@takes_arrays
def subset_min(subset: Array, a: Array, stream: Stream = None) -> GPUArray:
    """min() of the elements whose numbers, in C order, are in `subset`."""
    return min(take(a, subset, stream=stream), stream)
