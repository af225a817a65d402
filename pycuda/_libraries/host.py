"""NumPy on the memory of the CPU device, which is host memory: in a stream's order, as a kernel is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


class _Memory:
    def __init__(self, array: GPUArray, written: bool):
        self.__array_interface__ = {
            "version": 3,
            "shape": array.shape,
            "strides": array.strides,
            "typestr": f"|V{array.itemsize}",
            "data": (_driver._first_address(array, written), False),
        }


def _view(array: GPUArray, written: bool = False) -> np.ndarray:
    """A NumPy array of the same memory, which it does not keep."""
    if not array.size:
        return np.empty(array.shape, array.dtype)
    return np.asarray(_Memory(array, written)).view(array.dtype)


def is_possible() -> bool:
    """Whether the host may read and write the memory of arrays: on the CPU device."""
    return _driver._is_cpu_device()


def _run_in_stream(function, views, written, arguments, _used) -> None:
    """Run the function in a thread of the driver. Results that could not be computed are NaN."""
    try:
        with np.errstate(all="ignore"):
            function(*views, *written, *arguments)
    except BaseException:
        for view in written:
            if view.dtype.kind in "fc":
                view.fill(np.nan)
        raise


def queue(
    function: Callable[..., object],
    inputs: Sequence[GPUArray],
    outputs: Sequence[GPUArray],
    *arguments: object,
    stream=None,
) -> None:
    """Queues function(*inputs, *outputs, *arguments), which gets NumPy arrays of the same memory and writes
    into those of the outputs. Later work on the stream waits for it. It may be captured.

    The function makes no driver calls. An exception goes to sys.unraisablehook, and the outputs are NaN:
    what can fail in ordinary use, a matrix that is singular, is written into an output instead.
    """
    if stream is None:
        stream = _driver.current_stream()
    views = [_view(each) for each in inputs]
    written = [_view(each, written=True) for each in outputs]
    used = (*inputs, *outputs)
    _driver._library_uses(stream, used)
    _driver._launch_host_func(stream, _run_in_stream, function, views, written, arguments, used)
