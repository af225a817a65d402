"""How distributed sends GPUArrays and writes them to disk: through host memory, or, where the connection
takes memory of the device (UCX), as they are.

A message is a header, of which msgpack can make bytes, and frames. The frame is the array's memory: in C or
Fortran order it is as it was, elements that a stride of 0 repeats are in it once.
"""

from __future__ import annotations

import pickle

import numpy as np

from pycuda import _driver
from pycuda._array.interop.dask.sizes import distinct
from pycuda._array.interop.host_copies import host_copy


def _packed(array):
    """(header, array): the array, or a copy of it, whose elements follow each other in memory."""
    if type(array) is not _driver.GPUArray or vars(array):
        raise NotImplementedError("a class or attributes of a user's: pickle takes them")
    packed = distinct(array)
    if not (packed.flags.c_contiguous or packed.flags.f_contiguous):
        packed = packed.copy(order="C")
    return {
        "dtype": pickle.dumps(packed.dtype),
        "shape": packed.shape,
        "order": "C" if packed.flags.c_contiguous else "F",
        "repeated": None if packed.shape == array.shape else array.shape,
    }, packed


def _unpacked(header, array):
    """The array that was sent: repeated as it was."""
    if header["repeated"] is None:
        return array
    return np.broadcast_to(array, tuple(header["repeated"]))


def to_host(array):
    """dask_serialize: (header, frames in host memory)"""
    header, packed = _packed(array)
    host = host_copy(packed)
    return header, [memoryview(host.reshape(-1, order=header["order"]).view(np.uint8))]


def from_host(header, frames):
    """dask_deserialize: a GPUArray of frames in host memory"""
    dtype = pickle.loads(header["dtype"])
    frame = frames[0] if len(frames) == 1 else b"".join(frames)
    flat = np.frombuffer(frame, np.uint8).view(dtype)
    return _unpacked(header, _driver._to_gpu(flat.reshape(tuple(header["shape"]), order=header["order"])))


def to_device_frames(array):
    """cuda_serialize: (header, frames in the device's memory), which hold what was queued for them."""
    header, packed = _packed(array)
    frame = _driver.GPUArray(packed.nbytes, np.uint8, gpudata=packed.gpudata, base=packed)
    _driver.Context.synchronize()  # the sender waits for no stream
    return header, [frame]


def from_device_frames(header, frames):
    """cuda_deserialize: a GPUArray in the memory of the frame, an array of bytes of any library"""
    (frame,) = frames
    (memory,) = _driver._views((frame,), None)
    array = _driver.GPUArray(
        tuple(header["shape"]),
        pickle.loads(header["dtype"]),
        gpudata=memory.gpudata,
        base=memory,
        order=header["order"],
    )
    return _unpacked(header, array)


def register_transport() -> None:
    """Put GPUArray into distributed's tables."""
    from distributed.protocol.cuda import cuda_deserialize, cuda_serialize
    from distributed.protocol.serialize import dask_deserialize, dask_serialize

    dask_serialize.register(_driver.GPUArray, to_host)
    dask_deserialize.register(_driver.GPUArray, from_host)
    cuda_serialize.register(_driver.GPUArray, to_device_frames)
    cuda_deserialize.register(_driver.GPUArray, from_device_frames)
