"""`apply`: every elementwise operation goes through it, or through its C half directly (operators)."""

from __future__ import annotations

import operator
import sys
import warnings

import numpy as np

from pycuda._driver import _elementwise

# The C half imports it for the first operation, which does not wait for it then.
from pycuda._kernels.builtin import elementwise  # noqa: F401
from pycuda._kernels.builtin.functions import TABLE

# For each of NumPy's elementwise ufuncs the name of its row in the table of functions.
ELEMENTWISE = {row.rule: name for name, row in TABLE.items() if isinstance(row.rule, np.ufunc)}
ELEMENTWISE.setdefault(np.deg2rad, "radians")
ELEMENTWISE.setdefault(np.rad2deg, "degrees")

# Comparisons with a Python int that the elements' dtype cannot hold: the operators of GPUArray know the
# result.
_COMPARISONS = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_TWO_RESULTS = frozenset(("divmod", "frexp", "modf"))


def users_level() -> int:
    """The stacklevel= for a warning that the calling function gives: that of the first frame outside
    pycuda.
    """
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
            stacklevel=users_level(),
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


def new_like(array, dtype, order):
    from pycuda.gpuarray import empty_like

    return empty_like(array, dtype, order)


def constant_like(array, value):
    """A bool array of this shape, all of one value."""
    return apply("copy", np.bool_(value), out=new_like(array, np.dtype(bool), "K"))
