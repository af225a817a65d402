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
        if any(type(each) is np.ndarray and each.ndim for each in inputs):
            raise TypeError(
                f"np.{ufunc.__name__} of a GPUArray and an array of NumPy, which is in host memory: "
                "pycuda.gpuarray.to_gpu() makes a GPUArray of it"
            )
        return _call(ufunc, inputs, **kwargs)
    if (method == "reduce" and ufunc in _REDUCTIONS) or (method == "accumulate" and ufunc in _CUMULATIVE):
        return _reduce(ufunc, method, *inputs, **kwargs)
    return NotImplemented


# NumPy's functions that are no ufuncs, by the method or the function of pycuda.gpuarray that does the same.
_METHODS = """
    all any argmax argmin argpartition argsort clip cumprod cumsum max mean min nonzero prod ravel
    repeat round searchsorted squeeze std sum take var
"""
_FUNCTIONS = """
    broadcast_to bincount compress concatenate count_nonzero empty_like extract flatnonzero flip full_like
    histogram hstack lexsort ones_like partition reshape roll sort split stack take_along_axis tile transpose
    tril triu unique vstack where zeros_like
"""


def _dot(a, b, out=None):
    """np.dot of at most two axes each."""
    if not a.ndim or not b.ndim:
        return apply("multiply", a, b, out=out)
    if a.ndim > 2 or b.ndim > 2:
        raise TypeError("np.dot of GPUArrays takes at most two axes each: use @")
    product = a @ b
    return product if out is None else apply("copy", product, out=out)


def _angle(z, deg=False):
    result = apply("angle", z)
    return apply("degrees", result) if deg else result


def _implementations():
    from pycuda import gpuarray
    from pycuda._driver import GPUArray

    found = {getattr(np, name): getattr(GPUArray, name) for name in _METHODS.split()}
    found.update({getattr(np, name): getattr(gpuarray, name) for name in _FUNCTIONS.split()})
    return found | {
        np.angle: _angle,
        np.dot: _dot,
        np.imag: lambda a: a.imag,
        np.ndim: lambda a: a.ndim,
        np.real: lambda a: a.real,
        np.shape: lambda a: a.shape,
        np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    }


_functions: dict = {}


def __array_function__(array, func, types, args, kwargs):
    if not _functions:
        _functions.update(_implementations())
    if func not in _functions:
        return NotImplemented
    return _functions[func](*args, **kwargs)
