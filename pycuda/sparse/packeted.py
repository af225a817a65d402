"""PacketedSpMV: a square matrix times vectors, renumbered so that rows are near the columns they read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import gpuarray
from pycuda._base.public_names import documented_init as _documented_init
from pycuda.gpuarray import GPUArray
from pycuda.sparse._matrix import compressed_rows
from pycuda.sparse.operator import MatrixOperator

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


def _spread(csr: Any) -> float:
    """How far, on average, elements are from the diagonal."""
    rows = np.repeat(np.arange(csr.shape[0], dtype=np.int64), np.diff(csr.indptr))
    return float(abs(rows - csr.indices).mean()) if csr.nnz else 0.0


def _renumbered(csr: Any, is_symmetric: bool) -> tuple[Any, np.ndarray[Any, Any]]:
    """(matrix, old numbers in new order), renumbered by reverse Cuthill-McKee if that at least halves the
    spread; otherwise the matrix as it is."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    numbers = np.arange(csr.shape[0], dtype=np.int32)
    if csr.nnz and csr.indices.dtype == np.int32:  # SciPy's function takes no other dtype of indices
        by_neighbors = reverse_cuthill_mckee(csr, symmetric_mode=bool(is_symmetric)).astype(np.int32)
        moved = csr[by_neighbors][:, by_neighbors]
        if 2 * _spread(moved) <= _spread(csr):
            moved.sort_indices()
            return moved, by_neighbors
    return csr, numbers


@_documented_init
class PacketedSpMV(MatrixOperator):
    """A square sparse matrix on the device, whose rows and columns are renumbered for locality. Vectors
    are in that numbering: see `permute` and `unpermute`.

    Parameters
    ----------
    mat : scipy.sparse matrix or array, csr_array, csc_array or coo_array
        In any format. What is stored twice is summed.
    is_symmetric : bool
        Whether elements are stored at (i, j) wherever they are at (j, i).
    dtype : dtype
        Of the elements on the device: float32, float64, complex64 or complex128.

    Attributes
    ----------
    nnz : int
        How many elements are stored.
    block_count : int
        Blocks of a launch.
    new2old_fetch_indices, old2new_fetch_indices : GPUArray
        The indices by which `permute` and `unpermute` take elements of a vector.
    """

    def __init__(self, mat: Any, is_symmetric: bool, dtype: DTypeLike) -> None:
        shape = getattr(mat, "shape", (0, 0))
        if len(shape) == 2 and shape[0] != shape[1]:
            raise ValueError(f"only square matrices are supported: mat has the shape {shape}")
        csr, numbers = _renumbered(compressed_rows(mat, dtype), is_symmetric)
        super().__init__(csr)
        inverse = np.empty_like(numbers)
        inverse[numbers] = np.arange(len(numbers), dtype=np.int32)
        self.new2old_fetch_indices = gpuarray.to_gpu(numbers)
        self.old2new_fetch_indices = gpuarray.to_gpu(inverse)

    def permute(self, x: GPUArray) -> GPUArray:
        """A vector in the numbering of the operator, as a new array."""
        return gpuarray.take(x, self.new2old_fetch_indices)

    def unpermute(self, x: GPUArray) -> GPUArray:
        """A vector of the operator's numbering in that of the matrix, as a new array."""
        return gpuarray.take(x, self.old2new_fetch_indices)
