"""a[index] = value (__setitem__) for any index, as in NumPy. Which of several values for one element is
stored is undefined."""

from __future__ import annotations

import numpy as np

from pycuda import _driver
from pycuda._array.core.assign import as_scalar, assign, values_for
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.gather import indexed_copy
from pycuda._array.core.operands import is_number
from pycuda._array.indexing.getitem import check_mask, resolve
from pycuda._kernels.builtin import elements
from pycuda._kernels.plans.sharing import check_writable

_REFUSAL = "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}"


def _assign_masked(a, index, value) -> bool:
    """a[mask] = number, without asking how many are true. False for anything else."""
    mask = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if not isinstance(mask, _driver.GPUArray) or mask.dtype.kind != "b" or not 0 < mask.ndim <= a.ndim:
        return False
    number = as_scalar(value, a.dtype)
    if number is None or elements.kind(a.dtype) == "V":
        return False
    check_mask(mask, a, range(mask.ndim))
    check_writable(a)
    if a.size:
        mask = mask.reshape(mask.shape + (1,) * (a.ndim - mask.ndim))
        apply("where", mask, number, a, out=a)
    return True


def _refuse_sequence(a, items, value) -> None:
    """ValueError for anything with axes that is assigned to one element, which integers alone name."""
    if is_number(value) or len(items) != a.ndim or a.dtype.names or not all(map(_is_integer, items)):
        return
    if np.ndim(value):
        raise ValueError(
            f"setting an array element with a sequence: the value has the shape {np.shape(value)}. Assign "
            "value[0], or assign to a view, a[0, ...] = value"
        )


@takes_arrays
def setitem(a, index, value) -> None:
    """a[index] = value."""
    if isinstance(index, str):
        return assign(a[index], value)
    items = index if isinstance(index, tuple) else (index,)
    if not any(_is_array_item(item) for item in items):
        view = a[index]
        _refuse_sequence(a, items, value)
        assign(view, value)
    elif not _assign_masked(a, index, value):
        check_writable(a)
        target = resolve(a, index, write=True)
        values = values_for(value, a, target.shape, refusal=_REFUSAL)
        indexed_copy(target.view, target.positions, target.axes(values), values, True)


def _is_integer(item) -> bool:
    return isinstance(item, int | np.integer) and not isinstance(item, bool)


def _is_array_item(item) -> bool:
    return not (item is None or item is Ellipsis or isinstance(item, slice) or _is_integer(item))
