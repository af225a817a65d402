"""Arrays on the device, used as NumPy's are."""

from __future__ import annotations

import functools

import numpy as np

import pycuda.driver as drv
from pycuda import _later
from pycuda._driver import GPUArray
from pycuda._driver import _to_gpu as to_gpu  # noqa: F401
from pycuda._driver import _to_gpu_async as to_gpu_async  # noqa: F401
from pycuda.compyte.array import ArrayFlags, get_common_dtype  # noqa: F401
from pycuda.tools import get_or_register_dtype

__getattr__ = _later.getter(__name__)

# ---- vector types


def _vector_maker(dtype, fields):
    """make_float3(x, y, z) -> 0-d array: missing fields are 0."""

    def make(*values):
        if len(values) > len(fields):
            raise TypeError(f"at most {len(fields)} values, not {len(values)}")
        return np.array(tuple(values) + (0,) * (len(fields) - len(values)), dtype=dtype)

    return make


_VECTOR_SCALARS = {
    "char": np.int8,
    "uchar": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "long": np.int_,
    "ulong": np.uint,
    "float": np.float32,
    "longlong": np.int64,
    "ulonglong": np.uint64,
    "double": np.float64,
}


class vec:
    """CUDA's vector types as structured dtypes (vec.float4), and what makes a value of each
    (vec.make_float4(x, y, z, w)).
    """


def _create_vector_types() -> None:
    for name, scalar in _VECTOR_SCALARS.items():
        widest = 2 if name in ("longlong", "ulonglong", "double") else 4
        for count in range(1, widest + 1):
            fields = "xyzw"[:count]
            dtype = np.dtype([(field, scalar) for field in fields])
            get_or_register_dtype(f"{name}{count}", dtype)
            make = _vector_maker(dtype, fields)
            make.__name__ = f"make_{name}{count}"
            make.__doc__ = f"A value of vec.{name}{count}; fields that are not given are 0."
            setattr(vec, f"{name}{count}", dtype)
            setattr(vec, make.__name__, staticmethod(make))


_create_vector_types()


# ---- launch shapes


@functools.cache
def _splay(n: int, multiprocessors: int):
    """(grid, block) for n independent items: at most 8 blocks of 128 threads to a multiprocessor, warps of 32
    while n is small.
    """
    threads, limit = 128, 8 * multiprocessors
    if n < 32:
        return (1, 1), (32, 1, 1)
    if n < limit * threads:
        # Few items: as many blocks as can have a warp each, then wider blocks.
        warps = -(-n // 32)
        blocks = min(warps, limit)
        return (blocks, 1), (min(threads, -(-warps // blocks) * 32), 1, 1)
    return (limit, 1), (threads, 1, 1)


def splay(n, dev=None):
    """splay(n, dev=None) -> ((blocks, 1), (threads, 1, 1)): a launch shape for a loop over n items."""
    dev = drv.Context.get_device() if dev is None else dev
    return _splay(int(n), dev.get_attribute(drv.device_attribute.MULTIPROCESSOR_COUNT))


# ---- creation

empty = GPUArray


def _order_strides(ary):
    """Strides of a packed array with the axis order of ary."""
    strides, stride = [0] * ary.ndim, ary.dtype.itemsize
    # Equal strides keep C order: the last axis is the innermost.
    for axis in sorted(reversed(range(ary.ndim)), key=lambda axis: abs(ary.strides[axis])):
        strides[axis] = stride
        stride *= max(ary.shape[axis], 1)
    return tuple(strides)


def zeros(shape, dtype=np.float64, allocator=drv.mem_alloc, order="C"):
    """zeros(shape, dtype=float64, allocator=pycuda.driver.mem_alloc, order="C") -> GPUArray of zeros."""
    return _zeroed(GPUArray(shape, dtype, allocator, order=order))


def _zeroed(result):
    if result.nbytes:
        drv.memset_d8(result.gpudata, 0, result.nbytes)
    return result


def empty_like(other_ary, dtype=None, order="K"):
    """empty_like(other_ary, dtype=None, order="K") -> GPUArray of the same shape, unset. order "K" and "A"
    keep the other's axis order.
    """
    dtype = np.dtype(other_ary.dtype if dtype is None else dtype)
    allocator = getattr(other_ary, "allocator", None) or drv.mem_alloc
    if order in ("C", "F"):
        return GPUArray(other_ary.shape, dtype, allocator, order=order)
    if order not in ("K", "A"):
        raise ValueError(f"order is {order!r}: it may be C, F, A or K")
    strides = tuple(
        stride // other_ary.dtype.itemsize * dtype.itemsize for stride in _order_strides(other_ary)
    )
    return GPUArray(other_ary.shape, dtype, allocator, strides=strides)


def zeros_like(other_ary, dtype=None, order="K"):
    """zeros_like(other_ary, dtype=None, order="K") -> GPUArray of the same shape, of zeros."""
    return _zeroed(empty_like(other_ary, dtype, order))


# ---- textures


def _bind(array, texref, allow_offset):
    if not array.flags.forc:
        raise ValueError("a texture reads contiguous memory: the array has gaps or another order")
    return texref.set_address(array, array.nbytes, allow_offset=allow_offset) / array.dtype.itemsize


def bind_to_texref(self, texref, allow_offset=False):
    """bind_to_texref(texref, allow_offset=False) -> float: the texture reads this array as linear memory
    (tex1Dfetch). The result is the offset of the first element, 0 unless allow_offset lets an array begin
    anywhere. The texture's format is left as it is. ValueError for an array that is not contiguous.
    """
    return _bind(self, texref, allow_offset)


# dtypes that textures do not have: format, channels, which permission reading them takes.
_HELD_AS = {
    np.dtype(np.float64): (drv.array_format.SIGNED_INT32, 2, "allow_double_hack"),
    np.dtype(np.complex64): (drv.array_format.UNSIGNED_INT32, 2, "allow_complex_hack"),
    np.dtype(np.complex128): (drv.array_format.SIGNED_INT32, 4, "allow_complex_hack"),
}


def bind_to_texref_ext(
    self, texref, channels=1, allow_double_hack=False, allow_complex_hack=False, allow_offset=False
):
    """bind_to_texref_ext(texref, channels=1, allow_double_hack=False, allow_complex_hack=False,
    allow_offset=False) -> float: bind_to_texref, and the texture takes the array's dtype with so many
    channels as its format; integers are read as such. With allow_double_hack and allow_complex_hack float64
    and complex arrays are held as integers, for the fp_tex functions of pycuda-helpers.hpp; they have one
    channel (ValueError). TypeError for other dtypes.
    """
    held = _HELD_AS.get(self.dtype)
    allowed = {"allow_double_hack": allow_double_hack, "allow_complex_hack": allow_complex_hack}
    if channels not in (1, 2, 4):
        raise ValueError(f"textures have 1, 2 or 4 channels, not {channels}")
    if held and allowed[held[2]]:
        if channels != 1:
            raise ValueError(f"a texture of {self.dtype} has one channel, not {channels}")
        array_format, channels, as_integer = held[0], held[1], True
    else:
        array_format, as_integer = drv.dtype_to_array_format(self.dtype), self.dtype.kind in "iu"
    offset = _bind(self, texref, allow_offset)
    texref.set_format(array_format, channels)
    if as_integer:
        texref.set_flags(texref.get_flags() | drv.TRSF_READ_AS_INTEGER)
    return offset


GPUArray.bind_to_texref = bind_to_texref  # type: ignore[method-assign]
GPUArray.bind_to_texref_ext = bind_to_texref_ext  # type: ignore[method-assign]
del bind_to_texref, bind_to_texref_ext
