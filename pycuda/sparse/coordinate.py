"""CoordinateSpMV: any sparse matrix times vectors, in the numbering that it has."""

from __future__ import annotations

import numpy as np

from pycuda.sparse._matrix import DeviceMatrix, compressed_rows
from pycuda.sparse.operator import OperatorBase


class CoordinateSpMV(OperatorBase):
    """A sparse matrix on the device, to multiply vectors with.

    Parameters
    ----------
    mat : scipy.sparse matrix or array
        In any format, of any shape. What is stored twice is summed.
    dtype : dtype
        Of the elements on the device: float32, float64, complex64 or complex128.

    Attributes
    ----------
    nnz : int
        How many elements are stored.
    block_count : int
        Blocks of a launch.

    Notes
    -----
    Sums have one order: a product has the same bits on every run and every device.
    """

    def __init__(self, mat, dtype):
        self._matrix = DeviceMatrix(compressed_rows(mat, dtype))
        self.index_dtype = np.dtype(np.int32)
        self.nnz = self._matrix.nnz
        self.block_count = self._matrix.tile_count

    @property
    def dtype(self) -> np.dtype:
        """Of the elements."""
        return self._matrix.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self._matrix.shape

    def __call__(self, x, y=None, stream=None):
        """y += A x.

        Parameters
        ----------
        x : GPUArray
            Of the dtype of the matrix, with as many elements as it has columns.
        y : GPUArray, optional
            To which the product is added; by default a new one, which gets the product.
        stream : pycuda.driver.Stream, optional

        Returns
        -------
        GPUArray
            y.
        """
        return self._matrix.multiply(x, y, stream)
