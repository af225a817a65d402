"""numpy.r_, c_, mgrid and ogrid on the device: arrays that are made by an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.memory import on_device
from pycuda._array.numpy_api.likes import asarray, numbers_from
from pycuda._array.shape.joining import concatenate, stack

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray


class _IndexTrick:
    """An object of pycuda.numpy that is found, and pickled, under its name."""

    def __init__(self, name: str) -> None:
        self.__module__, self.__name__, self.__qualname__ = "pycuda.numpy", name, name
        self.__doc__ = f"`numpy.{name}`, whose arrays are on the device."

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<pycuda.numpy.{self.__name__}>"


def _numbers(part: slice) -> GPUArray:
    """The numbers of a slice; an imaginary step is their count."""
    start, step = 0 if part.start is None else part.start, 1 if part.step is None else part.step
    if isinstance(step, complex | np.complexfloating):
        return on_device(np.linspace(start, part.stop, int(abs(step))))
    return numbers_from(start, part.stop, step, None)


class AxisConcatenator(_IndexTrick):
    """Joins what stands in the index: arrays, numbers, lists, and slices as ranges of numbers.

    Parameters
    ----------
    name : str
    axis : int
        Along which arrays are joined.
    min_ndim : int
        Axes that each array has at least; length 1 is put before those that it has.
    first_axis : int
        Where those that it has begin then; -1 for after all new ones. As numpy.r_'s directive "a,n,f".
    """

    def __init__(self, name: str, axis: int, min_ndim: int, first_axis: int) -> None:
        super().__init__(name)
        self._settings = axis, min_ndim, first_axis

    def __len__(self) -> int:
        return 0

    def _read_directive(self, text: str) -> tuple[int, int, int]:
        """The settings of an index that begins with a text such as "0,2,1"."""
        if text in ("r", "c"):
            raise ValueError(f"{self.__name__}[{text!r}] makes a matrix, which is not supported")
        try:
            numbers = [int(each) for each in text.split(",")]
        except ValueError as error:
            raise ValueError(f"unknown special directive {text!r}") from error
        if len(numbers) > 3:
            raise ValueError(f"unknown special directive {text!r}")
        axis, min_ndim, first_axis = (*numbers, *self._settings[len(numbers) :])
        return axis, min_ndim, first_axis

    @staticmethod
    def _with_axes(array: GPUArray, ndim: int, min_ndim: int, first_axis: int) -> GPUArray:
        """The array of `ndim` axes with new axes of length 1, so that it has `min_ndim` axes at least.
        first_axis: of the result, where the axes that it had begin.
        """
        missing = max(min_ndim - ndim, 0)
        array = array.reshape((1,) * missing + array.shape)
        if first_axis == -1 or not missing:
            return array
        first = first_axis + missing + 1 if first_axis < 0 else first_axis
        axes = list(range(array.ndim))
        return array.transpose([*axes[:first], *axes[missing:], *axes[first:missing]])

    def _array(self, item: Any, min_ndim: int, first_axis: int) -> GPUArray:
        if isinstance(item, str):
            raise ValueError("special directives must be the first entry.")
        if isinstance(item, slice):
            line = _numbers(item).reshape((1,) * (min_ndim - 1) + (-1,))
            return line if first_axis == -1 or min_ndim < 2 else line.swapaxes(-1, first_axis)
        array = asarray(item)
        if np.isscalar(item):
            return array.reshape((1,) * min_ndim)
        return self._with_axes(array, array.ndim, min_ndim, first_axis)

    def __getitem__(self, key: Any) -> GPUArray:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, min_ndim, first_axis = self._settings
        if items and isinstance(items[0], str):
            axis, min_ndim, first_axis = self._read_directive(items.pop(0))
        if not items:
            raise ValueError("need at least one array to concatenate")
        arrays = [self._array(each, min_ndim, first_axis) for each in items]
        kinds = [
            item if np.isscalar(item) else array.dtype for item, array in zip(items, arrays, strict=True)
        ]
        dtype = np.result_type(*kinds)
        return concatenate([each.astype(dtype, copy=False) for each in arrays], axis)


class GridMaker(_IndexTrick):
    """The coordinates of the points of a grid, whose axes are slices as those of r_.

    Parameters
    ----------
    name : str
    is_sparse : bool
        Each axis has its own array, of length 1 along the others.
    """

    def __init__(self, name: str, is_sparse: bool) -> None:
        super().__init__(name)
        self._is_sparse = is_sparse

    def __getitem__(self, key: Any) -> Any:
        lines = np.ogrid[key]
        if not isinstance(key, tuple) or not key:
            return on_device(np.mgrid[key])
        lines = [on_device(each) for each in lines]
        if self._is_sparse:
            return tuple(lines)
        shape = tuple(each.size for each in lines)
        return stack([broadcast_to(each, shape) for each in lines])


r_, c_ = AxisConcatenator("r_", 0, 1, -1), AxisConcatenator("c_", -1, 2, 0)
mgrid, ogrid = GridMaker("mgrid", False), GridMaker("ogrid", True)
