"""Tensor maps for tests: the driver's functions by ctypes, and what copies by them give, by NumPy."""

import ctypes
import functools

import numpy as np

import pycuda.driver as drv

TYPES = {
    "u1": 0, "u2": 1, "u4": 2, "i4": 3, "u8": 4, "i8": 5, "f2": 6, "f4": 7, "f8": 8, "bf16": 9,
    "f4 ftz": 10, "tf32": 11, "tf32 ftz": 12, "16u4 align8": 13,
}  # fmt: skip
# bfloat16 and the rest are bits here.
DTYPES = {"bf16": "u2", "f4 ftz": "f4", "tf32": "f4", "tf32 ftz": "f4", "16u4 align8": "u1"}


def library():
    """The driver that pycuda uses."""
    drv.init()
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "/libcuda.so" in line))


class Refused(Exception):
    """The driver's error code."""


def checked(code):
    if code:
        raise Refused(code)


def room():
    """The 128 bytes of a map, where the driver wants them."""
    bytes_ = np.zeros(128 + 64, np.uint8)
    return bytes_[-bytes_.ctypes.data % 64 :][:128]


def encode(address, kind, shape, box, *, steps=None, strides=None, swizzle=0, fill=0, interleave=0,
           promotion=0, rank=None):  # fmt: skip
    """The map of an array of this shape, the outermost dimension first, as NumPy has it; strides (bytes) for
    all dimensions but the innermost."""
    size = np.dtype(DTYPES.get(kind, kind)).itemsize
    if strides is None:
        strides = [size * int(np.prod(shape[d:])) for d in range(1, len(shape))]
    steps = steps or [1] * len(shape)
    made = room()

    def words(values, kind):
        return np.array([*values][::-1] or [0], kind).ctypes

    held = [words(shape, "u8"), words(strides, "u8"), words(box, "u4"), words(steps, "u4")]
    checked(
        library().cuTensorMapEncodeTiled(
            ctypes.c_void_p(made.ctypes.data),
            TYPES[kind],
            rank or len(shape),
            ctypes.c_void_p(int(address)),
            *(ctypes.c_void_p(words.data) for words in held),
            interleave,
            swizzle,
            promotion,
            fill,
        )  # fmt: skip
    )
    return made


def places(shape, corner, box, steps):
    """The index of each element of a box in each dimension, and whether it is within the array."""
    along = [first + np.arange(0, n, step) for first, n, step in zip(corner, box, steps, strict=True)]
    within = [(i >= 0) & (i < size) for i, size in zip(along, shape, strict=True)]
    return along, within


def box_of(array, corner, box, steps=None, fill=0):
    """What a load gives."""
    along, within = places(array.shape, corner, box, steps or [1] * array.ndim)
    clipped = [i.clip(0, size - 1) for i, size in zip(along, array.shape, strict=True)]
    inside = functools.reduce(np.logical_and.outer, within)
    return np.where(inside, array[np.ix_(*clipped)], array.dtype.type(fill))


def with_box(array, values, corner, box, steps=None, combine=lambda old, new: new):
    """What a store leaves."""
    along, within = places(array.shape, corner, box, steps or [1] * array.ndim)
    there = np.ix_(*(i[ok] for i, ok in zip(along, within, strict=True)))
    out = array.copy()
    out[there] = combine(out[there], values[np.ix_(*within)])
    return out


def swizzled(tile, mode):
    """The bytes of a tile in shared memory: of 8 lines of 128 bytes each, chunks of 16 bytes change their
    places within 32, 64 or 128 bytes (modes 1 to 3)."""
    data = np.frombuffer(tile.tobytes(), np.uint8)
    padded = np.zeros(-(-len(data) // 1024) * 1024, np.uint8)
    padded[: len(data)] = data
    lines = padded.reshape(-1, 8, 8, 16)
    out = np.zeros_like(lines)
    for line in range(8):
        for chunk in range(8):
            out[:, line, chunk ^ (line & (1 << mode) - 1)] = lines[:, line, chunk]
    return out.ravel()
