"""Devices, new arrays, reductions, and operations of matrices with vectors."""

from __future__ import annotations

import atexit
import builtins
import math
import operator

import numpy as np

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.tools import context_dependent_memoize

from . import cublas, cusolver
from ._streams import queued_on

# ---- devices and contexts


def init_device(n=0):
    """Initialize the driver; returns the device of this number."""
    drv.init()
    return drv.Device(n)


def init_context(dev):
    """A context on the device, current, which is popped at the end of the program."""
    context = dev.make_context()
    atexit.register(context.pop)
    return context


def done_context(ctx) -> None:
    """Detach from a context of init_context."""
    atexit.unregister(ctx.pop)
    ctx.detach()


def init(allocator=drv.mem_alloc) -> None:
    """Nothing: what libraries need is made when it is needed, and arrays come from pycuda's allocators."""


def shutdown() -> None:
    """Nothing: what libraries need is released with the context."""


@context_dependent_memoize
def _cublas_handle():
    return cublas.cublasCreate()


@context_dependent_memoize
def _cusolver_handle():
    return cusolver.cusolverDnCreate()


def __getattr__(name: str):
    """The handles of the current context."""
    if name == "_global_cublas_handle":
        return _cublas_handle()
    if name == "_global_cusolver_handle":
        return _cusolver_handle()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_compute_capability(dev) -> float:
    """The device's compute capability, 9.0 for (9, 0)."""
    return float(".".join(map(str, dev.compute_capability())))


def get_current_device():
    """The device of the current context."""
    return drv.Context.get_device()


def get_dev_attrs(dev) -> list:
    """The maximum threads of a block, and the largest blocks and grids as (x, y, z)."""
    attribute = drv.device_attribute

    def sizes(kind):
        return tuple(dev.get_attribute(getattr(attribute, f"MAX_{kind}_DIM_{axis}")) for axis in "XYZ")

    return [dev.get_attribute(attribute.MAX_THREADS_PER_BLOCK), sizes("BLOCK"), sizes("GRID")]


def select_block_grid_sizes(dev, data_shape, threads_per_block=None) -> tuple[tuple, tuple]:
    """The block (x, y, z) and the grid (x, y) with a thread for each element.

    Thread threadIdx.x of block (x, y) has the number (y * columns + x) * threads + threadIdx.x: `columns` is
    the largest number that `get_dev_attrs` has for a grid, `threads` the threads of a block.

    Parameters
    ----------
    dev : Device
    data_shape : tuple of int
    threads_per_block : int, optional
        The maximum of the device.
    """
    max_threads, _, max_grid = get_dev_attrs(dev)
    columns = builtins.max(max_grid)
    threads = max_threads if threads_per_block is None else threads_per_block
    if not 0 < threads <= max_threads:
        raise ValueError(f"threads_per_block is {threads}, must be from 1 to {max_threads}")
    blocks = -(-math.prod(data_shape) // threads)
    rows = -(-blocks // columns)
    if rows > max_grid[1]:
        raise ValueError(f"an array of the shape {data_shape} needs a larger grid than the device has")
    return (threads, 1, 1), (blocks if rows == 1 else columns, rows)


# ---- dtypes


def isdoubletype(x) -> bool:
    """Whether a dtype is float64 or complex128."""
    return np.dtype(x) in (np.float64, np.complex128)


def iscomplextype(x) -> bool:
    """Whether a dtype is complex64 or complex128."""
    return np.dtype(x) in (np.complex64, np.complex128)


# ---- new arrays


def zeros(shape, dtype, order="C", allocator=drv.mem_alloc):
    """An array of zeros."""
    return gpuarray.zeros(shape, dtype, order=order, allocator=_allocator(allocator))


def zeros_like(a):
    """An array of zeros with the shape, dtype and strides of `a`."""
    return gpuarray.zeros_like(a)


def ones(shape, dtype, order="C", allocator=drv.mem_alloc):
    """An array of ones."""
    return _new_full(shape, 1, dtype, order, allocator)


def ones_like(a):
    """An array of ones with the shape, dtype and strides of `a`."""
    return gpuarray.ones_like(a)


def inf(shape, dtype, order="C", allocator=drv.mem_alloc):
    """An array of infinities."""
    return _new_full(shape, np.inf, dtype, order, allocator)


def _allocator(allocator):
    """The allocator for pycuda's arrays: None, which is pycuda's own, for mem_alloc, the default here."""
    return None if allocator is drv.mem_alloc else allocator


def _new_full(shape, value, dtype, order, allocator):
    return gpuarray.empty(shape, dtype, order=order, allocator=_allocator(allocator)).fill(value)


# ---- elements


def maxabs(x_gpu):
    """The largest absolute value."""
    return abs(x_gpu).max()


def cumsum(x_gpu):
    """The cumulative sum of all elements in their order."""
    return np.cumsum(x_gpu)


def diff(x_gpu):
    """The differences of successive elements of a vector."""
    return np.diff(x_gpu)


def set_realloc(x_gpu, data) -> None:
    """Copy a NumPy array into x_gpu, which gets its shape and dtype, and other memory if they differ."""
    if x_gpu.shape != data.shape or x_gpu.dtype != data.dtype:
        order = "F" if data.flags.f_contiguous and not data.flags.c_contiguous else "C"
        x_gpu.__init__(data.shape, data.dtype, allocator=x_gpu.allocator, order=order)
    x_gpu.set(data)


def _as_index_vector(ind):
    """The argument, if it is a vector of integers; else ValueError."""
    if ind.ndim != 1 or ind.dtype.kind not in "iu":
        raise ValueError(f"ind must be a vector of integers, not {ind.dtype} of the shape {ind.shape}")
    return ind


def get_by_index(src_gpu, ind):
    """The elements of a vector with these indices, a GPUArray or a NumPy array of them."""
    return src_gpu[_as_index_vector(ind)]


def set_by_index(dest_gpu, ind, src_gpu, ind_which="dest") -> None:
    """dest_gpu[ind] = src_gpu; with ind_which="src" dest_gpu[:] = src_gpu[ind]. An empty ind does nothing."""
    if ind_which not in ("dest", "src"):
        raise ValueError(f"ind_which is {ind_which!r}, must be 'dest' or 'src'")
    shorter = src_gpu if ind_which == "dest" else dest_gpu
    if not len(_as_index_vector(ind)):
        return
    if len(ind) != len(shorter):
        raise ValueError(f"there are {len(ind)} indices for {len(shorter)} elements")
    if ind_which == "dest":
        dest_gpu[ind] = src_gpu
    else:
        dest_gpu[:] = src_gpu[ind]


# ---- arithmetic


def _divide(x, y):
    """x / y; of integers and booleans x // y."""
    return x // y if np.result_type(x.dtype, y.dtype).kind in "iub" else x / y


_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": operator.mod}


def add(x_gpu, y_gpu):
    """x_gpu + y_gpu, with broadcasting."""
    return x_gpu + y_gpu


def subtract(x_gpu, y_gpu):
    """x_gpu - y_gpu, with broadcasting."""
    return x_gpu - y_gpu


def multiply(x_gpu, y_gpu):
    """x_gpu * y_gpu, with broadcasting."""
    return x_gpu * y_gpu


def divide(x_gpu, y_gpu):
    """x_gpu / y_gpu, with broadcasting; of integers x_gpu // y_gpu."""
    return _divide(x_gpu, y_gpu)


def binaryop_matvec(binary_op, x_gpu, a_gpu, axis=None, out=None, stream=None):
    """An operation of a matrix with a vector, for each of its rows or columns.

    Parameters
    ----------
    binary_op : {"+", "-", "*", "/", "%"}
    x_gpu : GPUArray
        A matrix.
    a_gpu : GPUArray
        A vector, or a matrix with one row or column.
    axis : int, optional
        The axis of the matrix along which the vector extends; by default the one that broadcasting chooses.
    out : GPUArray, optional
        For the result.
    stream : Stream, optional
    """
    if binary_op not in _OPERATORS:
        raise ValueError(f"binary_op is {binary_op!r}, must be one of {', '.join(_OPERATORS)}")
    if axis is not None:
        if x_gpu.shape[axis] != a_gpu.size:
            raise ValueError(f"the vector has {a_gpu.size} elements, axis {axis} has {x_gpu.shape[axis]}")
        a_gpu = a_gpu.reshape([-1 if i == axis % x_gpu.ndim else 1 for i in range(x_gpu.ndim)])
    with queued_on(stream):
        result = _OPERATORS[binary_op](x_gpu, a_gpu)
        if result.shape != x_gpu.shape:
            raise ValueError(f"shapes {x_gpu.shape} and {a_gpu.shape} are not those of a matrix and a vector")
        return _copy_if_out(out, result)


def _copy_if_out(out, result):
    """The result, in the caller's array if there is one."""
    if out is None:
        return result
    out[...] = result
    return out


def add_matvec(x_gpu, a_gpu, axis=None, out=None, stream=None):
    """The vector is added to each row or column: binaryop_matvec("+", ...)."""
    return binaryop_matvec("+", x_gpu, a_gpu, axis, out, stream)


def mult_matvec(x_gpu, a_gpu, axis=None, out=None, stream=None):
    """Each row or column is multiplied by the vector: binaryop_matvec("*", ...)."""
    return binaryop_matvec("*", x_gpu, a_gpu, axis, out, stream)


def div_matvec(x_gpu, a_gpu, axis=None, out=None, stream=None):
    """Each row or column is divided by the vector: binaryop_matvec("/", ...)."""
    return binaryop_matvec("/", x_gpu, a_gpu, axis, out, stream)


# ---- reductions


def sum(x_gpu, axis=None, out=None, keepdims=False):
    """The sum along an axis, or of all elements, in the dtype of the array."""
    return _copy_if_out(out, x_gpu.sum(axis=axis, dtype=x_gpu.dtype, keepdims=keepdims))


def mean(x_gpu, axis=None, out=None, keepdims=False):
    """The mean along an axis, or of all elements."""
    return _copy_if_out(out, x_gpu.mean(axis=axis, keepdims=keepdims))


def var(x_gpu, ddof=0, axis=None, stream=None, keepdims=False):
    """The variance along an axis, or of all elements; the divisor is their number less `ddof`."""
    with queued_on(stream):
        return x_gpu.var(axis=axis, ddof=ddof, keepdims=keepdims)


def std(x_gpu, ddof=0, axis=None, stream=None, keepdims=False):
    """The standard deviation along an axis, or of all elements; `ddof` as in var."""
    with queued_on(stream):
        return x_gpu.std(axis=axis, ddof=ddof, keepdims=keepdims)


def max(a_gpu, axis=None, keepdims=False):
    """The maximum along an axis, or of all elements."""
    return a_gpu.max(axis=axis, keepdims=keepdims)


def min(a_gpu, axis=None, keepdims=False):
    """The minimum along an axis, or of all elements."""
    return a_gpu.min(axis=axis, keepdims=keepdims)


def argmax(a_gpu, axis, keepdims=False):
    """The indices of the maxima along an axis, as uint32."""
    return a_gpu.argmax(axis=axis, keepdims=keepdims).astype(np.uint32)


def argmin(a_gpu, axis, keepdims=False):
    """The indices of the minima along an axis, as uint32."""
    return a_gpu.argmin(axis=axis, keepdims=keepdims).astype(np.uint32)
