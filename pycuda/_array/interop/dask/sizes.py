"""How many bytes dask counts for a GPUArray. dask loads this module by an entry point when dask itself is
imported, before pycuda may be: it imports nothing."""

from __future__ import annotations


def distinct(array):
    """The array without the repetitions that strides of 0 are."""
    if 0 not in array.strides or not array.size:
        return array
    return array[tuple(slice(1) if stride == 0 else slice(None) for stride in array.strides)]


def nbytes(array) -> int:
    """The bytes of the elements, those that are repeated by a stride of 0 once."""
    return int(distinct(array).nbytes)


def register_sizeof(sizeof) -> None:
    """What the entry point in the group dask.sizeof is: `sizeof` is dask's table."""

    @sizeof.register_lazy("pycuda")
    def register_gpuarray():
        from pycuda import _driver
        from pycuda._array.interop.dask.registration import register_if_dask_is_loaded

        sizeof.register(_driver.GPUArray, nbytes)
        register_if_dask_is_loaded()
