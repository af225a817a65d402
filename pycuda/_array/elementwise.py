"""`apply`: every elementwise operation goes through it, or through its C half directly (operators)."""

from __future__ import annotations

import numpy as np

from pycuda._driver import _elementwise

_TWO_RESULTS = frozenset(("divmod", "frexp", "modf"))


def apply(name, *operands, out=None, dtype=None, stream=None, allocator=None, casting="same_kind"):
    """Run the elementwise function `name` over operands that broadcast against each other.

    Parameters
    ----------
    name : str
        A row of ``pycuda._kernels.functions``.
    *operands : GPUArray, number or numpy scalar
        Arrays may have any strides.
    out : GPUArray or tuple of GPUArray or None, optional
        Where the result goes; it may share memory with operands.
    dtype : dtype, optional
        Of the computation and of a new result, as in a ufunc.
    stream : Stream, optional
    allocator : callable, optional
        For new results. Default: that of the operand whose shape the result has.
    casting : {"same_kind", "unsafe"}
        How results become the dtype of `out`.

    Returns
    -------
    GPUArray or tuple of GPUArray

    Raises
    ------
    TypeError
        For operands, or dtypes, on which the function is not defined.
    ValueError
        For shapes that do not fit.
    """
    if out is None and name in _TWO_RESULTS:
        out = (None, None)
    if dtype is not None:
        dtype = np.dtype(dtype)
    result = _elementwise(name, operands, out, dtype, stream, allocator, casting == "unsafe")
    if result is NotImplemented:
        kinds = ", ".join(type(operand).__name__ for operand in operands)
        raise TypeError(f"{name} takes GPUArrays and numbers, not ({kinds}): to_gpu makes arrays of NumPy's")
    return result
