"""The two layouts of a matrix on the device, each with the kernel that multiplies it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import gpuarray
from pycuda._kernels.plans import scratch
from pycuda._kernels.sparse import column_sorted as sorted_kernels
from pycuda._kernels.sparse import spmv as kernels
from pycuda.gpuarray import GPUArray

if TYPE_CHECKING:
    from pycuda._driver import _Stream

_MAX_INT32 = np.iinfo(np.int32).max


def _row_starts_on_device(starts: np.ndarray) -> GPUArray:
    """The first element of each row and, at the end, the number of elements: int32 if all fit, else int64."""
    return gpuarray.to_gpu(starts.astype(np.int32 if starts[-1] <= _MAX_INT32 else np.int64))


def _argument(array: GPUArray) -> GPUArray | int:
    """The array, or 0 (NULL) if it has no elements, which a launch refuses."""
    return array if array.size else 0


class _LongRows:
    """The rows that are cut into several pieces. The kernel of the product stores the sum of each piece in
    scratch memory; add_pieces() launches the kernel that adds those of each row.

    `rows` are LONG_ROW structures, `piece_count` is the number of pieces of all of them.
    """

    def __init__(self, rows: np.ndarray, piece_count: int, dtype: np.dtype[Any]) -> None:
        self.count, self._dtype = len(rows), dtype
        self._size = piece_count * dtype.itemsize
        self._rows = gpuarray.to_gpu(rows.view(np.int64))

    def memory_for_pieces(self, stream: _Stream) -> GPUArray | int:
        """Scratch memory of the stream for the sums of pieces; 0 (NULL) if no row is cut."""
        return scratch.area(stream, self._size).memory if self._size else 0

    def add_pieces(self, pieces: GPUArray | int, y: GPUArray, add: bool, stream: _Stream) -> None:
        """y[row] = the sum of the row's pieces, or y[row] += it, for each row that is cut."""
        if self.count:
            kernels.sum_long_rows(self._dtype).prepared_async_call(
                (self.count, 1), (kernels.THREADS, 1, 1), stream, self._rows, pieces, y, add
            )


class InOrder:
    """Elements in the order of rows. Their columns are stored in as few bytes as possible."""

    def __init__(self, starts: np.ndarray, columns: np.ndarray, values: np.ndarray, width: int) -> None:
        found = kernels.plan_row_tiles(starts, values.itemsize)
        self.tile_count, self._starts = len(found.tiles), _row_starts_on_device(starts)
        narrow = kernels.narrow_columns(found.tiles, columns, width)
        self._kind = narrow.kind
        self._low, self._high = gpuarray.to_gpu(narrow.low), gpuarray.to_gpu(narrow.high)
        self._values, self._tiles = gpuarray.to_gpu(values), gpuarray.to_gpu(found.tiles.view(np.int64))
        self._long_rows = _LongRows(found.long_rows, found.pieces, values.dtype)

    def launch(self, x: GPUArray, y: GPUArray, add: bool, stream: _Stream) -> None:
        """y = A x, or y += A x if `add`. y is not empty: DeviceMatrix launches nothing for a matrix without
        rows. x and the arrays of elements are empty where the matrix has no columns or no elements."""
        pieces = self._long_rows.memory_for_pieces(stream)
        kernels.multiply(x.dtype, self._starts.dtype, self._kind).prepared_async_call(
            (self.tile_count, 1), (kernels.THREADS, 1, 1), stream,
            self._tiles, self._starts, _argument(self._low), _argument(self._high), _argument(self._values),
            _argument(x), y, pieces, add,
        )  # fmt: skip
        self._long_rows.add_pieces(pieces, y, add, stream)


class ByColumn:
    """Elements in the order of columns within large tiles. The matrix has elements (see is_worth_it()), so no
    array of it is empty."""

    def __init__(self, starts: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        found = sorted_kernels.plan_column_sorted(starts, values.itemsize)
        elements, largest = sorted_kernels.by_column(found, columns, values)
        self.tile_count, self._starts = len(found.tiles), _row_starts_on_device(found.starts)
        # 0 (NULL): no row is cut, so the kernel adds each sum to the row of its number.
        self._targets = 0 if found.targets is None else gpuarray.to_gpu(found.targets)
        self._tiles = gpuarray.to_gpu(found.tiles.view(np.int64))
        self._elements = [gpuarray.to_gpu(part) for part in elements]
        self._long_rows = _LongRows(found.long_rows, found.pieces, values.dtype)
        self._block = sorted_kernels.shape_of(values.itemsize).threads, 1, 1
        self._shared = sorted_kernels.shared(largest, values.itemsize)

    def launch(self, x: GPUArray, y: GPUArray, add: bool, stream: _Stream) -> None:
        """y = A x, or y += A x if `add`."""
        pieces = self._long_rows.memory_for_pieces(stream)
        sorted_kernels.column_sorted_kernel(x.dtype, self._starts.dtype).prepared_async_call(
            (self.tile_count, 1), self._block, stream,
            self._tiles, self._starts, self._targets, *self._elements, x, y, pieces, add,
            shared_size=self._shared,
        )  # fmt: skip
        self._long_rows.add_pieces(pieces, y, add, stream)


def layout(starts: np.ndarray, columns: np.ndarray, values: np.ndarray, width: int) -> InOrder | ByColumn:
    """The layout of a matrix in compressed rows that has `width` columns."""
    if sorted_kernels.is_worth_it(columns, width, values.itemsize):
        return ByColumn(starts, columns, values)
    return InOrder(starts, columns, values, width)
