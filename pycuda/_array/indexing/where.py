"""Choices between elements of several arrays: where, select, choose, piecewise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import INDEX
from pycuda._array.core.broadcast import fit
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.gather import read_mode
from pycuda._array.core.memory import new
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.core.operands import as_array, operand, result_or_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pycuda._array.core.types import Array, Operand, Scalar, Stream
    from pycuda.gpuarray import GPUArray


@takes_arrays
def if_positive(
    criterion: Operand,
    then_: Operand | Array[Scalar],
    else_: Operand | Array[Scalar],
    out: Array | None = None,
    stream: Stream = None,
) -> GPUArray[Scalar]:
    """`then_` where the criterion is greater than 0, `else_` elsewhere. Operands broadcast."""
    return apply("if_positive", criterion, then_, else_, out=out, stream=stream)


@takes_arrays
def where(
    criterion: Operand,
    then_: Operand | Array[Scalar],
    else_: Operand | Array[Scalar],
    out: Array | None = None,
    stream: Stream = None,
) -> GPUArray[Scalar]:
    """`then_` where the criterion is not 0, `else_` elsewhere. Operands broadcast."""
    return apply("where", criterion, then_, else_, out=out, stream=stream)


def select(condlist, choicelist, default=0) -> GPUArray:
    """Each element from the first choice whose condition is true there, as numpy.select."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [as_array(each) for each in condlist]
    for number, each in enumerate(conditions):
        if each.dtype.kind != "b":
            raise TypeError(f"invalid entry {number} in condlist: should be boolean ndarray")
    choices = [operand(each) for each in choicelist]
    known = [
        each.dtype if isinstance(each, _driver.GPUArray) else each for each in (*choices, operand(default))
    ]
    dtype = np.result_type(*known)
    shapes = [each.shape for each in (*conditions, *choices, default) if isinstance(each, _driver.GPUArray)]
    result = new(np.broadcast_shapes(*shapes), dtype, conditions[0].allocator)
    result[...] = default if isinstance(default, _driver.GPUArray) else np.asarray(default).astype(dtype)
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        if result.size:
            apply("where", condition, choice, result, out=result)
    return result


@takes_arrays
def choose(a: Array, choices: Sequence[Operand], out: Array | None = None, mode: str = "raise") -> GPUArray:
    """Take each element from the choice that `a` has the index of, as numpy.choose.

    Parameters
    ----------
    a : GPUArray
        Its elements are integers.
    choices : sequence of GPUArray
    out : GPUArray, optional
        The array for the result.
    mode : {"raise", "wrap", "clip"}, optional
        What becomes of indices out of bounds; "raise" waits for the stream.
    """
    a = as_array(a)
    choices = list(choices)
    if not choices:
        raise ValueError("choose needs at least one choice")
    if a.dtype.kind not in "biu":
        raise TypeError(f"Cannot cast array data from {a.dtype!r} to {INDEX!r} according to the rule 'safe'")
    count = len(choices)
    mode = read_mode(mode)
    if mode == "WRAP":
        a = apply("remainder", a.astype(INDEX), count)
    elif mode == "CLIP":
        a = apply("clip", a.astype(INDEX), 0, count - 1)
    elif a.size and not 0 <= int(a.min()) <= int(a.max()) < count:
        raise ValueError("invalid entry in choice array")
    choices = [as_array(each) for each in choices]
    dtype = np.result_type(*(each.dtype for each in choices))
    if not fit(a.shape, *(each.shape for each in choices)):
        raise numpy_error(np.choose, a, choices)
    shape = np.broadcast_shapes(a.shape, *(each.shape for each in choices))
    result = new(shape, dtype, a.allocator)
    if result.size:
        result[...] = choices[0]
        for number, each in enumerate(choices[1:], 1):
            apply("where", apply("equal", a, number), each, result, out=result)
    return result_or_out(result, out)


def piecewise(x: Array[Scalar], condlist, funclist, *args, **kw) -> GPUArray[Scalar]:
    """Each element by the last function, or number, whose condition is true there. A function is called with
    the elements of its condition, for which the call waits."""
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
