"""Reductions of GPUArrays, the way from a call to launches; reductions.py has the methods.

A call becomes a recipe, which is made once for each dtype, layout and set of axes: what result it has, with
which kernels and arguments it is computed.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from pycuda._array.core.axes import normalized_axes
from pycuda._array.core.elementwise import warn_discarded
from pycuda._array.core.memory import new, overlap, write_back
from pycuda._driver import GPUArray, _packed_strides
from pycuda._kernels.builtin import elements, reduction
from pycuda._kernels.builtin.functions import ufunc_dtypes
from pycuda._kernels.plans.axes import Axis
from pycuda._kernels.plans.caches import calls, context_memory
from pycuda._kernels.plans.sharing import check_writable

# ---- dtypes


def sum_dtype(dtype, wanted):
    """NumPy's dtype of sums and products: small integers become the default one."""
    if wanted is None:
        wanted = {"b": np.dtype(np.int_), "i": np.dtype(np.int_), "u": np.dtype(np.uint)}.get(
            dtype.kind, dtype
        )
        wanted = wanted if wanted.itemsize >= dtype.itemsize else dtype
    return wanted


_INTEGERS = "biu"


@functools.cache
def folded_dtype(ufunc, given, dtype=None, out=None) -> np.dtype:
    """NumPy's dtype of ufunc.reduce, accumulate and reduceat for elements of this dtype, with dtype= and into
    an array of the dtype `out`. TypeError where its results are no operands of it.

    Integers fold into integers as such, not by way of a float, which is all that some pairs have in common.
    """
    if ufunc in (np.add, np.multiply) and dtype is None and out is None:
        return sum_dtype(given, None)
    first, second, result = ufunc_dtypes(ufunc, (out, given), dtype, "unsafe", reduction=True)
    if not first == second == result:
        raise TypeError(
            f"np.{ufunc.__name__} of {first} and {second} is {result}: such results cannot be accumulated"
        )
    by_float = out is not None and dtype is None and result.kind == "f"
    if by_float and given.kind in _INTEGERS and out.kind in _INTEGERS:
        return out if ufunc_dtypes(ufunc, (out, out), None, "unsafe")[-1] == out else result
    return result


LOOPS = {"sum": np.add, "prod": np.multiply, "mean": np.add}


# Each gives (accumulator, result).


def _of_sum(dtype, wanted):
    result = sum_dtype(dtype, wanted)
    return result, result


def _of_same(dtype, wanted):
    return dtype, dtype


def _of_bool(dtype, wanted):
    return np.dtype(bool), np.dtype(bool)


def _of_index(dtype, wanted):
    return dtype, np.dtype(np.intp)


def _of_mean(dtype, wanted):
    if wanted is None:
        wanted = np.dtype(np.float64) if dtype.kind in "biu" else dtype
    return wanted, wanted


def _of_variance(dtype, wanted):
    number, _ = _of_mean(dtype, wanted)
    return number, np.dtype({"F": np.float32, "D": np.float64}.get(number.char, number))


class _Rule(NamedTuple):
    """What NumPy says of a reduction: dtypes, the error of no elements ("" when there is none), and how the
    result becomes the dtype of out.
    """

    dtypes: object
    empty: str = ""
    casting: str = "unsafe"


_NO_IDENTITY = "zero-size array to reduction operation {} which has no identity"
_RULES = {
    "sum": _Rule(_of_sum),
    "prod": _Rule(_of_sum),
    "max": _Rule(_of_same, _NO_IDENTITY.format("maximum")),
    "min": _Rule(_of_same, _NO_IDENTITY.format("minimum")),
    "nanmax": _Rule(_of_same, _NO_IDENTITY.format("fmax")),
    "nanmin": _Rule(_of_same, _NO_IDENTITY.format("fmin")),
    "any": _Rule(_of_bool),
    "all": _Rule(_of_bool),
    "count_nonzero": _Rule(lambda dtype, wanted: (dtype, np.dtype(np.intp))),
    "argmax": _Rule(_of_index, "attempt to get argmax of an empty sequence"),
    "argmin": _Rule(_of_index, "attempt to get argmin of an empty sequence"),
    "mean": _Rule(_of_mean),
    "var": _Rule(_of_variance),
    "std": _Rule(_of_variance, casting="same_kind"),
}
# What a reduction takes the means for: their dtype is that of the accumulator.
_ABOUT_THE_MEAN = frozenset(("var", "std"))
_NUMBERED = frozenset(("argmax", "argmin"))


# ---- recipes


class _Recipe(NamedTuple):
    """How a call is done in one context."""

    shape: tuple[int, ...]
    dtype: np.dtype
    plan: reduction.Plan | None  # None: there are no results
    first: object
    second: object
    scratch: int  # bytes


def result_shape(shape, axes, keepdims) -> tuple[int, ...]:
    """The shape that is left when these axes are reduced."""
    if keepdims:
        return tuple(1 if axis in axes else length for axis, length in enumerate(shape))
    return tuple(length for axis, length in enumerate(shape) if axis not in axes)


def _reduced_axes(shape, strides, axes, numbered) -> list[Axis]:
    """The reduced axes; numbered elements count on in C order."""
    result, number = [], 1
    for axis in reversed(axes):
        result.append(Axis(shape[axis], strides[axis], number if numbered else 0))
        number *= shape[axis]
    return result[::-1]


def _kept_axes(shape, strides, axes, out_strides, keepdims) -> list[Axis]:
    steps = iter(out_strides)
    kept = []
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        if axis not in axes:
            kept.append(Axis(length, stride, next(steps)))
        elif keepdims:
            next(steps)
    return kept


def _check_empty(name, shape, axes) -> None:
    message = _RULES[name].empty
    if message and any(shape[axis] == 0 for axis in axes):
        raise ValueError(message)


def _recipe(name, dtype, shape, strides, address, axis, wanted, keepdims, out_strides, parameter) -> _Recipe:
    axes = tuple(sorted(normalized_axes(axis, len(shape))))
    number, result = _RULES[name].dtypes(dtype, wanted)
    final = result_shape(shape, axes, keepdims)
    types = reduction.Types(elements.stored(dtype), None, elements.computed(number), elements.stored(result))
    _check_empty(name, shape, axes)
    if 0 in final:
        return _Recipe(final, result, None, None, None, 0)
    if out_strides is None:
        out_strides = _packed_strides(final, result.itemsize)
    plan = reduction.plan(
        address,
        dtype.itemsize,
        _kept_axes(shape, strides, axes, out_strides, keepdims),
        _reduced_axes(shape, strides, axes, name in _NUMBERED),
        parameter,
    )
    return _finish(name, types, plan, final, result)


def _finish(name, types, plan, shape, dtype) -> _Recipe:
    functions = reduction.kernels(name, types, plan.shape)
    scratch = plan.partials * reduction.acc_size(name, types)
    return _Recipe(shape, dtype, plan, functions.first, functions.second, scratch)


_recipes = context_memory(_recipe, 4096)
# The same for results made new: of all elements, by name, and by all that a call says.
whole = {name: calls((0,), aligned=True) for name in _RULES if name not in _ABOUT_THE_MEAN}
_known: dict = {}


def _launch(recipe: _Recipe, operands, result, stream, allocator) -> None:
    plan = recipe.plan
    if plan is None:
        return
    if recipe.second is None:
        recipe.first.prepared_async_call(plan.grid, _BLOCK, stream, *operands, result, plan.arguments)
        return
    partial = new((recipe.scratch,), np.uint8, allocator)
    recipe.first.prepared_async_call(plan.grid, _BLOCK, stream, *operands, partial, plan.arguments)
    recipe.second.prepared_async_call(
        plan.second_grid, _BLOCK, stream, partial, result, plan.second_arguments
    )


_BLOCK = (reduction.THREADS, 1, 1)


def reduce(
    name,
    a,
    axis=None,
    dtype=None,
    out=None,
    keepdims=False,
    stream=None,
    allocator=None,
    parameter=0.0,
    known=None,
) -> GPUArray:
    """The reduction of this name (a row of pycuda._kernels.builtin.reduction). dtype is the accumulator's.
    known: where calls that say the same but for `a`, `stream` and `allocator` are remembered, if not here.
    """
    if known is None and axis is None and dtype is None and out is None and not keepdims:
        known = whole.get(name)
    if dtype is not None:
        dtype = np.dtype(dtype)
        warn_discarded(a.dtype, dtype)
    if type(axis) is list:
        raise TypeError(
            "'list' object cannot be interpreted as an integer: axis must be None, an integer or a "
            "tuple of integers"
        )
    if out is None and name not in _ABOUT_THE_MEAN:
        said = name, axis, dtype, keepdims, parameter
        if known is None:
            known = _known.get(said)
        if known is None:
            known = _known[said] = calls((0,), aligned=True)
        result = known.launch((a,), stream, allocator)
        if result is not None:
            return result
        found = known.find((a,))
        if found is None:
            found = _remember(known, said, a)
        allocator = allocator or a.allocator
        result = GPUArray(found.shape, found.dtype, allocator)
        _launch(found, (a,), result, stream, allocator)
        return result
    allocator = allocator or a.allocator
    address = a._address & 15 if a.size else 0
    key = name, a.dtype, a.shape, a.strides, address, axis, dtype, bool(keepdims), None, parameter
    if out is not None:
        return _reduce_into(key, a, out, stream, allocator)
    return _reduce_new(key, a, stream, allocator)


def _remember(known, said, a) -> _Recipe:
    name, axis, dtype, keepdims, parameter = said
    address = a._address & 15 if a.size else 0
    recipe = _recipes(
        name, a.dtype, a.shape, a.strides, address, axis, dtype, bool(keepdims), None, parameter
    )
    plan, alone = recipe.plan, None
    if plan is not None and recipe.second is None:
        after = ..., plan.arguments
        alone = recipe.first.prepared_async_call, plan.grid, _BLOCK, after, (recipe.shape, recipe.dtype)
    known.remember((a,), recipe, alone)
    return recipe


def _reduce_new(key, a, stream, allocator) -> GPUArray:
    recipe = _recipes(*key)
    result = GPUArray(recipe.shape, recipe.dtype, allocator)
    operands = (a,)
    if key[0] in _ABOUT_THE_MEAN:
        # Half has its mean, like its accumulator, in float.
        number, _ = _of_variance(key[1], key[6])
        wide = np.dtype(np.float32) if number.itemsize == 2 else number
        operands = a, _reduce_new(("mean", *key[1:6], wide, *key[7:]), a, stream, allocator)
    _launch(recipe, operands, result, stream, allocator)
    return result


def _reduce_into(key, a, out, stream, allocator) -> GPUArray:
    """With out=, which may be of another dtype and lie anywhere."""
    name, given, shape, strides, address, axis, dtype, keepdims, _, parameter = key
    if not isinstance(out, GPUArray):
        raise TypeError(f"out must be a GPUArray, not {type(out).__name__}")
    check_writable(out)
    if dtype is None and name in LOOPS and (name != "mean" or given.kind not in "biu"):
        dtype = folded_dtype(LOOPS[name], given, None, out.dtype)
    expected = result_shape(shape, normalized_axes(axis, len(shape)), keepdims)
    if out.shape != expected:
        raise ValueError(f"out has the shape {out.shape}, the result has {expected}")
    rule = _RULES[name]
    _, result_dtype = rule.dtypes(given, dtype)
    if name in _NUMBERED and not np.can_cast(out.dtype, result_dtype, "safe"):
        raise TypeError(f"out has the dtype {out.dtype}, but indices need {result_dtype}")
    if not np.can_cast(result_dtype, out.dtype, rule.casting):
        raise TypeError(
            f"Cannot cast {name} output from {result_dtype!r} to {out.dtype!r} with casting rule "
            "'same_kind'"
        )
    if result_dtype != out.dtype or overlap(a, out) or name in _ABOUT_THE_MEAN:
        key = name, given, shape, strides, address, axis, dtype, keepdims, None, parameter
        return write_back(_reduce_new(key, a, stream, allocator), out, stream)
    key = name, given, shape, strides, address, axis, dtype, keepdims, out.strides, parameter
    _launch(_recipes(*key), (a,), out, stream, allocator)
    return out


# ---- sums of products


def _dot_recipe(dtypes, shape, strides, addresses, result) -> _Recipe:
    first, second = dtypes
    types = reduction.Types(
        elements.stored(first), elements.stored(second), elements.computed(result), elements.stored(result)
    )
    axes = [Axis(*axis) for axis in zip(shape, *strides, strict=True)]
    plan = reduction.plan(addresses[0], first.itemsize, [], axes, 0.0, (addresses[1], second.itemsize))
    return _finish("dot", types, plan, (), result)


_dot_recipes = context_memory(_dot_recipe, 1024)


def reduce_products(a, b, result, stream=None, allocator=None) -> GPUArray:
    """The sum of the products of all elements of two arrays of one size, in C order."""
    if a.shape != b.shape:
        a, b = a.ravel(), b.ravel()
    addresses = (a._address & 15, b._address & 15) if a.size else (0, 0)
    recipe = _dot_recipes((a.dtype, b.dtype), a.shape, (a.strides, b.strides), addresses, result)
    total = GPUArray((), result, allocator or a.allocator)
    _launch(recipe, (a, b), total, stream, allocator or a.allocator)
    return total
