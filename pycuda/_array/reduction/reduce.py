"""Reductions of GPUArrays, from a call to its launches; reductions.py has the methods.

A call is prepared once for each dtype, layout and set of axes: the result's shape and
dtype, the kernels and their arguments.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import normalized_axes
from pycuda._array.core.elementwise import warn_discarded
from pycuda._array.core.memory import new, overlap, write_back
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._driver import _check_writable, _packed_strides
from pycuda._kernels.builtin import elements
from pycuda._kernels.builtin.functions import ufunc_dtypes
from pycuda._kernels.plans.axes import Axis
from pycuda._kernels.plans.caches import launches, planned

if TYPE_CHECKING:
    from pycuda._kernels.builtin import reduction
    from pycuda.gpuarray import GPUArray

# ---- dtypes


def sum_dtype(dtype, wanted):
    """NumPy's dtype of sums and products: `wanted`, or if that is None the elements' dtype, where booleans
    and integers shorter than the default one become that.
    """
    if wanted is None:
        wanted = {"b": np.dtype(np.int_), "i": np.dtype(np.int_), "u": np.dtype(np.uint)}.get(
            dtype.kind, dtype
        )
        wanted = wanted if wanted.itemsize >= dtype.itemsize else dtype
    return wanted


_INTEGERS = "biu"


@functools.cache
def folded_dtype(ufunc, given, dtype=None, out=None) -> np.dtype:
    """NumPy's dtype of ufunc.reduce, accumulate and reduceat for elements of the dtype `given`, with dtype=
    and into an array of the dtype `out`. TypeError if the ufunc's results are of another dtype than its
    operands.

    Integers into an array of integers are computed as integers, even if NumPy promotes both dtypes to a
    float.
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


# Functions (dtype of elements, dtype= or None) -> (dtype of the accumulator, dtype of the result).


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
    """NumPy's rules for a reduction: dtypes, the error for no elements ("" when there is none), and the
    casting of the result to the dtype of out.
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
    "nanvar": _Rule(_of_variance),
    "nanstd": _Rule(_of_variance),
    **{f"norm_{order}": _Rule(_of_variance) for order in ("0", "1", "2", "p", "inf")},
    "norm_-inf": _Rule(_of_variance, _NO_IDENTITY.format("minimum")),
}
# The ufuncs whose reduce() NumPy's functions are; for others it is add's.
_UFUNCS = {
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
    "any": np.logical_or,
    "all": np.logical_and,
}
_NUMBERED = frozenset(("argmax", "argmin"))  # these need the index of each element


# ---- prepared calls


class _PreparedReduction(NamedTuple):
    """A call that is prepared for one context."""

    shape: tuple[int, ...]
    dtype: np.dtype
    plan: reduction.ReductionPlan | None  # None: there are no results
    first: object  # kernel
    second: object  # kernel that reduces the partial results of the first one; None if there are none
    scratch: int  # bytes of the partial results
    block: tuple[int, int, int]


def result_shape(shape, axes, keepdims) -> tuple[int, ...]:
    """The shape that is left when these axes are reduced."""
    if keepdims:
        return tuple(1 if axis in axes else length for axis, length in enumerate(shape))
    return tuple(length for axis, length in enumerate(shape) if axis not in axes)


def _reduced_axes(shape, strides, axes, numbered) -> list[Axis]:
    """The reduced axes. With `numbered`, each with the distance of its elements in the index of the result,
    which counts the reduced elements in C order.
    """
    result, number = [], 1
    for axis in reversed(axes):
        result.append(Axis(shape[axis], strides[axis], number if numbered else 0))
        number *= shape[axis]
    return result[::-1]


def _kept_axes(shape, strides, axes, out_strides, keepdims) -> list[Axis]:
    """The axes that are not reduced, each with its stride in the array and in the result."""
    steps = iter(out_strides)
    kept = []
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        if axis not in axes:
            kept.append(Axis(length, stride, next(steps)))
        elif keepdims:
            next(steps)
    return kept


def _check_empty(name, shape, axes) -> None:
    """NumPy's ValueError if there are no elements, and no result for none."""
    message = _RULES[name].empty
    if message and any(shape[axis] == 0 for axis in axes):
        raise ValueError(message)


def plan_reduction(
    name, axis, wanted, keepdims, parameter, a, out=None
) -> tuple[_PreparedReduction, tuple | None]:
    """(how `a` is reduced to a new array or into `out`, the launch if it is a single one or None).

    name: of the reduction; wanted: dtype= or None; parameter: ddof, or the order of a norm.
    """
    from pycuda._kernels.builtin import reduction

    axes = tuple(sorted(normalized_axes(axis, a.ndim)))
    number, result = _RULES[name].dtypes(a.dtype, wanted)
    final = result_shape(a.shape, axes, keepdims)
    types = reduction.Types(
        elements.stored(a.dtype), None, elements.computed(number), elements.stored(result)
    )
    _check_empty(name, a.shape, axes)
    if 0 in final:
        return _PreparedReduction(final, result, None, None, None, 0, (1, 1, 1)), None
    strides = _packed_strides(final, result.itemsize) if out is None else out.strides
    plan = reduction.plan_reduction(
        _misalignment(a),
        a.itemsize,
        _kept_axes(a.shape, a.strides, axes, strides, keepdims),
        _reduced_axes(a.shape, a.strides, axes, name in _NUMBERED),
        parameter,
    )
    return _prepare(name, types, plan, final, result, out is None)


def _misalignment(a) -> int:
    """The address modulo the largest vector that kernels read, which is all that a plan depends on."""
    return a._address % _MAX_VECTOR_BYTES if a.size else 0


def _prepare(name, types, plan, shape, dtype, new=True) -> tuple[_PreparedReduction, tuple | None]:
    """(the prepared call, its launch if it is a single one or None). new: each call makes a new result, which
    is then an argument of the launch."""
    from pycuda._kernels.builtin import reduction

    first, second = reduction.reduction_kernels(name, types, plan.variant)
    scratch = plan.partials * reduction.acc_size(name, types)
    block = reduction.THREADS, 1, 1
    prepared = _PreparedReduction(shape, dtype, plan, first, second, scratch, block)
    if second is not None:
        return prepared, None
    more = (..., plan.arguments) if new else (plan.arguments,)
    launch = first.prepared_async_call, plan.grid, block, more, (shape, dtype) if new else None
    return prepared, launch


def launches_of(name):
    """The remembered launches of the method `name` called without arguments."""
    return launches[plan_reduction, 1, name, None, None, False, 0.0]


def _launch(prepared: _PreparedReduction, operands, result, stream, allocator) -> None:
    """Queue the one or two kernels of a reduction into `result`; none without a plan, as the result has no
    elements then.
    """
    plan = prepared.plan
    if plan is None:
        return
    if prepared.second is None:
        prepared.first.prepared_async_call(
            plan.grid, prepared.block, stream, *operands, result, plan.arguments
        )
        return
    partial = new((prepared.scratch,), np.uint8, allocator)
    prepared.first.prepared_async_call(plan.grid, prepared.block, stream, *operands, partial, plan.arguments)
    prepared.second.prepared_async_call(
        plan.second_grid, prepared.block, stream, partial, result, plan.second_arguments
    )


_MAX_VECTOR_BYTES = 16


def reduce(
    name, a, axis=None, dtype=None, out=None, keepdims=False, stream=None, allocator=None, parameter=0.0
) -> GPUArray:
    """The reduction of this name (a row of pycuda._kernels.builtin.reduction). dtype is the accumulator's."""
    if dtype is not None:
        dtype = np.dtype(dtype)
        warn_discarded(a.dtype, dtype)
    if type(axis) is list:
        raise TypeError(
            "'list' object cannot be interpreted as an integer: axis must be None, an integer or a "
            "tuple of integers"
        )
    if out is not None:
        return _reduce_into(name, axis, dtype, bool(keepdims), parameter, a, out, stream, allocator)
    key = plan_reduction, 1, name, axis, dtype, keepdims, parameter
    result = launches[key].launch((a,), stream, allocator)
    return reduce_by(key, (a,), stream, allocator) if result is None else result


def reduce_by(key, operands, stream, allocator) -> GPUArray:
    """A new array with the reduction of the operands by the plan of this key (plans.caches.planned)."""
    prepared = planned(key, operands)
    allocator = allocator or operands[0].allocator
    result = _driver.GPUArray(prepared.shape, prepared.dtype, allocator)
    _launch(prepared, operands, result, stream, allocator)
    return result


def check_out_shape(name, a, axis, out, keepdims) -> None:
    """ValueError unless `out` has the shape of the result."""
    if out.shape == result_shape(a.shape, normalized_axes(axis, a.ndim), keepdims):
        return
    if name in _NUMBERED:
        raise ValueError(f"output array does not match result of np.{name}.")
    raise numpy_error(_UFUNCS.get(name, np.add).reduce, a, axis, None, out, keepdims)


def _reduce_into(name, axis, dtype, keepdims, parameter, a, out, stream, allocator) -> GPUArray:
    """Reduce into `out`, which may have another dtype, be non-contiguous, and overlap `a`."""
    given = a.dtype
    if not isinstance(out, _driver.GPUArray):
        raise TypeError(f"out must be a GPUArray, not {type(out).__name__}")
    _check_writable(out)
    if dtype is None and name in LOOPS and (name != "mean" or given.kind not in "biu"):
        dtype = folded_dtype(LOOPS[name], given, None, out.dtype)
    check_out_shape(name, a, axis, out, keepdims)
    rule = _RULES[name]
    _, result_dtype = rule.dtypes(given, dtype)
    if name in _NUMBERED and not np.can_cast(out.dtype, result_dtype, "safe"):
        raise TypeError(
            f"Cannot cast array data from {out.dtype!r} to {result_dtype!r} according to the rule 'safe'"
        )
    if not np.can_cast(result_dtype, out.dtype, rule.casting):
        raise TypeError(
            f"Cannot cast ufunc 'sqrt' output from {result_dtype!r} to {out.dtype!r} with casting rule "
            "'same_kind'"
        )
    if result_dtype != out.dtype or overlap(a, out):
        made = reduce(name, a, axis, dtype, None, keepdims, stream, allocator, parameter)
        return write_back(made, out, stream)
    key = plan_reduction, 2, name, axis, dtype, keepdims, parameter
    if launches[key].launch((a, out), stream, None) is None:
        _launch(planned(key, (a, out)), (a,), out, stream, allocator or a.allocator)
    return out


# ---- sums of products


def _types_of_products(a, b, result) -> reduction.Types:
    from pycuda._kernels.builtin import reduction

    return reduction.Types(
        elements.stored(a.dtype), elements.stored(b.dtype), elements.computed(result), elements.stored(result)
    )


def _plan_products(result, a, b) -> tuple[_PreparedReduction, tuple | None]:
    """(how the products of two arrays are summed in the dtype `result`, the launch if it is a single one)."""
    from pycuda._kernels.builtin import reduction

    axes = [Axis(*axis) for axis in zip(a.shape, a.strides, b.strides, strict=True)]
    second = _misalignment(b), b.itemsize
    plan = reduction.plan_reduction(_misalignment(a), a.itemsize, [], axes, 0.0, second)
    return _prepare("dot", _types_of_products(a, b, result), plan, (), result)


def reduce_products(a, b, result, stream=None, allocator=None) -> GPUArray:
    """The sum of the products of all elements of two arrays of one size, in C order."""
    if a.shape != b.shape:
        a, b = a.ravel(), b.ravel()
    key = _plan_products, 2, result
    total = launches[key].launch((a, b), stream, allocator)
    return reduce_by(key, (a, b), stream, allocator) if total is None else total


def _plan_matrix_times_vector(matrix, vector, c) -> tuple[_PreparedReduction, tuple | None]:
    from pycuda._kernels.builtin import reduction

    kept = [Axis(*axis) for axis in zip(matrix.shape[:-1], matrix.strides[:-1], c.strides, strict=True)]
    inner = Axis(matrix.shape[-1], matrix.strides[-1], vector.strides[0])
    second = _misalignment(vector), vector.itemsize
    plan = reduction.plan_reduction(_misalignment(matrix), matrix.itemsize, kept, [inner], 0.0, second)
    return _prepare("dot", _types_of_products(matrix, vector, c.dtype), plan, c.shape, c.dtype, new=False)


class MatrixTimesVector(NamedTuple):
    """How products of the last axis of a matrix, or of many, with one vector are summed."""

    prepared: _PreparedReduction

    @classmethod
    def of(cls, matrix, vector, c) -> MatrixTimesVector:
        """c has the shape of the matrix without its last axis."""
        return cls(planned((_plan_matrix_times_vector, 3), (matrix, vector, c)))

    def queue(self, matrix, vector, c, stream) -> None:
        """c is of any shape that has as many elements."""
        _launch(self.prepared, (matrix, vector), c, stream, c.allocator)
