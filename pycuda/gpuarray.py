"""Arrays on the device, used as NumPy's are."""

from __future__ import annotations

import builtins
import functools
import importlib
from types import GenericAlias as _GenericAlias
from typing import TYPE_CHECKING, Any
from typing import overload as _overload

import numpy as np

import pycuda.driver as drv
from pycuda._array.core import decorators
from pycuda._array.editing import repeats
from pycuda._array.indexing import mask, take_put
from pycuda._array.indexing.where import choose as _choose
from pycuda._array.interop.dask import registration
from pycuda._array.math import elementwise as _elementwise
from pycuda._array.numpy_api import protocols
from pycuda._array.reduction import reductions, scans
from pycuda._array.shape import joining, views
from pycuda._array.sorting import sorting
from pycuda._base.public_names import name_public_module as _name_public_module
from pycuda._driver import _empty_like, _GPUArrayBase, _packed_strides, _register_array_class
from pycuda._driver import _to_gpu as to_gpu
from pycuda._driver import _to_gpu_async as to_gpu_async
from pycuda.compyte.array import ArrayFlags, get_common_dtype
from pycuda.tools import get_or_register_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Literal

    from numpy.typing import DTypeLike, NDArray

    from pycuda._array.core.types import (
        Allocator,
        Array,
        HostOrDevice,
        Inexact,
        Operand,
        Scalar,
        Shape,
        Stream,
    )
    from pycuda._array.sorting.greatest import topk
    from pycuda._array.sorting.unique import unique
    from pycuda._array.statistics.bincount import bincount
    from pycuda._array.statistics.histogram import histogram

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
        Allocates the memory unless gpudata is given. The default is the default pool
        (pycuda.tools.default_memory_pool). See ExternalMemoryPool about memory resources.
    base : object
        The owner of the memory, kept alive as long as the array.
    gpudata : device address
        The memory of the array.
    strides : sequence of int
        In bytes. By default the array is contiguous in the given order.
    order : {"C", "F"}

    Raises
    ------
    ValueError
        The shape or the order is invalid.
    """

    # GPUArray[np.float32] in annotations: the type of the elements.
    __class_getitem__ = classmethod(_GenericAlias)

    # Over one axis, a tuple of axes, or all of them (None). Results are cast to the dtype of out=.
    sum, prod = reductions.sum, reductions.prod
    max, min = reductions.max, reductions.min
    any, all = reductions.any, reductions.all
    mean, var, std = reductions.mean, reductions.var, reductions.std
    argmax, argmin = reductions.argmax, reductions.argmin
    cumsum, cumprod = scans.cumsum, scans.cumprod

    take, put, choose, nonzero = take_put.take, take_put.put, _choose, mask.nonzero
    swapaxes, flatten, repeat = views.swapaxes, joining.flatten, repeats.repeat
    argsort, argpartition, searchsorted = sorting.argsort, sorting.argpartition, sorting.searchsorted
    astype, fill, reverse = _elementwise.astype, _elementwise.fill, _elementwise.reverse
    clip, round, mul_add = _elementwise.clip, _elementwise.round, _elementwise.mul_add
    conj = conjugate = _elementwise.conj

    _axpbyz, _axpbz = _elementwise._axpbyz, _elementwise._axpbz
    _elwise_multiply, _div = _elementwise._elwise_multiply, _elementwise._div
    _new_like_me = _elementwise._new_like_me

    __array_ufunc__, __array_function__ = protocols.__array_ufunc__, protocols.__array_function__

    # Unlike the functions of the same names: other orders of arguments, or in place.

    @decorators.takes_arrays
    def compress(
        self: Array[Scalar],
        condition: HostOrDevice,
        axis: int | None = None,
        out: Array | None = None,
        *,
        stream: Stream = None,
    ) -> GPUArray[Scalar]:
        """The elements along an axis where the condition is true, as numpy.compress.

        Parameters
        ----------
        condition : GPUArray or array of bool
        axis : int, optional
            The flattened array by default.
        out : GPUArray, optional
            The array for the result.
        stream : Stream, optional
        """
        return take_put.compress(condition, self, axis, out, stream=stream)

    @decorators.writes_array
    def sort(
        self,
        axis: int = -1,
        kind: str | None = None,
        order: None = None,
        *,
        stable: bool | None = None,
        descending: bool | None = None,
        stream: Stream = None,
    ) -> None:
        """Sort in place along an axis, as numpy.ndarray.sort: NaNs last, equal elements stay in order.

        Parameters
        ----------
        axis : int, optional
        kind : {"quicksort", "heapsort", "mergesort", "stable"}, optional
            The result is the same for all.
        order : None
            There are no fields.
        stable, descending : bool, optional
        stream : Stream, optional
        """
        sorting.sort_in_place(self, axis, kind, order, stable, descending, stream)

    @decorators.writes_array
    def partition(
        self,
        kth: int | Sequence[int],
        axis: int = -1,
        kind: str = "introselect",
        order: None = None,
        *,
        stream: Stream = None,
    ) -> None:
        """Bring element kth where sorting would, as numpy.ndarray.partition. The array is sorted.

        Parameters
        ----------
        kth : int or sequence of int
        axis : int, optional
        kind : {"introselect"}, optional
        order : None
            There are no fields.
        stream : Stream, optional
        """
        sorting.partition_in_place(self, kth, axis, kind, order, stream)

    # Modules that few programs need are imported at the first call.

    @decorators.takes_arrays
    def dot(self: Array[Scalar], b: Operand | Array[Scalar], out: Array | None = None) -> GPUArray[Scalar]:
        """Sums of products over the last axis of this array and the last but one, or only one, of the other,
        as numpy.dot.

        Parameters
        ----------
        b : GPUArray or number
        out : GPUArray, optional
            The array for the result.
        """
        from pycuda._array.linear import products

        return products.dot(self, b, out)

    @decorators.takes_arrays
    def diagonal(self: Array[Scalar], offset: int = 0, axis1: int = 0, axis2: int = 1) -> GPUArray[Scalar]:
        """A view of the elements whose indices along two axes differ by `offset`; their axis is the last one.

        Parameters
        ----------
        offset : int, optional
        axis1, axis2 : int, optional
        """
        from pycuda._array.linear import diagonals

        return diagonals.diagonal(self, offset, axis1, axis2)

    @decorators.takes_arrays
    def trace(
        self: Array[Inexact],
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
    ) -> GPUArray[Inexact]:
        """The sum of a diagonal, as numpy.trace.

        Parameters
        ----------
        offset : int, optional
        axis1, axis2 : int, optional
        dtype : dtype, optional
            Of the computation and of a new result.
        out : GPUArray, optional
            The array for the result.
        """
        from pycuda._array.linear import diagonals

        return diagonals.trace(self, offset, axis1, axis2, dtype, out)

    def bind_to_texref(self, texref: drv.TextureReference, allow_offset: bool = False) -> float:
        """Let a texture reference read this array as linear memory (tex1Dfetch). Its format stays as it is.

        Parameters
        ----------
        texref : TextureReference
        allow_offset : bool, optional

        Returns
        -------
        float
            Offset of the first element, 0 unless `allow_offset` lets an array begin anywhere.

        Raises
        ------
        ValueError
            For an array that is not contiguous.
        """
        from pycuda._array.interop import textures

        return textures.bind(self, texref, allow_offset)

    def bind_to_texref_ext(
        self,
        texref: drv.TextureReference,
        channels: int = 1,
        allow_double_hack: bool = False,
        allow_complex_hack: bool = False,
        allow_offset: bool = False,
    ) -> float:
        """bind_to_texref, and the texture takes the dtype of the array with so many channels as its format.

        Integers are read as such. With allow_double_hack and allow_complex_hack float64 and complex arrays
        are held as integers, for the fp_tex functions of pycuda-helpers.hpp; they have one channel.

        Parameters
        ----------
        texref : TextureReference
        channels : {1, 2, 4}, optional
        allow_double_hack : bool, optional
        allow_complex_hack : bool, optional
        allow_offset : bool, optional

        Returns
        -------
        float
            Offset of the first element.

        Raises
        ------
        ValueError
            For a number of channels that there is not.
        TypeError
            For other dtypes.
        """
        from pycuda._array.interop import textures

        return textures.bind_with_format(
            self, texref, channels, allow_double_hack, allow_complex_hack, allow_offset
        )

    def item(self, *args: int | tuple[int, ...]) -> Any:
        """One element as a Python number: the only one, or that at an index.

        Parameters
        ----------
        *args : int or tuple of int

        Raises
        ------
        ValueError
            For an array of several elements without an index.
        """
        from pycuda._array.interop import scalars

        return scalars.item(self, *args)

    @property
    def device(self) -> drv.Device:
        """The device whose memory the array is in."""
        return drv.Device(self.__dlpack_device__()[1])

    @_overload
    def to_device(
        self: Array[Scalar], device: drv.Device | drv.Context | int, /, *, stream: Stream = None
    ) -> GPUArray[Scalar]: ...
    @_overload
    def to_device(
        self: Array[Scalar], device: Literal["cpu"], /, *, stream: Stream = None
    ) -> NDArray[Scalar]: ...

    def to_device(
        self, device: drv.Device | drv.Context | int | Literal["cpu"], /, *, stream: Stream = None
    ) -> Any:
        """The array on another device, as the array API standard has it.

        Parameters
        ----------
        device : pycuda.driver.Device, pycuda.driver.Context, int or "cpu"
            A device or its number: the copy is in the current context if that is on this device, else in the
            device's primary context. A context: in that one. Or the host's memory.
        stream : Stream, optional
            One of the result's context has the copy. One of the array's context comes before it, and waits
            for it. By default the current streams; where there is none in the result's context, the copy has
            a stream of its own.

        Returns
        -------
        GPUArray or numpy.ndarray
            The array itself on its own device or in its own context, else a copy: with the same strides if
            there are no gaps between the elements, in the same order of axes otherwise. For "cpu" a copy in
            host memory, as of get(), which is waited for.

        Raises
        ------
        ValueError
            There is no such device.
        LogicError
            The stream is captured.

        Notes
        -----
        Calls cuMemcpyPeerAsync. Nothing is waited for: the copy follows the work on the array, and what is
        queued on the array afterwards follows the copy, as far as it is on the current stream, the default
        stream, or a stream on which the array was used. What uses the result follows the copy. If that has a
        stream of its own, copies in both directions, and to one device from several, are done at the same
        time. Where the devices can access each other's memory, that is enabled for the copy, which does not
        go through the host then.

        Examples
        --------
        >>> import numpy as np
        >>> import pycuda.autoinit
        >>> from pycuda import gpuarray
        >>> a = gpuarray.to_gpu(np.arange(3))
        >>> a.to_device(0) is a
        True
        >>> a.to_device("cpu")
        array([0, 1, 2])
        """
        from pycuda._array.interop import interchange

        return interchange.to_device(self, device, stream)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """pycuda.numpy, which has the functions of the array API standard.

        Parameters
        ----------
        api_version : str, optional
            A version of the standard.

        Raises
        ------
        ValueError
            For a version that pycuda.numpy does not have.
        """
        from pycuda._array.numpy_api import inspection

        return inspection.array_namespace(api_version)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.get().tolist()

    def tobytes(self, order: Literal["C", "F", "A"] = "C") -> bytes:
        """The bytes of the elements, copied to the host.

        Parameters
        ----------
        order : {"C", "F", "A"}, optional
        """
        return self.get().tobytes(order)

    def _repr_html_(self) -> str:
        """Shape, dtype, device and values for notebooks. As many values are copied as str() shows. It does
        not raise when they cannot be read."""
        from pycuda._array.interop import printing

        return printing.to_html(self)

    def __bytes__(self) -> bytes:
        """The bytes of the elements, in C order."""
        return self.get().tobytes()  # without this method bytes(array) would make a byte of each element

    def __complex__(self) -> complex:
        """The only element as a Python number."""
        return complex(self.item())

    def __format__(self, format_spec: str, /) -> str:
        """The value of a 0-d array, formatted."""
        return format(self.item(), format_spec) if self.ndim == 0 else super().__format__(format_spec)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: get() copies an array to the host."""
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed, as it would hide a copy to the host: "
            "array.get() makes one"
        )

    def __reduce_ex__(self, protocol: Any, /) -> Any:
        """Pickled as an array of NumPy."""
        from pycuda._array.interop import scalars

        return scalars.reduced(self)

    def __copy__(self: Array[Scalar]) -> GPUArray[Scalar]:
        """copy(), with the attributes that were set."""
        from pycuda._array.interop import scalars

        return scalars.copied(self)

    def __deepcopy__(self: Array[Scalar], memo: Any) -> GPUArray[Scalar]:
        """copy(), with copies of the attributes that were set."""
        from pycuda._array.interop import scalars

        return scalars.deep_copied(self, memo)

    def __dask_tokenize__(self) -> object:
        """A name for dask: dtype, shape and a hash of the elements, for which pending work is waited for."""
        from pycuda._array.interop.dask import tokens

        return tokens.token(self)


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
    """Adds the dtypes and functions of CUDA's vectors (float2, make_float2, ...) to `vec`."""
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


@decorators.takes_arrays
def zeros(
    shape: Shape,
    dtype: DTypeLike = np.float64,
    allocator: Allocator = None,
    order: str = "C",
    *,
    stream: Stream = None,
) -> GPUArray[np.float64]:
    """zeros(shape, dtype=float64, allocator=None, order="C", *, stream=None) -> GPUArray of zeros."""
    return _set_to_zeros(GPUArray(shape, dtype, allocator, order=order), stream)


def _set_to_zeros(result, stream):
    """The array, set to zeros."""
    if result.nbytes:
        # A queued memset would keep memory that is not of a pool until the stream is idle. For the default
        # stream the memset is therefore not queued by this package, but called directly.
        if stream is None and drv.current_stream() is None:
            drv.memset_d8(result.gpudata, 0, result.nbytes)
        else:
            drv.memset_d8_async(result.gpudata, 0, result.nbytes, stream)
    return result


@decorators.takes_arrays
def empty_like(
    other_ary: Array[Scalar], dtype: DTypeLike | None = None, order: str = "K", *, stream: Stream = None
) -> GPUArray[Scalar]:
    """empty_like(other_ary, dtype=None, order="K", *, stream=None) -> GPUArray of the same shape, not
    initialized, for work on the stream. order "K" and "A" keep the axis order of the other array.
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


@decorators.takes_arrays
def zeros_like(
    other_ary: Array[Scalar], dtype: DTypeLike | None = None, order: str = "K", *, stream: Stream = None
) -> GPUArray[Scalar]:
    """zeros_like(other_ary, dtype=None, order="K", *, stream=None) -> GPUArray of this shape, of zeros."""
    return _set_to_zeros(empty_like(other_ary, dtype, order, stream=stream), stream)


# ---- names that programs written for PyCUDA use, though it does not document them

_splay_backend = splay


def _get_common_dtype(obj1, obj2):
    return get_common_dtype(obj1, obj2, allow_double=True)


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
from pycuda._array.indexing.mask import flatnonzero, nonzero
from pycuda._array.indexing.take_put import compress, extract, put, take_along_axis
from pycuda._array.indexing.where import if_positive, where
from pycuda._array.interop.interchange import from_dlpack
from pycuda._array.linear.matmul import matmul
from pycuda._array.math.elementwise import clip, logical_and, logical_not, logical_or, maximum, minimum, round
from pycuda._array.pycuda_api.pycuda_signatures import (
    all,
    any,
    dot,
    max,
    min,
    multi_put,
    multi_take,
    multi_take_put,
    reshape,
    split,
    subset_dot,
    subset_max,
    subset_min,
    subset_sum,
    sum,
    take,
    transpose,
)  # fmt: skip
from pycuda._array.reduction.reductions import argmax, argmin, count_nonzero, mean, prod, std, var
from pycuda._array.reduction.scans import cumprod, cumsum
from pycuda._array.shape.joining import concatenate, flip, hstack, roll, stack, vstack
from pycuda._array.sorting.sorting import (
    argpartition,
    argsort,
    lexsort,
    partition,
    searchsorted,
    sort,
    sort_by_key,
)  # fmt: skip

# Functions that few programs call, and their modules in pycuda._array: imported by the first use of the name.
_LATER = {
    "bincount": "statistics.bincount",
    "histogram": "statistics.histogram",
    "topk": "sorting.greatest",
    "unique": "sorting.unique",
}


def __getattr__(name: str) -> Any:
    """A function of _LATER, which is an attribute of the module from then on."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"pycuda._array.{_LATER[name]}"), name)
    globals()[name] = found
    _name_public_module(globals(), [name])
    return found


_name_public_module(globals(), [name for name in __all__ if name not in _LATER])
registration.register_if_dask_is_loaded()
