"""Sparse arrays on the device, as scipy.sparse has them on the host: csr_array, csc_array, coo_array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import gpuarray
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.operands import is_number
from pycuda._base.public_names import documented_init
from pycuda._kernels.sparse import structure
from pycuda.gpuarray import GPUArray
from pycuda.sparse import _reading as reading
from pycuda.sparse._compressed import Compressed, Placed, without_duplicates
from pycuda.sparse._scipy import is_of_scipy, scipy_sparse

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import DTypeLike
    from typing_extensions import Self

    from pycuda._array.core.types import Array


def _result_dtype(first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a product, as SciPy's: NumPy's result dtype, or float32 for float16, which SciPy and the
    kernels do not have."""
    found = np.result_type(first, second)
    return np.dtype(np.float32) if found == np.float16 else reading.read_dtype(found)


def _refusal(x: Any) -> Exception:
    """The exception for an operand of a product that is not a dense array on the device."""
    if is_number(x):
        return ValueError("Scalar operands are not allowed, use '*' instead")
    if isinstance(x, SparseArray):
        return TypeError("products of two sparse arrays are not supported: make one dense by todense()")
    return TypeError(
        f"{type(x).__name__} with a sparse array: data in host memory is never copied implicitly, copy it "
        "with pycuda.gpuarray.to_gpu()"
    )


class SparseArray:
    """The base class of csr_array, csc_array and coo_array."""

    ndim = 2
    format = ""  # "csr", "csc" or "coo"
    __array_ufunc__ = None  # NumPy's scalars and arrays leave operators to this class
    __array_priority__ = 1000.0  # CuPy's arrays leave operators to this class
    _data: GPUArray

    @property
    def data(self) -> GPUArray:
        """The values of the elements, in the order of the format. They may be changed."""
        return self._data

    @data.setter
    def data(self, values: Array) -> None:
        found = reading.read_values(values, None, False)
        if found.size != self._data.size:
            raise ValueError(f"{found.size} values for {self._data.size} stored elements")
        self._data = found

    # ---- what each format has

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        raise NotImplementedError

    @property
    def nnz(self) -> int:
        """How many elements are stored."""
        return int(self.data.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        """dtype of the elements."""
        return self.data.dtype

    def _rows(self) -> Compressed:
        """The elements in order of rows, with the values of `data`."""
        raise NotImplementedError

    def _columns(self) -> Compressed:
        """The elements in order of columns, with the values of `data`."""
        raise NotImplementedError

    def _with_values(self, values: GPUArray) -> Self:
        """The array with other values in the same places."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._data = values
        return made

    def _coordinates(self) -> tuple[GPUArray, GPUArray, GPUArray]:
        """(rows, columns, values) of the elements, with those in one place summed."""
        found, values = without_duplicates(self._rows(), self.data)
        return found.row_numbers(), found.columns, values

    # ---- other formats

    def tocsr(self, copy: bool = False) -> csr_array:
        """In compressed rows.

        Parameters
        ----------
        copy : bool, optional
            Whether memory is never shared.
        """
        raise NotImplementedError

    def tocsc(self, copy: bool = False) -> csc_array:
        """In compressed columns.

        Parameters
        ----------
        copy : bool, optional
            Whether memory is never shared.
        """
        raise NotImplementedError

    def tocoo(self, copy: bool = False) -> coo_array:
        """As elements with a row and a column each.

        Parameters
        ----------
        copy : bool, optional
            Whether memory is never shared.
        """
        raise NotImplementedError

    def asformat(self, format: str | None, copy: bool = False) -> SparseArray:
        """In a format.

        Parameters
        ----------
        format : {"csr", "csc", "coo"} or None
            None: as it is.
        copy : bool, optional
            Whether memory is never shared.
        """
        if format not in (None, "csr", "csc", "coo"):
            raise ValueError(f"Format {format} is unknown.")
        made: SparseArray = getattr(self, f"to{format or self.format}")(copy=copy)
        return made

    def toarray(self, order: Literal["C", "F"] | None = None, out: GPUArray | None = None) -> GPUArray:
        """As a dense array: elements in one place are summed.

        Parameters
        ----------
        order : {"C", "F"}, optional
            Of the new array.
        out : GPUArray, optional
            The array for the result, of this shape and dtype.
        """
        if out is None:
            out = gpuarray.zeros(self.shape, self.dtype, allocator=self.data.allocator, order=order or "C")
        elif order is not None:
            raise ValueError("order cannot be specified if out is not None")
        elif out.shape != self.shape or out.dtype != self.dtype:
            raise ValueError(f"out must be of shape {self.shape} and dtype {self.dtype}")
        else:
            out.fill(0)
        if self.nnz:
            structure.fill_dense(*self._coordinates(), out)
        return out

    def todense(self, order: Literal["C", "F"] | None = None, out: GPUArray | None = None) -> GPUArray:
        """The same as toarray().

        Parameters
        ----------
        order : {"C", "F"}, optional
        out : GPUArray, optional
        """
        return self.toarray(order, out)

    def _to_scipy(self, sparse: Any) -> Any:
        raise NotImplementedError

    def get(self) -> Any:
        """A copy on the host: SciPy's array of the same format."""
        return self._to_scipy(scipy_sparse())

    def copy(self) -> Self:
        """A copy on the device."""
        raise NotImplementedError

    def astype(self, dtype: DTypeLike, casting: Any = "unsafe", copy: bool = True) -> Self:
        """With elements of another dtype.

        Parameters
        ----------
        dtype : dtype
        casting : {"no", "equiv", "safe", "same_kind", "unsafe"}, optional
        copy : bool, optional
            Whether memory is never shared.
        """
        wanted = reading.read_dtype(dtype)
        if not np.can_cast(self.dtype, wanted, casting):
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {wanted!r} according to the rule {casting!r}"
            )
        if wanted != self.dtype:
            return self._with_values(self.data.astype(wanted))
        return self.copy() if copy else self

    def transpose(self, axes: tuple[int, int] | None = None, copy: bool = False) -> SparseArray:
        """The transposed array, of the same memory.

        Parameters
        ----------
        axes : (1, 0), optional
        copy : bool, optional
            Whether memory is never shared.
        """
        if axes is not None and tuple(axes) != (1, 0):
            raise ValueError("Sparse arrays do not support an 'axes' parameter other than (1, 0)")
        turned = self._turned()
        return turned.copy() if copy else turned

    def _turned(self) -> SparseArray:
        raise NotImplementedError

    @property
    def T(self) -> SparseArray:
        """The transposed array, of the same memory."""
        return self._turned()

    def conj(self) -> Self:
        """With conjugate complex elements."""
        return self._with_values(self.data.conj()) if self.dtype.kind == "c" else self

    def diagonal(self, k: int = 0) -> GPUArray:
        """The elements whose column is the row + k.

        Parameters
        ----------
        k : int, optional
        """
        rows, columns = self.shape
        length = max(min(rows + min(k, 0), columns - max(k, 0)), 0)
        out = gpuarray.zeros(length, self.dtype, allocator=self.data.allocator)
        if length and self.nnz:
            structure.fill_diagonal(*self._coordinates(), k, out)
        return out

    # ---- products

    def _operand(self, x: Any, axis: int, what: str) -> GPUArray:
        """The operand if it is a dense array whose `axis` has the matrix's length; otherwise an exception.
        `what`: "after" for A @ x, "before" for x @ A."""
        if not isinstance(x, GPUArray):
            raise _refusal(x)
        if x.ndim not in (1, 2):
            raise ValueError(f"matmul: sparse arrays take operands of one axis or two, not {x.shape}")
        if x.shape[axis] != self.shape[1 if what == "after" else 0]:
            raise ValueError(
                f"matmul: dimension mismatch: an operand of shape {x.shape} {what} a sparse array of shape "
                f"{self.shape}"
            )
        return x

    def _product(self, rows: Compressed, x: GPUArray) -> GPUArray:
        """`rows` times x, in the result dtype. `rows`: the matrix, or the transposed one, by rows."""
        if x.dtype == self.dtype:
            return rows.times_vector(self.data, x) if x.ndim == 1 else rows.times_matrix(self.data, x)
        dtype = _result_dtype(self.dtype, x.dtype)
        values, x = (each if each.dtype == dtype else each.astype(dtype) for each in (self.data, x))
        return rows.times_vector(values, x) if x.ndim == 1 else rows.times_matrix(values, x)

    def __matmul__(self, x: Any) -> GPUArray:
        """A @ x for a vector or a dense matrix."""
        return _matmul(self, x)

    def __rmatmul__(self, x: Any) -> GPUArray:
        """x @ A for a vector or a dense matrix."""
        return _rmatmul(self, x)

    def dot(self, other: Any) -> Any:
        """A times a vector, a dense matrix or a number.

        Parameters
        ----------
        other : GPUArray or number
        """
        return self * other if is_number(other) else self @ other

    # ---- arithmetic with numbers

    def __mul__(self, number: complex | np.generic) -> Self:
        """A * number."""
        return self._scaled(self.data * number) if is_number(number) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, number: complex | np.generic) -> Self:
        """A / number."""
        return self._scaled(self.data / number) if is_number(number) else NotImplemented

    def _scaled(self, values: GPUArray) -> Self:
        """The array with these values, in a dtype that there are kernels for."""
        return self._with_values(values.astype(_result_dtype(values.dtype, values.dtype), copy=False))

    def __neg__(self) -> Self:
        """-A"""
        return self._with_values(-self.data)

    def __len__(self) -> int:
        """TypeError: the length might be the number of rows or of elements."""
        raise TypeError("sparse array length is ambiguous; use nnz or shape[0]")

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of dtype {self.dtype} and shape {self.shape} with {self.nnz} stored "
            "elements>"
        )


@takes_arrays
def _matmul(a: SparseArray, x: Array) -> GPUArray:
    x = a._operand(x, 0, "after")
    return a._product(a._rows(), x)


@takes_arrays
def _rmatmul(a: SparseArray, x: Array) -> GPUArray:
    x = a._operand(x, -1, "before")
    if x.ndim == 1:
        return a._product(a._columns(), x)
    return a._product(a._columns(), x.T).T


@documented_init
class _CompressedArray(SparseArray):
    """The base class of csr_array, whose lines are its rows, and csc_array, whose lines are its columns."""

    _lines: Compressed  # the lines as rows: for csc_array, the rows of the transposed matrix
    _by_rows = True  # whether lines are rows

    def __init__(
        self, arg1: Any, shape: tuple[int, int] | None = None, dtype: DTypeLike | None = None,
        copy: bool = False, *, check: bool = True,
    ) -> None:  # fmt: skip
        shape = None if shape is None else reading.read_shape(shape)
        self._lines, self._data = self._read(arg1, shape, dtype, copy, check)
        if shape is not None and self.shape != shape:
            raise ValueError(f"inconsistent shapes: {self.shape} and {shape}")

    def _read(
        self, given: Any, shape: tuple[int, int] | None, dtype: DTypeLike | None, copy: bool, check: bool
    ) -> tuple[Compressed, GPUArray]:
        """(lines, values) of what the constructor is given."""
        if isinstance(given, SparseArray):
            made = given.asformat(self.format, copy)
            assert isinstance(made, _CompressedArray)
            return made._lines, made.data if dtype is None else made.astype(dtype, copy=False).data
        if is_of_scipy(given):
            host = given.asformat(self.format)
            shape, given = reading.read_shape(host.shape), (host.data, host.indices, host.indptr)
        if reading.is_shape(given):
            shape = reading.read_shape(given)
            given = np.empty(0, dtype or np.float64), ((), ())
        if isinstance(given, tuple) and len(given) == 3:
            return reading.read_compressed(given, self._along_lines(shape), dtype, copy, check)
        if isinstance(given, tuple) and len(given) == 2:
            placed, values = reading.read_placed(given, shape, dtype, copy, check)
            lines = placed if self._by_rows else placed.turned()
            return without_duplicates(lines.by_rows(), values)
        dense = reading.on_device_or_host(given)
        placed, values = reading.read_dense(dense if self._by_rows else dense.T, dtype)
        return placed.by_rows(), values

    def _along_lines(self, shape: tuple[int, int] | None) -> tuple[int, int] | None:
        """(rows, columns) as (number of lines, length of a line), or the reverse."""
        return shape if shape is None or self._by_rows else shape[::-1]

    @classmethod
    def _of(cls, lines: Compressed, values: GPUArray) -> Self:
        made = object.__new__(cls)
        made._lines, made._data = lines, values
        return made

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        lines = self._lines.shape
        return lines if self._by_rows else lines[::-1]

    @property
    def indices(self) -> GPUArray:
        """The column of each element (csr_array) or its row (csc_array). It must not be changed."""
        return self._lines.columns

    @property
    def indptr(self) -> GPUArray:
        """The index of the first element of each row (csr_array) or column (csc_array), and at the end the
        number of elements. It must not be changed."""
        return self._lines.starts

    @property
    def has_sorted_indices(self) -> bool:
        """Whether no index of a row or column is smaller than the one before it."""
        return self._lines.facts().falling == 0

    @property
    def has_canonical_format(self) -> bool:
        """Whether the indices of each row or column are sorted, and no two elements are in one place."""
        return self._lines.facts().not_rising == 0

    def sort_indices(self) -> None:
        """Sort the elements of each row or column by their indices."""
        found = self._lines.in_order()
        if found.order is not None:
            self._data = self.data[found.order]
            self._lines = Compressed(found.starts, found.columns, found.shape, None, found.facts())

    def sum_duplicates(self) -> None:
        """Sort the elements of each row or column by their indices, and sum those in one place in their
        order."""
        self._lines, self._data = without_duplicates(self._lines, self.data)

    def copy(self) -> Self:
        """A copy on the device."""
        lines = self._lines
        copied = Compressed(lines.starts.copy(), lines.columns.copy(), lines.shape, None, lines._facts)
        return self._of(copied, self.data.copy())

    def _other_lines(self) -> tuple[Compressed, GPUArray]:
        """(columns of a csr_array or rows of a csc_array, the values in their order)."""
        turned = self._lines.turned()
        assert turned.order is not None
        lines = Compressed(turned.starts, turned.columns, turned.shape, None, turned.facts())
        return lines, self.data[turned.order]

    def _turned(self) -> SparseArray:
        made: SparseArray = (csc_array if self._by_rows else csr_array)._of(self._lines, self.data)
        return made

    def tocoo(self, copy: bool = False) -> coo_array:
        """As elements with a row and a column each.

        Parameters
        ----------
        copy : bool, optional
            Whether memory is never shared.
        """
        lines, values, columns = self._lines, self.data, self._lines.columns
        if copy:
            values, columns = values.copy(), columns.copy()
        placed = Placed(lines.row_numbers(), columns, lines.shape, lines._facts)
        return coo_array._of(placed if self._by_rows else placed.turned(), values)

    def _to_scipy(self, sparse: Any) -> Any:
        arrays = self.data.get(), self.indices.get(), self.indptr.get()
        return getattr(sparse, f"{self.format}_array")(arrays, shape=self.shape)


class csr_array(_CompressedArray):
    """A sparse array in compressed rows on the device, as scipy.sparse.csr_array.

    Parameters
    ----------
    arg1 : object
        A sparse array or matrix of SciPy or of this package, a dense matrix (GPUArray or NumPy's),
        (data, indices, indptr), (data, (row, col)) whose duplicates are summed, or a shape. Each array may be
        a GPUArray or NumPy's: those on the device are used without a copy, those of the host are copied.
    shape : (int, int), optional
        By default the smallest that has all elements.
    dtype : dtype, optional
        bool, integers, float32, float64, complex64 or complex128.
    copy : bool, optional
        Whether arrays on the device are copied, too.
    check : bool, optional
        Whether to check that all indices are in range, for which the host waits. Without the check an index
        out of range is undefined behavior.

    Raises
    ------
    ValueError
        Arrays that do not fit, an index out of range, or a dtype that is not supported.
    TypeError
        Indices that are not integers.

    Notes
    -----
    Sums have one order: a product has the same bits on every run and every device.

    Examples
    --------
    >>> import numpy as np
    >>> import pycuda.autoprimaryctx
    >>> from pycuda import gpuarray
    >>> from pycuda.sparse import csr_array
    >>> a = csr_array(np.array([[1.0, 0, 2], [0, 0, 3]]))
    >>> a @ gpuarray.to_gpu(np.array([1.0, 1, 10]))
    array([21., 30.])
    >>> a.T.toarray()
    array([[1., 0.],
           [0., 0.],
           [2., 3.]])
    """

    format = "csr"

    def _rows(self) -> Compressed:
        return self._lines

    def _columns(self) -> Compressed:
        return self._lines.turned()

    def tocsr(self, copy: bool = False) -> csr_array:
        """Itself, or a copy.

        Parameters
        ----------
        copy : bool, optional
        """
        return self.copy() if copy else self

    def tocsc(self, copy: bool = False) -> csc_array:
        """In compressed columns.

        Parameters
        ----------
        copy : bool, optional
            Memory is never shared.
        """
        return csc_array._of(*self._other_lines())


class csc_array(_CompressedArray):
    """A sparse array in compressed columns on the device, as scipy.sparse.csc_array.

    Parameters
    ----------
    arg1, shape, dtype, copy, check
        As csr_array takes them, except that (data, indices, indptr) describe compressed columns.

    Raises
    ------
    ValueError
        Arrays that do not fit, an index out of range, or a dtype that is not supported.
    TypeError
        Indices that are not integers.

    Notes
    -----
    For products its elements are ordered by rows once; `csr_array` has them so.

    Examples
    --------
    >>> import numpy as np
    >>> import pycuda.autoprimaryctx
    >>> from pycuda import gpuarray
    >>> from pycuda.sparse import csc_array
    >>> a = csc_array(np.array([[1.0, 0, 2], [0, 0, 3]]))
    >>> gpuarray.to_gpu(np.array([1.0, 10])) @ a
    array([ 1.,  0., 32.])
    """

    format = "csc"
    _by_rows = False

    def _rows(self) -> Compressed:
        return self._lines.turned()

    def _columns(self) -> Compressed:
        return self._lines

    def tocsr(self, copy: bool = False) -> csr_array:
        """In compressed rows.

        Parameters
        ----------
        copy : bool, optional
            Memory is never shared.
        """
        return csr_array._of(*self._other_lines())

    def tocsc(self, copy: bool = False) -> csc_array:
        """Itself, or a copy.

        Parameters
        ----------
        copy : bool, optional
        """
        return self.copy() if copy else self


@documented_init
class coo_array(SparseArray):
    """A sparse array whose elements have a row and a column each, on the device, as scipy.sparse.coo_array.

    Parameters
    ----------
    arg1, shape, dtype, copy, check
        As csr_array takes them, except that arg1 cannot be (data, indices, indptr). Duplicates are kept.

    Raises
    ------
    ValueError
        Arrays that do not fit, an index out of range, or a dtype that is not supported.
    TypeError
        Indices that are not integers.

    Notes
    -----
    For products its elements are ordered by rows once; each duplicate is multiplied and added.

    Examples
    --------
    >>> import numpy as np
    >>> import pycuda.autoprimaryctx
    >>> from pycuda.sparse import coo_array
    >>> a = coo_array((np.array([1.0, 2, 4]), (np.array([0, 1, 0]), np.array([2, 0, 2]))), shape=(2, 3))
    >>> a.tocsr()
    <csr_array of dtype float64 and shape (2, 3) with 2 stored elements>
    >>> a.toarray()
    array([[0., 0., 5.],
           [2., 0., 0.]])
    """

    format = "coo"
    _placed: Placed

    def __init__(
        self, arg1: Any, shape: tuple[int, int] | None = None, dtype: DTypeLike | None = None,
        copy: bool = False, *, check: bool = True,
    ) -> None:  # fmt: skip
        shape = None if shape is None else reading.read_shape(shape)
        self._placed, self._data = self._read(arg1, shape, dtype, copy, check)
        if shape is not None and self.shape != shape:
            raise ValueError(f"inconsistent shapes: {self.shape} and {shape}")

    @staticmethod
    def _read(
        given: Any, shape: tuple[int, int] | None, dtype: DTypeLike | None, copy: bool, check: bool
    ) -> tuple[Placed, GPUArray]:
        if isinstance(given, SparseArray):
            made = given.tocoo(copy)
            return made._placed, made.data if dtype is None else made.astype(dtype, copy=False).data
        if is_of_scipy(given):
            host = given.tocoo()
            shape, given = reading.read_shape(host.shape), (host.data, (host.row, host.col))
        if reading.is_shape(given):
            shape = reading.read_shape(given)
            given = np.empty(0, dtype or np.float64), ((), ())
        if isinstance(given, tuple) and len(given) == 2:
            return reading.read_placed(given, shape, dtype, copy, check)
        return reading.read_dense(given, dtype)

    @classmethod
    def _of(cls, placed: Placed, values: GPUArray) -> coo_array:
        made = object.__new__(cls)
        made._placed, made._data = placed, values
        return made

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self._placed.shape

    @property
    def row(self) -> GPUArray:
        """The row of each element. It must not be changed."""
        return self._placed.rows

    @property
    def col(self) -> GPUArray:
        """The column of each element. It must not be changed."""
        return self._placed.columns

    @property
    def coords(self) -> tuple[GPUArray, GPUArray]:
        """(row, col)"""
        return self.row, self.col

    @property
    def has_canonical_format(self) -> bool:
        """Whether the elements are in order of rows, then of columns, no two in one place."""
        return self._placed.facts().not_rising == 0

    def sum_duplicates(self) -> None:
        """Sort the elements by rows, then by columns, and sum those in one place in their order."""
        if not self.has_canonical_format:
            made = self.tocsr().tocoo()
            self._placed, self._data = made._placed, made.data

    def _rows(self) -> Compressed:
        return self._placed.by_rows()

    def _columns(self) -> Compressed:
        return self._placed.turned().by_rows()

    def _coordinates(self) -> tuple[GPUArray, GPUArray, GPUArray]:
        return (self.row, self.col, self.data) if self.has_canonical_format else super()._coordinates()

    def _turned(self) -> SparseArray:
        return self._of(self._placed.turned(), self.data)

    def tocsr(self, copy: bool = False) -> csr_array:
        """In compressed rows; elements in one place are summed.

        Parameters
        ----------
        copy : bool, optional
            Whether memory is never shared.
        """
        made = csr_array._of(*without_duplicates(self._rows(), self.data))
        return made.copy() if copy else made

    def tocsc(self, copy: bool = False) -> csc_array:
        """In compressed columns; elements in one place are summed.

        Parameters
        ----------
        copy : bool, optional
            Whether memory is never shared.
        """
        made = csc_array._of(*without_duplicates(self._columns(), self.data))
        return made.copy() if copy else made

    def tocoo(self, copy: bool = False) -> coo_array:
        """Itself, or a copy.

        Parameters
        ----------
        copy : bool, optional
        """
        return self.copy() if copy else self

    def copy(self) -> coo_array:
        """A copy on the device."""
        placed = Placed(self.row.copy(), self.col.copy(), self.shape, self._placed._facts)
        return self._of(placed, self.data.copy())

    def _to_scipy(self, sparse: Any) -> Any:
        return sparse.coo_array((self.data.get(), (self.row.get(), self.col.get())), shape=self.shape)
