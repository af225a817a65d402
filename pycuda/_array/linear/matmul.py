"""Products of matrices."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._array.core.broadcast import fit
from pycuda._array.core.decorators import array_function, takes_arrays
from pycuda._array.core.memory import new, overlap, write_back
from pycuda._array.core.numpy_errors import numpy_error
from pycuda._array.reduction.reduce import MatrixTimesVector, reduce_products
from pycuda._base.same_bits import is_wanted
from pycuda._driver import _check_writable
from pycuda._kernels.builtin.functions import ufunc_dtypes
from pycuda._kernels.plans.axes import broadcast_strides
from pycuda._kernels.plans.caches import is_own_stream, launch_cache

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._array.core.types import Allocator, Array, Stream
    from pycuda._array.linear.library_matmul import Calls
    from pycuda._kernels.builtin import matmul as kernels
    from pycuda.gpuarray import GPUArray


def _as_matrix(a, second: bool) -> GPUArray:
    """The operand as a matrix: a 1-D array becomes a row if it is the first, a column if it is the second."""
    if a.ndim > 1:
        return a
    return a[:, None] if second else a[None, :]


@functools.cache
def _result_dtype(first, second) -> np.dtype:
    """NumPy's dtype of a product."""
    return ufunc_dtypes(np.matmul, (first, second))[2]


# How products of operands of known forms are computed: a cache for each value of same_bits.is_wanted().
#
# _known has products into a new array of NumPy's dtype: the launch of our own kernel, or a _Repeated. The
# launches of _known[False] are repeated without entering matmul(), even where same bits are wanted: only
# kernels whose results have the same bits on every GPU are in it as launches.
_known = {wanted: launch_cache((0, 1), aligned=True) for wanted in (False, True)}
# _known_into has products into an array out= of NumPy's dtype that shares no memory with the operands: the
# object whose queue() queues them.
_known_into = {wanted: launch_cache((0, 1, 2), aligned=True) for wanted in (False, True)}


class _ByVector(NamedTuple):
    """A product of matrices with one vector."""

    sums: MatrixTimesVector
    is_first: bool  # whether the vector is the first operand

    def queue(self, a, b, c, stream) -> None:
        operands = (b, a) if self.is_first else (a, b)
        self.sums.queue(*operands, c, stream)


class _Repeated(NamedTuple):
    """A product into a new array that is more than one launch."""

    shape: tuple[int, ...]
    dtype: np.dtype
    product: Calls | _ByVector | kernels.MatmulPlan

    def run(self, a, b, stream, allocator) -> GPUArray:
        c = _driver.GPUArray(self.shape, self.dtype, allocator or a.allocator)
        self.product.queue(a, b, c, stream)
        return c


def _repeat_known(a, b, stream, allocator) -> GPUArray | None:
    """The product of arrays of forms whose product is known; None for others."""
    known = _known[is_wanted()]
    found = known.find((a, b))
    if found is None:
        return known.launch((a, b), stream, allocator)
    stream = stream or _driver.current_stream()
    return found.run(a, b, stream, allocator) if is_own_stream(stream) else None


def _repeat_known_into(a, b, out, stream) -> bool:
    """Queue the product into `out` if that of arrays of these forms is known. Whether it did."""
    product = _known_into[is_wanted()].find((a, b, out))
    if product is None or overlap(out, a) or overlap(out, b):
        return False
    stream = stream or _driver.current_stream()
    if not is_own_stream(stream):
        return False
    _check_writable(out)
    product.queue(a, b, out, stream)
    return True


def _with_known_launches(function):
    return array_function(function, _known[False])


@_with_known_launches
def matmul(
    x1: Array,
    x2: Array,
    /,
    out: Array | None = None,
    *,
    dtype: DTypeLike | None = None,
    stream: Stream = None,
    allocator: Allocator = None,
) -> GPUArray:
    """The matrix product, as numpy.matmul: of the last two axes, broadcast over those before. x1 @ x2.

    Parameters
    ----------
    x1, x2 : GPUArray
        Of any strides and dtypes. An operand with one axis is a row (x1) or a column (x2), and the result has
        lost that axis.
    out : GPUArray, optional
    dtype : dtype, optional
        Of the result; by default NumPy's. Half is summed in float.
    stream : pycuda.driver.Stream, optional
    allocator : callable, optional

    Raises
    ------
    ValueError
        When shapes do not fit.
    """
    is_new = out is None and dtype is None
    if is_new:
        found = _repeat_known(x1, x2, stream, allocator)
        if found is not None:
            return found
    elif dtype is None and _repeat_known_into(x1, x2, out, stream):
        return out
    for operand in (x1, x2):
        if not isinstance(operand, _driver.GPUArray):
            raise TypeError(f"matmul takes GPUArrays, not {type(operand).__name__}")
    if not x1.ndim or not x2.ndim:
        raise numpy_error(np.matmul, x1, x2)
    a, b = _as_matrix(x1, second=False), _as_matrix(x2, second=True)
    if a.shape[-1] != b.shape[-2] or not fit(a.shape[:-2], b.shape[:-2]):
        raise numpy_error(np.matmul, x1, x2)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    whole = (*batch, a.shape[-2], b.shape[-1])
    # The axes that were added to 1-D operands are not in the result.
    dropped = [len(whole) - 2] * (x1.ndim == 1) + [len(whole) - 1] * (x2.ndim == 1)
    shape = tuple(length for axis, length in enumerate(whole) if axis not in dropped)
    result = _result_dtype(x1.dtype, x2.dtype) if dtype is None else np.dtype(dtype)
    if out is not None:
        if out.shape != shape or not np.can_cast(result, out.dtype, "same_kind"):
            raise numpy_error(np.matmul, x1, x2, out=out, dtype=dtype)
        _check_writable(out)
    direct = out is not None and out.dtype == result and not overlap(out, x1) and not overlap(out, x2)
    if x1.ndim == x2.ndim == 1 and not direct and result.kind in "iufc":
        c = reduce_products(x1, x2, result, stream, allocator)
        return c if out is None else write_back(c, out, stream)
    c = out if direct else new(shape, result, allocator or x1.allocator)
    if c.size:
        product = _queue(a, b, c[_with_axes(c.ndim, x1, x2)], batch, stream)
        if is_new and product:
            _remember(x1, x2, product, shape, result)
        elif direct and product and dtype is None:
            _known_into[is_wanted()].remember((x1, x2, out), product)
    return c if direct or out is None else write_back(c, out, stream)


@takes_arrays
def matmul_into_first(x1, x2) -> GPUArray:
    """x1 @= x2"""
    if x1.ndim < 1 or x2.ndim < 2:
        raise ValueError(
            "inplace matrix multiplication requires a first operand with at least one and a second "
            f"with two dimensions, not {x1.ndim} and {x2.ndim}"
        )
    return matmul(x1, x2, out=x1)


def _with_axes(ndim, x1, x2) -> tuple:
    """The index that adds to a result the axes that were added to 1-D operands."""
    if x1.ndim == 1 and x2.ndim == 1:
        return (..., None, None)
    if x1.ndim == 1:
        return (..., None, slice(None))
    return (..., None) if x2.ndim == 1 else (...,)


def _by_vector(a, b, c) -> _ByVector | None:
    """How the product is computed where one operand is a single vector; None for others."""
    if c.dtype.kind == "b":
        return None
    if math.prod(b.shape[:-2]) * b.shape[-1] == 1 and a.ndim == c.ndim:
        vector = b[(0,) * (b.ndim - 2)][:, 0]
        return _ByVector(MatrixTimesVector.of(a, vector, c[..., 0]), False)
    if math.prod(a.shape[:-1]) == 1 and b.ndim == c.ndim:
        vector = a[(0,) * (a.ndim - 1)]
        return _ByVector(MatrixTimesVector.of(b.mT, vector, c[..., 0, :]), True)
    return None


def _queue(a, b, c, batch, stream) -> Calls | _ByVector | kernels.MatmulPlan | None:
    """Queue c = a @ b. Returns an object whose queue() can queue it again, or None if there is none."""
    from pycuda._array.linear.host_matmul import matmul_by_numpy
    from pycuda._array.linear.library_matmul import matmul_by_cublas
    from pycuda._kernels.builtin import matmul as kernels
    from pycuda._libraries import host

    is_by_library = not is_wanted()
    product = None if is_by_library and host.is_possible() else _by_vector(a, b, c)
    if product is None and is_by_library:
        by_library = matmul_by_numpy if host.is_possible() else matmul_by_cublas
        is_done, calls = by_library(a, b, c, stream)
        if is_done:
            return calls
    if product is None:
        strides = (broadcast_strides(each, (*batch, *each.shape[-2:]))[: len(batch)] for each in (a, b, c))
        product = kernels.plan_matmul(a, b, c, zip(batch, *strides, strict=True), is_wanted())
    product.queue(a, b, c, stream)
    return product


def _remember(x1, x2, product, shape, dtype) -> None:
    """Remember how x1 and x2 were multiplied, for operands of the same forms. shape, dtype: of the result."""
    from pycuda._kernels.builtin import matmul as kernels

    known = _known[is_wanted()]
    if not isinstance(product, kernels.MatmulPlan) or not product.way.has_same_bits:
        known.remember((x1, x2), _Repeated(shape, dtype, product))
        return
    more = ..., product.arguments
    launch = product.kernel.prepared_async_call, product.grid, product.block, more, (shape, dtype)
    known.remember((x1, x2), None, launch)
