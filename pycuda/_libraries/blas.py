"""Matrix products by cuBLAS."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from pycuda import _driver
from pycuda._driver import _is_captured
from pycuda._kernels.plans.caches import ContextCache, current, of_stream

from .finding import problem
from .handles import PooledHandle

# cudaDataType_t, by the dtype's name.
CUDA_DATA_TYPES = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "complex64": 4,
    "complex128": 5,
    "bfloat16": 14,
}
# cublasComputeType_t and the dtype of alpha and beta, by the dtype of the operands. float32 is computed in
# float32, never in TF32.
_COMPUTED_IN_FLOAT, _COMPUTED_IN_DOUBLE = 68, 70
_COMPUTED_IN = {
    "float16": (_COMPUTED_IN_FLOAT, np.float32),
    "bfloat16": (_COMPUTED_IN_FLOAT, np.float32),
    "float32": (_COMPUTED_IN_FLOAT, np.float32),
    "float64": (_COMPUTED_IN_DOUBLE, np.float64),
    "complex64": (_COMPUTED_IN_FLOAT, np.complex64),
    "complex128": (_COMPUTED_IN_DOUBLE, np.complex128),
}
_TYPES_BY_NAME = {name: (CUDA_DATA_TYPES[name], *computed) for name, computed in _COMPUTED_IN.items()}
_CONSTANTS = {dtype: (np.ones(1, dtype), np.zeros(1, dtype)) for _, dtype in _COMPUTED_IN.values()}
_DEFAULT_ALGORITHM = -1


@functools.cache
def _types(dtype):
    """(type of elements, type of computation, dtype of alpha and beta) for a dtype; None if the library has
    no products of it. Cached, as NumPy computes dtype.name at each access."""
    return _TYPES_BY_NAME.get(dtype.name)


_AS_IT_IS, _TRANSPOSED = 0, 1  # cublasOperation_t
# The library counts in C ints.
LARGEST = 2**31 - 1

# The sizes in bytes that cuBLAS's manual recommends for a workspace that the caller provides.
_WORKSPACE, _WORKSPACE_SINCE_HOPPER = 4 << 20, 32 << 20
_HOPPER = 9  # major compute capability

_gemm = _driver._LibraryFunction("cublasGemmStridedBatchedEx")


# ---- handles


# PooledHandles by stream: for work queued now, and for captured work. And the handles of streams that are
# gone.
_handles, _captured_handles, _spare = ContextCache(), ContextCache(), ContextCache()


def _new_workspace(captured: bool):
    """(memory, its size)."""
    major = _driver.Context.get_device().compute_capability()[0]
    size = _WORKSPACE_SINCE_HOPPER if major >= _HOPPER else _WORKSPACE
    memory = _driver.GPUArray(size, np.uint8) if captured else _driver.mem_alloc(size)
    return memory, size


def handle_of(stream):
    """The _LibraryHandle of a stream of the current context, with a workspace. It is kept for the next calls,
    except for a stream that pycuda did not make: that gets a new one for each call, as nothing says when the
    stream is destroyed.
    """
    captured = _is_captured(stream)
    handles, key = of_stream(_captured_handles if captured else _handles, stream)
    if handles is None:
        own = _driver._LibraryHandle("cublas")
        own.use(stream, *_new_workspace(captured))
        return own
    pooled = handles.get(key)
    if pooled is not None and not captured:
        return pooled.value
    if pooled is None:
        pooled = PooledHandle("cublas", _spare.setdefault(current(), []))
    # Graphs may run at the same time, so each captured product needs a workspace that no other one uses: a
    # kept handle gets a new workspace for every captured call.
    pooled.value.use(stream, *_new_workspace(captured))
    handles[key] = pooled
    return pooled.value


# ---- products


class MatrixLayout(NamedTuple):
    """A matrix as BLAS describes it."""

    transposed: int  # _AS_IT_IS if the matrix is stored column by column, _TRANSPOSED if row by row
    leading: int  # the distance, in elements, between the beginnings of these columns or rows

    def transpose(self) -> MatrixLayout:
        """The layout of the transposed matrix."""
        return MatrixLayout(_TRANSPOSED - self.transposed, self.leading)


def layout(shape, strides, itemsize: int) -> MatrixLayout | None:
    """The MatrixLayout of a matrix; None if neither rows nor columns are contiguous, or a size exceeds a C
    int."""
    (rows, columns), (row_stride, column_stride) = shape, strides
    for transposed, length, stride, count, step in (
        (_AS_IT_IS, rows, row_stride, columns, column_stride),
        (_TRANSPOSED, columns, column_stride, rows, row_stride),
    ):
        if length > 1 and stride != itemsize:
            continue
        min_leading = max(length, 1)
        leading, rest = (min_leading, 0) if count <= 1 else divmod(step, itemsize)
        if not rest and min_leading <= leading <= LARGEST and count <= LARGEST:
            return MatrixLayout(transposed, leading)
    return None


def has(dtype) -> bool:
    """Whether the library is there and has products of this dtype."""
    return _types(dtype) is not None and problem("cublas") is None


class MatrixProduct(NamedTuple):
    """c = a @ b for matrices of one dtype."""

    sizes: tuple[int, int, int]  # rows, columns, and the length of what is summed
    layouts: tuple[MatrixLayout, MatrixLayout, MatrixLayout]  # of a, b and c
    batch: tuple[int, int, int, int]  # how many, and the bytes from one to the next in a, b and c


def gemm(product: MatrixProduct, dtype, addresses, stream) -> None:
    """Queues the product of the matrices at `addresses`, which are those of a, b and c."""
    kind, computed, scale = _types(dtype)
    one, zero = _CONSTANTS[scale]
    (rows, columns, inner), (left, right, result), (count, *strides) = product
    step, other_step, result_step = (stride // dtype.itemsize for stride in strides)
    a, b, c = addresses
    if result.transposed:  # BLAS writes columns: by rows c is computed as its transpose, c' = b' a'
        rows, columns, left, right = columns, rows, right.transpose(), left.transpose()
        a, b, step, other_step = b, a, other_step, step
    _gemm(
        handle_of(stream), left.transposed, right.transposed, rows, columns, inner, one,
        a, kind, left.leading, step, b, kind, right.leading, other_step, zero,
        c, kind, result.leading, result_step, count, computed, _DEFAULT_ALGORITHM,
    )  # fmt: skip
