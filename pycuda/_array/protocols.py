"""NumPy's protocols: its ufuncs and functions called with GPUArrays."""

from __future__ import annotations

import numpy as np

from pycuda._array.elementwise import apply
from pycuda._kernels.functions import TABLE

_BY_UFUNC = {row.rule: name for name, row in TABLE.items() if isinstance(row.rule, np.ufunc)}
_SAME = {np.deg2rad: "radians", np.rad2deg: "degrees"}
_BY_UFUNC.update({ufunc: name for ufunc, name in _SAME.items() if ufunc not in _BY_UFUNC})
_REDUCTIONS = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_and: "all",
    np.logical_or: "any",
}
_CUMULATIVE = {np.add: "cumsum", np.multiply: "cumprod"}
_KEYWORDS = frozenset(("out", "dtype", "casting", "stream", "allocator"))


def __array__(array, *args, **kwargs):
    raise TypeError(
        "a GPUArray is not made a NumPy array by itself, which would hide a copy to the host: use get()"
    )


def _call(ufunc, inputs, out=None, where=True, **kwargs):
    unknown = kwargs.keys() - _KEYWORDS
    if unknown or where is not True:
        raise TypeError(f"np.{ufunc.__name__} on GPUArrays takes no {', '.join(sorted(unknown)) or 'where'}=")
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if any(isinstance(each, np.ndarray) for each in (out if isinstance(out, tuple) else (out,))):
        raise TypeError("out= is a NumPy array: results of GPUArrays are GPUArrays")
    return apply(_BY_UFUNC[ufunc], *inputs, out=out, **kwargs)


def _reduce(ufunc, method, array, axis=0, dtype=None, out=None, keepdims=False, **kwargs):
    if kwargs:
        raise TypeError(f"np.{ufunc.__name__}.{method} on GPUArrays takes no {', '.join(sorted(kwargs))}=")
    out = out[0] if isinstance(out, tuple) else out
    given = {} if dtype is None else {"dtype": dtype}
    if method == "accumulate":
        return getattr(array, _CUMULATIVE[ufunc])(axis=axis, out=out, **given)
    return getattr(array, _REDUCTIONS[ufunc])(axis=axis, out=out, keepdims=keepdims, **given)


def __array_ufunc__(array, ufunc, method, *inputs, **kwargs):
    if ufunc is np.matmul and method == "__call__" and not kwargs:
        left, right = inputs
        return (
            left @ right if type(left) is not np.ndarray and type(right) is not np.ndarray else NotImplemented
        )
    if method == "__call__" and ufunc in _BY_UFUNC:
        if any(isinstance(each, np.ndarray) and each.ndim for each in inputs):
            return NotImplemented
        return _call(ufunc, inputs, **kwargs)
    if (method == "reduce" and ufunc in _REDUCTIONS) or (method == "accumulate" and ufunc in _CUMULATIVE):
        return _reduce(ufunc, method, *inputs, **kwargs)
    return NotImplemented


def _angle(z, deg=False):
    result = apply("angle", z)
    return apply("degrees", result) if deg else result


def _implementations():
    """NumPy's functions that are no ufuncs, by the name that they have here."""
    from pycuda import gpuarray
    from pycuda._driver import GPUArray

    methods = """sum prod max min any all mean var std argmax argmin cumsum cumprod nonzero take repeat round
    clip
        count_nonzero"""
    found = {}
    for name in methods.split():
        if hasattr(np, name) and hasattr(GPUArray, name):
            found[getattr(np, name)] = getattr(GPUArray, name)
    functions = """concatenate stack vstack hstack where transpose reshape ravel squeeze zeros_like ones_like
    empty_like
        full_like tile flip roll expand_dims broadcast_to swapaxes moveaxis take_along_axis tril triu dot
        outer"""
    for name in functions.split():
        if hasattr(np, name) and hasattr(gpuarray, name):
            found[getattr(np, name)] = getattr(gpuarray, name)
    found.update({np.real: lambda a: a.real, np.imag: lambda a: a.imag, np.shape: lambda a: a.shape})
    found[np.angle] = _angle
    found.update(
        {np.ndim: lambda a: a.ndim, np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis]}
    )
    return found


_functions: dict = {}


def __array_function__(array, func, types, args, kwargs):
    if not _functions:
        _functions.update(_implementations())
    if func not in _functions:
        return NotImplemented
    return _functions[func](*args, **kwargs)
