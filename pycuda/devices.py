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
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import NDArray

from pycuda import _driver
from pycuda._array.core.devices import as_device, context_on
from pycuda._array.core.types import OnDevice, Scalar
from pycuda.gpuarray import GPUArray

__all__ = ["gather", "scatter"]

_Place: TypeAlias = _driver.Device | _driver.Context | int


def _context(place: _Place) -> _driver.Context:
    return place if isinstance(place, _driver.Context) else context_on(as_device(place))


def _pieces(array: Any, count: int, axis: int) -> list[Any]:
    """Views, of lengths as in numpy.array_split."""
    axis = normalize_axis_index(axis, array.ndim)
    length, rest = divmod(array.shape[axis], count)
    ends = [length * k + min(k, rest) for k in range(count + 1)]
    before = (slice(None),) * axis
    return [array[(*before, slice(*pair))] for pair in itertools.pairwise(ends)]


def _refuse_host(parts: Iterable[Any]) -> None:
    for k, part in enumerate(parts):
        if not isinstance(part, GPUArray):
            raise TypeError(
                f"gather: part {k}, {type(part).__name__}, is in host memory: pycuda.gpuarray.to_gpu() makes "
                "a GPUArray of it"
            )


@overload
def scatter(
    array: GPUArray[Scalar], devices: Iterable[_Place] | None = None, axis: int = 0
) -> list[GPUArray[Scalar]]: ...
@overload
def scatter(
    array: NDArray[Scalar], devices: Iterable[_Place] | None = None, axis: int = 0
) -> list[GPUArray[Scalar]]: ...
@overload
def scatter(
    array: OnDevice | Sequence[Any], devices: Iterable[_Place] | None = None, axis: int = 0
) -> list[GPUArray[Any]]: ...


def scatter(array: Any, devices: Iterable[_Place] | None = None, axis: int = 0) -> list[GPUArray[Any]]:
    """Split an array along an axis, and copy each part to a device.

    Parameters
    ----------
    array : GPUArray, another library's array on the device, or data in host memory
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
    numpy.exceptions.AxisError
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
    (source,) = _driver._views((array,))
    if not isinstance(source, GPUArray):
        source = np.asanyarray(source)
    pieces = _pieces(source, len(places), axis)
    return [_moved(piece, place) for piece, place in zip(pieces, places, strict=True)]


def _moved(piece: Any, place: _Place) -> GPUArray:
    if isinstance(piece, GPUArray):
        return piece.to_device(place)
    with _context(place):
        return _driver._to_gpu(piece)  # type: ignore[no-any-return]


@overload
def gather(
    parts: Sequence[GPUArray[Scalar]], axis: int = 0, device: _Place | None = None
) -> GPUArray[Scalar]: ...
@overload
def gather(
    parts: Sequence[GPUArray[Scalar]], axis: int, device: Literal["cpu"]
) -> np.ndarray[Any, np.dtype[Scalar]]: ...
@overload
def gather(
    parts: Sequence[GPUArray[Scalar]], axis: int = 0, *, device: Literal["cpu"]
) -> np.ndarray[Any, np.dtype[Scalar]]: ...
@overload
def gather(parts: Sequence[OnDevice], axis: int = 0, device: _Place | str | None = None) -> Any: ...


def gather(parts: Sequence[Any], axis: int = 0, device: Any = None) -> Any:
    """Join arrays of any devices along an axis, on one device.

    Parameters
    ----------
    parts : sequence of GPUArray
        Or of other libraries' arrays on the device.
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
    TypeError
        A part is in host memory.
    numpy.exceptions.AxisError
        There is no such axis.

    Examples
    --------
    >>> from pycuda import devices
    >>> import numpy as np
    >>> devices.gather(devices.scatter(np.arange(6).reshape(2, 3), [0, 0], axis=1), axis=1)
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    parts = _driver._views(tuple(parts))
    _refuse_host(parts)
    if isinstance(device, str) and device == "cpu":
        return np.concatenate([part.get() for part in parts], axis=axis)
    context = _context(_driver.Context.get_device() if device is None else device)
    moved = [part.to_device(context) for part in parts]
    with context:
        return np.concatenate(moved, axis=axis)
