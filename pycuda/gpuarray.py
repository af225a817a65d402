"""Arrays on the device, used as NumPy's are."""

from __future__ import annotations

import builtins
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

import pycuda.driver as drv
from pycuda._array.editing import repeats
from pycuda._array.indexing import mask
from pycuda._array.math import elementwise as _elementwise
from pycuda._array.reduction import reductions, scans
from pycuda._array.shape import joining
from pycuda._array.sorting import sorting
from pycuda._driver import _empty_like, _GPUArrayBase, _packed_strides, _register_array_class
from pycuda._driver import _to_gpu as to_gpu
from pycuda._driver import _to_gpu_async as to_gpu_async
from pycuda._public import name_public_module as _name_public_module
from pycuda.compyte.array import ArrayFlags, get_common_dtype
from pycuda.tools import get_or_register_dtype

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Array, Shape, Stream

__all__ = [
    "ArrayFlags",
    "GPUArray",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "bincount",
    "broadcast_to",
    "clip",
    "compress",
    "concatenate",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "dot",
    "empty",
    "empty_like",
    "extract",
    "eye",
    "flatnonzero",
    "flip",
    "from_dlpack",
    "full",
    "full_like",
    "get_common_dtype",
    "get_or_register_dtype",
    "histogram",
    "hstack",
    "identity",
    "if_positive",
    "lexsort",
    "linspace",
    "logical_and",
    "logical_not",
    "logical_or",
    "matmul",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "multi_put",
    "multi_take",
    "multi_take_put",
    "nonzero",
    "ones",
    "ones_like",
    "partition",
    "prod",
    "put",
    "repeat",
    "reshape",
    "roll",
    "round",
    "searchsorted",
    "sort",
    "sort_by_key",
    "splay",
    "split",
    "stack",
    "std",
    "subset_dot",
    "subset_max",
    "subset_min",
    "subset_sum",
    "sum",
    "take",
    "take_along_axis",
    "tile",
    "to_gpu",
    "to_gpu_async",
    "topk",
    "transpose",
    "tri",
    "tril",
    "triu",
    "unique",
    "var",
    "vec",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]


def __dir__() -> list[str]:
    return __all__


@_register_array_class
class GPUArray(_GPUArrayBase):
    """An array in device memory.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype-like
    allocator : callable, memory pool or memory resource
        Asked for the bytes where there is no gpudata; None is the default pool
        (pycuda.tools.default_memory_pool). A resource is as for ExternalMemoryPool.
    base : object
        Kept alive.
    gpudata : device address
        The memory.
    strides : sequence of int
        Bytes; None is packed in the order given.
    order : {"C", "F"}

    Raises
    ------
    ValueError
        A bad shape or order.
    """

    # One axis, several as a tuple, or all of them (None); out= is cast to.
    sum, prod = reductions.sum, reductions.prod
    max, min = reductions.max, reductions.min
    any, all = reductions.any, reductions.all
    mean, var, std = reductions.mean, reductions.var, reductions.std
    argmax, argmin = reductions.argmax, reductions.argmin
    cumsum, cumprod = scans.cumsum, scans.cumprod

    nonzero, repeat, flatten = mask.nonzero, repeats.repeat, joining.flatten
    argsort, argpartition, searchsorted = sorting.argsort, sorting.argpartition, sorting.searchsorted
    clip, round = _elementwise.clip, _elementwise.round


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


class _VectorTypes(type):
    def __getattr__(cls, name: str) -> Any:
        raise AttributeError(f"CUDA has no vector type for {name}")


class vec(metaclass=_VectorTypes):
    """CUDA's vector types as structured dtypes (vec.float4), and what makes a value of each
    (vec.make_float4(x, y, z, w)).
    """


def _create_vector_types() -> None:
    for name, scalar in _VECTOR_SCALARS.items():
        for count in range(1, 5):
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
        blocks = builtins.min(warps, limit)
        return (blocks, 1), (builtins.min(threads, -(-warps // blocks) * 32), 1, 1)
    return (limit, 1), (threads, 1, 1)


def splay(n: int, dev: drv.Device | None = None) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """splay(n, dev=None) -> ((blocks, 1), (threads, 1, 1)): a launch shape for a loop over n items."""
    dev = drv.Context.get_device() if dev is None else dev
    return _splay(int(n), dev.get_attribute(drv.device_attribute.MULTIPROCESSOR_COUNT))


# ---- creation

empty = GPUArray


def _compact_strides(ary):
    """Strides of a packed array with the axis order of ary."""
    return _packed_strides(ary.shape, ary.dtype.itemsize, ary.strides)


def zeros(
    shape: Shape,
    dtype: DTypeLike = np.float64,
    allocator: Allocator = None,
    order: str = "C",
    *,
    stream: Stream = None,
) -> GPUArray:
    """zeros(shape, dtype=float64, allocator=None, order="C", *, stream=None) -> GPUArray of zeros."""
    return _zeroed(GPUArray(shape, dtype, allocator, order=order))


def _zeroed(result):
    if result.nbytes:
        # Not queued where it need not be: that would keep unpooled memory until the stream is idle.
        if drv.current_stream() is None:
            drv.memset_d8(result.gpudata, 0, result.nbytes)
        else:
            drv.memset_d8_async(result.gpudata, 0, result.nbytes)
    return result


def empty_like(
    other_ary: Array, dtype: DTypeLike | None = None, order: str = "K", *, stream: Stream = None
) -> GPUArray:
    """empty_like(other_ary, dtype=None, order="K", *, stream=None) -> GPUArray of the same shape, unset, for
    work on the stream. order "K" and "A" keep the other's axis order.
    """
    if isinstance(other_ary, GPUArray):
        return _empty_like(other_ary, dtype, order, stream)
    other: Any = other_ary  # anything with strides, shape and dtype
    dtype = np.dtype(other.dtype if dtype is None else dtype)
    allocator = getattr(other, "allocator", None)
    if order in ("C", "F"):
        return GPUArray(other.shape, dtype, allocator, order=order)
    if order not in ("K", "A"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    strides = _packed_strides(other.shape, dtype.itemsize, other.strides)
    return GPUArray(other.shape, dtype, allocator, strides=strides)


def zeros_like(
    other_ary: Array, dtype: DTypeLike | None = None, order: str = "K", *, stream: Stream = None
) -> GPUArray:
    """zeros_like(other_ary, dtype=None, order="K", *, stream=None) -> GPUArray of this shape, of zeros."""
    return _zeroed(empty_like(other_ary, dtype, order))


# ---- names that programs written for PyCUDA use, though it does not document them

_splay_backend = splay


def _get_common_dtype(obj1, obj2):
    return get_common_dtype(obj1, obj2, True)


def _memcpy_discontig(dst, src, async_=False, stream=None):
    """Copy between arrays of one shape and dtype, of which one at least is a GPUArray."""
    if isinstance(dst, GPUArray):
        dst.set(src, async_, stream)
    else:
        src.get(dst, async_=async_, stream=stream)


# ---- functions whose bodies are in pycuda._array

# ruff: noqa: E402, F401
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.creation import (
    arange,
    eye,
    full,
    full_like,
    identity,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tri,
    tril,
    triu,
)  # fmt: skip
from pycuda._array.editing.repeats import repeat, tile
from pycuda._array.indexing.mask import nonzero
from pycuda._array.indexing.take_put import put, take_along_axis
from pycuda._array.indexing.where import if_positive, where
from pycuda._array.interop.dask import register_beside_dask as _register_beside_dask
from pycuda._array.interop.interchange import from_dlpack
from pycuda._array.interop.interchange import taking_arrays as _taking_arrays
from pycuda._array.linear.matmul import matmul
from pycuda._array.math.elementwise import clip, logical_and, logical_not, logical_or, maximum, minimum, round
from pycuda._array.pycuda_api.facade_indexing import multi_put, multi_take, multi_take_put, take
from pycuda._array.pycuda_api.facade_reductions import (
    all,
    any,
    dot,
    max,
    min,
    subset_dot,
    subset_max,
    subset_min,
    subset_sum,
    sum,
)  # fmt: skip
from pycuda._array.reduction.reductions import argmax, argmin, count_nonzero, mean, prod, std, var
from pycuda._array.reduction.scans import cumprod, cumsum
from pycuda._array.shape.joining import (
    concatenate,
    flip,
    hstack,
    reshape,
    roll,
    split,
    stack,
    transpose,
    vstack,
)
from pycuda._array.sorting.facade_sorting import (
    compress,
    extract,
    flatnonzero,
    lexsort,
    partition,
    sort,
    sort_by_key,
    topk,
)  # fmt: skip
from pycuda._array.sorting.sorting import argpartition, argsort, searchsorted
from pycuda._array.sorting.unique import unique
from pycuda._array.statistics.bincount import bincount
from pycuda._array.statistics.histogram import histogram

_taking_arrays(globals())
_name_public_module(globals())
_register_beside_dask()
