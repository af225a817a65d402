"""Arrays of other libraries as GPUArrays, and GPUArrays as NumPy's: from_dlpack, asnumpy, to_device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from pycuda import _driver
from pycuda._array.core.devices import as_device, context_on
from pycuda._array.core.elementwise import apply
from pycuda._driver import _from_capsule, _from_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pycuda._array.core.types import Scalar, Stream
    from pycuda.gpuarray import GPUArray

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13  # DLPack's device types
_VERSION = 1, 3  # of DLPack
_LEGACY = 1  # DLPack's number of the legacy default stream


def _is_here(device) -> bool:
    """Whether device= of from_dlpack is that of the current context."""
    if isinstance(device, tuple):
        kind, number = device
        if kind not in (_CUDA, _CUDA_MANAGED, _CUDA_HOST):
            return False
        device = _driver.Device(number)
    if not isinstance(device, _driver.Device):
        raise TypeError(f"device must be a pycuda.driver.Device or a DLPack (type, id) pair, not {device!r}")
    return bool(device == _driver.Context.get_device())


def _stream_number(stream) -> int:
    """The number by which DLPack passes a stream; None stands for the current stream."""
    stream = _driver.current_stream() if stream is None else stream
    return (stream.__cuda_stream__()[1] if stream is not None else 0) or _LEGACY


def _capsule(x, stream, copy):
    """x.__dlpack__() for work on the stream; libraries of DLPack before 1.0 know the stream only."""
    asked = {"stream": _stream_number(stream), "max_version": _VERSION}
    if copy is not None:
        asked["copy"] = copy
    try:
        return x.__dlpack__(**asked)
    except TypeError:
        if copy is not None:
            raise
        return x.__dlpack__(stream=asked["stream"])


def from_dlpack(
    x: Any,
    /,
    *,
    device: _driver.Device | tuple[int, int] | None = None,
    copy: bool | None = None,
    stream: Stream = None,
) -> GPUArray:
    """An array of another library as a GPUArray, in the same memory where that is on the device.

    Parameters
    ----------
    x : object
        With the methods ``__dlpack__`` and ``__dlpack_device__``. Or a capsule of DLPack, which is used up
        and names no stream: the work that computes it must be done, or be on the stream given here.
    device : pycuda.driver.Device or (int, int), optional
        Where the result is to be: the device of the current context. With it arrays in host memory are
        copied there.
    copy : bool, optional
        True: always copy, from host memory too. False: never. By default only when `device` takes one.
    stream : pycuda.driver.Stream, optional
        What is done with the result on this stream comes after what `x` waits for; the default stream
        otherwise.

    Returns
    -------
    GPUArray
        It keeps `x` alive, beyond its own end until the work then on the stream is done. Where `x` is
        read-only, ``flags.writeable`` is False.

    Raises
    ------
    BufferError
        `x` is in host memory and nothing asks for a copy, on a device that is not CUDA's, or of a dtype that
        NumPy lacks; or `copy` is False and there is no other way.
    ValueError
        `x` is on a device that the current context does not reach.
    """
    if device is not None and not _is_here(device):
        raise BufferError("device= is not the device of the current context, where GPUArrays are allocated")
    if type(x).__name__ == "PyCapsule":
        view = _from_capsule(x, stream)
        return _copy_view(view, stream) if copy else view
    kind, _ = x.__dlpack_device__()
    if kind == _CPU:
        if copy is False or (copy is None and device is None):
            raise BufferError("the array is in host memory: copy=True copies it to the device")
        from pycuda.gpuarray import to_gpu_async

        return to_gpu_async(np.array(np.from_dlpack(x)), stream=stream)
    if kind not in (_CUDA, _CUDA_HOST, _CUDA_MANAGED):
        raise BufferError(f"the array is on a device of DLPack's type {int(kind)}, which is not CUDA")
    if copy is None:
        view = _from_table(x, stream)
        return _from_capsule(_capsule(x, stream, None), stream) if view is None else view
    if not copy:
        return _from_capsule(_capsule(x, stream, copy), stream)
    return _copy_view(_from_capsule(_capsule(x, stream, None), stream), stream)


def _copy_view(view, stream):
    from pycuda.gpuarray import empty_like

    return apply("copy", view, out=empty_like(view), stream=stream)


@overload
def asnumpy(
    a: GPUArray[Scalar] | np.ndarray[Any, np.dtype[Scalar]], stream: Stream = None, order: str = "C"
) -> NDArray[Scalar]: ...
@overload
def asnumpy(a: Any, stream: Stream = None, order: str = "C") -> NDArray[Any]: ...


def asnumpy(a: Any, stream: Stream = None, order: str = "C") -> np.ndarray[Any, Any]:
    """An array of NumPy's with the values of an array on the device, or of what numpy.asarray takes.

    Parameters
    ----------
    a : GPUArray, another library's array on the device, or data in host memory
    stream : Stream, optional
        The copy is made on it and waited for.
    order : {"C", "F", "A", "K"}, optional
    """
    (view,) = _driver._views((a,), stream)
    host = view.get(stream=stream) if isinstance(view, _driver.GPUArray) else a
    return np.asarray(host, order=order)  # type: ignore[call-overload, no-any-return]


def to_device(array: GPUArray, device: Any, stream: Stream = None) -> Any:
    """What GPUArray.to_device does."""
    if isinstance(device, str) and device == "cpu":
        return array.get(stream=stream)
    if isinstance(device, _driver.Context):
        return _driver._copy_to_context(array, device, stream)
    device = as_device(device)
    return array if device == array.device else _driver._copy_to_context(array, context_on(device), stream)
