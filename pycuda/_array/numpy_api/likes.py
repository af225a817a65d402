"""New arrays by NumPy's functions: np.asarray(..., like=a), np.geomspace of arrays, pycuda.numpy.asarray.

A call with `like=`, or of pycuda.numpy, requests an array on the device explicitly: data in host memory is
copied there.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import _driver
from pycuda._array.core import creation
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.devices import check_device
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new, on_device
from pycuda._array.core.operands import as_array
from pycuda._array.shape.views import at, moveaxis
from pycuda._driver import _empty_like as packed_like
from pycuda._driver import _packed_strides
from pycuda._driver import _to_gpu as to_gpu

if TYPE_CHECKING:
    from collections.abc import Callable

    from pycuda._array.core.types import Array, Result, Scalar
    from pycuda.gpuarray import GPUArray

# ---- np.f(..., like=a): NumPy takes like= away


def array(
    object: Array[Scalar], dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=0
) -> GPUArray[Scalar]:
    """np.array(..., like=a)"""
    result = _converted(object, dtype, order, copy)
    return result.reshape((1,) * (ndmin - result.ndim) + result.shape) if ndmin > result.ndim else result


def _has_arrays(object) -> bool:
    """Whether the object is a list, possibly of lists, with a GPUArray in it."""
    return isinstance(object, list | tuple) and any(
        isinstance(each, _driver.GPUArray) or _has_arrays(each) for each in object
    )


def _stacked(object) -> GPUArray:
    """Nested lists of arrays as one array, with an axis for each level of lists."""
    from pycuda._array.shape.joining import stack

    if isinstance(object, list | tuple):
        return stack([_stacked(each) for each in object])
    return on_device(object) if isinstance(object, np.ndarray) else as_array(object)


def _check_copy_allowed(copy) -> None:
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")


def _converted(a, dtype, order, copy) -> GPUArray:
    """np.array and np.asarray with like=: a GPUArray of this dtype and order; copy=False raises where one is
    needed.
    """
    order = "K" if order is None else order
    if hasattr(a, "__dask_graph__"):
        a = a.compute()  # dask passes its arrays so, as those that it knows to be on the device
    if not isinstance(a, _driver.GPUArray):
        _check_copy_allowed(copy)
        if not _has_arrays(a):
            return to_gpu(np.array(a, dtype, order=order))  # keeps the order of the host array
        a, copy = _stacked(a), None
    dtype = a.dtype if dtype is None else np.dtype(dtype)
    has_order = {"C": a.flags.c_contiguous, "F": a.flags.f_contiguous}.get(order, True)
    if copy is True or dtype != a.dtype or not has_order:
        _check_copy_allowed(copy)
        return a.astype(dtype, order=order)
    return a


def asarray(a: Array[Scalar] | Any, dtype=None, order=None, *, device=None, copy=None) -> GPUArray[Scalar]:
    """np.asarray(..., like=a)"""
    check_device(device)
    return _converted(a, dtype, order, copy)


def ascontiguousarray(a: Array[Scalar], dtype=None) -> GPUArray[Scalar]:
    """np.ascontiguousarray(..., like=a): with one axis at least."""
    result = _converted(a, dtype, "C", None)
    return result if result.ndim else result.reshape(1)


def asfortranarray(a: Array[Scalar], dtype=None) -> GPUArray[Scalar]:
    """np.asfortranarray(..., like=a)"""
    result = _converted(a, dtype, "F", None)
    return result if result.ndim else result.reshape(1)


def require(a: Array[Scalar], dtype=None, requirements=None) -> GPUArray[Scalar]:
    """np.require(..., like=a), with requirements of contiguity, and of memory of its own."""
    names = {"F_CONTIGUOUS": "F", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "OWNDATA": "O"}
    asked = {names.get(each.upper(), each.upper()[0]) for each in requirements or ()}
    if {"C", "F"} <= asked:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "F" if "F" in asked else "C" if "C" in asked else "A"
    result = _converted(a, dtype, order, None)
    return result.copy() if "O" in asked and result.base is not None else result


def _coordinates(shape, dtype) -> list[GPUArray]:
    """For each axis the numbers of the places along it, with length 1 along the others."""
    shape = tuple(map(operator.index, shape))
    result = []
    for axis, length in enumerate(shape):
        numbers = creation.arange(length, dtype=np.dtype(dtype))
        result.append(numbers.reshape(tuple(-1 if each == axis else 1 for each in range(len(shape)))))
    return result


def fromfunction(function: Callable[..., Result], shape, *, dtype=float, **kwargs) -> Result:
    """np.fromfunction(..., like=a): the function of the coordinates of each element."""
    shape = tuple(shape)
    return function(*(broadcast_to(each, shape) for each in _coordinates(shape, dtype)), **kwargs)


def indices(dimensions, dtype=int, sparse=False) -> GPUArray | tuple[GPUArray, ...]:
    """The coordinates of each element of a grid, as numpy.indices."""
    dimensions = tuple(dimensions)
    coordinates = _coordinates(dimensions, dtype)
    if sparse:
        return tuple(coordinates)
    result = new((len(dimensions), *dimensions), dtype)
    for axis, each in enumerate(coordinates):
        result[axis] = each
    return result


def diag_indices(n, ndim=2) -> tuple[GPUArray[np.intp], ...]:
    """The indices of the diagonal of n rows and columns, as numpy.diag_indices."""
    return (creation.arange(n, dtype=np.dtype(int)),) * ndim


def mask_indices(n, mask_func, k=0) -> tuple[GPUArray[np.intp], ...]:
    """The indices of what mask_func, a function such as numpy.triu, keeps of n rows and columns, as
    numpy.mask_indices.
    """
    kept = mask_func(creation.full((n, n), 1, np.dtype(int)), k)
    return apply("not_equal", kept, 0).nonzero()


def tril_indices(n, k=0, m=None) -> tuple[GPUArray[np.intp], ...]:
    """The indices of the elements up to the diagonal k, as numpy.tril_indices."""
    return creation.tri(n, m, k, bool).nonzero()


def triu_indices(n, k=0, m=None) -> tuple[GPUArray[np.intp], ...]:
    """The indices of the elements from the diagonal k on, as numpy.triu_indices."""
    return apply("logical_not", creation.tri(n, m, k - 1, bool)).nonzero()


def _made_by(name):
    """A function that copies the result of the NumPy function of this name, which is in host memory, to the
    device.
    """

    def function(*args, **kwargs) -> GPUArray:
        return on_device(getattr(np, name)(*args, **kwargs))

    function.__name__ = name
    function.__doc__ = f"numpy.{name}, whose result is copied to the device."
    return function


frombuffer, fromfile, fromiter, fromstring = map(
    _made_by, ("frombuffer", "fromfile", "fromiter", "fromstring")
)
genfromtxt, loadtxt = map(_made_by, ("genfromtxt", "loadtxt"))
bartlett, blackman, hamming, hanning, kaiser = map(
    _made_by, ("bartlett", "blackman", "hamming", "hanning", "kaiser")
)


# ---- numbers in NumPy's dtype


def _range_dtype(start, stop, step) -> np.dtype:
    """np.arange's dtype, which depends on the type and value of all three numbers."""
    return np.result_type(np.arange(start, start, step), np.arange(stop, stop, step))


def numbers_from(start, stop, step, dtype) -> GPUArray:
    """np.arange(..., like=a), which has NumPy's dtype."""
    start, stop, step = (
        each.item() if isinstance(each, _driver.GPUArray) else each for each in (start, stop, step)
    )
    step = 1 if step is None else step
    if not step:
        return np.arange(start, stop, step, dtype)  # raises NumPy's exception for a step of 0
    if dtype is None:
        dtype = _range_dtype(start, stop, step)
    dtype, count = np.dtype(dtype), creation.length_of_range(start, stop, step)
    if count <= 2 or dtype.kind == "b":
        return on_device(np.arange(start, stop, step, dtype))
    # As NumPy does it: the first two numbers are converted, and their difference is the step.
    first, second = np.asarray([start, start + step]).astype(dtype)
    if dtype.itemsize == 2 and dtype.kind not in "iu":  # float16 or bfloat16: steps() takes float32
        first, second = np.float32(first), np.float32(second)
    with np.errstate(over="ignore"):
        return creation.steps(first, second - first, count, dtype)


# ---- np.f_like(a)


def fresh(a, dtype, order, shape, device) -> GPUArray:
    """np.empty_like: a new array with the shape, dtype and order of `a` where they are not given."""
    check_device(device)
    a = as_array(a)
    if shape is None and order != "A":
        return packed_like(a, dtype, order)
    shape = a.shape if shape is None else shape
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    dtype = a.dtype if dtype is None else np.dtype(dtype)
    if order in ("A", "K"):
        if order == "K" and len(shape) == a.ndim and not (a.flags.c_contiguous or a.flags.f_contiguous):
            strides = _packed_strides(shape, dtype.itemsize, a.strides)
            return _driver.GPUArray(shape, dtype, a.allocator, strides=strides)
        fortran = a.flags.f_contiguous and not a.flags.c_contiguous
        order = "F" if fortran and (order == "A" or len(shape) == a.ndim) else "C"
    return _driver.GPUArray(shape, dtype, a.allocator, order=order)


# ---- numbers at equal distances


def _promoted(*values) -> np.dtype:
    """The dtype that values have in common; Python's numbers do not decide about it if there are arrays."""
    return np.result_type(*(each.dtype if isinstance(each, _driver.GPUArray) else each for each in values))


def between(start, stop, num, endpoint, dtype, axis) -> tuple[GPUArray, GPUArray | float]:
    """np.linspace between arrays: the numbers, and their distance."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    computed = _promoted(start, stop, float(num))  # the dtype of the computation
    start, stop = (as_array(each).astype(computed, copy=False) for each in (start, stop))
    distance = apply("subtract", stop, start)
    gaps = num - 1 if endpoint else num
    numbers = creation.arange(num, dtype=np.dtype(computed.type(0).real.dtype))
    numbers = numbers.reshape((-1,) + (1,) * distance.ndim)
    step = apply("divide", distance, gaps) if gaps > 0 else np.nan
    # As NumPy does it: where the step underflows to 0, numbers are divided first and multiplied then.
    exact = apply("multiply", numbers, step) if gaps > 0 else apply("multiply", numbers, distance)
    if gaps > 0:
        small = apply("multiply", apply("divide", numbers, gaps), distance)
        exact = apply("where", apply("equal", step, 0), small, exact)
    result = apply("add", exact, start)
    if endpoint and num > 1:
        result[-1] = stop
    dtype = computed if dtype is None else np.dtype(dtype)
    if dtype.kind in "iu":
        result = apply("floor", result)
    result = moveaxis(result, 0, axis).astype(dtype, copy=False)
    return result, step


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0) -> GPUArray:
    """np.logspace between arrays."""
    exponents, _ = between(start, stop, num, endpoint, None, axis)
    if isinstance(base, _driver.GPUArray) and base.ndim:
        base = moveaxis(base[None], 0, axis)
    result = apply("power", base, exponents)
    return result if dtype is None else result.astype(dtype)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0) -> GPUArray:
    """np.geomspace between arrays, of one sign, and none of them 0. Waits for the stream to check that."""
    start, stop = as_array(start), as_array(stop)
    number = np.result_type(start.dtype, stop.dtype, float(num), np.zeros((), dtype))
    if bool(apply("logical_or", apply("equal", start, 0), apply("equal", stop, 0)).any()):
        raise ValueError("Geometric sequence cannot include zero")
    start, stop = (each.astype(number, copy=False) for each in (start, stop))
    sign = apply("sign", start)
    logs = (apply("log10", apply("divide", each, sign)) for each in (start, stop))
    result = logspace(*logs, num, endpoint)
    if num > 0:
        result[0] = apply("divide", start, sign)
        if num > 1 and endpoint:
            result[-1] = apply("divide", stop, sign)
    result = moveaxis(apply("multiply", result, sign), 0, axis)
    return result.astype(number if dtype is None else dtype, copy=False)


def vander(x, N=None, increasing=False) -> GPUArray:
    """The powers of each element, one row each."""
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = x.size if N is None else int(N)
    dtype = np.promote_types(x.dtype, int)
    result = new((x.size, count), dtype, x.allocator)
    if count:
        result[:, 0] = 1
        result[:, 1:] = x[:, None]
        result = result.cumprod(axis=1, dtype=dtype)
    return result if increasing else result[at(1, slice(None, None, -1))]
