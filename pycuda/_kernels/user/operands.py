"""The vector arguments of a user's kernel: their layouts, and the checks before a launch."""

from __future__ import annotations

import numpy as np

from pycuda import _driver
from pycuda._kernels.user import parsing


def _is_protected(array) -> bool:
    """Whether the array's memory is read-only. A view may be read-only although its memory is not, if its
    elements are repeated: a kernel's atomic functions may write to such a view.
    """
    while isinstance(array, _driver.GPUArray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


class NamedErrors:
    """A context manager: the messages of ValueErrors and RuntimeErrors in its block begin with the kernel's
    name."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, problem, trace) -> None:
        if type(problem) in (ValueError, RuntimeError):
            problem.args = (f"{self.name}: {problem}",)


def describe(value, argument, kernel: str, written=False):
    """(shape, strides, dtype) of the array that was passed for a VectorArg. Arrays of other libraries are
    GPUArrays by now. TypeError if it is not an array on the device or has another dtype; ValueError if it is
    `written` and read-only.
    """
    if isinstance(value, _driver.GPUArray):
        shape, strides, dtype = value.shape, value.strides, value.dtype
        if written and value.size and _is_protected(value):
            raise ValueError(
                f"{kernel}: the argument {argument.name!r} is written to, and the array is read-only"
            )
    elif isinstance(value, np.ndarray):
        raise TypeError(
            f"{kernel}: the argument {argument.name!r} is a NumPy array in host memory: copy it with "
            "pycuda.gpuarray.to_gpu()"
        )
    else:
        raise TypeError(
            f"{kernel}: the argument {argument.name!r} is {type(value).__name__}: it must be a GPUArray or "
            "another library's array on the device"
        )
    if not parsing.fits(argument.dtype, dtype):
        raise TypeError(
            f"{kernel}: the argument {argument.name!r} is declared with elements of {argument.dtype}, the "
            f"array has {dtype}"
        )
    return shape, strides, dtype


def address(value) -> int:
    """The address of element 0; 0 without elements."""
    return value._address if value.size else 0


def missing_argument(kernel: str, arguments, given: int) -> TypeError:
    """The error for a call with too few arguments."""
    names = ", ".join(repr(argument.name) for argument in arguments[given:])
    return TypeError(
        f"{kernel}: missing required argument{'s' if len(arguments) - given > 1 else ''} {names}"
    )


_MAX_STEP = 1 << 40


def _multipliable_range(given: range) -> range:
    """The same indices with a step that the number of threads can be multiplied by in 64 bits. OverflowError
    if the step is too large."""
    if len(given[:2]) < 2:  # at most one index: the step does not matter
        return range(given.start, given.start + len(given[:2]))
    if abs(given.step) > _MAX_STEP:
        raise OverflowError(f"a step of {given.step} is beyond any array")
    return given


def indices(name: str, range_, slice_, shape) -> range:
    """The indices of a call with range= or slice=."""
    if range_ is not None and slice_ is not None:
        raise TypeError(f"{name}: range= and slice= exclude each other")
    given, what = (range_, "range") if slice_ is None else (slice_, "slice")
    if not isinstance(given, slice):
        raise TypeError(f"{name}: {what}= is {given!r}: it must be a slice object, as in slice(0, 10, 2)")
    if slice_ is not None:
        size = 1
        for length in shape:
            size *= length
        return _multipliable_range(range(*given.indices(size)))
    if given.start is None or given.stop is None:
        raise TypeError(f"{name}: range= needs a start and a stop; slice= fills them in")
    return _multipliable_range(range(given.start, given.stop, 1 if given.step is None else given.step))
