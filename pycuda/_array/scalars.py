"""Elements as Python's numbers, pickling and copying."""

from __future__ import annotations


def item(array, *args):
    """GPUArray.item."""
    if not args and array.size != 1:
        raise ValueError(f"item() takes an index: the array has {array.size} elements")
    if not args:
        return array.get().item()
    index = args[0] if len(args) == 1 else args
    if isinstance(index, tuple):
        if len(index) != array.ndim:
            raise ValueError(f"item() takes an index of {array.ndim} numbers, not {len(index)}")
        return array[index].get().item()
    flat = range(array.size)[index]
    position = []
    for length in reversed(array.shape):
        flat, at = divmod(flat, length)
        position.append(at)
    return array[tuple(reversed(position))].get().item()


def tolist(array):
    """GPUArray.tolist."""
    return array.get().tolist()


def _unpickled(host):
    from pycuda.gpuarray import to_gpu

    return to_gpu(host)


def __reduce__(array):
    return _unpickled, (array.get(),)


def __copy__(array):
    return array.copy()


def __deepcopy__(array, memo):
    return array.copy()


def __complex__(array):
    return complex(item(array))
