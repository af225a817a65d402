"""Assignment in place by masks and numbers, choices between several arrays."""

from __future__ import annotations

import numpy as np

from pycuda._array.core.creation import arange
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.operands import as_array, check_writable, into, mask, operand
from pycuda._array.indexing.getitem import _numbers, _values_along, put
from pycuda._driver import GPUArray

_INDEX = np.dtype(np.intp)


def _cast(source, dtype, casting):
    """An array that becomes this dtype by the rule, or a number of the dtype, as NumPy itself makes it."""
    if not isinstance(source, GPUArray):
        number = np.empty((), dtype)
        np.copyto(number, source, casting=casting)
        return number[()]
    if not np.can_cast(source.dtype, dtype, casting):
        raise TypeError(f"Cannot cast array data from {source.dtype} to {dtype} according to '{casting}'")
    return source


def _safe(values, dtype):
    """A number as one of the dtype, or an array that loses nothing in it. TypeError."""
    if not isinstance(operand(values), GPUArray):
        return np.asarray(values, dtype)[()]
    return _cast(values, dtype, "safe")


def copyto(dst, src, casting="same_kind", where=True) -> None:
    """Copies what broadcasts to `dst`, where a mask is true."""
    if not isinstance(dst, GPUArray):
        raise TypeError(f"copyto() argument 1 must be a GPUArray, not {type(dst).__name__}")
    src = _cast(operand(src), dst.dtype, casting)
    if where is True:
        dst[...] = src
        return
    check_writable(dst)
    if np.broadcast_shapes(dst.shape, np.shape(src), np.shape(where)) != dst.shape:
        raise ValueError(f"values of {np.shape(src)} where {np.shape(where)} do not broadcast to {dst.shape}")
    if dst.size:
        value = src.astype(dst.dtype, copy=False) if isinstance(src, GPUArray) else src
        apply("where", mask(where), value, dst, out=dst)


def _repeated(values, count: int, dtype) -> GPUArray:
    """The values over and over again, as many."""
    values = as_array(values).ravel().astype(dtype, copy=False)
    return values if values.size == count else values.take(arange(count, dtype=_INDEX), mode="wrap")


def place(arr, mask, vals) -> None:
    """The values one after the other, and over again, to where the mask is true. Waits for the stream."""
    check_writable(arr)
    mask = as_array(mask)
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    (numbers,) = mask.ravel().nonzero()
    if not numbers.size:
        return
    vals = as_array(_safe(vals, arr.dtype))
    if not vals.size:
        raise ValueError("Cannot insert from an empty array!")
    put(arr, numbers, _repeated(vals, numbers.size, arr.dtype), mode="clip")


def putmask(a, /, mask, values) -> None:
    """To where the mask is true, the value of the same number, of values over and over again."""
    mask, values = as_array(mask), as_array(_safe(values, a.dtype))
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    check_writable(a)
    if not a.size or not values.size:
        return
    if values.size == 1:
        values = values.reshape((1,) * a.ndim)
    else:
        values = _repeated(values, a.size, values.dtype).reshape(a.shape)
    apply("where", mask.reshape(a.shape), values.astype(a.dtype, copy=False), a, out=a)


def put_along_axis(arr, indices, values, axis) -> None:
    """Assigns along an axis by number: one array of numbers for each place along the other axes."""
    indices = _numbers(indices)
    _, axis = _values_along(arr, indices, axis)
    if arr.ndim == 1 or indices.ndim != arr.ndim:
        put(arr, indices, values)
        return
    grid = []
    for each in range(arr.ndim):
        if each == axis:
            grid.append(indices)
            continue
        shape = tuple(-1 if other == each else 1 for other in range(arr.ndim))
        grid.append(arange(arr.shape[each], dtype=_INDEX).reshape(shape))
    arr[tuple(grid)] = values


# ---- choices


def select(condlist, choicelist, default=0) -> GPUArray:
    """At each place the first choice whose condition is true there."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [as_array(each) for each in condlist]
    for number, each in enumerate(conditions):
        if each.dtype.kind != "b":
            raise TypeError(f"invalid entry {number} in condlist: should be boolean ndarray")
    choices = [operand(each) for each in choicelist]
    known = [each.dtype if isinstance(each, GPUArray) else each for each in (*choices, operand(default))]
    dtype = np.result_type(*known)
    shapes = [each.shape for each in (*conditions, *choices, default) if isinstance(each, GPUArray)]
    result = new(np.broadcast_shapes(*shapes), dtype, conditions[0].allocator)
    result[...] = default if isinstance(default, GPUArray) else np.asarray(default).astype(dtype)
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        if result.size:
            apply("where", condition, choice, result, out=result)
    return result


def choose(a, choices, out=None, mode="raise") -> GPUArray:
    """At each place the choice of this number. mode "raise" waits for the stream, the others do not."""
    a = as_array(a)
    choices = list(choices)
    if not choices:
        raise ValueError("choose takes at least one choice")
    if a.dtype.kind not in "biu":
        raise TypeError(f"Cannot cast array data from {a.dtype!r} to {_INDEX!r} according to the rule 'safe'")
    count = len(choices)
    if mode == "wrap":
        a = apply("remainder", a.astype(_INDEX), count)
    elif mode == "clip":
        a = apply("clip", a.astype(_INDEX), 0, count - 1)
    elif mode != "raise":
        raise ValueError(f"mode is {mode!r}: it may be raise, wrap or clip")
    elif a.size and not 0 <= int(a.min()) <= int(a.max()) < count:
        raise ValueError("invalid entry in choice array")
    choices = [as_array(each) for each in choices]
    dtype = np.result_type(*(each.dtype for each in choices))
    shape = np.broadcast_shapes(a.shape, *(each.shape for each in choices))
    result = new(shape, dtype, a.allocator)
    if result.size:
        result[...] = choices[0]
        for number, each in enumerate(choices[1:], 1):
            apply("where", apply("equal", a, number), each, result, out=result)
    return into(result, out)


def piecewise(x, condlist, funclist, *args, **kw) -> GPUArray:
    """At each place the function, or number, whose condition is true there. A function is called with the
    elements of its places, for which the call waits.
    """
    conditions = condlist if isinstance(condlist, list | tuple) else [condlist]
    conditions = [as_array(each) for each in conditions]
    if len(funclist) == len(conditions) + 1:
        every = conditions[0]
        for each in conditions[1:]:
            every = apply("logical_or", every, each)
        conditions.append(apply("logical_not", every))
    elif len(funclist) != len(conditions):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} "
            "functions are expected"
        )
    result = new(x.shape, x.dtype, x.allocator)
    result[...] = x.dtype.type(0)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            result[condition] = function
            continue
        chosen = x[condition]
        if chosen.size:
            result[condition] = function(chosen, *args, **kw)
    return result
