"""Types of arguments and results, for type checkers and readers of a signature.

A type variable says which argument's dtype a result has: of `a: Array[Scalar]` a `GPUArray[Scalar]`.
tools/numpy_stubs.py makes overloads of it for the stubs. It is only read, never imported by what runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from pycuda._driver import _Allocator as Allocator
    from pycuda._driver import _Axes as Axes
    from pycuda._driver import _Shape as Shape
    from pycuda._driver import _Stream as Stream
    from pycuda.gpuarray import GPUArray

__all__ = [
    "Allocator",
    "Array",
    "Arrays",
    "Axes",
    "DTypeOf",
    "Floating",
    "HostOrDevice",
    "Inexact",
    "Number",
    "Operand",
    "Result",
    "Scalar",
    "Shape",
    "Single",
    "Stream",
]

# The type of an array's elements: any; without booleans; only floats and complex numbers; only floats;
# floats and complex numbers without float16.
Scalar = TypeVar("Scalar", bound=np.generic)
Number = TypeVar("Number", bound="np.number[Any]")
Inexact = TypeVar("Inexact", bound="np.inexact[Any]")
Floating = TypeVar("Floating", bound="np.floating[Any]")
Single = TypeVar("Single", bound="np.float32 | np.float64 | np.complex64 | np.complex128")
Result = TypeVar("Result")


class OnDevice(Protocol):
    """An array of another library."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


# Quoted, as the class exists only once pycuda.gpuarray is imported.
Array: TypeAlias = "GPUArray[Scalar] | OnDevice"
Arrays: TypeAlias = "Sequence[Array[Scalar]]"
DTypeOf: TypeAlias = "type[Scalar] | np.dtype[Scalar]"
# Parameters that are arrays or numbers.
Operand: TypeAlias = "GPUArray | OnDevice | complex | np.generic"
# Indices, booleans, edges of bins: on the device or on the host.
HostOrDevice: TypeAlias = "GPUArray | OnDevice | Sequence[Any] | np.ndarray[Any, Any]"

if TYPE_CHECKING:
    # What linear algebra returns: the classes are NumPy's, whose annotations say arrays of NumPy.

    class EigResult(NamedTuple):
        eigenvalues: GPUArray[np.inexact[Any]]
        eigenvectors: GPUArray[np.inexact[Any]]

    class EighResult(NamedTuple, Generic[Scalar]):
        eigenvalues: GPUArray[np.floating[Any]]
        eigenvectors: GPUArray[Scalar]

    class QRResult(NamedTuple, Generic[Scalar]):
        Q: GPUArray[Scalar]
        R: GPUArray[Scalar]

    class SlogdetResult(NamedTuple, Generic[Scalar]):
        sign: GPUArray[Scalar]
        logabsdet: GPUArray[np.floating[Any]]

    class SVDResult(NamedTuple, Generic[Scalar]):
        U: GPUArray[Scalar]
        S: GPUArray[np.floating[Any]]
        Vh: GPUArray[Scalar]
