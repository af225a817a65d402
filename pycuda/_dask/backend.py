"""What `dask.config.set({"array.backend": "pycuda"})` selects: the entry point in the group
dask.array.backends. dask loads it by name; nothing in pycuda imports it."""

from __future__ import annotations

import numpy as np
from dask import config
from dask.array.backends import ArrayBackendEntrypoint

from pycuda import _driver
from pycuda._array.interop.dask.registration import register_if_dask_is_loaded
from pycuda._dask import random


def _empty_array():
    """What dask calls meta: an array without elements, of the class of the chunks."""
    return _driver.GPUArray((0,), np.float64)


def _created(function, /, *args, **kwargs):
    """dask's function of that name, with chunks of the class of `meta`, by default GPUArrays."""
    import dask.array as da

    if kwargs.get("meta") is None:
        kwargs["meta"] = _empty_array()
    with config.set({"array.backend": "numpy"}):  # what dask implements
        return getattr(da, function)(*args, **kwargs)


def on_device(chunk):
    """A chunk as a GPUArray: one of NumPy's is copied, one on the device shares its memory."""
    from pycuda._array.numpy_api.likes import asarray

    return asarray(chunk)


class ArrayBackend(ArrayBackendEntrypoint):
    """Creates dask arrays whose chunks are GPUArrays."""

    def __init__(self):
        register_if_dask_is_loaded()

    @classmethod
    def to_backend_dispatch(cls):
        return on_device

    @classmethod
    def to_backend(cls, data, **kwargs):
        """data.to_backend("pycuda")"""
        if isinstance(data._meta, _driver.GPUArray):
            return data
        return data.map_blocks(on_device, **kwargs)

    @property
    def RandomState(self):
        return random.RandomState

    @property
    def default_bit_generator(self):
        return random.BitGenerator

    @staticmethod
    def ones(*args, **kwargs):
        return _created("ones", *args, **kwargs)

    @staticmethod
    def zeros(*args, **kwargs):
        return _created("zeros", *args, **kwargs)

    @staticmethod
    def empty(*args, **kwargs):
        return _created("empty", *args, **kwargs)

    @staticmethod
    def full(*args, **kwargs):
        return _created("full", *args, **kwargs)

    @staticmethod
    def arange(*args, like=None, **kwargs):
        import dask.array as da

        with config.set({"array.backend": "numpy"}):
            return da.arange(*args, like=_empty_array() if like is None else like, **kwargs)
