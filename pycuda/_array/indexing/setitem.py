"""a[index] = value for an index with arrays, as in NumPy. Which of several values for one element is stored
is undefined."""

from __future__ import annotations

from pycuda import _driver
from pycuda._array.core.assign import as_scalar, values_for
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.gather import indexed_copy
from pycuda._array.indexing.getitem import check_mask, resolve
from pycuda._driver import _check_writable
from pycuda._kernels.builtin import elements

_REFUSAL = "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}"


def _assign_masked(a, index, value) -> bool:
    """Do a[mask] = number without waiting for the number of true elements. False, and nothing is done, for
    any other assignment.
    """
    mask = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if not isinstance(mask, _driver.GPUArray) or mask.dtype.kind != "b" or not 0 < mask.ndim <= a.ndim:
        return False
    number = as_scalar(value, a.dtype)
    if number is None or elements.kind(a.dtype) == "V":
        return False
    check_mask(mask, a, range(mask.ndim))
    _check_writable(a)
    if a.size:
        mask = mask.reshape(mask.shape + (1,) * (a.ndim - mask.ndim))
        apply("where", mask, number, a, out=a)
    return True


@takes_arrays
def setitem(a, index, value) -> None:
    """a[index] = value for an index with arrays."""
    if not _assign_masked(a, index, value):
        _check_writable(a)
        target = resolve(a, index)
        values = values_for(value, a, target.shape, refusal=_REFUSAL)
        indexed_copy(target.view, target.positions, target.axes(values), values, put=True)
