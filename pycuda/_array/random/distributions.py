"""What the methods of pycuda.numpy.random.Generator do with parameters, shapes and kernels."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import _driver
from pycuda._array.core import captures
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new, on_device
from pycuda._array.core.operands import checked_out, is_number, result_or_out
from pycuda._array.core.packed import packed_copy
from pycuda._array.indexing.take_put import take_along_axis
from pycuda._array.numpy_api.likes import asarray
from pycuda._array.sorting.sorting import argsort
from pycuda._kernels.random import elements

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

_FLOATS = np.dtype(np.float32), np.dtype(np.float64)
# Calls of a generator that share one key: their number is a word of the counter.
_CALLS = 1 << 32


class Draws:
    """Gives each call of a generator another key, or another number for the same key, from the generator's
    seed.
    """

    def __init__(self, seed_sequence: np.random.SeedSequence) -> None:
        self.seed_sequence = seed_sequence
        self._calls = itertools.count()

    def next(self) -> tuple[int, int, int]:
        """The key and the number of one call; after 2**32 of them there is another key."""
        key, call = divmod(next(self._calls), _CALLS)
        words = self.seed_sequence.generate_state(2 * key + 2)[-2:]
        return int(words[0]), int(words[1]), call


# ---- parameters and shapes


def parameter(value: Any) -> Any:
    """A number as it is; all else as an array on the device."""
    return value if is_number(value) else asarray(value)


def checked_parameter(name: str, value: Any, fits: Callable[[Any], bool], says: str) -> Any:
    """A parameter, whose numbers on the host must fit; those on the device are not looked at."""
    if not isinstance(value, _driver.GPUArray) and not np.all(fits(np.asarray(value))):
        raise ValueError(f"{name} {says}")
    return parameter(value)


def difference(high: Any, low: Any) -> Any:
    """high - low; OverflowError where they are numbers and it is not finite."""
    if not is_number(high) or not is_number(low):
        return apply("subtract", high, low)
    if not np.isfinite(float(high) - float(low)):
        raise OverflowError("high - low range exceeds valid bounds")
    return float(high) - float(low)


def half(value: Any) -> Any:
    """Half of a parameter."""
    return value / 2 if is_number(value) else apply("multiply", value, 0.5)


def shape_of(size: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape of a result: size, or what the parameters broadcast to, which must fit into it."""
    broadcast = np.broadcast_shapes(*(np.shape(each) for each in parameters))
    if size is None:
        return broadcast
    shape = (operator.index(size),) if is_number(size) else tuple(map(operator.index, size))
    if np.broadcast_shapes(broadcast, shape) != shape:
        raise ValueError(f"Output size {shape} is not compatible with broadcast dimensions {broadcast}")
    return shape


def _packed(value: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """A distribution's parameter as two arguments of a kernel, of which one counts: (array, 0) for an array,
    of which a packed copy of this shape is made, or (0, number).
    """
    if not isinstance(value, _driver.GPUArray):
        return 0, value
    return packed_copy(broadcast_to(value.astype(dtype, copy=False), shape)), dtype.type(0)


def float_dtype(dtype: Any) -> np.dtype[Any]:
    """dtype= of numbers that are float64 or float32."""
    dtype = np.dtype(dtype)
    if dtype not in _FLOATS:
        raise TypeError(f"Unsupported dtype {dtype} for random numbers: float32 and float64 are supported")
    return dtype


def _launch(function, result, draws: Draws, a: tuple[Any, Any], b: tuple[Any, Any]) -> None:
    """Fill `result` by a kernel; a, b: the parameters, as of _packed()."""
    if not result.size:
        return
    launches: Any = 0
    if captures.is_captured(None):
        # A graph counts its launches in this word, by which the kernel makes other numbers at each of them.
        launches = on_device(np.zeros(1, np.uint32))
    function.prepared_async_call(
        elements.grid(result.size), (elements.THREADS, 1, 1), None, result, result.size, *draws.next(),
        launches, *a, *b,
    )  # fmt: skip
    if isinstance(launches, _driver.GPUArray):
        apply("add", launches, np.uint32(1), out=launches)


def new_numbers(
    draws: Draws, name: str, size: Any, a: Any = 0.0, b: Any = 0.0, dtype: Any = np.float64, out: Any = None
) -> GPUArray:
    """New numbers of a distribution with two parameters, which broadcast with `size`."""
    dtype = np.dtype(dtype)
    if out is not None and size is None:
        size = out.shape
    shape, double = shape_of(size, a, b), np.dtype(np.float64)
    direct = isinstance(out, _driver.GPUArray) and out.flags.c_contiguous
    result = checked_out(out, shape, dtype, "no") if direct else new(shape, dtype)
    given = [
        _packed(each if isinstance(each, _driver.GPUArray) else float(each), shape, double) for each in (a, b)
    ]
    _launch(elements.distribution(name, dtype), result, draws, *given)
    return result if direct else result_or_out(result, out, "no")


# ---- integers


def integers(draws: Draws, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool) -> GPUArray:
    """Integers from low to high - 1, with `endpoint` to high. If high is None they are from 0, and low is the
    upper bound.
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "biu" or not dtype.isnative:
        raise TypeError(f"Unsupported dtype {dtype!r} for integers")
    if high is None:
        low, high = 0, low
    low, high = parameter(low), parameter(high)
    shape, wide = shape_of(size, low, high), np.dtype(np.uint64)
    if is_number(low) and is_number(high):
        first, count = _interval(int(low), int(high) + endpoint, dtype)
        given = (0, np.uint64(first)), (0, np.uint64(count))
    else:
        low, high = (each if is_number(each) else each.astype(wide, casting="unsafe") for each in (low, high))
        low, high = (np.uint64(int(each) % (1 << 64)) if is_number(each) else each for each in (low, high))
        ranges = apply("add", apply("subtract", high, low), np.uint64(endpoint))
        given = _packed(low, shape, wide), _packed(ranges, shape, wide)
    result = new(shape, dtype)
    _launch(elements.integers(dtype), result, draws, *given)
    return result


def _interval(low: int, high: int, dtype: np.dtype[Any]) -> tuple[int, int]:
    """(low, high - low) modulo 2**64. ValueError where the dtype does not hold the numbers."""
    first, last = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if low < first:
        raise ValueError(f"low is out of bounds for {dtype}")
    if high - 1 > last:
        raise ValueError(f"high is out of bounds for {dtype}")
    if low >= high:
        raise ValueError("low >= high")
    return low % (1 << 64), (high - low) % (1 << 64)


# ---- orders


def sort_keys(draws: Draws, shape: tuple[int, ...]) -> GPUArray:
    """Random bits to sort by."""
    return integers(draws, 0, 1 << 64, shape, np.uint64, False)


def permute_rows(draws: Draws, x: GPUArray, axis: int) -> GPUArray:
    """The elements along an axis in another order in each row."""
    return take_along_axis(x, argsort(sort_keys(draws, x.shape), axis), axis)


def random_indices(draws: Draws, count: int, shape: tuple[int, ...], replace: bool, p: Any) -> GPUArray:
    """Indices below `count`, each with its probability."""
    size = int(np.prod(shape, dtype=np.int64))
    if not replace and size > count:
        raise ValueError("Cannot take a larger sample than population when replace is False")
    if replace and p is None:
        return integers(draws, 0, count, shape, np.int64, False)
    if replace:
        sums = p.cumsum()
        numbers = apply("multiply", new_numbers(draws, "Uniform", shape, 0.0, 1.0), sums[-1])
        return apply("minimum", sums.searchsorted(numbers, "right"), count - 1)
    if p is None:
        return argsort(sort_keys(draws, (count,)))[:size].reshape(shape)
    # Exponential waiting times with the rates p: the indices with the smallest ones are the sample
    # (Efraimidis and Spirakis 2006).
    times = apply("divide", new_numbers(draws, "Exponential", (count,), 1.0), p)
    return argsort(times)[:size].reshape(shape)


def checked_probabilities(p: Any, count: int, size: int, replace: bool) -> GPUArray:
    """Probabilities as doubles. Waits for the stream to check them."""
    p = asarray(p).astype(np.float64)
    if p.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if p.size != count:
        raise ValueError("a and p must have same size")
    captures.refuse("choice() with p", "the host checks the probabilities")
    if not bool(apply("greater_equal", p, 0).all()):
        raise ValueError("Probabilities are not non-negative")
    if abs(float(p.sum()) - 1) > 1e-8:
        raise ValueError("Probabilities do not sum to 1.")
    if not replace and int(apply("greater", p, 0).sum()) < size:
        raise ValueError("Fewer non-zero entries in p than size")
    return p
