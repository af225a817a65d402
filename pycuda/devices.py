"""An array in parts on several devices, and together again.

::

    import numpy as np
    from pycuda import devices

    parts = devices.scatter(np.arange(1000.0))       # a part on each device
    squares = []
    for part in parts:
        with part.device.retain_primary_context():
            squares.append(part**2)                  # queued: the devices work at the same time
    total = devices.gather(squares).sum()

No array spans devices: the parts are GPUArrays, each worked on in a context of its device.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from pycuda import _driver
from pycuda._array.core.devices import as_device, context_on
from pycuda._array.core.types import Array, Scalar
from pycuda.gpuarray import GPUArray

__all__ = ["gather", "scatter"]

_Place: TypeAlias = _driver.Device | _driver.Context | int


def _context(place: _Place) -> _driver.Context:
    return place if isinstance(place, _driver.Context) else context_on(as_device(place))


def _pieces(array: Any, count: int, axis: int) -> list[Any]:
    """Views, of lengths as in numpy.array_split."""
    axis = range(array.ndim)[axis]
    length, rest = divmod(array.shape[axis], count)
    ends = [length * k + min(k, rest) for k in range(count + 1)]
    before = (slice(None),) * axis
    return [array[(*before, slice(*pair))] for pair in itertools.pairwise(ends)]


def scatter(
    array: Array[Scalar], devices: Iterable[_Place] | None = None, axis: int = 0
) -> list[GPUArray[Scalar]]:
    """Split an array along an axis, and copy each part to a device.

    Parameters
    ----------
    array : GPUArray or numpy.ndarray
        Of one axis at least.
    devices : iterable of Device, Context or int, optional
        One for each part, as for GPUArray.to_device; a device may be named several times. By default all
        devices.
    axis : int, optional

    Returns
    -------
    list of GPUArray
        Lengths along the axis are those of numpy.array_split. A part of a GPUArray on its own device is a
        view.

    Raises
    ------
    ValueError
        There is no such device, or no device is named.
    IndexError
        There is no such axis.

    Notes
    -----
    Of a GPUArray nothing is waited for. Parts of an array in host memory are copied one after another.

    Examples
    --------
    >>> import numpy as np
    >>> from pycuda import devices
    >>> parts = devices.scatter(np.arange(5), [0, 0])
    >>> [part.get().tolist() for part in parts]
    [[0, 1, 2], [3, 4]]
    """
    if devices is None:
        _driver.init()
        devices = range(_driver.Device.count())
    places: list[_Place] = list(devices)
    if not places:
        raise ValueError("scatter: no device is named")
    pieces = _pieces(array, len(places), axis)
    return [_moved(piece, place) for piece, place in zip(pieces, places, strict=True)]


def _moved(piece: Any, place: _Place) -> GPUArray:
    if isinstance(piece, GPUArray):
        return piece.to_device(place)
    with _context(place):
        return _driver._to_gpu(piece)  # type: ignore[no-any-return]


@overload
def gather(
    parts: Sequence[Array[Scalar]], axis: int = 0, device: _Place | None = None
) -> GPUArray[Scalar]: ...
@overload
def gather(
    parts: Sequence[Array[Scalar]], axis: int, device: Literal["cpu"]
) -> np.ndarray[Any, np.dtype[Scalar]]: ...
@overload
def gather(
    parts: Sequence[Array[Scalar]], axis: int = 0, *, device: Literal["cpu"]
) -> np.ndarray[Any, np.dtype[Scalar]]: ...


def gather(parts: Sequence[Any], axis: int = 0, device: Any = None) -> Any:
    """Join arrays of any devices along an axis, on one device.

    Parameters
    ----------
    parts : sequence of GPUArray
    axis : int, optional
    device : Device, Context, int or "cpu", optional
        Where the result is, as for GPUArray.to_device; by default the device of the current context.

    Returns
    -------
    GPUArray or numpy.ndarray
        As of numpy.concatenate.

    Raises
    ------
    ValueError
        There is no such device, no part, or shapes do not fit.

    Examples
    --------
    >>> from pycuda import devices
    >>> import numpy as np
    >>> devices.gather(devices.scatter(np.arange(6).reshape(2, 3), [0, 0], axis=1), axis=1)
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    if isinstance(device, str) and device == "cpu":
        return np.concatenate([part.get() for part in parts], axis=axis)
    context = _context(_driver.Context.get_device() if device is None else device)
    moved = [part.to_device(context) for part in parts]
    with context:
        return np.concatenate(moved, axis=axis)
