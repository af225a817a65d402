"""The transforms of numpy.fft: what NumPy makes of sizes, axes, dtypes, norms and out=."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from types import NoneType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._array.core.axes import one_axis
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.elementwise import apply, users_level
from pycuda._array.core.memory import overlap, write_back
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.fft.on_host import ByNumPy
from pycuda._array.fft.on_library import ByLibrary, Step, Steps, repeat_steps
from pycuda._array.numpy_api.likes import fresh
from pycuda._driver import _check_writable, _first_address
from pycuda._kernels.plans.caches import launches
from pycuda._libraries import host
from pycuda._libraries.finding import require

if TYPE_CHECKING:
    from pycuda._driver import _LaunchCache
    from pycuda.gpuarray import GPUArray

Sizes = list[tuple[int, int]]  # (axis, length of the transform along it), in the order in which NumPy goes


def _implementation() -> type[ByNumPy] | type[ByLibrary]:
    """The class that computes transforms on this device. LibraryNotFound without cuFFT."""
    if host.is_possible():
        return ByNumPy
    require("cufft")
    return ByLibrary


# ---- dtypes and factors


def _real(dtype) -> np.dtype:
    """The dtype of NumPy's factor and of real results. TypeError unless the elements are numbers."""
    if dtype.kind not in "biufc":
        raise TypeError
    return np.result_type(np.empty(0, dtype).real.dtype, 1.0)


def _transform_dtypes(dtype) -> tuple[np.dtype, np.dtype]:
    """The dtypes, real and complex, in which a transform of this one is computed."""
    single = _real(dtype).itemsize < 8
    return (np.dtype("f"), np.dtype("F")) if single else (np.dtype("d"), np.dtype("D"))


# NumPy's norm= of the transform in the other direction that has the same factor.
_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _factor(sizes: Sizes, dtype, norm, forward: bool) -> float:
    """The factor of the result, rounded as NumPy's is: for half precision that of the first axis is rounded
    to half, those of the others to single precision. KeyError for an unknown norm.
    """
    norm = _OPPOSITE[_OPPOSITE[norm] if forward else norm]  # as a forward transform's; None is "backward"
    real, factor = _real(dtype), 1.0
    for _, n in sizes if norm != "backward" else []:
        factor *= float(np.reciprocal(np.sqrt(n, dtype=real) if norm == "ortho" else n, dtype=real))
        real = _transform_dtypes(dtype)[0]
    return factor


# ---- sizes


def _checked_sizes(a, sizes) -> Sizes:
    """The sizes, with axes counted from 0. ValueError for a length below 1."""
    sizes = [(one_axis(axis, a.ndim), operator.index(n)) for axis, n in sizes]
    if min((n for _, n in sizes), default=1) < 1:
        raise ValueError
    return sizes


def _lengths(a, s, axes, to_real: bool) -> Sizes:
    """The length of the transform along each axis. None and -1 stand for the array's own length."""
    sizes = []
    for i, (n, axis) in enumerate(zip(s, axes, strict=True)):
        if n is None and to_real and i == len(s) - 1:
            n = 2 * (a.shape[axis] - 1)
        elif n is None or n == -1:
            n = a.shape[axis]
        sizes.append((axis, n))
    return _checked_sizes(a, sizes)


def _sizes_of_one_axis(a, n, axis, to_real: bool) -> Sizes:
    """(axis, length) of fft and similar ones, from their arguments n and axis."""
    if n is not None:
        return _checked_sizes(a, [(axis, n)])
    return _lengths(a, [None], [axis], to_real)


def _deprecated(text: str) -> None:
    warnings.warn(f"{text} (deprecated in NumPy 2.0)", DeprecationWarning, stacklevel=users_level())


def _sizes_of_axes(a, s, axes, to_real: bool) -> Sizes:
    """(axis, length) of each axis of fftn and similar ones, from their arguments s and axes."""
    if s is None:
        axes = range(a.ndim) if axes is None else list(axes)
        return _lengths(a, [None] * len(axes), axes, to_real)
    s = list(s)
    if axes is None:
        _deprecated("`axes` should not be `None` if `s` is not `None`")
        axes = range(-len(s), 0)
    if None in s:
        _deprecated("`s` should not contain `None`")
    return _lengths(a, s, list(axes), to_real)


def _split_at_repeated_axes(sizes: Sizes) -> list[Sizes]:
    """The sizes in runs that name no axis twice: each run is one transform of several dimensions."""
    runs: list[Sizes] = [[]]
    for axis, n in sizes:
        if axis in dict(runs[-1]):
            runs.append([])
        runs[-1].append((axis, n))
    return runs


def _axes(sizes: Sizes) -> tuple[int, ...]:
    return tuple(axis for axis, _ in sizes)


def _resized_shape(shape, sizes: Sizes) -> tuple[int, ...]:
    return tuple({**dict(enumerate(shape)), **dict(sizes)}.values())


def _half_length(n: int) -> int:
    """How many of n elements of the transform of real numbers determine the rest."""
    return n // 2 + 1


# ---- arrays of other shapes and dtypes


def _leading_part(a, shape) -> GPUArray:
    """A view of the elements of `a` whose indices are within this shape."""
    return a if a.shape == shape else a[tuple(slice(0, length) for length in shape)]


def _fill(result, a) -> None:
    """Copy the elements of `a` into `result`, and fill the rest with zeros."""
    kept = _leading_part(a, result.shape)
    if kept.shape != result.shape:
        kept = kept.copy() if overlap(kept, result) else kept
        result.fill(0)
    write_back(kept, _leading_part(result, kept.shape))


def _is_same_view(a, b) -> bool:
    return _first_address(a, False) == _first_address(b, False) and (a.shape, a.strides) == (
        b.shape,
        b.strides,
    )


def _readable_view(a, shape, dtype, result) -> GPUArray | None:
    """The view of `a` from which a transform of this shape and dtype into `result` can read; None if `a` has
    to be copied, as it is too short, of another dtype, or overlaps `result`.
    """
    kept = _leading_part(a, shape)
    is_safe = not overlap(kept, result) or _is_same_view(kept, result)
    return kept if kept.shape == shape and kept.dtype == dtype and is_safe else None


# ---- transforms without a factor. run(a, result, sizes): `result` has the shape and dtype of the result;
# they return steps as ByLibrary does


def _transform(a, result, axes, forward: bool) -> Steps:
    source = _readable_view(a, result.shape, result.dtype, result)
    if source is None:
        _fill(result, a)
        return [None, *_implementation().transform(result, result, axes, forward)]
    return _implementation().transform(source, result, axes, forward)


def _forward(a, result, sizes) -> Steps:
    return _transform(a, result, _axes(sizes), forward=True)


def _inverse(a, result, sizes) -> Steps:
    return _transform(a, result, _axes(sizes), forward=False)


def _from_real(a, result, sizes) -> Steps:
    """The steps of a transform of real numbers along `sizes`, of which the last is halved."""
    shape, dtype = _resized_shape(a.shape, sizes), np.empty(0, result.dtype).real.dtype
    source = _readable_view(a, shape, dtype, result)
    if source is None:
        source = fresh(a, dtype, "K", shape, None)
        _fill(source, a)
        return [None, *_implementation().transform_from_real(source, result, _axes(sizes))]
    return _implementation().transform_from_real(source, result, _axes(sizes))


def _from_real_conjugated(a, result, sizes) -> Steps:
    _from_real(a, result, sizes)
    apply("conjugate", result, out=result)
    return [None]


def _new_half_spectrum(a, sizes) -> GPUArray:
    """A new array for the non-redundant half of the spectrum that a transform to real numbers reads."""
    *others, (axis, n) = sizes
    return fresh(
        a,
        _transform_dtypes(a.dtype)[1],
        "K",
        _resized_shape(a.shape, [*others, (axis, _half_length(n))]),
        None,
    )


def _to_real(a, result, sizes) -> Steps:
    """The steps of a transform with a real result; the last of `sizes` is its axis of n // 2 + 1 elements."""
    *others, (axis, _) = sizes
    half = _new_half_spectrum(a, sizes)
    if others:
        _transform(a, half, _axes(others), forward=False)
    else:
        _fill(half, a)
    _implementation().transform_to_real(half, result, axis)
    return [None]


def _to_real_conjugated(a, result, sizes) -> Steps:
    half = _new_half_spectrum(a, sizes)
    _fill(half, a)
    apply("conjugate", half, out=half)
    _implementation().transform_to_real(half, result, sizes[0][0])
    return [None]


# ---- transforms of NumPy


class _Kind(NamedTuple):
    """A kind of transform. run(a, result, sizes) queues it and returns its steps, with None for those that
    cannot be repeated. Of the axes in the order in which NumPy takes them, the first is the real one if the
    input is real, the last if the result is. forward: the direction, on which the factor depends.
    """

    run: Callable[..., Steps]
    forward: bool
    from_real: bool = False
    to_real: bool = False

    def shape(self, shape, sizes: Sizes) -> tuple[int, ...]:
        """Shape of the result."""
        (axis, n), *others = sizes
        return _resized_shape(shape, [(axis, _half_length(n)), *others] if self.from_real else sizes)

    def steps(self, sizes: Sizes) -> list[tuple[_Kind, Sizes]]:
        """A transform of this kind, and complex ones before or after it where an axis is named again."""
        runs = _split_at_repeated_axes(sizes if self.to_real else sizes[::-1])
        kinds = [FORWARD if self.forward else INVERSE] * len(runs)
        kinds[-1 if self.to_real else 0] = self
        return list(zip(kinds, runs, strict=True))


FORWARD, INVERSE = _Kind(_forward, True), _Kind(_inverse, False)
FROM_REAL, TO_REAL = _Kind(_from_real, True, from_real=True), _Kind(_to_real, False, to_real=True)
OF_HERMITIAN = _Kind(_to_real_conjugated, True, to_real=True)
TO_HERMITIAN = _Kind(_from_real_conjugated, False, from_real=True)


def _given_out(out) -> GPUArray | None:
    """The array of out=, which may be in a tuple as for ufuncs; None without one. TypeError or ValueError if
    it is not an array that can be written to."""
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if out is None:
        return None
    if not isinstance(out, _driver.GPUArray):
        raise TypeError(f"out must be a GPUArray, not {type(out).__name__}")
    _check_writable(out)
    return out


def _broadcast_to_out(a, out, axes, shape, dtype) -> GPUArray:
    """`a` repeated along axes of `out` that are not transformed. ValueError when that does not fit; TypeError
    when `out` cannot have results of this dtype.
    """
    if out.ndim != a.ndim or any(out.shape[axis] != shape[axis] for axis in axes):
        raise ValueError
    if not np.can_cast(dtype, out.dtype, "same_kind"):
        raise TypeError
    wanted = tuple(a.shape[i] if i in axes else length for i, length in enumerate(out.shape))
    return a if a.shape == wanted else broadcast_to(a, wanted)


def _result_dtype(a, kind: _Kind) -> np.dtype:
    """The dtype in which a transform of this kind computes its result."""
    return _transform_dtypes(a.dtype)[0 if kind.to_real else 1]


def _plan(a, kind: _Kind, sizes: Sizes, norm, out) -> tuple[GPUArray, list[tuple[_Kind, Sizes]], float]:
    """(the array to transform, the steps, the factor of the result). An exception for what NumPy refuses."""
    steps, shape = kind.steps(sizes), a.shape
    if kind.from_real and a.dtype.kind == "c":
        raise TypeError
    for each, run in steps:
        shape = each.shape(shape, run)
    if out is not None:
        a = _broadcast_to_out(a, out, _axes(sizes), shape, _result_dtype(a, kind))
    return a, steps, _factor(sizes if kind.to_real else sizes[::-1], a.dtype, norm, kind.forward)


def _step(a, kind: _Kind, sizes: Sizes, out=None) -> tuple[GPUArray, Steps]:
    """Queue one step: (its result, the steps of cuFFT). The result is `out` if that has the dtype of the
    step, otherwise a new array.
    """
    dtype = _result_dtype(a, kind)
    if out is None or out.dtype != dtype:
        out = fresh(a, dtype, "K", kind.shape(a.shape, sizes), None)
    return out, kind.run(a, out, sizes) if out.size else [None]


def _scaled_into_out(result, factor: float, dtype, out) -> GPUArray:
    """`result`, multiplied by the factor in place: as an array of this dtype or, if out is given, in
    `out`.
    """
    if factor != 1:
        apply("multiply", result, factor, out=result)
    if out is None:
        return result if result.dtype == dtype else result.astype(dtype)
    return out if result is out else write_back(result, out)


# ---- calls that were seen before


class _PreparedTransform(NamedTuple):
    """A transform into a new array that consists of steps of cuFFT alone."""

    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...]
    steps: list[Step]
    forward: bool
    factor: float

    def run(self, a) -> GPUArray:
        result = _driver.GPUArray(self.shape, self.dtype, a.allocator, strides=self.strides)
        repeat_steps(self.steps, a, result, self.forward)
        return _scaled_into_out(result, self.factor, self.dtype, None)


def _is_plain(argument) -> bool:
    """Whether equal arguments of this type mean the same, so that it can be part of a cache's key: not
    bool."""
    if type(argument) is tuple:
        return all(type(each) is int for each in argument)
    return type(argument) in (int, str, NoneType)


def _prepared_calls(function, size, axes, norm) -> _LaunchCache | None:
    """The prepared transforms of calls with these arguments, by the form of the array."""
    if _is_plain(size) and _is_plain(axes) and _is_plain(norm):
        return launches[function, 1, size, axes, norm]
    return None


def _call(function, kind: _Kind, a, size, axes, norm, out, read_sizes=_sizes_of_axes) -> GPUArray:
    """The result of a function of numpy.fft, whose arguments these are: size is its n or s, axes its axis or
    axes.
    """
    known = _prepared_calls(function, size, axes, norm) if out is None else None
    prepared = known.find((a,)) if known is not None else None
    if prepared is not None:
        return prepared.run(a)
    out = _given_out(out)
    try:
        sizes = read_sizes(a, size, axes, kind.to_real)
        if not sizes and kind in (FORWARD, INVERSE):
            return a
        source, steps, factor = _plan(a, kind, sizes, norm, out)
    except (IndexError, KeyError, TypeError, ValueError):
        raise numpy_error(function, a, size, axes, norm, out) from None
    *before, last = steps
    for each in before:
        source, _ = _step(source, *each)
    result, calls = _step(source, *last, out)
    if known is not None and source is a and None not in calls:
        prepared = _PreparedTransform(result.shape, result.dtype, result.strides, calls, kind.forward, factor)
        known.remember((a,), prepared)
    # Of half precision NumPy makes half precision only in a transform to real numbers along one axis.
    dtype = _real(a.dtype) if kind.to_real and len(sizes) == 1 else result.dtype
    return _scaled_into_out(result, factor, dtype, out)


def fft(a, n=None, axis=-1, norm=None, out=None) -> GPUArray[np.complexfloating]:
    """numpy.fft.fft"""
    return _call(np.fft.fft, FORWARD, a, n, axis, norm, out, _sizes_of_one_axis)


def ifft(a, n=None, axis=-1, norm=None, out=None) -> GPUArray[np.complexfloating]:
    """numpy.fft.ifft"""
    return _call(np.fft.ifft, INVERSE, a, n, axis, norm, out, _sizes_of_one_axis)


def rfft(a, n=None, axis=-1, norm=None, out=None) -> GPUArray[np.complexfloating]:
    """numpy.fft.rfft"""
    return _call(np.fft.rfft, FROM_REAL, a, n, axis, norm, out, _sizes_of_one_axis)


def irfft(a, n=None, axis=-1, norm=None, out=None) -> GPUArray[np.floating]:
    """numpy.fft.irfft"""
    return _call(np.fft.irfft, TO_REAL, a, n, axis, norm, out, _sizes_of_one_axis)


def hfft(a, n=None, axis=-1, norm=None, out=None) -> GPUArray[np.floating]:
    """numpy.fft.hfft"""
    return _call(np.fft.hfft, OF_HERMITIAN, a, n, axis, norm, out, _sizes_of_one_axis)


def ihfft(a, n=None, axis=-1, norm=None, out=None) -> GPUArray[np.complexfloating]:
    """numpy.fft.ihfft"""
    return _call(np.fft.ihfft, TO_HERMITIAN, a, n, axis, norm, out, _sizes_of_one_axis)


def fftn(a, s=None, axes=None, norm=None, out=None) -> GPUArray[np.complexfloating]:
    """numpy.fft.fftn"""
    return _call(np.fft.fftn, FORWARD, a, s, axes, norm, out)


def ifftn(a, s=None, axes=None, norm=None, out=None) -> GPUArray[np.complexfloating]:
    """numpy.fft.ifftn"""
    return _call(np.fft.ifftn, INVERSE, a, s, axes, norm, out)


def rfftn(a, s=None, axes=None, norm=None, out=None) -> GPUArray[np.complexfloating]:
    """numpy.fft.rfftn"""
    return _call(np.fft.rfftn, FROM_REAL, a, s, axes, norm, out)


def irfftn(a, s=None, axes=None, norm=None, out=None) -> GPUArray[np.floating]:
    """numpy.fft.irfftn"""
    return _call(np.fft.irfftn, TO_REAL, a, s, axes, norm, out)


def fft2(a, s=None, axes=(-2, -1), norm=None, out=None) -> GPUArray[np.complexfloating]:
    """numpy.fft.fft2"""
    return _call(np.fft.fft2, FORWARD, a, s, axes, norm, out)


def ifft2(a, s=None, axes=(-2, -1), norm=None, out=None) -> GPUArray[np.complexfloating]:
    """numpy.fft.ifft2"""
    return _call(np.fft.ifft2, INVERSE, a, s, axes, norm, out)


def rfft2(a, s=None, axes=(-2, -1), norm=None, out=None) -> GPUArray[np.complexfloating]:
    """numpy.fft.rfft2"""
    return _call(np.fft.rfft2, FROM_REAL, a, s, axes, norm, out)


def irfft2(a, s=None, axes=(-2, -1), norm=None, out=None) -> GPUArray[np.floating]:
    """numpy.fft.irfft2"""
    return _call(np.fft.irfft2, TO_REAL, a, s, axes, norm, out)
