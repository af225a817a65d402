"""Mathematical functions of GPUArrays, element by element, with PyCUDA's names."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pycuda._array.core import decorators, elementwise

if TYPE_CHECKING:
    from typing import Any, Protocol, overload

    from pycuda._array.core.types import Array, Inexact, Operand, Stream
    from pycuda.gpuarray import GPUArray

    class _Function(Protocol):
        """Of one array; deprecated `stream_or_out` is not among the parameters."""

        @overload
        def __call__(
            self, array: GPUArray[Inexact], *, out: Array | None = None, stream: Stream = None
        ) -> GPUArray[Inexact]: ...
        @overload
        def __call__(
            self, array: Array[Any], *, out: Array | None = None, stream: Stream = None
        ) -> GPUArray: ...


_NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
_FUNCTIONS = """fabs ceil floor exp log log10 sqrt sin cos tan asin acos atan sinh cosh tanh""".split()


def _check_out(array, out) -> None:
    """AssertionError for another dtype or shape than the operand's. Of integers the result decides."""
    exact = array.dtype.kind in "iub"
    if out is not None and (out.shape != array.shape or not (exact or out.dtype == array.dtype)):
        raise AssertionError(
            f"out must have the dtype and shape of the operand: {array.dtype}, {array.shape}"
        )


def _unary(name: str) -> _Function:
    """The module's function of this name."""
    numpy_name = _NUMPY_NAMES.get(name, name)

    def function(array: Any, stream_or_out: Any = None, *, out: Any = None, stream: Stream = None) -> Any:
        if stream_or_out is not None:
            warnings.warn(
                f"{name}: pass out= or stream= by name, not by position", DeprecationWarning, stacklevel=2
            )
            if hasattr(stream_or_out, "dtype"):
                out = stream_or_out
            else:
                stream = stream_or_out
        if hasattr(array, "dtype") and not isinstance(array, np.generic):
            _check_out(array, out)
        return elementwise.apply(numpy_name, array, out=out, stream=stream)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{name} of each element.

    Parameters
    ----------
    array : GPUArray
        Integers and booleans become floats, as in NumPy: float16 for 8 bits, float32 for 16, float64 for
        more. `ceil` and `floor` leave them as they are.
    stream_or_out : Stream or GPUArray, optional
        Deprecated: pass one of the next two.
    out : GPUArray, optional
        Where the result goes: of the same dtype and shape, for integers of a dtype that holds the result.
    stream : Stream, optional

    Returns
    -------
    GPUArray
        It has the same shape, and for floats and complex numbers the same dtype.

    Raises
    ------
    AssertionError
        When `out` has another dtype or shape.
    TypeError
        When the function is not defined for the dtype, or `out` does not hold the result for integers.
    """
    return decorators.array_function(function, numpy_name)


fabs = _unary("fabs")
ceil = _unary("ceil")
floor = _unary("floor")
exp = _unary("exp")
log = _unary("log")
log10 = _unary("log10")
sqrt = _unary("sqrt")
sin = _unary("sin")
cos = _unary("cos")
tan = _unary("tan")
asin = _unary("asin")
acos = _unary("acos")
atan = _unary("atan")
sinh = _unary("sinh")
cosh = _unary("cosh")
tanh = _unary("tanh")


@decorators.takes_arrays
def fmod(arg: Array[Any], mod: Operand, stream: Stream = None) -> GPUArray:
    """Remainder of arg / mod with the sign of arg.

    Parameters
    ----------
    arg, mod : GPUArray
    stream : Stream, optional

    Returns
    -------
    GPUArray
    """
    return elementwise.apply("fmod", arg, mod, stream=stream)


@decorators.takes_arrays
def ldexp(significand: Any, exponent: Any, stream: Stream = None) -> GPUArray:
    """significand * 2 ** exponent.

    Parameters
    ----------
    significand, exponent : GPUArray
        Exponents may be floats, as `frexp` gives them.
    stream : Stream, optional

    Returns
    -------
    GPUArray
        It has the dtype of `significand`.
    """
    if getattr(exponent, "dtype", np.dtype(int)).kind == "f":
        exponent = exponent.astype(np.int32, stream=stream)
    return elementwise.apply("ldexp", significand, exponent, stream=stream)


@decorators.takes_arrays
def frexp(arg: Array[Any], stream: Stream = None) -> tuple[GPUArray, GPUArray]:
    """Significands of 0.5 or more and less than 1, and exponents of 2.

    Parameters
    ----------
    arg : GPUArray
    stream : Stream, optional

    Returns
    -------
    (GPUArray, GPUArray)
        Both of the dtype of `arg`.
    """
    significand, exponent = elementwise.apply("frexp", arg, stream=stream)
    return significand, exponent.astype(significand.dtype, stream=stream)


@decorators.takes_arrays
def modf(arg: Array[Any], stream: Stream = None) -> tuple[GPUArray, GPUArray]:
    """Fractional and whole parts, each with the sign of the value.

    Parameters
    ----------
    arg : GPUArray
    stream : Stream, optional

    Returns
    -------
    (GPUArray, GPUArray)
    """
    return elementwise.apply("modf", arg, stream=stream)
