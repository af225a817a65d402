"""Linear operators: what is called with a vector and returns one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda._base.public_names import documented_init as _documented_init
from pycuda.gpuarray import GPUArray
from pycuda.sparse._arrays import SparseArray
from pycuda.sparse._matrix import DeviceMatrix, compressed_rows

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._driver import _Stream


class OperatorBase:
    """A linear operator. Derived classes have `dtype`, `shape` and `__call__(operand)`."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """dtype of the vectors."""
        raise NotImplementedError(f"{type(self).__name__} must define dtype")

    @property
    def shape(self) -> tuple[int, int]:
        """(length of results, length of operands)."""
        raise NotImplementedError(f"{type(self).__name__} must define shape")

    def __call__(self, operand: GPUArray) -> GPUArray:
        """The operator applied to a vector."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__")


@_documented_init
class MatrixOperator(OperatorBase):
    """A sparse matrix on the device, to multiply vectors with.

    Parameters
    ----------
    csr : scipy.sparse matrix or array, csr_array, csc_array or coo_array
        Its dtype is float32, float64, complex64 or complex128.
    """

    def __init__(self, csr: Any) -> None:
        if isinstance(csr, SparseArray) or getattr(csr, "format", None) != "csr":
            csr = compressed_rows(csr, getattr(csr, "dtype", np.float64))
        self._matrix = DeviceMatrix(csr)
        self.index_dtype = np.dtype(np.int32)
        self.nnz = self._matrix.nnz
        self.block_count = self._matrix.tile_count

    @property
    def dtype(self) -> np.dtype[Any]:
        """dtype of the elements."""
        return self._matrix.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self._matrix.shape

    def __call__(self, x: GPUArray, y: GPUArray | None = None, stream: _Stream = None) -> GPUArray:
        """y += A x.

        Parameters
        ----------
        x : GPUArray
            It has the dtype of the matrix, with as many elements as it has columns.
        y : GPUArray, optional
            The vector to which the product is added; by default a new array that holds the product.
        stream : pycuda.driver.Stream, optional

        Returns
        -------
        GPUArray
            y.
        """
        return self._matrix.multiply(x, y, stream)


@_documented_init
class IdentityOperator(OperatorBase):
    """Returns what it is called with.

    Parameters
    ----------
    dtype : dtype
    n : int
        The length of vectors.
    """

    def __init__(self, dtype: DTypeLike, n: int) -> None:
        self._dtype, self.n = np.dtype(dtype), int(n)

    @property
    def dtype(self) -> np.dtype[Any]:
        """dtype of the vectors."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.n, self.n

    def __call__(self, operand: GPUArray) -> GPUArray:
        """The operand."""
        return operand


@_documented_init
class DiagonalPreconditioner(OperatorBase):
    """Multiplies with a diagonal matrix: as preconditioner of A give it 1 / (the diagonal of A).

    Parameters
    ----------
    diagonal : GPUArray
        The elements of the diagonal.
    """

    def __init__(self, diagonal: GPUArray) -> None:
        if diagonal.ndim != 1:
            raise ValueError(f"diagonal has the shape {diagonal.shape}: it must have one axis")
        self.diagonal = diagonal

    @property
    def dtype(self) -> np.dtype[Any]:
        """dtype of the diagonal."""
        return self.diagonal.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.diagonal.size, self.diagonal.size

    def __call__(self, operand: GPUArray) -> GPUArray:
        """The diagonal times the operand, element by element."""
        return self.diagonal * operand
