"""NumPy's functions in its signatures, over the methods of GPUArray and functions of the other folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from pycuda import _driver
from pycuda._array.core import broadcast, creation
from pycuda._array.core.devices import check_device
from pycuda._array.core.elementwise import apply
from pycuda._array.core.operands import MISSING, as_array, keeps_axes
from pycuda._array.editing import repeats
from pycuda._array.indexing import take_put
from pycuda._array.interop import printing
from pycuda._array.math import elementwise
from pycuda._array.numpy_api import likes
from pycuda._array.shape import joining, views
from pycuda._array.sorting.sorting import sort

if TYPE_CHECKING:
    from typing import Literal

    from pycuda._array.core.types import Array, Arrays, DTypeOf, Floating, Inexact, Scalar
    from pycuda.gpuarray import GPUArray

_REAL = (int, float, np.integer, np.floating)


def _given(**keywords):
    """The keywords for which the caller gave a value."""
    return {name: value for name, value in keywords.items() if value is not MISSING and value is not None}


def _reduction(name):
    """sum or prod with NumPy's parameters."""

    def function(
        a: Array[Inexact], axis=None, dtype=None, out=None, keepdims=False, initial=MISSING, where=True
    ) -> GPUArray[Inexact]:
        if initial is MISSING and where is True and axis is dtype is out is None and keepdims is False:
            return getattr(_driver.GPUArray, name)(a)  # whose launch may be remembered
        return getattr(_driver.GPUArray, name)(
            a, axis, dtype, out, keeps_axes(keepdims), **_given(initial=initial), where=where
        )

    function.__name__ = name
    return function


def _extreme(name):
    """max or min with NumPy's parameters."""

    def function(
        a: Array[Scalar], axis=None, out=None, keepdims=False, initial=MISSING, where=True
    ) -> GPUArray[Scalar]:
        return getattr(_driver.GPUArray, name)(
            a, axis, out, keeps_axes(keepdims), **_given(initial=initial), where=where
        )

    function.__name__ = name
    return function


def _boolean(name):
    """all or any with NumPy's parameters."""

    def function(a, axis=None, out=None, keepdims=False, *, where=True) -> GPUArray[np.bool_]:
        return getattr(_driver.GPUArray, name)(a, axis, out, keeps_axes(keepdims), where=where)

    function.__name__ = name
    return function


def _index_of_extreme(name):
    """argmax or argmin with NumPy's parameters."""

    def function(a, axis=None, out=None, *, keepdims=False) -> GPUArray[np.intp]:
        return getattr(_driver.GPUArray, name)(a, axis, out, keeps_axes(keepdims))

    function.__name__ = name
    return function


def _cumulative(name):
    """cumsum or cumprod with NumPy's parameters."""

    def function(a: Array[Inexact], axis=None, dtype=None, out=None) -> GPUArray[Inexact]:
        return getattr(_driver.GPUArray, name)(a, axis, dtype, out)

    function.__name__ = name
    return function


sum, prod = _reduction("sum"), _reduction("prod")
max, min = _extreme("max"), _extreme("min")
all, any = _boolean("all"), _boolean("any")
argmax, argmin = _index_of_extreme("argmax"), _index_of_extreme("argmin")
cumsum, cumprod = _cumulative("cumsum"), _cumulative("cumprod")


def mean(
    a: Array[Inexact], axis=None, dtype=None, out=None, keepdims=False, *, where=True
) -> GPUArray[Inexact]:
    """np.mean"""
    return _driver.GPUArray.mean(a, axis, dtype, out, keeps_axes(keepdims), where=where)


def _spread(name):
    """var or std with NumPy's parameters."""

    def function(
        a: Array[Floating], axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True,
        mean=MISSING, correction=MISSING,
    ) -> GPUArray[Floating]:  # fmt: skip
        more = _given(mean=mean, correction=correction)
        return getattr(_driver.GPUArray, name)(
            a, axis, dtype, out, ddof, keeps_axes(keepdims), where=where, **more
        )

    function.__name__ = name
    return function


std, var = _spread("std"), _spread("var")


def clip(a, a_min=MISSING, a_max=MISSING, out=None, *, min=MISSING, max=MISSING, **kwargs) -> GPUArray:
    """np.clip"""
    from pycuda._array.numpy_api.ufuncs import check_plain

    if a_min is MISSING and a_max is MISSING:
        a_min, a_max = (None if each is MISSING else each for each in (min, max))
    elif min is not MISSING or max is not MISSING:
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is " "forbidden."
        )
    elif a_min is MISSING or a_max is MISSING:
        missing = "a_min" if a_min is MISSING else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: '{missing}'")
    check_plain("clip", kwargs)
    return elementwise.clip(as_array(a), a_min, a_max, out)


def round(a: Array[Scalar], decimals=0, out=None) -> GPUArray[Scalar]:
    """np.round"""
    return elementwise.round(a, decimals, out)


def astype(x, dtype, /, *, copy=True, device=None) -> GPUArray:
    """np.astype"""
    check_device(device)
    return x.astype(dtype, copy=copy)


@overload
def where(condition: Any, /) -> tuple[GPUArray[np.intp], ...]: ...
@overload
def where(condition: Any, x: Array[Scalar], y: Array[Scalar], /) -> GPUArray[Scalar]: ...
@overload
def where(condition: Any, x: Array[Inexact], y: float, /) -> GPUArray[Inexact]: ...
@overload
def where(condition: Any, x: float, y: Array[Inexact], /) -> GPUArray[Inexact]: ...
@overload
def where(condition: Any, x: Any, y: Any, /) -> GPUArray: ...


def where(condition, x=None, y=None, /) -> GPUArray | tuple[GPUArray, ...]:
    """np.where, with one argument np.nonzero."""
    if x is None and y is None:
        return as_array(condition).nonzero()
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return apply("where", condition, x, y)


def take(a: Array[Scalar], indices, axis=None, out=None, mode="raise") -> GPUArray[Scalar]:
    """np.take"""
    return as_array(a).take(indices, axis, out, mode)


def put(a, ind, v, mode="raise") -> None:
    """np.put"""
    a.put(ind, v, mode)


def take_along_axis(arr: Array[Scalar], indices, axis=-1) -> GPUArray[Scalar]:
    """np.take_along_axis"""
    return take_put.take_along_axis(as_array(arr), indices, axis)


def repeat(a: Array[Scalar], repeats, axis=None) -> GPUArray[Scalar]:
    """np.repeat"""
    return as_array(a).repeat(repeats, axis)


def nonzero(a) -> tuple[GPUArray[np.intp], ...]:
    """np.nonzero"""
    return a.nonzero()


def argsort(a, axis=-1, kind=None, order=None, *, stable=None, descending=None) -> GPUArray[np.intp]:
    """np.argsort"""
    return a.argsort(axis, kind, order, stable=stable, descending=descending)


def argpartition(a, kth, axis=-1, kind="introselect", order=None) -> GPUArray[np.intp]:
    """np.argpartition"""
    return a.argpartition(kth, axis, kind, order)


def searchsorted(a, v, side="left", sorter=None) -> GPUArray[np.intp]:
    """np.searchsorted"""
    return as_array(a).searchsorted(v, side, sorter)


def sort_complex(a) -> GPUArray[np.complexfloating]:
    """np.sort_complex"""
    result = sort(a)
    if a.dtype.kind == "c":
        return result
    small = a.dtype.kind in "iu" and a.dtype.itemsize < 4
    return result.astype(np.complex64 if small else np.complex128)


def reshape(a: Array[Scalar], /, shape=None, order="C", *, newshape=None, copy=None) -> GPUArray[Scalar]:
    """np.reshape; `newshape` is an older name of `shape`."""
    shape = newshape if shape is None else shape
    if shape is None:
        raise TypeError("reshape() missing 1 required positional argument: 'shape'")
    return views.reshaped(a, shape, order=order, copy=copy)


def transpose(a: Array[Scalar], axes=None) -> GPUArray[Scalar]:
    """np.transpose"""
    return a.transpose(axes)


# ---- new arrays: np.f(..., like=a), from which NumPy takes like= away, and np.f_like(a)


def empty(shape, dtype=np.float64, order="C", *, device=None) -> GPUArray[np.float64]:
    """np.empty(..., like=a)"""
    check_device(device)
    return _driver.GPUArray(shape, np.float64 if dtype is None else dtype, order=order)


def zeros(shape, dtype=np.float64, order="C", *, device=None) -> GPUArray[np.float64]:
    """np.zeros(..., like=a)"""
    from pycuda.gpuarray import zeros

    check_device(device)
    return zeros(shape, np.float64 if dtype is None else dtype, order=order)


def ones(shape, dtype=None, order="C", *, device=None) -> GPUArray[np.float64]:
    """np.ones(..., like=a)"""
    return full(shape, 1, np.float64 if dtype is None else dtype, order, device=device)


def _cast_to(value, dtype):
    """Values for an array of the dtype, with NumPy's warnings where they lose something."""
    if isinstance(value, _driver.GPUArray):
        return value
    cast = np.empty(np.shape(value), dtype)
    np.copyto(cast, value, casting="unsafe")
    return cast


def full(shape, fill_value, dtype=None, order="C", *, device=None) -> GPUArray:
    """np.full(..., like=a)"""
    check_device(device)
    if isinstance(fill_value, _driver.GPUArray):
        result = _driver.GPUArray(shape, fill_value.dtype if dtype is None else dtype, order=order)
        result[...] = fill_value
        return result
    value = fill_value if dtype is None else _cast_to(fill_value, dtype)
    return creation.full(shape, value, dtype, order=order)


def eye(N, M=None, k=0, dtype=np.float64, order="C", *, device=None) -> GPUArray[np.float64]:
    """np.eye(..., like=a)"""
    check_device(device)
    result = creation.eye(N, M, k, np.float64 if dtype is None else dtype)
    return result if order == "C" else views.copy(result, order)


def identity(n, dtype=None) -> GPUArray[np.float64]:
    """np.identity(..., like=a)"""
    return creation.identity(n, np.float64 if dtype is None else dtype)


def tri(N, M=None, k=0, dtype=np.float64) -> GPUArray[np.float64]:
    """np.tri(..., like=a)"""
    return creation.tri(N, M, k, np.float64 if dtype is None else dtype)


@overload
def arange(
    start_or_stop: int, /, stop: int | None = None, step: int = 1, dtype: None = None, *, device: Any = None
) -> GPUArray[np.int_]: ...
@overload
def arange(
    start_or_stop: float,
    /,
    stop: float | None = None,
    step: float = 1,
    dtype: None = None,
    *,
    device: Any = None,
) -> GPUArray[np.float64]: ...
@overload
def arange(
    start_or_stop: Any, /, stop: Any = None, step: Any = 1, *, dtype: DTypeOf[Scalar], device: Any = None
) -> GPUArray[Scalar]: ...
@overload
def arange(
    start_or_stop: Any, /, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None
) -> GPUArray: ...


def arange(start_or_stop, /, stop=None, step=1, dtype=None, *, device=None) -> GPUArray:
    """np.arange(..., like=a)"""
    check_device(device)
    start, stop = (0, start_or_stop) if stop is None else (start_or_stop, stop)
    return likes.numbers_from(start, stop, step, dtype)


@overload
def linspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> GPUArray[np.float64]: ...
@overload
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    *,
    dtype: DTypeOf[Scalar],
    axis: int = 0,
    device: Any = None,
) -> GPUArray[Scalar]: ...
@overload
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> GPUArray: ...
@overload
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> GPUArray | tuple[GPUArray, GPUArray]: ...


def linspace(
    start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None
) -> GPUArray | tuple[GPUArray, GPUArray]:
    """np.linspace"""
    check_device(device)
    if (
        isinstance(start, _REAL)
        and isinstance(stop, _REAL)
        and (dtype is None or np.dtype(dtype).kind != "c")
    ):
        return creation.linspace(start, stop, num, endpoint, retstep, dtype)
    result, step = likes.between(start, stop, num, endpoint, dtype, axis)
    return (result, step) if retstep else result


def meshgrid(*xi: Array[Scalar], copy=True, sparse=False, indexing="xy") -> tuple[GPUArray[Scalar], ...]:
    """np.meshgrid"""
    return tuple(creation.meshgrid(*map(as_array, xi), copy=copy, sparse=sparse, indexing=indexing))


def empty_like(
    prototype: Array[Scalar], dtype=None, order="K", subok=True, shape=None, *, device=None
) -> GPUArray[Scalar]:
    """np.empty_like. A structured dtype for numbers is a TypeError, by which dask learns that it must not
    keep results in the fields of one array on the host."""
    if dtype is not None and np.dtype(dtype).names and not prototype.dtype.names:
        raise TypeError(f"{dtype} for elements of {prototype.dtype}: use pycuda.gpuarray.empty_like()")
    return likes.fresh(prototype, dtype, order, shape, device)


def _filled_like(number):
    """zeros_like (0) or ones_like (1) with NumPy's parameters."""

    def function(
        a: Array[Scalar], dtype=None, order="K", subok=True, shape=None, *, device=None
    ) -> GPUArray[Scalar]:
        return full_like(a, number, dtype, order, subok, shape, device=device)

    return function


zeros_like, ones_like = _filled_like(0), _filled_like(1)


def full_like(
    a: Array[Scalar], fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None
) -> GPUArray[Scalar]:
    """np.full_like"""
    result = likes.fresh(a, dtype, order, shape, device)
    result[...] = _cast_to(fill_value, result.dtype)
    return result


# ---- joining


def _cast_operands(arrays, dtype, casting):
    """The operands of concatenate() and stack() as a list; of one array, its elements along the first axis.

    They are converted to the dtype of the result, with a TypeError if the casting rule does not allow that.
    With the rule "same_kind" and without `dtype` the rule always allows it, and the copy to the result
    converts them.
    """
    arrays = (
        list(arrays) if not isinstance(arrays, _driver.GPUArray) else [arrays[n] for n in range(len(arrays))]
    )
    if {*map(type, arrays)} != {_driver.GPUArray}:
        arrays = [as_array(each) for each in arrays]
    if arrays and (dtype is not None or casting != "same_kind"):
        result = np.dtype(dtype) if dtype is not None else np.result_type(*(each.dtype for each in arrays))
        for each in arrays:
            if not np.can_cast(each.dtype, result, casting):
                raise TypeError(
                    f"Cannot cast array data from {each.dtype!r} to {result!r} according to the rule "
                    f"'{casting}'"
                )
        arrays = [each.astype(result, copy=False) for each in arrays]
    return arrays


def concatenate(
    arrays: Arrays[Scalar], /, axis=0, out=None, *, dtype=None, casting="same_kind"
) -> GPUArray[Scalar]:
    """np.concatenate"""
    arrays = _cast_operands(arrays, out.dtype if dtype is None and out is not None else dtype, casting)
    return joining.concatenate(arrays, axis, out=out, dtype=dtype)


def stack(arrays: Arrays[Scalar], axis=0, out=None, *, dtype=None, casting="same_kind") -> GPUArray[Scalar]:
    """np.stack"""
    arrays = _cast_operands(arrays, out.dtype if dtype is None and out is not None else dtype, casting)
    return joining.stack(arrays, axis, out=out, dtype=dtype)


def vstack(tup: Arrays[Scalar], *, dtype=None, casting="same_kind") -> GPUArray[Scalar]:
    """np.vstack"""
    return joining.vstack(_cast_operands(tup, dtype, casting), dtype=dtype)


def hstack(tup: Arrays[Scalar], *, dtype=None, casting="same_kind") -> GPUArray[Scalar]:
    """np.hstack"""
    return joining.hstack(_cast_operands(tup, dtype, casting), dtype=dtype)


def broadcast_to(array: Array[Scalar], shape, subok=False) -> GPUArray[Scalar]:
    """np.broadcast_to"""
    return broadcast.broadcast_to(as_array(array), shape)


def tile(A: Array[Scalar], reps) -> GPUArray[Scalar]:
    """np.tile"""
    return repeats.tile(as_array(A), reps)


def flip(m: Array[Scalar], axis=None) -> GPUArray[Scalar]:
    """np.flip"""
    return joining.flip(m, axis)


def roll(a: Array[Scalar], shift, axis=None) -> GPUArray[Scalar]:
    """np.roll"""
    return joining.roll(a, shift, axis)


# ---- parts of complex numbers, and what an array is


def angle(z, deg=False) -> GPUArray:
    """np.angle"""
    result = apply("angle", z)
    return apply("degrees", result) if deg else result


def real(val) -> GPUArray:
    """np.real"""
    return val._real


def imag(val) -> GPUArray:
    """np.imag"""
    return val._imag


def fix(x: Array[Scalar], out=None) -> GPUArray[Scalar]:
    """np.fix"""
    return apply("trunc", x, out=out)


def ndim(a) -> int:
    """np.ndim"""
    return a.ndim


def shape(a) -> tuple[int, ...]:
    """np.shape"""
    return a.shape


# ---- text and files: what is written is copied to the host, which is what they are for


def array_repr(arr, max_line_width=None, precision=None, suppress_small=None) -> str:
    """np.array_repr"""
    return printing.text(arr, lambda host: np.array_repr(host, max_line_width, precision, suppress_small))


def array_str(a, max_line_width=None, precision=None, suppress_small=None) -> str:
    """np.array_str"""
    return printing.text(a, lambda host: np.array_str(host, max_line_width, precision, suppress_small))


def array2string(a, *args, **kwargs) -> str:
    """np.array2string"""
    if kwargs.get("threshold") is not None or kwargs.get("edgeitems") is not None:
        return np.array2string(a.get(), *args, **kwargs)
    return printing.text(a, lambda host: np.array2string(host, *args, **kwargs))


def _on_host(value):
    return value.get() if isinstance(value, _driver.GPUArray) else value


def save(file, arr, allow_pickle=True) -> None:
    """np.save"""
    np.save(file, _on_host(arr), allow_pickle=allow_pickle)


def savetxt(fname, X, fmt="%.18e", delimiter=" ", newline="\n", header="", footer="", comments="# ",
            encoding=None) -> None:  # fmt: skip
    """np.savetxt"""
    np.savetxt(fname, _on_host(X), fmt, delimiter, newline, header, footer, comments, encoding)


def savez(file, *args, **kwds) -> None:
    """np.savez"""
    np.savez(file, *map(_on_host, args), **{name: _on_host(each) for name, each in kwds.items()})


def savez_compressed(file, *args, **kwds) -> None:
    """np.savez_compressed"""
    arrays = {name: _on_host(each) for name, each in kwds.items()}
    np.savez_compressed(file, *map(_on_host, args), **arrays)
