"""NumPy on the memory of the CPU device, which is host memory. Its functions run in a stream's order, as
kernels do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pycuda import _driver

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


class _Memory:
    """An array's memory for np.asarray(), as elements of type void: NumPy has no code for some dtypes.
    `written`: whether the host will write to it."""

    def __init__(self, array: GPUArray, written: bool):
        self.__array_interface__ = {
            "version": 3,
            "shape": array.shape,
            "strides": array.strides,
            "typestr": f"|V{array.itemsize}",
            "data": (_driver._first_address(array, written), False),
        }


def _view(array: GPUArray, written: bool = False) -> np.ndarray:
    """A NumPy array of the same memory, which it does not keep alive."""
    if not array.size:
        return np.empty(array.shape, array.dtype)
    return np.asarray(_Memory(array, written)).view(array.dtype)


def is_possible() -> bool:
    """Whether the host may read and write the memory of arrays: on the CPU device."""
    return _driver._is_cpu_device()


def _run_in_stream(function, views, written, arguments, _used) -> None:
    """Run the function in a thread of the driver. If it raises, floating-point outputs become NaN. `_used`:
    the arrays whose memory the views have, kept alive by this argument."""
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
    """Queues function(*inputs, *outputs, *arguments): the function gets NumPy arrays of the same memory and
    writes into those of the outputs. Later work on the stream waits for it. It may be captured.

    The function must make no driver calls. An exception goes to sys.unraisablehook, and floating-point
    outputs become NaN; so a failure that is ordinary, such as a singular matrix, is written into an output
    instead.
    """
    if stream is None:
        stream = _driver.current_stream()
    views = [_view(each) for each in inputs]
    written = [_view(each, written=True) for each in outputs]
    used = (*inputs, *outputs)
    _driver._library_uses(stream, used)
    _driver._launch_host_func(stream, _run_in_stream, function, views, written, arguments, used)
