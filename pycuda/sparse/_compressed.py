"""The structure of a sparse matrix on the device, without the values: which elements there are. Structures
that products derive from it (other orders, tiles) are kept, so its arrays must not be changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pycuda import _driver, gpuarray
from pycuda._array.core import captures
from pycuda._kernels.sparse import rows as kernels
from pycuda._kernels.sparse import structure
from pycuda._kernels.sparse.structure import Facts
from pycuda._libraries.sparse import Rows
from pycuda.gpuarray import GPUArray
from pycuda.sparse import _library, _operands

# The carries of a product have at most this many bytes: a wide product is computed in groups of columns.
_MAX_CARRY_BYTES = 1 << 28


def completed(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of work(*arguments), whose queued work is done when this returns. It runs in a stream of its
    own, after the current stream's work, so the result may be kept and used on any stream and in captures."""
    before = captures.last_work(_driver.current_stream())
    return captures.in_own_stream_after(before, work, *arguments)


def _read_facts(look: Callable[..., None], *arguments: Any) -> Facts:
    """The facts that look(*arguments, facts) counts, which the host waits for."""
    facts = gpuarray.zeros(len(Facts._fields), np.int64)
    look(*arguments, facts)
    return Facts(*facts.get().tolist())


def _row_starts(row_numbers: GPUArray, row_count: int) -> GPUArray:
    """The first element of each row, and the number of elements. `row_numbers`: each element's row,
    sorted."""
    wanted = gpuarray.arange(row_count + 1, dtype=row_numbers.dtype)
    return gpuarray.searchsorted(row_numbers, wanted).astype(row_numbers.dtype)


class Compressed:
    """Compressed rows on the device.

    Parameters
    ----------
    starts, columns : GPUArray
        Of one dtype, int32 or int64, contiguous.
    shape : (int, int)
    order : GPUArray, optional
        Element i of these rows is element order[i] of the arrays of values.
    facts : Facts, optional
        Facts about these rows, if they are known already.
    """

    def __init__(
        self, starts: GPUArray, columns: GPUArray, shape: tuple[int, int], order: GPUArray | None = None,
        facts: Facts | None = None,
    ) -> None:  # fmt: skip
        self.starts, self.columns, self.shape, self.order = starts, columns, shape, order
        self._facts = facts
        self._tiles: dict[kernels.Tiling, kernels.Tiles] = {}
        self._turned: Compressed | None = None

    @property
    def nnz(self) -> int:
        """How many elements are stored."""
        return int(self.columns.size)

    @property
    def index_dtype(self) -> np.dtype[Any]:
        """int32 or int64."""
        return self.starts.dtype

    def facts(self) -> Facts:
        """Facts about the structure; the first call waits for the device."""
        if self._facts is None:
            self._facts = completed(
                _read_facts, structure.look_in_rows, self.starts, self.columns, self.shape[1]
            )
        return self._facts

    def row_numbers(self) -> GPUArray:
        """The row of each element."""
        numbers = gpuarray.empty(self.nnz, self.index_dtype)
        if self.nnz:
            structure.number_rows(self.starts, numbers)
        return numbers

    # ---- other orders of the elements

    def _turn(self) -> Compressed:
        by_column = gpuarray.argsort(self.columns, kind="stable")
        starts = _row_starts(self.columns[by_column], self.shape[1])
        numbers = self.row_numbers()[by_column]
        order = by_column.astype(self.index_dtype) if self.order is None else self.order[by_column]
        turned = Compressed(starts, numbers, self.shape[::-1], order)
        turned._facts = _read_facts(structure.look_in_rows, starts, numbers, self.shape[0])
        return turned

    def turned(self) -> Compressed:
        """The same elements in order of columns, as the rows of the transposed matrix."""
        if self._turned is None:
            self._turned = completed(self._turn)
        return self._turned

    def in_order(self) -> Compressed:
        """The same elements, sorted by column within each row; elements of equal columns keep their order."""
        # Turning sorts stably by column: twice sorts by column, then by row.
        return self if self.facts().falling == 0 else self.turned().turned()

    # ---- products

    def _cut(self, tiling: kernels.Tiling) -> kernels.Tiles:
        rows = self.shape[0]
        count = tiling.tiles(rows, self.nnz)
        bounds = gpuarray.empty((count + 1, 2), self.index_dtype)
        kernels.find_bounds(tiling, count, self.starts, rows, bounds, None)
        return kernels.Tiles(tiling, count, bounds, self.starts)

    def tiles(self, tiling: kernels.Tiling) -> kernels.Tiles:
        """The matrix, cut for products."""
        if tiling not in self._tiles:
            self._tiles[tiling] = completed(self._cut, tiling)
        return self._tiles[tiling]

    def _stored(self, values: GPUArray, columns: GPUArray | int) -> kernels.Stored:
        """The arguments of a kernel for the elements: 0 (NULL) for empty arrays, which a launch refuses."""
        if not self.nnz:
            return kernels.Stored(columns=0, order=0, values=0)
        return kernels.Stored(columns, 0 if self.order is None else self.order, values)

    def _with_values(self, values: GPUArray) -> Rows:
        return Rows(self.shape, self.starts, self.columns, values)

    def _carry_count(self, tiles: kernels.Tiles) -> int:
        """How many partial sums of rows a product may have; 0 if no row is cut."""
        tiling = tiles.tiling
        if tiles.count == 1 or (self._facts is not None and self._facts.longest <= tiling.longest):
            return 0
        return tiling.carries(self.shape[0], self.nnz)

    def _by_vector(
        self, columns: GPUArray | int, values: GPUArray, x: GPUArray | int, step: int, y: GPUArray
    ) -> None:
        """y = A x by our own kernels, or, where `columns` is 0, y = the sums of the rows. x is the vector,
        `step` the distance of its elements in elements."""
        if not y.size:
            return
        tiles = self.tiles(kernels.vector_tiling(y.dtype))
        count = self._carry_count(tiles)
        carries = gpuarray.empty(count, y.dtype) if count else 0
        kernels.multiply_vector(tiles, self._stored(values, columns), x, step, y, carries, None)
        if count:
            kernels.add_carries(tiles, y, carries, None)

    def times_vector(self, values: GPUArray, x: GPUArray) -> GPUArray:
        """A x for a vector of any strides. All are of one dtype."""
        y = gpuarray.empty(self.shape[0], values.dtype, allocator=x.allocator)
        x = _operands.with_any_stride(x)
        by_library = self.order is None and x.flags.c_contiguous
        if by_library and _library.multiply_vector(self._with_values(values), x, y):
            return y
        self._by_vector(self.columns, values, _operands.first_of(x), _operands.step_of(x), y)
        return y

    def sums(self, values: GPUArray) -> GPUArray:
        """The sum of each row."""
        y = gpuarray.empty(self.shape[0], values.dtype, allocator=values.allocator)
        self._by_vector(0, values, 0, 0, y)
        return y

    def times_matrix(self, values: GPUArray, x: GPUArray) -> GPUArray:
        """A x for a dense matrix of any strides. All are of one dtype."""
        rows, width = self.shape[0], x.shape[1]
        if width == 1:
            return self.times_vector(values, x[:, 0])[:, None]
        y = gpuarray.empty((rows, width), values.dtype, allocator=x.allocator)
        if not y.size:
            return y
        x = _operands.with_contiguous_rows(x)
        by_library = self.order is None and x.strides[0] >= width * x.itemsize
        if by_library and _library.multiply_matrix(self._with_values(values), x, y):
            return y
        tiles = self.tiles(kernels.matrix_tiling())
        count = self._carry_count(tiles)
        group = kernels.columns_at_a_time(max(count, 1), y.itemsize, _MAX_CARRY_BYTES)
        for first in range(0, width, group):
            part = slice(first, min(first + group, width))
            self._by_matrix(tiles, count, values, x[:, part], y[:, part])
        return y

    def _by_matrix(
        self, tiles: kernels.Tiles, carry_count: int, values: GPUArray, x: GPUArray, y: GPUArray
    ) -> None:
        """y = A x for a group of columns, by our own kernels. `carry_count`: carries of each column."""
        carries = gpuarray.empty((carry_count, y.shape[1]), y.dtype) if carry_count else 0
        kernels.multiply_matrix(
            tiles, self._stored(values, self.columns),
            _operands.first_of(x), _operands.step_of(x), y, carries, None,
        )  # fmt: skip
        if carry_count:
            kernels.add_carries(tiles, y, carries, None)


class Placed:
    """Elements with a row and a column each.

    Parameters
    ----------
    rows, columns : GPUArray
        Of one dtype, int32 or int64, contiguous.
    shape : (int, int)
    facts : Facts, optional
        Facts about these elements, if they are known already.
    """

    def __init__(
        self, rows: GPUArray, columns: GPUArray, shape: tuple[int, int], facts: Facts | None = None
    ) -> None:
        self.rows, self.columns, self.shape = rows, columns, shape
        self._facts = facts
        self._by_rows: Compressed | None = None
        self._turned: Placed | None = None

    @property
    def nnz(self) -> int:
        """How many elements are stored."""
        return int(self.rows.size)

    @property
    def index_dtype(self) -> np.dtype[Any]:
        """int32 or int64."""
        return self.rows.dtype

    def facts(self) -> Facts:
        """Facts about the structure; the first call waits for the device."""
        if self._facts is None:
            self._facts = completed(_read_facts, structure.look_at, self.rows, self.columns, self.shape)
        return self._facts

    def turned(self) -> Placed:
        """The transposed matrix."""
        if self._turned is None:
            self._turned = Placed(self.columns, self.rows, self.shape[::-1])
        return self._turned

    def _compress(self, is_sorted: bool) -> Compressed:
        rows, columns, order = self.rows, self.columns, None
        if not is_sorted:
            found = gpuarray.argsort(rows, kind="stable")
            rows, columns, order = rows[found], columns[found], found.astype(self.index_dtype)
        starts = _row_starts(rows, self.shape[0])
        facts = _read_facts(structure.look_in_rows, starts, columns, self.shape[1])
        return Compressed(starts, columns, self.shape, order, facts)

    def by_rows(self) -> Compressed:
        """The same elements in compressed rows."""
        if self._by_rows is None:
            self._by_rows = completed(self._compress, self.facts().falling == 0)
        return self._by_rows


def _first_places(rows: GPUArray, columns: GPUArray) -> GPUArray:
    """The index of the first element in each place (row, column), for elements in order, of which there is at
    least one. The host waits for their number."""
    changes = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    zero = gpuarray.zeros(1, np.int64)
    return gpuarray.concatenate((zero, gpuarray.flatnonzero(changes) + 1))


def without_duplicates(given: Compressed, values: GPUArray) -> tuple[Compressed, GPUArray]:
    """(structure, values) with the elements in order, and elements in one place summed in their order."""
    found = given.in_order()
    if found.facts().not_rising == 0:
        if found.order is None:
            return found, values
        known = Compressed(found.starts, found.columns, found.shape, None, found.facts())
        return known, values[found.order]
    first = _first_places(found.row_numbers(), found.columns)
    columns = found.columns[first]
    ends = gpuarray.concatenate((first, gpuarray.full(1, found.nnz, np.int64))).astype(found.index_dtype)
    # The elements of one place are a row of `groups`, whose sum is wanted.
    groups = Compressed(ends, found.columns, (columns.size, found.shape[1]), found.order)
    starts = gpuarray.searchsorted(first, found.starts.astype(np.int64)).astype(found.index_dtype)
    return Compressed(starts, columns, found.shape), groups.sums(values)
