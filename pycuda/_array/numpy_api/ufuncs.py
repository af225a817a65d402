"""NumPy's ufuncs called with GPUArrays, and their methods: np.add(a, b), np.add.reduce(a), np.add.outer(a, b)
and so on.
"""

from __future__ import annotations

import functools
import re
import sys
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import normalized_axes, one_axis
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.elementwise import ELEMENTWISE, apply, warn_discarded
from pycuda._array.core.memory import new, overlap
from pycuda._array.core.operands import MISSING, as_array, as_mask, checked_out, result_or_out
from pycuda._array.linear import products
from pycuda._array.linear.matmul import matmul
from pycuda._array.numpy_api import segments
from pycuda._array.numpy_api.ufunc_objects import OwnUfunc
from pycuda._array.reduction.reduce import folded_dtype
from pycuda._array.reduction.scans import scan
from pycuda._array.shape.joining import concatenate
from pycuda._array.shape.views import at, copy, moveaxis
from pycuda._driver import _check_writable
from pycuda._kernels.builtin import fold
from pycuda._kernels.builtin.functions import SCIPY_FUNCTIONS, ufunc_dtypes, weak_dtype

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

_REDUCTIONS = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_and: "all",
    np.logical_or: "any",
}
# Rows of pycuda._kernels.builtin.reduction whose combination is the ufunc.
_SCANS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "fmax": "nanmax",
    "fmin": "nanmin",
}
# Functions of which a op (b op c) is (a op b) op c, so that parts may be folded first.
_ASSOCIATIVE = frozenset(
    """add multiply maximum minimum fmax fmin logical_and logical_or logical_xor bitwise_and bitwise_or
    bitwise_xor gcd lcm logaddexp logaddexp2 hypot""".split()
)
_GENERALIZED = {
    getattr(np, name): function
    for name, function in (
        ("matmul", lambda x1, x2, out=None, dtype=None: matmul(x1, x2, out, dtype=dtype)),
        ("vecdot", products.vecdot),
        ("matvec", products.matvec),
        ("vecmat", products.vecmat),
    )
    if hasattr(np, name)
}


@functools.lru_cache(256)
def _row_of(ufunc) -> str | None:
    """The name of the row, in the table of functions, of a ufunc of NumPy's, SciPy's or
    pycuda.numpy.special's; None if there is none.

    SciPy is not imported here: a ufunc is SciPy's if the program has imported scipy.special and it is there,
    or in scipy.special._ufuncs, as scipy.special may have wrappers for arrays of other libraries instead."""
    if ufunc in ELEMENTWISE:
        return ELEMENTWISE[ufunc]
    row = SCIPY_FUNCTIONS.get(ufunc.__name__.removeprefix("_"))
    if row is None or isinstance(ufunc, OwnUfunc):
        return row and row.name
    homes = (sys.modules.get(name) for name in ("scipy.special", "scipy.special._ufuncs"))
    theirs = (getattr(home, ufunc.__name__, None) for home in homes)
    return row.name if any(each is ufunc for each in theirs) else None


@functools.lru_cache(256)
def _loop_of_special(ufunc, kinds, dtype, casting) -> np.dtype:
    """The dtype that SciPy computes in, which depends on the order of the ufunc's loops."""
    return ufunc_dtypes(ufunc, kinds, dtype, casting)[-1]


def _special_dtype(ufunc, inputs, dtype, casting) -> np.dtype:
    """The dtype in which a ufunc of SciPy's computes with these operands."""
    kinds = tuple(weak_dtype(each) for each in inputs)
    if all(isinstance(each, type) for each in kinds):
        kinds = tuple(np.result_type(each(0)) for each in kinds)
    return _loop_of_special(ufunc, kinds, None if dtype is None else np.dtype(dtype), casting)


def _refuse_host(name, inputs) -> None:
    if any(isinstance(each, np.ndarray) and each.ndim for each in inputs):
        raise TypeError(
            f"np.{name} of a GPUArray and a NumPy array, which is in host memory: copy it with "
            "pycuda.gpuarray.to_gpu()"
        )


def check_plain(name, keywords) -> None:
    """TypeError for keywords that change what a ufunc does."""
    usual = {"casting": "same_kind", "order": "K", "subok": True, "where": True, "dtype": None}
    for keyword, value in keywords.items():
        if keyword not in usual or (value is not usual[keyword] and value != usual[keyword]):
            raise TypeError(f"np.{name} on GPUArrays takes no {keyword}={value!r}")


def _single(out):
    """out= of a ufunc: the array that it is, or that a tuple of one has; a tuple of several as it is."""
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def _refuse_host_out(out) -> None:
    if any(isinstance(each, np.ndarray) for each in (out if isinstance(out, tuple) else (out,))):
        raise TypeError("out= must be a GPUArray, not a NumPy array")


# ---- the call


def _warn_discarded(ufunc, inputs, out, dtype) -> None:
    """NumPy's warning where operands or results lose their imaginary parts."""
    given = [each.dtype for each in inputs if hasattr(each, "dtype")]
    if not any(each.kind == "c" for each in given):
        return
    kinds = tuple(weak_dtype(each) for each in inputs)
    loop = ufunc_dtypes(ufunc, kinds, None if dtype is None else np.dtype(dtype), "unsafe")
    targets = [each.dtype for each in (out if isinstance(out, tuple) else (out,)) if each is not None]
    pairs = zip((*kinds, *loop[ufunc.nin :]), (*loop[: ufunc.nin], *targets), strict=False)
    for before, after in pairs:
        if isinstance(before, np.dtype):
            warn_discarded(before, after)


def call(
    ufunc, *inputs, out=None, where=True, casting="same_kind", order="K", dtype=None, subok=True, stream=None,
    allocator=None, **unknown,
):  # fmt: skip
    """ufunc(...)"""
    if unknown:
        raise TypeError(f"np.{ufunc.__name__} on GPUArrays takes no {', '.join(sorted(unknown))}=")
    out = _single(out)
    _refuse_host_out(out)
    _refuse_host(ufunc.__name__, inputs)
    name = _row_of(ufunc)
    if ufunc not in ELEMENTWISE and not isinstance(ufunc, OwnUfunc):
        dtype = _special_dtype(ufunc, inputs, dtype, casting)
    given = {"dtype": dtype, "stream": stream, "allocator": allocator, "casting": casting}
    if casting == "unsafe" and ufunc in ELEMENTWISE:
        _warn_discarded(ufunc, inputs, out, dtype)
    if where is not True:
        return _call_where(ufunc, name, inputs, out, where, given)
    result = apply(name, *inputs, out=out, **given)
    if out is None and order in ("C", "F"):
        result = tuple(map(_ordered(order), result)) if isinstance(result, tuple) else _ordered(order)(result)
    return result


def _ordered(order):
    """The function that returns an array in this order, "C" or "F": itself or a copy."""
    flag = "c_contiguous" if order == "C" else "f_contiguous"
    return lambda array: array if getattr(array.flags, flag) else copy(array, order)


def _call_where(ufunc, name, inputs, out, where, given):
    """Results only where a mask is true. Without out= the others are left uninitialized, as in NumPy."""
    where = as_mask(where)
    results = apply(name, *inputs, **given)
    results = results if isinstance(results, tuple) else (results,)
    outs = out if isinstance(out, tuple) else (out,) * len(results)
    final = []
    for result, target in zip(results, outs, strict=True):
        if target is None:
            shape = np.broadcast_shapes(result.shape, where.shape)
            final.append(result if result.shape == shape else np.broadcast_to(result, shape).copy())
            continue
        shape = np.broadcast_shapes(result.shape, where.shape, target.shape)
        _check_writable(checked_out(target, shape, result.dtype, given["casting"]))
        if target.size:
            value = result.astype(target.dtype, copy=False)
            apply("where", where, value, target, out=target, stream=given["stream"])
        final.append(target)
    return final[0] if len(final) == 1 else tuple(final)


def call_generalized(ufunc, *inputs, out=None, axes=None, casting="same_kind", dtype=None, **keywords):
    """np.matmul and those like it."""
    out = _single(out)
    _refuse_host_out(out)
    _refuse_host(ufunc.__name__, inputs)
    own = {name: keywords.pop(name) for name in ("axis", "keepdims") if name in keywords}
    check_plain(ufunc.__name__, keywords)
    inputs = tuple(map(as_array, inputs))
    loop = ufunc_dtypes(ufunc, tuple(each.dtype for each in inputs), dtype and np.dtype(dtype), casting)
    if (
        out is not None
        and isinstance(out, _driver.GPUArray)
        and not np.can_cast(loop[-1], out.dtype, casting)
    ):
        raise TypeError(
            f"Cannot cast output from {loop[-1]!r} to {out.dtype!r} with casting rule {casting!r}"
        )
    inputs = tuple(
        each if each.dtype == wanted or dtype is None else each.astype(wanted)
        for each, wanted in zip(inputs, loop, strict=False)
    )
    if axes is None and casting != "unsafe":
        return _GENERALIZED[ufunc](*inputs, out=out, dtype=dtype, **own)
    if axes is not None:
        inputs, back = _with_axes(ufunc, inputs, axes, own.get("keepdims", False))
        if "axis" in own:
            raise TypeError("cannot specify both 'axis' and 'axes'")
    result = _GENERALIZED[ufunc](*inputs, dtype=dtype, **own)
    return result_or_out(result if axes is None else back(result), out, casting)


def _with_axes(ufunc, inputs, axes, keepdims):
    """(operands with the axes that `axes` names moved to the end, a function that moves the result's axes
    back)."""
    if not isinstance(axes, list):
        raise TypeError("axes should be a list.")
    *cores, core = [part.strip("()").split(",") for part in re.findall(r"\([^)]*\)", ufunc.signature)]
    core = [each for each in core if each]
    if keepdims:
        core = cores[0]
    if len(axes) not in (len(cores), len(cores) + 1) or (core and len(axes) == len(cores)):
        raise ValueError(
            "axes should be a list with an entry for all inputs and outputs; entries for outputs can only be "
            "omitted if none of them has core axes."
        )
    moved = []
    for array, names, given in zip(inputs, cores, axes, strict=False):
        given = given if isinstance(given, tuple) else (given,)
        if len(given) != len(names):
            raise ValueError(f"axes item {given} should be a tuple with {len(names)} elements")
        moved.append(moveaxis(array, given, tuple(range(-len(names), 0))))
    last = axes[-1] if core else ()
    last = last if isinstance(last, tuple) else (last,)
    if len(last) != len(core):
        raise ValueError(f"axes item {last} should be a tuple with {len(core)} elements")
    return tuple(moved), lambda result: moveaxis(result, tuple(range(-len(last), 0)), last)


# ---- folds


def _in_loop(ufunc, array, dtype, out) -> GPUArray:
    """The array, converted to the dtype in which ufunc.reduce and similar methods compute; dtype, out: their
    arguments.
    """
    dtype = None if dtype is None else np.dtype(dtype)
    target = out.dtype if isinstance(out, _driver.GPUArray) else None
    return array.astype(folded_dtype(ufunc, array.dtype, dtype, target), copy=False)


def _folded(name, a, axes) -> GPUArray:
    """Reduce the axes to length 1 by applying the ufunc to pairs of neighbors again and again."""
    for axis in axes:
        while a.shape[axis] > 1:
            half, odd = divmod(a.shape[axis], 2)
            pairs = apply(name, a[at(axis, slice(0, 2 * half, 2))], a[at(axis, slice(1, 2 * half, 2))])
            if odd:
                last = pairs[at(axis, slice(half - 1, half))]
                last[...] = apply(name, last, a[at(axis, slice(2 * half, None))])
            a = pairs
    return a


def _fold_in_order(name, a, axis, running: bool) -> GPUArray:
    """The elements along an axis folded one after another, by a kernel. With `running` element i of the
    result is the fold of the elements up to i, as of accumulate; otherwise the axis has length 1 in the
    result.
    """
    packed = moveaxis(a, axis, 0).astype(a.dtype, order="C", copy=False)
    result = new(packed.shape if running else (1, *packed.shape[1:]), a.dtype, a.allocator)
    if not a.size:
        return moveaxis(result, 0, axis)
    lines = a.size // a.shape[axis]
    grid = min(-(-lines // fold.THREADS), _MAX_FOLD_BLOCKS), 1
    fold.fold_kernel(name, a.dtype).prepared_async_call(
        grid, (fold.THREADS, 1, 1), None, packed, result, lines, a.shape[axis], running
    )
    return moveaxis(result, 0, axis)


_MAX_FOLD_BLOCKS = 65535  # a thread of the kernel folds several lines if there are more


def _identity(ufunc, a, axes):
    """The result of reducing axes without elements: the ufunc's identity. ValueError if it has none."""
    if ufunc.identity is None:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    return _constant(a, axes, _number(ufunc.identity, a.dtype))


def _number(value, dtype):
    """A number of the dtype: -1 is the unsigned integer with all bits set."""
    return np.asarray(value).astype(dtype)[()]


# For ufuncs without an identity: the second operand that leaves the first one as it is.
_NEUTRAL_SECOND = {"subtract": 0, "divide": 1, "power": 1, "left_shift": 0, "right_shift": 0}
# Functions for which the initial value may be folded in any number of times: a op a is a.
_IDEMPOTENT = frozenset(("fmax", "fmin", "lcm"))


def _masked(ufunc, a, where, initial) -> GPUArray:
    """The array with numbers that change no result where the mask is false."""
    name = ELEMENTWISE[ufunc]
    where = broadcast_to(as_mask(where), a.shape)
    if initial is None and ufunc.identity is None:
        raise ValueError(
            f"reduction operation '{name}' does not have an identity, so to use a where mask one has to "
            "specify 'initial'"
        )
    neutral = initial if name in _IDEMPOTENT else _NEUTRAL_SECOND.get(name, ufunc.identity)
    if neutral is None:
        raise TypeError(
            f"np.{ufunc.__name__}.reduce on GPUArrays does not support where=: it has no identity"
        )
    return apply("where", where, a, _number(neutral, a.dtype))


def call_reduce(
    ufunc, array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True, **unknown
) -> GPUArray:
    """ufunc.reduce"""
    if unknown:
        raise TypeError(f"np.{ufunc.__name__}.reduce on GPUArrays takes no {', '.join(sorted(unknown))}=")
    out, keepdims = _single(out), bool(keepdims)
    initial = None if initial is MISSING else initial
    name = ELEMENTWISE[ufunc]
    if ufunc in (np.logical_and, np.logical_or) and initial is not None:
        result = call_reduce(ufunc, array, axis, dtype, None, keepdims, None, where)
        return result_or_out(apply(name, result, bool(initial)), out, "unsafe")
    if ufunc in _REDUCTIONS:
        more = {"initial": initial} if initial is not None else {}
        if dtype is not None and name in ("add", "multiply"):
            more["dtype"] = dtype
        else:
            array = _in_loop(ufunc, array, dtype, out)
        method = getattr(_driver.GPUArray, _REDUCTIONS[ufunc])
        return method(array, axis=axis, out=out, keepdims=keepdims, where=where, **more)
    axes, given = normalized_axes(axis, array.ndim), array
    array = _in_loop(ufunc, array, dtype, out)
    if name not in _ASSOCIATIVE and len(axes) > 1:
        raise ValueError(
            f"reduction operation '{name}' is not reorderable, so at most one axis may be specified"
        )
    if where is not True:
        array = _masked(ufunc, array, where, initial)
    initial = None if initial is None else array.dtype.type(initial)
    if any(array.shape[each] == 0 for each in axes):
        result = _identity(ufunc, array, axes) if initial is None else _constant(array, axes, initial)
    elif name in _ASSOCIATIVE:
        result = _folded(name, array, axes)
        if initial is None and name in ("hypot", "gcd"):
            initial = array.dtype.type(0)  # NumPy begins with it, which makes one element positive
        result = result if initial is None else apply(name, result, initial)
    elif axes:
        if initial is not None:
            array = concatenate((_constant(array, axes, initial), array), axes[0])
        result = _fold_in_order(name, array, axes[0], running=False)
    else:
        result = array if initial is None else apply(name, initial, array)
    if not keepdims:
        result = result[tuple(0 if each in axes else slice(None) for each in range(array.ndim))]
    return result_or_out(result.copy() if overlap(result, given) else result, out, "unsafe")


def _constant(a, axes, value) -> GPUArray:
    """A new array like `a`, but of length 1 along these axes, with every element this value."""
    from pycuda._array.core.creation import full

    shape = tuple(1 if axis in axes else length for axis, length in enumerate(a.shape))
    return full(shape, value, a.dtype)


def _running(name, a, axis) -> GPUArray:
    """Element i folded with all before it, in steps of 1, 2, 4, ..."""
    result, step = a.copy(), 1
    while step < a.shape[axis]:
        moved = apply(name, result[at(axis, slice(None, -step))], result[at(axis, slice(step, None))])
        result[at(axis, slice(step, None))] = moved
        step *= 2
    return result


def _running_axis(method, a, axis) -> int:
    if a.ndim == 0 and axis in (0, -1):
        raise TypeError(f"cannot {method} on a scalar")
    return one_axis(axis, a.ndim)


def call_accumulate(ufunc, array, axis=0, dtype=None, out=None, **unknown) -> GPUArray:
    """ufunc.accumulate"""
    if unknown:
        raise TypeError(f"np.{ufunc.__name__}.accumulate on GPUArrays takes no {', '.join(sorted(unknown))}=")
    name, out = ELEMENTWISE[ufunc], _single(out)
    axis = _running_axis("accumulate", array, axis)
    if name in ("add", "multiply"):
        return scan(_SCANS[name], array, axis, dtype, out)
    array = _in_loop(ufunc, array, dtype, out)
    if name in _SCANS and array.dtype.kind in "iufV":
        return result_or_out(scan(_SCANS[name], array, axis, array.dtype), out, "unsafe")
    if name not in _ASSOCIATIVE:
        return result_or_out(_fold_in_order(name, array, axis, running=True), out, "unsafe")
    return result_or_out(_running(name, array, axis), out, "unsafe")


def call_reduceat(ufunc, array, indices, axis=0, dtype=None, out=None, **unknown) -> GPUArray:
    """ufunc.reduceat"""
    name = ELEMENTWISE[ufunc]
    if unknown:
        raise TypeError(f"np.{ufunc.__name__}.reduceat on GPUArrays takes no {', '.join(sorted(unknown))}=")
    axis, out = _running_axis("reduceat", array, axis), _single(out)
    host = segments.read_starts(name, indices, array.shape[axis])
    array = _in_loop(ufunc, array, dtype, out)
    if name in _ASSOCIATIVE:
        return result_or_out(segments.fold_from(name, array, host, axis, array.dtype), out, "unsafe")
    runs = zip(host, np.append(host[1:], array.shape[axis]), strict=False)
    parts = [
        _fold_in_order(name, array[at(axis, slice(first, max(end, first + 1)))], axis, running=False)
        for first, end in runs
    ]
    result = concatenate(parts, axis) if parts else array[at(axis, slice(0, 0))]
    return result_or_out(result, out, "unsafe")


def call_outer(ufunc, first, second, **keywords) -> GPUArray:
    """ufunc.outer"""
    first, second = as_array(first), as_array(second)
    return call(ufunc, first[(...,) + (None,) * second.ndim], second, **keywords)


def call_at(ufunc, array, indices, *operands) -> None:
    """ufunc.at"""
    if len(operands) != 1:
        raise TypeError(f"np.{ufunc.__name__}.at on GPUArrays takes two operands")
    segments.assign_at(ELEMENTWISE[ufunc], array, indices, operands[0], _ASSOCIATIVE)


_METHODS = {
    "__call__": call,
    "reduce": call_reduce,
    "accumulate": call_accumulate,
    "reduceat": call_reduceat,
    "outer": call_outer,
    "at": call_at,
}


def run(ufunc, method, inputs, keywords):
    """The result of a method of a ufunc ("__call__", "reduce", ...), as __array_ufunc__ gets its arguments.
    NotImplemented for ufuncs without a kernel.
    """
    if ufunc in _GENERALIZED and method == "__call__":
        return call_generalized(ufunc, *inputs, **keywords)
    if _row_of(ufunc) is None:
        return NotImplemented
    if ufunc not in ELEMENTWISE and method not in ("__call__", "outer"):
        raise TypeError(f"scipy.special.{ufunc.__name__}.{method} does not take GPUArrays")
    if method != "__call__":
        _refuse_host(ufunc.__name__, inputs[:1] if method in ("at", "reduceat") else inputs)
        if method != "at" and ufunc.nin != 2:
            raise TypeError(f"np.{ufunc.__name__}.{method}: only supported for binary functions")
        if method not in ("outer", "at") and not isinstance(inputs[0], _driver.GPUArray):
            inputs = (as_array(inputs[0]), *inputs[1:])
    return _METHODS[method](ufunc, *inputs, **keywords)
