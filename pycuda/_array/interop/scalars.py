"""Elements as Python's numbers, pickling and copying."""

from __future__ import annotations

import operator


def item(array, *args):
    """GPUArray.item."""
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


def tolist(array):
    """GPUArray.tolist."""
    return array.get().tolist()


def tobytes(array, order="C"):
    """GPUArray.tobytes."""
    return array.get().tobytes(order)


def contains(array, value):
    """value in array"""
    equal = array == value
    return bool(equal.any()) if isinstance(equal, type(array)) else bool(equal)


def __format__(array, format_spec):
    """A number as its format says, for a 0-d array."""
    if array.ndim == 0:
        return format(array.get().item(), format_spec)
    return object.__format__(array, format_spec)


def __bytes__(array):
    """GPUArray.__bytes__: without it bytes() would take the elements for those of the result."""
    return array.get().tobytes()


# ---- pickling and copying


def _attributes(array):
    """What users put into the array's __dict__; None for nothing."""
    return vars(array).copy() or None


def _as_class(array, cls):
    """The array as one of a subclass, which is made like those of results."""
    if cls is type(array):
        return array
    made = cls(array.shape, array.dtype, allocator=array.allocator, strides=array.strides)
    made[...] = array
    return made


def _unpickled(host, cls=None):
    from pycuda.gpuarray import to_gpu

    array = to_gpu(host)
    return _as_class(array, cls or type(array))


def __reduce_ex__(array, protocol):
    """With protocol 5 the elements may travel out of band: NumPy sees to that."""
    from pycuda.gpuarray import GPUArray

    cls = () if type(array) is GPUArray else (type(array),)
    return _unpickled, (array.get(), *cls), _attributes(array)


def __copy__(array):
    result = _as_class(array.copy(), type(array))
    vars(result).update(vars(array))
    return result


def __deepcopy__(array, memo):
    import copy

    result = memo[id(array)] = _as_class(array.copy(), type(array))
    vars(result).update(copy.deepcopy(vars(array), memo))
    return result


def __complex__(array):
    return complex(item(array))
