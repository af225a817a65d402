"""Fourier transforms by cuFFT: which axes one plan takes, and copies of what none takes."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

from pycuda import _driver
from pycuda._array.core.axes import starts
from pycuda._array.core.memory import new, write_back
from pycuda._driver import _collapse_axes, _first_address
from pycuda._libraries import fft

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

_MAX_AXES = 3
# Calls of a plan for one transform, before a copy is cheaper.
_MAX_CALLS = 64


class _Form(NamedTuple):
    """An array without its memory. Strides are in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


class Step(NamedTuple):
    """Calls of one plan, and where they begin in both arrays, in elements."""

    transform: fft.FftTransform
    starts: list[tuple[int, int]]


Steps = list[Step | None]


def _element_form(array: GPUArray) -> _Form | None:
    """The form of the array; None unless its strides are multiples of the item size."""
    if any(stride % array.itemsize for stride in array.strides):
        return None
    return _Form(array.shape, tuple(each // array.itemsize for each in array.strides), array.dtype.name)


def _layout(form: _Form, axes, distance: int) -> fft.FftLayout | None:
    """The layout for cuFFT; None unless the strides of each axis are a multiple of the next one's."""
    embed = [form.shape[axes[0]]]
    strides = [form.strides[axis] for axis in axes]
    if min(*strides, distance) < 1:
        return None
    for outer, inner, axis in zip(strides, strides[1:], axes[1:], strict=False):
        if outer % inner or outer // inner < form.shape[axis]:
            return None
        embed.append(outer // inner)
    return fft.FftLayout(tuple(embed), strides[-1], distance)


@functools.lru_cache(1024)
def _plan(source: _Form, result: _Form, axes: tuple[int, ...]) -> Step | None:
    """The calls of cuFFT that transform along these axes, the last of which is the real one. None if cuFFT
    does not take such arrays."""
    rest = [
        (length, source.strides[axis], result.strides[axis])
        for axis, length in enumerate(result.shape)
        if axis not in axes and length > 1
    ]
    # The longest of the other axes is the batch of a call; for the rest there is a call for each index.
    *outer, (batch, step, other) = sorted(_collapse_axes(rest, 2)[0]) if rest else [(1, 1, 1)]
    if math.prod(length for length, *_ in outer) > _MAX_CALLS:
        return None
    layouts = _layout(source, axes, step), _layout(result, axes, other)
    if None in layouts:
        return None
    sizes = tuple(max(source.shape[axis], result.shape[axis]) for axis in axes)
    transform = fft.FftTransform(sizes, batch, layouts[0], source.dtype, layouts[1], result.dtype)
    return Step(transform, starts(outer, 2))


def _calls_of_step(step: Step, source: GPUArray, result: GPUArray) -> list[tuple[int, int]]:
    """The addresses in `source` and in `result` at which each call begins."""
    first, other_first = _first_address(source, False), _first_address(result, False)
    size, other_size = source.itemsize, result.itemsize
    return [(first + start * size, other_first + other * other_size) for start, other in step.starts]


def _queue(source: GPUArray, result: GPUArray, axes, forward: bool) -> Step | None:
    """Queue the transform and return its step. If cuFFT does not take such arrays, do nothing and return
    None."""
    forms = _element_form(source), _element_form(result)
    step = None if None in forms else _plan(*forms, tuple(axes))
    if step is None:
        return None
    calls = _calls_of_step(step, source, result)
    aligned = max(source.itemsize, result.itemsize)  # real numbers must be aligned as complex ones are
    if any(address % aligned for call in calls for address in call):
        return None
    fft.queue(step.transform, calls, forward, _driver.current_stream(), (source, result))
    return step


def repeat_steps(steps: list[Step], source: GPUArray, result: GPUArray, forward: bool) -> None:
    """Queue the steps: the first from `source` to `result`, the others in place. The arrays have the same
    forms, and the same addresses modulo 16, as those that the steps were made for.
    """
    stream = _driver.current_stream()
    for step in steps:
        fft.queue(step.transform, _calls_of_step(step, source, result), forward, stream, (source, result))
        source = result


def _new_packed_like(like: GPUArray, axes) -> GPUArray:
    """A new array of the same shape and dtype whose layout cuFFT takes: it transforms along these axes, and
    all other axes are its batch."""
    others = [axis for axis in range(like.ndim) if axis not in axes]
    order = (*others, *axes)
    packed = new([like.shape[axis] for axis in order], like.dtype, like.allocator)
    return packed.transpose([order.index(axis) for axis in range(like.ndim)])


def _step(source: GPUArray, result: GPUArray, axes, forward: bool) -> Step | None:
    """Queue a transform along these axes and return its step; None if it needed copies, which a step does not
    make."""
    step = _queue(source, result, axes, forward)
    if step:
        return step
    copy = _new_packed_like(source, axes)
    write_back(source, copy)
    target = copy if source.dtype == result.dtype else _new_packed_like(result, axes)
    if not _queue(copy, target, axes, forward):
        raise AssertionError("cuFFT takes packed arrays")
    write_back(target, result)
    return None


def _by_stride(array: GPUArray, axes) -> list[int]:
    """The axes, those with the largest strides first."""
    return sorted(axes, key=lambda axis: -array.strides[axis])


def _axes_per_call(source, result, axes, last) -> int:
    """How many of the axes, counted from the last one, a plan takes together with `last`. If a copy is needed
    in any case, as many as a plan can have.
    """
    max_count = min(len(axes), _MAX_AXES - len(last))
    forms = _element_form(source), _element_form(result)
    if None not in forms:
        for count in range(max_count, -1, -1):
            part = (*axes[len(axes) - count :], *last)
            if part and _plan(*forms, part):
                return count
    return max_count


class ByLibrary:
    """The methods of ByNumPy. They return their steps, with None for what was done by copies."""

    @staticmethod
    def transform(source: GPUArray, result: GPUArray, axes: tuple[int, ...], forward: bool) -> Steps:
        """The complex transform along these axes; `result` may be `source`."""
        left = [axis for axis in _by_stride(result, axes) if result.shape[axis] > 1]
        if not left and source is not result:
            write_back(source, result)
            return [None]
        steps: Steps = []
        while left:
            count = _axes_per_call(source, result, left, [])
            steps.append(_step(source, result, left[-count:], forward))
            source, left = result, left[:-count]
        return steps

    @staticmethod
    def transform_from_real(source: GPUArray, result: GPUArray, axes: tuple[int, ...]) -> Steps:
        """The transform of real numbers. The result has the non-redundant half of the first of the axes."""
        halved, *others = axes
        if source.shape[halved] == 1:
            write_back(source, result)
            return [None, *ByLibrary.transform(result, result, tuple(others), True)]
        others = [axis for axis in _by_stride(result, others) if result.shape[axis] > 1]
        count = _axes_per_call(source, result, others, [halved])
        together, rest = others[len(others) - count :], others[: len(others) - count]
        step = _step(source, result, [*together, halved], forward=True)
        return [step, *ByLibrary.transform(result, result, tuple(rest), True)]

    @staticmethod
    def transform_to_real(source: GPUArray, result: GPUArray, axis: int) -> Steps:
        """The inverse of transform_from_real along one axis. `source` is overwritten."""
        if result.shape[axis] == 1:
            write_back(source._real, result)
            return [None]
        return [_step(source, result, [axis], forward=False)]
