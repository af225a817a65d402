"""Types of arguments, for type checkers and readers of a signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from pycuda._driver import GPUArray

if TYPE_CHECKING:
    from pycuda._driver import _Allocator as Allocator
    from pycuda._driver import _Axes as Axes
    from pycuda._driver import _Shape as Shape
    from pycuda._driver import _Stream as Stream

__all__ = ["Allocator", "Array", "Arrays", "Axes", "HostOrDevice", "Operand", "Shape", "Stream"]


class OnDevice(Protocol):
    """An array of another library."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


Array: TypeAlias = GPUArray | OnDevice
Arrays: TypeAlias = Sequence[Array]
# Parameters that are arrays or numbers.
Operand: TypeAlias = GPUArray | OnDevice | complex | np.generic
# Indices, booleans, edges of bins: on the device or on the host.
HostOrDevice: TypeAlias = GPUArray | OnDevice | Sequence[Any] | np.ndarray[Any, Any]
