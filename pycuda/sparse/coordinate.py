"""CoordinateSpMV: any sparse matrix times vectors, without renumbering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycuda._base.public_names import documented_init as _documented_init
from pycuda.sparse._matrix import compressed_rows
from pycuda.sparse.operator import MatrixOperator

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


@_documented_init
class CoordinateSpMV(MatrixOperator):
    """A sparse matrix on the device, to multiply vectors with.

    Parameters
    ----------
    mat : scipy.sparse matrix or array, csr_array, csc_array or coo_array
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

    def __init__(self, mat: Any, dtype: DTypeLike) -> None:
        super().__init__(compressed_rows(mat, dtype))
