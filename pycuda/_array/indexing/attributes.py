"""Attributes of GPUArray that NumPy's arrays have: flat, mT, and data, which is refused."""

from __future__ import annotations

import numpy as np

from pycuda import _driver
from pycuda._array.core.assign import assign
from pycuda._array.core.creation import arange
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.shape.views import matrix_transpose

mT = matrix_transpose


class Flat:
    """The elements of an array in C order, by index. Slices and arrays of indices give new arrays, and
    assignment goes to the array.

    Attributes
    ----------
    base : GPUArray
        The array.
    """

    def __init__(self, base, refusal=None):
        self.base = base
        self._refusal = refusal  # the exception that assignment raises; None if it is allowed

    def __len__(self):
        return self.base.size

    def __iter__(self):
        return iter(self.base.ravel())

    def __getitem__(self, index):
        found = self.base.ravel()[index]
        return found.copy() if isinstance(index, slice) or index is Ellipsis else found

    def __setitem__(self, index, value):
        if self._refusal is not None:
            raise self._refusal
        flat = self.base.ravel()
        shared = flat is self.base or not flat.size or flat._address == self.base._address
        if shared:
            flat[index] = _over_and_over(value, flat, index)
            return
        indices = arange(flat.size, dtype=np.intp)[index]
        if indices.size:
            self.base.put(indices, value, mode="clip")

    def copy(self):
        """The elements along one axis, a new array."""
        return self.base.flatten()


def _over_and_over(value, flat, index):
    """The value of flat[index] = value with as many elements as the index selects: as in NumPy, fewer values
    are repeated, and superfluous ones are ignored.
    """
    if not isinstance(value, _driver.GPUArray):
        value = np.asarray(value)
    if value.ndim == 0 or isinstance(index, int):
        return value
    count = flat[index].size
    value = value.ravel()
    if value.size in (1, count):
        return value
    if isinstance(value, _driver.GPUArray):
        return value.take(arange(count, dtype=np.intp), mode="wrap")
    return np.resize(value, count)


def flat(a, refusal: Exception | None = None) -> Flat:
    """a.flat"""
    return Flat(a, refusal)


@takes_arrays
def set_flat(a, value) -> None:
    """a.flat = value"""
    if not isinstance(value, _driver.GPUArray) and np.ndim(value) == 0:
        assign(a, value)
    else:
        Flat(a)[:] = value


def data(a):
    """a.data: NumPy's attribute for memory that the host can read."""
    raise AttributeError(
        "a GPUArray has no data attribute, as its memory is on the device: use gpudata or ptr, or copy it "
        "with get()"
    )
