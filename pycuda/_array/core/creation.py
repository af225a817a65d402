"""New arrays from shapes and numbers."""

from __future__ import annotations

import math
import operator
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from pycuda import _driver
from pycuda._array.core.assign import assign
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.packed import packed_copy
from pycuda._kernels.builtin import creation
from pycuda._kernels.plans.axes import ceil_div
from pycuda._kernels.plans.caches import launched

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Array, DTypeOf, Scalar, Shape, Stream
    from pycuda.gpuarray import GPUArray


_BLOCK = (creation.THREADS, 1, 1)
_MAX_BLOCKS = (1 << 31) - 1  # CUDA's limit of a grid's first length


def _grid(count: int) -> tuple[int, int]:
    """The grid for kernels whose threads go on in steps of all threads until `count` elements are done."""
    return min(ceil_div(count, creation.THREADS), _MAX_BLOCKS), 1


@takes_arrays
def full(
    shape: Shape,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    allocator: Allocator = None,
    order: str = "C",
    *,
    stream: Stream = None,
) -> GPUArray:
    """A new array of this shape with every element the same number; dtype defaults to that of the number."""
    value = np.asarray(fill_value)
    result = _driver.GPUArray(shape, value.dtype if dtype is None else dtype, allocator, order=order)
    assign(result, fill_value, stream)
    return result


@takes_arrays
def ones(
    shape: Shape,
    dtype: DTypeLike = np.float64,
    allocator: Allocator = None,
    order: str = "C",
    *,
    stream: Stream = None,
) -> GPUArray[np.float64]:
    """A new array of this shape of ones."""
    return full(shape, 1, dtype, allocator, order, stream=stream)


@takes_arrays
def full_like(
    other_ary: Array[Scalar],
    fill_value: Any,
    dtype: DTypeLike | None = None,
    order: str = "K",
    *,
    stream: Stream = None,
) -> GPUArray[Scalar]:
    """A new array of the shape of another with every element the same number."""
    from pycuda.gpuarray import empty_like

    result = empty_like(other_ary, dtype, order)
    assign(result, fill_value, stream)
    return result


@takes_arrays
def ones_like(
    other_ary: Array[Scalar], dtype: DTypeLike | None = None, order: str = "K", *, stream: Stream = None
) -> GPUArray[Scalar]:
    """A new array of the shape of another, of ones."""
    return full_like(other_ary, 1, dtype, order, stream=stream)


class _Range(NamedTuple):
    start: object
    stop: object
    step: object
    dtype: object
    allocator: object
    stream: object


def _read_range(args, kwargs) -> _Range:
    """The arguments of arange, checked. By position they are numbers, after which a numpy.dtype may come."""
    given = dict.fromkeys(_Range._fields)
    if args and isinstance(args[-1], np.dtype):
        *args, given["dtype"] = args
    if len(args) > 4:
        raise ValueError("arange takes start, stop, step and dtype")
    names = ("stop",) if len(args) == 1 else ("start", "stop", "step", "dtype")
    given.update(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in given:
            raise ValueError(f"arange() got an unexpected keyword argument {name!r}")
        if given[name] is not None:
            raise ValueError(f"arange() got multiple values for argument {name!r}")
        given[name] = value
    if given["stop"] is None:
        raise ValueError("arange() requires stop to be specified.")
    given["start"] = 0 if given["start"] is None else given["start"]
    given["step"] = 1 if given["step"] is None else given["step"]
    return _Range(**given)


@overload
def arange(*args: float, dtype: DTypeOf[Scalar], **kwargs: Any) -> GPUArray[Scalar]: ...
@overload
def arange(*args: Any, **kwargs: Any) -> GPUArray: ...


@takes_arrays
def arange(*args: Any, **kwargs: Any) -> GPUArray:
    """``arange([start,] stop[, step][, dtype], *, allocator=None, stream=None)``: the numbers start,
    start + step, ... before stop.

    Other Parameters
    ----------------
    start, stop, step : number
        start is 0 and step 1 by default.
    dtype : dtype, optional
        By position only as a numpy.dtype. Without it the dtype of the numbers, with a warning where that is
        not float32.
    allocator : callable, optional
    stream : pycuda.driver.Stream, optional

    Returns
    -------
    GPUArray
        Of ceil((stop - start) / step) elements. Element i is start + i * step, computed in the dtype.

    Raises
    ------
    ValueError
        For unknown, repeated or missing arguments.
    """
    asked = _read_range(args, kwargs)
    numpys = np.array([asked.start, asked.stop, asked.step]).dtype
    dtype = numpys if asked.dtype is None else np.dtype(asked.dtype)
    if asked.dtype is None and dtype != np.float32:
        warnings.warn(
            f"arange uses the dtype of its arguments, {dtype}: pass dtype= to be sure", stacklevel=2
        )
    count = length_of_range(asked.start, asked.stop, asked.step)
    is_half = dtype.itemsize == 2 and dtype.kind not in "iu"  # float16 or bfloat16: computed in float32
    computed = np.dtype(np.float32) if is_half else dtype
    start, step = (np.asarray(each).astype(computed)[()] for each in (asked.start, asked.step))
    return _driver._on_stream(asked.stream, steps, start, step, count, dtype, asked.allocator, asked.stream)


def length_of_range(start, stop, step) -> int:
    """The number of elements of arange."""
    count = (stop - start) / step
    return max(0, math.ceil(count.real if isinstance(count, complex | np.complexfloating) else count))


def steps(start, step, count: int, dtype, allocator=None, stream=None) -> GPUArray:
    """A new array of this dtype whose element i is start + i * step. Both are NumPy scalars of the dtype, but
    of float32 if it is float16 or bfloat16.
    """
    result = new((count,), dtype, allocator)
    if count:
        function = creation.arange(dtype)
        function.prepared_async_call(_grid(count), _BLOCK, stream, result, start, step, count)
    return result


@takes_arrays
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    *,
    allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray:
    """num numbers at equal distances from start to stop, computed in double, as numpy.linspace."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = float(start), float(stop)
    dtype = np.dtype(np.float64 if dtype is None else dtype)
    gaps = num - 1 if endpoint else num
    step = (stop - start) / gaps if gaps > 0 else math.nan
    result = new((num,), np.float64, allocator)
    if num:
        creation.linspace().prepared_async_call(
            _grid(num), _BLOCK, stream, result, start, stop, step if gaps > 0 else 0.0, num,
            int(endpoint and num > 1),  # whether the last element is `stop` itself
        )  # fmt: skip
    if dtype != np.float64:
        source = apply("floor", result, stream=stream) if dtype.kind in "iu" and num else result
        result = new((num,), dtype, allocator)
        if num:
            apply("copy", source, out=result, stream=stream, casting="unsafe")
    return (result, step) if retstep else result


@takes_arrays
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = np.float64,
    *,
    allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray[np.float64]:
    """N rows and M columns of zeros with ones on the diagonal that begins k columns from the left."""
    rows, k = operator.index(N), operator.index(k)
    columns = rows if M is None else operator.index(M)
    result = full((rows, columns), 0, dtype, allocator, stream=stream)
    length = min(rows + min(k, 0), columns - max(k, 0))
    if length > 0:
        first = k if k >= 0 else -k * columns
        flat = result.reshape(rows * columns)
        assign(flat[first : first + (length - 1) * (columns + 1) + 1 : columns + 1], 1, stream)
    return result


@takes_arrays
def identity(
    n: int, dtype: DTypeLike = np.float64, *, allocator: Allocator = None, stream: Stream = None
) -> GPUArray[np.float64]:
    """n rows and columns of zeros with ones on the diagonal."""
    return eye(n, dtype=dtype, allocator=allocator, stream=stream)


def _lower_triangle_mask(rows: int, columns: int, k: int, allocator, stream) -> GPUArray:
    """A mask of the elements on or below the diagonal k."""
    numbers = np.dtype(np.int64)
    down = arange(rows, dtype=numbers, allocator=allocator, stream=stream)
    across = arange(-k, columns - k, dtype=numbers, allocator=allocator, stream=stream)
    return apply("greater_equal", down[:, None], across[None, :], stream=stream)


@takes_arrays
def tri(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = np.float64,
    *,
    allocator: Allocator = None,
    stream: Stream = None,
) -> GPUArray[np.float64]:
    """N rows and M columns, ones on and below the diagonal k and zeros above."""
    rows = operator.index(N)
    columns = rows if M is None else operator.index(M)
    result = new((rows, columns), dtype, allocator)
    if result.size:
        apply(
            "copy",
            _lower_triangle_mask(rows, columns, k, allocator, stream),
            out=result,
            stream=stream,
            casting="unsafe",
        )
    return result


def _triangle(m, k: int, lower: bool, stream) -> GPUArray:
    """tril() or triu(): the elements up to diagonal k, or from it on; zeros elsewhere."""
    if m.ndim == 0:
        raise TypeError("Input array must be at least 1-d.")
    if not m.size:
        # NumPy makes a square matrix of a 1-d array: each of its rows is that array.
        return new(m.shape if m.ndim > 1 else m.shape * 2, m.dtype, m.allocator)
    if m.strides[-1] != m.itemsize and m.shape[-1] > 1:
        m = packed_copy(m, stream)  # the kernel reads contiguous rows
    from pycuda._kernels.builtin.rearrange import plan_triangle

    return launched((plan_triangle, 1, k, lower), (m,), stream)


@takes_arrays
def tril(m: Array[Scalar], k: int = 0, *, stream: Stream = None) -> GPUArray[Scalar]:
    """The array with zeros above the diagonal k."""
    return _triangle(m, operator.index(k), lower=True, stream=stream)


@takes_arrays
def triu(m: Array[Scalar], k: int = 0, *, stream: Stream = None) -> GPUArray[Scalar]:
    """The array with zeros below the diagonal k."""
    return _triangle(m, operator.index(k), lower=False, stream=stream)


@takes_arrays
def meshgrid(
    *xi: Array, copy: bool = True, sparse: bool = False, indexing: str = "xy", stream: Stream = None
) -> list[GPUArray]:
    """Coordinates of a grid from those along its axes, as numpy.meshgrid. With `sparse` they have length 1
    along the other axes, without `copy` they are views.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = [1, 0]
    shape = tuple(xi[each].size for each in order)
    axis_of = {number: axis for axis, number in enumerate(order)}  # of the grid, for each of xi
    result = []
    for number, x in enumerate(xi):
        line = x if x.ndim == 1 else x.reshape(x.size)
        view = line[tuple(slice(None) if axis == axis_of[number] else None for axis in range(len(xi)))]
        view = view if sparse else broadcast_to(view, shape)
        result.append(view.copy(order="C", stream=stream) if copy else view)
    return result
