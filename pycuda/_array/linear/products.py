"""Products of arrays in NumPy's sense, all made of the matrix product and of sums of products."""

from __future__ import annotations

import functools
import math
import operator
import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from pycuda._array.core.axes import one_axis
from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import new
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.core.operands import as_array, result_or_out
from pycuda._array.linear.matmul import matmul
from pycuda._array.reduction.reduce import reduce_products
from pycuda._array.shape.views import moveaxis
from pycuda._kernels.builtin import convolve as kernels
from pycuda._kernels.builtin.cross import plan_cross
from pycuda._kernels.plans.caches import launched, launches

if TYPE_CHECKING:
    from pycuda._array.core.types import Array, Arrays, Scalar
    from pycuda.gpuarray import GPUArray


def conjugated(a) -> GPUArray:
    """The complex conjugate; the array itself when it is not complex."""
    return a.conj()


# ---- of vectors and matrices


def dot(a: Array[Scalar], b: Array[Scalar], out=None) -> GPUArray[Scalar]:
    """Sums of products over the last axis of `a` and the last but one, or only one, of `b`, as numpy.dot."""
    a, b = as_array(a), as_array(b)
    if not a.ndim or not b.ndim:
        return apply("multiply", a, b, out=out)
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise numpy_error(np.dot, a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul(a, b, out)
    return result_or_out(tensordot(a, b, ((a.ndim - 1,), (max(b.ndim - 2, 0),))), out)


def vdot(a: Array[Scalar], b: Array[Scalar], /) -> GPUArray[Scalar]:
    """The sum of products of all elements, those of `a` conjugated."""
    a, b = as_array(a).ravel(), as_array(b).ravel()
    if a.size != b.size:
        raise numpy_error(np.vdot, a, b)
    return sum_of_products(conjugated(a), b)


def sum_of_products(a, b) -> GPUArray:
    """The inner product of two 1-D arrays of the same length."""
    result = np.result_type(a.dtype, b.dtype)
    if result.kind in "iufc":
        return reduce_products(a, b, result)
    return matmul(a, b)


def inner(a: Array[Scalar], b: Array[Scalar], /) -> GPUArray[Scalar]:
    """Sums of products over the last axes of both."""
    a, b = as_array(a), as_array(b)
    if not a.ndim or not b.ndim:
        return apply("multiply", a, b)
    if a.shape[-1] != b.shape[-1]:
        raise numpy_error(np.inner, a, b)
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def outer(a: Array[Scalar], b: Array[Scalar], out=None) -> GPUArray[Scalar]:
    """The products of each element of one with each of the other, both flattened."""
    a, b = as_array(a).ravel(), as_array(b).ravel()
    return apply("multiply", a[:, None], b[None, :], out=out)


def _tensordot_axes(axes, a, b):
    """Two tuples of axes, counted from 0."""
    try:
        first, second = axes
    except TypeError:
        count = operator.index(axes)
        if count < 0 or count > min(a.ndim, b.ndim):
            raise ValueError("tuple index out of range" if count > 0 else "negative axes count") from None
        first, second = range(a.ndim - count, a.ndim), range(count)
    first = normalize_axis_tuple(tuple(np.atleast_1d(np.asarray(list(np.ravel(first)), int))), a.ndim)
    second = normalize_axis_tuple(tuple(np.atleast_1d(np.asarray(list(np.ravel(second)), int))), b.ndim)
    lengths = [a.shape[axis] for axis in first], [b.shape[axis] for axis in second]
    if lengths[0] != lengths[1]:
        raise ValueError("shape-mismatch for sum")
    return first, second


def tensordot(a: Array[Scalar], b: Array[Scalar], axes=2) -> GPUArray[Scalar]:
    """Sums of products over a number of axes, or over these axes of each array."""
    a, b = as_array(a), as_array(b)
    first, second = _tensordot_axes(axes, a, b)
    kept_a = [axis for axis in range(a.ndim) if axis not in first]
    kept_b = [axis for axis in range(b.ndim) if axis not in second]
    shape = (*(a.shape[axis] for axis in kept_a), *(b.shape[axis] for axis in kept_b))
    length = math.prod(a.shape[axis] for axis in first)
    left = a.transpose([*kept_a, *first]).reshape(math.prod(shape[: len(kept_a)]), length)
    right = b.transpose([*second, *kept_b]).reshape(length, math.prod(shape[len(kept_a) :]))
    if not shape:
        return sum_of_products(left.ravel(), right.ravel())
    return matmul(left, right).reshape(shape)


def kron(a: Array[Scalar], b: Array[Scalar]) -> GPUArray[Scalar]:
    """Blocks of the second array, each multiplied by an element of the first."""
    a, b = as_array(a), as_array(b)
    ndim = max(a.ndim, b.ndim)
    outer_shape = (1,) * (ndim - a.ndim) + a.shape
    inner_shape = (1,) * (ndim - b.ndim) + b.shape
    first = tuple(each for length in outer_shape for each in (length, 1))
    second = tuple(each for length in inner_shape for each in (1, length))
    product = apply("multiply", a.reshape(first), b.reshape(second))
    return product.reshape(tuple(map(operator.mul, outer_shape, inner_shape)))


@functools.cache
def _has_planar_cross() -> bool:
    """Whether NumPy takes vectors of two components, as it did before 2.5."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            np.cross(np.zeros(2), np.zeros(2))
        except ValueError:
            return False
    return True


def cross(a: Array[Scalar], b: Array[Scalar], axisa=-1, axisb=-1, axisc=-1, axis=None) -> GPUArray[Scalar]:
    """The vector product along an axis of length 3. With a NumPy before 2.5 the length may also be
    2: the third components are then 0, and of two such vectors only the third component is returned."""
    if axis is not None:
        axisa = axisb = axisc = axis
    if axisa == axisb == axisc == -1:
        result = launches[plan_cross, 2].launch((a, b))
        if result is not None:
            return result
    a, b = as_array(a), as_array(b)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    lengths = {a.shape[-1], b.shape[-1]}
    if lengths != {3} and not (lengths <= {2, 3} and _has_planar_cross()):
        raise numpy_error(np.cross, a, b)
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.kind == "b":
        raise numpy_error(np.subtract, np.True_, np.True_)
    shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    a, b = (broadcast_to(each.astype(dtype, copy=False), (*shape, each.shape[-1])) for each in (a, b))
    are_planar = a.shape[-1] == b.shape[-1] == 2
    if 0 in shape:
        result = new(shape if are_planar else (*shape, 3), dtype, a.allocator)
    else:
        result = launched((plan_cross, 2), (a, b))
    return result if are_planar else moveaxis(result, -1, one_axis(axisc, result.ndim))


# ---- NumPy's generalized ufuncs


def vecdot(x1, x2, /, out=None, *, axis=-1, keepdims=False, dtype=None) -> GPUArray:
    """Sums of products along an axis, those of `x1` conjugated; the other axes broadcast."""
    x1, x2 = as_array(x1), as_array(x2)
    if not x1.ndim or not x2.ndim:
        raise numpy_error(np.vecdot, x1, x2)
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    if x1.shape[-1] != x2.shape[-1]:
        raise numpy_error(np.vecdot, x1, x2)
    if dtype is not None:
        x1, x2 = (each.astype(dtype, copy=False) for each in (x1, x2))
    if x1.ndim == x2.ndim == 1:
        result = sum_of_products(conjugated(x1), x2)
    else:
        result = _sum_last_axis(apply("multiply", conjugated(x1), x2))
    return result_or_out(result[..., None] if keepdims else result, out)


def _sum_last_axis(products):
    """Along the last axis, in the dtype of the elements."""
    if products.dtype.kind == "b":
        return products.any(axis=-1)
    return products.sum(axis=-1, dtype=products.dtype)


def matvec(x1, x2, /, out=None, *, dtype=None) -> GPUArray:
    """Products of matrices and vectors, which broadcast."""
    return result_or_out(matmul(as_array(x1), as_array(x2)[..., None], dtype=dtype)[..., 0], out)


def vecmat(x1, x2, /, out=None, *, dtype=None) -> GPUArray:
    """Products of conjugated vectors and matrices, which broadcast."""
    row = conjugated(as_array(x1))[..., None, :]
    return result_or_out(matmul(row, as_array(x2), dtype=dtype)[..., 0, :], out)


# ---- numpy.linalg's


def outer_of_vectors(x1: Array[Scalar], x2: Array[Scalar], /) -> GPUArray[Scalar]:
    """numpy.linalg.outer"""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}.")
    return outer(x1, x2)


def linalg_cross(x1: Array[Scalar], x2: Array[Scalar], /, *, axis=-1) -> GPUArray[Scalar]:
    """numpy.linalg.cross"""
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{x1.shape[axis]} and {x2.shape[axis]} dimensional instead."
        )
    return cross(x1, x2, axis=axis)


def linalg_vecdot(x1: Array[Scalar], x2: Array[Scalar], /, *, axis=-1) -> GPUArray[Scalar]:
    """numpy.linalg.vecdot"""
    return vecdot(x1, x2, axis=axis)


def linalg_tensordot(x1: Array[Scalar], x2: Array[Scalar], /, *, axes=2) -> GPUArray[Scalar]:
    """numpy.linalg.tensordot"""
    return tensordot(x1, x2, axes)


def linalg_matmul(x1: Array[Scalar], x2: Array[Scalar], /) -> GPUArray[Scalar]:
    """numpy.linalg.matmul"""
    return matmul(x1, x2)


def _chain_order(shapes):
    """{(i, j): k}: the product of the matrices i to j takes the fewest multiplications as the product of
    those from i to k and those from k + 1 to j. shapes: of the matrices.
    """
    lengths = [shape[0] for shape in shapes] + [shapes[-1][1]]
    count = len(shapes)
    cost = {(i, i): 0 for i in range(count)}
    cuts = {}
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            costs = {
                k: cost[i, k] + cost[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1]
                for k in range(i, j)
            }
            cuts[i, j] = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[cuts[i, j]]
    return cuts


def multi_dot(arrays: Arrays[Scalar], *, out=None) -> GPUArray[Scalar]:
    """The product of several matrices, in the order that takes the fewest steps."""
    arrays = [as_array(each) for each in arrays]
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = arrays[0].ndim == 1, arrays[-1].ndim == 1
    arrays[0] = arrays[0][None, :] if first else arrays[0]
    arrays[-1] = arrays[-1][:, None] if last else arrays[-1]
    for each in arrays:
        if each.ndim != 2:
            raise np.linalg.LinAlgError(f"{each.ndim}-dimensional array given. Array must be two-dimensional")
    cuts = _chain_order([each.shape for each in arrays])

    def run(i, j):
        return arrays[i] if i == j else matmul(run(i, cuts[i, j]), run(cuts[i, j] + 1, j))

    result = run(0, len(arrays) - 1)
    if first:
        result = result[0]
    return result_or_out(result[..., 0] if last else result, out)


# ---- sliding sums of products


def _slide(a, v, mode) -> GPUArray:
    """The sums of products of `v` and each part of `a` of the same length. mode: as of numpy.convolve, how
    far a part may extend beyond the ends of `a`, where elements count as 0. `v` is not longer than `a`.
    """
    short = v.size
    beyond = {"valid": (0, 0), "same": (short // 2, (short - 1) // 2), "full": (short - 1, short - 1)}
    if mode not in beyond:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    before, after = beyond[mode]
    count = before + a.size + after - short + 1
    result = new((count,), np.result_type(a.dtype, v.dtype), a.allocator)
    grid, plan = kernels.plan_convolution((*a.strides, a.size), (*v.strides, v.size), count, before)
    function = kernels.convolution_kernel(a.dtype, v.dtype, result.dtype)
    function.prepared_async_call(grid, (kernels.THREADS, 1, 1), None, a, v, result, plan)
    return result


def _two_vectors(a, v):
    """Both as arrays of one axis with elements. ValueError otherwise, as numpy.convolve."""
    a, v = (each if each.ndim else each.reshape(1) for each in (as_array(a), as_array(v)))
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array")
    for each, name in ((a, "a"), (v, "v")):
        if each.size == 0:
            raise ValueError(f"{name} cannot be empty")
    return a, v


def convolve(a: Array[Scalar], v: Array[Scalar], mode="full") -> GPUArray[Scalar]:
    """The sums of products of one array and the other one reversed, at each distance."""
    a, v = _two_vectors(a, v)
    if v.size > a.size:
        a, v = v, a
    return _slide(a, v[::-1], mode)


def correlate(a: Array[Scalar], v: Array[Scalar], mode="valid") -> GPUArray[Scalar]:
    """The sums of products of one array and the other one conjugated, at each distance."""
    a, v = _two_vectors(a, v)
    if v.size <= a.size:
        return _slide(a, conjugated(v), mode)
    # As NumPy: the result for the arrays in the other order, reversed.
    return _slide(conjugated(v), a, mode)[::-1].copy()
