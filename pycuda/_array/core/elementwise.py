"""`apply`: every elementwise operation goes through it, or through its C half directly (operators)."""

from __future__ import annotations

import operator
import sys
import warnings

import numpy as np

from pycuda._driver import Event, Stream, _elementwise
from pycuda._kernels.builtin import elements
from pycuda._kernels.builtin.functions import TABLE

# The row of the table that a ufunc is.
ELEMENTWISE = {row.rule: name for name, row in TABLE.items() if isinstance(row.rule, np.ufunc)}
ELEMENTWISE.setdefault(np.deg2rad, "radians")
ELEMENTWISE.setdefault(np.rad2deg, "degrees")

# The operators know the answer for a Python int that fits no element.
_COMPARISONS = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_TWO_RESULTS = frozenset(("divmod", "frexp", "modf"))


def _level() -> int:
    """The stacklevel of the user's code, for a warning of the caller."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("pycuda."):
        level, frame = level + 1, frame.f_back
    return level


def warn_discarded(given, result) -> None:
    """NumPy's ComplexWarning where elements of the first dtype lose their imaginary parts in the second."""
    if given.kind == "c" and result.kind in "iuf":
        warnings.warn(
            "casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
            stacklevel=_level(),
        )


def apply(name, *operands, out=None, dtype=None, stream=None, allocator=None, casting="same_kind"):
    """Run the elementwise function `name` over operands that broadcast against each other.

    Parameters
    ----------
    name : str
        A row of ``pycuda._kernels.builtin.functions``.
    *operands : GPUArray, number or numpy scalar
        Arrays may have any strides.
    out : GPUArray or tuple of GPUArray or None, optional
        Where the result goes; it may share memory with operands.
    dtype : dtype, optional
        Of the computation and of a new result, as in a ufunc.
    stream : Stream, optional
    allocator : callable, optional
        For new results. Default: that of the operand whose shape the result has.
    casting : {"same_kind", "unsafe", "safe", "equiv", "no"}
        How operands may become the dtype of the computation, and results that of `out`.

    Returns
    -------
    GPUArray or tuple of GPUArray

    Raises
    ------
    TypeError
        For operands, or dtypes, on which the function is not defined.
    ValueError
        For shapes that do not fit.
    OverflowError
        For a Python int that the dtype does not hold, unless it is only compared with integers.
    """
    if out is None and name in _TWO_RESULTS:
        out = (None, None)
    if dtype is not None:
        dtype = np.dtype(dtype)
    if name == "copy" and casting == "unsafe" and out is not None and hasattr(operands[0], "dtype"):
        warn_discarded(operands[0].dtype, out.dtype)
    try:
        rule = None if casting == "same_kind" else casting
        result = _elementwise(name, operands, out, dtype, stream, allocator, rule)
    except OverflowError:
        if name not in _COMPARISONS or dtype is not None:
            raise
        result = _COMPARISONS[name](*operands)
        if out is not None:
            result = apply("copy", result, out=out[0] if isinstance(out, tuple) else out, stream=stream)
    if result is NotImplemented:
        kinds = ", ".join(type(operand).__name__ for operand in operands)
        raise TypeError(f"{name} takes GPUArrays and scalars, not ({kinds}): copy NumPy arrays with to_gpu")
    return result


# ---- methods of GPUArray (ext/gpuarray/methods.def)


def new_like(array, dtype, order):
    from pycuda.gpuarray import empty_like

    return empty_like(array, dtype, order)


def astype(array, dtype, order="K", copy=True, *, casting="unsafe", subok=True, stream=None):
    """GPUArray.astype, in PyCUDA's form astype(dtype, stream), too."""
    if isinstance(order, Stream):
        order, stream = "K", order
    dtype = np.dtype(dtype)
    if casting != "unsafe" and not np.can_cast(array.dtype, dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {array.dtype!r} to {dtype!r} according to the rule '{casting}'"
        )
    lies = {"C": array.flags.c_contiguous, "F": array.flags.f_contiguous}.get(order, True)
    if dtype == array.dtype and lies and not copy:
        return array
    return apply("copy", array, out=new_like(array, dtype, order), stream=stream, casting="unsafe")


def fill(array, value, stream=None):
    """GPUArray.fill."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, type(array)):
        return apply("copy", value, out=array, stream=stream, casting="unsafe")
    if elements.kind(array.dtype) == "V" or elements.kind(np.asarray(value).dtype) == "V":
        from pycuda.gpuarray import to_gpu

        value = to_gpu(np.asarray(value, array.dtype))
    else:
        value = array.dtype.type(value)
    return apply("copy", value, out=array, stream=stream, casting="unsafe")


def constant_like(array, value):
    """A bool array of this shape, all of one value."""
    return fill(new_like(array, np.dtype(bool), "K"), value)


def conj(array, out=None, *, stream=None):
    """GPUArray.conj."""
    if array.dtype.kind != "c" and out is None:
        return array
    return apply("conjugate", array, out=out, stream=stream)


conjugate = conj


def mul_add(array, selffac, other, otherfac, add_timer=None, stream=None, out=None):
    """GPUArray.mul_add."""
    start = None if add_timer is None else Event().record(stream)
    result = apply("sum_of_products", array, selffac, other, otherfac, out=out, stream=stream)
    if start is not None:
        add_timer(3 * array.size, _timer(start, Event().record(stream)))
    return result


def _timer(start, end):
    """A function that waits for the second event and gives the seconds since the first."""

    def seconds():
        end.synchronize()
        return start.time_till(end) * 1e-3

    return seconds


def reverse(array, stream=None):
    """GPUArray.reverse."""
    backwards = array[(slice(None, None, -1),) * array.ndim]
    return apply("copy", backwards, out=new_like(array, None, "K"), stream=stream)


# Names that programs written for PyCUDA use, though it does not document them.


def _axpbyz(array, selffac, other, otherfac, out, add_timer=None, stream=None):
    """out = selffac * array + otherfac * other"""
    return mul_add(array, selffac, other, otherfac, add_timer, stream, out)


def _axpbz(array, selffac, other, out, stream=None):
    """out = selffac * array + other, both numbers"""
    return apply("sum_of_products", array, selffac, other, 1, out=out, stream=stream)


def _elwise_multiply(array, other, out, stream=None):
    """out = array * other"""
    return apply("multiply", array, other, out=out, stream=stream)


def _div(array, other, out, stream=None):
    """out = array / other"""
    return apply("divide", array, other, out=out, stream=stream)


def _new_like_me(array, dtype=None, order="C"):
    """GPUArray._new_like_me."""
    same = dtype is None or np.dtype(dtype) == array.dtype
    return new_like(array, dtype, "K" if same else order)
