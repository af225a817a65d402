"""Elements as Python's numbers, pickling and copying: what the methods of GPUArray do."""

from __future__ import annotations

import operator

from pycuda import _driver
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.interop.dask.registration import register_if_dask_is_loaded
from pycuda._array.interop.host_copies import host_copy


def item(array, *args):
    """array.item(*args)"""
    if not args and array.size != 1:
        raise ValueError(
            f"can only convert an array of size 1 to a Python scalar: this one has size {array.size}"
        )
    if not args:
        return array.get().item()
    index = args[0] if len(args) == 1 else args
    if isinstance(index, tuple):
        if len(index) != array.ndim:
            raise ValueError(
                f"incorrect number of indices for array: item() of {array.ndim} dimensions, not "
                f"{len(index)}"
            )
        return array[index].get().item()
    index = operator.index(index)
    if not -array.size <= index < array.size:
        raise IndexError(f"index {index} is out of bounds for axis 0 with size {array.size}")
    flat = index % array.size
    position = []
    for length in reversed(array.shape):
        flat, at = divmod(flat, length)
        position.append(at)
    return array[tuple(reversed(position))].get().item()


@takes_arrays
def contains(array, value):
    """value in array"""
    equal = array == value
    return bool(equal.any()) if isinstance(equal, type(array)) else bool(equal)


# ---- pickling and copying


def _user_attributes(array):
    """The attributes that users have set on the array; None if there are none."""
    return vars(array).copy() or None


def _as_class(array, cls):
    """The array itself if it is of this class, otherwise a copy as an array of the class."""
    if cls is type(array):
        return array
    made = cls(array.shape, array.dtype, allocator=array.allocator, strides=array.strides)
    made[...] = array
    return made


def _unpickled(host, cls=None):
    array = _driver._to_gpu(host)
    return _as_class(array, cls or type(array))


def reduced(array):
    """array.__reduce_ex__(). With protocol 5 the elements may travel out of band: NumPy sees to that."""
    register_if_dask_is_loaded()  # distributed pickles what is not registered yet
    cls = () if type(array) is _driver.GPUArray else (type(array),)
    return _unpickled, (host_copy(array), *cls), _user_attributes(array)


def copied(array):
    """copy.copy(array)"""
    result = _as_class(array.copy(), type(array))
    vars(result).update(vars(array))
    return result


def deep_copied(array, memo):
    """copy.deepcopy(array, memo)"""
    import copy

    result = memo[id(array)] = _as_class(array.copy(), type(array))
    vars(result).update(copy.deepcopy(vars(array), memo))
    return result
