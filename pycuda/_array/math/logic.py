"""Predicates of arrays: whether they are equal, close, real, of which dtype. Those of values return arrays
without waiting; those of dtypes return Python values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from pycuda import _driver
from pycuda._array.core.axes import one_axis
from pycuda._array.core.broadcast import fit
from pycuda._array.core.creation import full
from pycuda._array.core.elementwise import apply
from pycuda._array.core.operands import as_array, dtype_of, limits_of, operand

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Scalar
    from pycuda.gpuarray import GPUArray

# ---- near and equal


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False) -> GPUArray[np.bool_]:
    """Whether abs(a - b) <= atol + rtol * abs(b), for each element, as numpy.isclose."""
    a, b = operand(a), operand(b)
    if dtype_of(b).kind in "biu":
        # The absolute value of a dtype's minimum integer is not in the dtype.
        b = b.astype(np.float64) if isinstance(b, _driver.GPUArray) else float(b)
    limit = (
        apply("add", apply("multiply", _absolute(b), rtol), atol)
        if isinstance(b, _driver.GPUArray)
        else (atol + rtol * abs(b))
    )
    near = apply("less_equal", _absolute(apply("subtract", a, b)), limit)
    finite = apply("isfinite", b) if isinstance(b, _driver.GPUArray) else bool(np.isfinite(b))
    result = apply("logical_or", apply("logical_and", near, finite), apply("equal", a, b))
    if equal_nan:
        result = apply("logical_or", result, apply("logical_and", _isnan(a), _isnan(b)))
    return result


def _absolute(a):
    return apply("absolute", a)


def _isnan(value):
    return apply("isnan", value) if isinstance(value, _driver.GPUArray) else bool(np.isnan(value))


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False) -> GPUArray[np.bool_]:
    """Whether isclose() holds everywhere: a 0-d bool array."""
    return isclose(a, b, rtol, atol, equal_nan).all()


def _are_equal_everywhere(a, b, equal_nan) -> GPUArray:
    """Whether all elements are equal, or with equal_nan both NaN: a 0-d bool array."""
    equal = apply("equal", a, b)
    if equal_nan:
        equal = apply("logical_or", equal, apply("logical_and", apply("isnan", a), apply("isnan", b)))
    return equal.all()


def array_equal(a1, a2, equal_nan=False) -> GPUArray[np.bool_]:
    """Whether shapes and all elements are equal: a 0-d bool array."""
    a1, a2 = as_array(a1), as_array(a2)
    if a1.shape != a2.shape:
        return full((), False)
    return _are_equal_everywhere(a1, a2, equal_nan)


def array_equiv(a1, a2) -> GPUArray[np.bool_]:
    """Whether the arrays broadcast to each other and all elements are equal then."""
    a1, a2 = as_array(a1), as_array(a2)
    try:
        np.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        if fit(a1.shape, a2.shape):
            raise
        return full((), False)
    return _are_equal_everywhere(a1, a2, equal_nan=False)


# ---- kinds of values


def _infinity_test(negative: bool):
    """The function isneginf or isposinf."""

    def function(x, out=None) -> GPUArray[np.bool_]:
        if x.dtype.kind == "c":
            raise TypeError("This operation is not supported for complex values: it would be ambiguous.")
        if x.dtype.kind in "biu":
            return apply("logical_and", apply("isinf", x), False, out=out)
        sign = apply("signbit", x)
        return apply(
            "logical_and", apply("isinf", x), sign if negative else apply("logical_not", sign), out=out
        )

    return function


isneginf, isposinf = _infinity_test(True), _infinity_test(False)


def iscomplex(x) -> GPUArray[np.bool_]:
    """Whether the imaginary part is not 0, for each element."""
    return apply("not_equal", x._imag, 0)


def isreal(x) -> GPUArray[np.bool_]:
    """Whether the imaginary part is 0, for each element."""
    return apply("equal", x._imag, 0)


def nan_to_num(x: Array[Scalar], copy=True, nan=0.0, posinf=None, neginf=None) -> GPUArray[Scalar]:
    """The array with these numbers in place of NaN and the infinities: the maximum of the dtype by
    default."""
    result = x.copy() if copy else x
    if x.dtype.kind not in "fcV":
        return result
    if x.dtype.kind == "c":
        for part in (result._real, result._imag):
            nan_to_num(part, False, nan, posinf, neginf)
        return result
    limits = limits_of(x.dtype)
    maximum = limits.max if posinf is None else posinf
    minimum = limits.min if neginf is None else neginf
    tests = apply("isnan", x), isposinf(x), isneginf(x)
    for mask, number in zip(tests, (nan, maximum, minimum), strict=True):
        apply("where", mask, operand(number), result, out=result)
    return result


def real_if_close(a, tol=100) -> GPUArray:
    """The real parts where all imaginary ones are about 0. Waits for the stream."""
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = float(limits_of(a.dtype).eps) * tol
    return a._real if bool(apply("less", _absolute(a._imag), tol).all()) else a


# ---- dtypes and memory


def _dtypes(values):
    """The values, with the dtypes of arrays in place of the arrays, for NumPy's functions about dtypes."""
    return [each.dtype if isinstance(each, _driver.GPUArray) else each for each in values]


def result_type(*arrays_and_dtypes) -> np.dtype:
    """The dtype that all of these promote to."""
    return np.result_type(*_dtypes(arrays_and_dtypes))


def can_cast(from_, to, casting="safe") -> bool:
    """Whether the array's dtype becomes another by this rule."""
    return np.can_cast(*_dtypes((from_, to)), casting)


def common_type(*arrays) -> type:
    """The inexact dtype that all arrays become."""
    return np.common_type(*(np.empty(0, each.dtype) for each in arrays))


def min_scalar_type(a) -> np.dtype:
    """The dtype of the array. Unlike NumPy's, it does not depend on the value of a 0-d array, for which the
    host would have to wait."""
    return a.dtype


def iscomplexobj(x) -> bool:
    """Whether the dtype is complex."""
    return x.dtype.kind == "c"


def isrealobj(x) -> bool:
    """Whether the dtype is not complex."""
    return x.dtype.kind != "c"


class _Place:
    """A stand-in at the address of the array, for NumPy functions that compare addresses."""

    def __init__(self, a):
        self.__array_interface__ = {
            "version": 3, "shape": a.shape, "strides": a.strides, "typestr": f"|V{a.itemsize}",
            "data": (a._address, False),
        }  # fmt: skip


def may_share_memory(a, b, max_work=0) -> bool:
    """Whether the memory between the first and the last bytes of both has a part in common."""
    if not all(isinstance(each, _driver.GPUArray) and each.size for each in (a, b)):
        return False
    return np.may_share_memory(np.asarray(_Place(a)), np.asarray(_Place(b)))


def shares_memory(a, b, max_work=-1) -> bool:
    """Whether one byte belongs to elements of both."""
    if not may_share_memory(a, b):
        return False
    return np.shares_memory(np.asarray(_Place(a)), np.asarray(_Place(b)), max_work)


def size(a, axis=None) -> int:
    """The number of elements, or that along axes."""
    if not isinstance(axis, tuple):
        return a.size if axis is None else a.shape[one_axis(axis, a.ndim)]
    count = 1
    for each in normalize_axis_tuple(axis, a.ndim):
        count *= a.shape[each]
    return count
