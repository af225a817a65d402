"""The sparse matrix of PyCUDA's operators: SciPy's CSR matrix, copied to the device in a layout for a
kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pycuda import gpuarray
from pycuda._array.core.decorators import takes_arrays
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import overlap
from pycuda._kernels.sparse import spmv as kernels
from pycuda.gpuarray import GPUArray
from pycuda.sparse import _layouts as layouts
from pycuda.sparse._arrays import SparseArray
from pycuda.sparse._operands import packed, parts
from pycuda.sparse._scipy import scipy_sparse

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pycuda._driver import _Stream

_MAX_INT32 = np.iinfo(np.int32).max


def compressed_rows(mat: Any, dtype: DTypeLike) -> Any:
    """Any sparse matrix, of SciPy or on the device, as SciPy's csr_matrix of this dtype, with duplicates
    summed. `mat` stays as it is."""
    sparse = scipy_sparse()
    if isinstance(mat, SparseArray):
        mat = mat.get()
    dtype = kernels.check_dtype(dtype)
    if not sparse.issparse(mat) and not isinstance(mat, np.ndarray):
        raise TypeError(f"mat must be a sparse matrix of SciPy, not {type(mat).__name__}")
    if mat.ndim != 2:
        raise ValueError(f"mat has the shape {mat.shape}: a matrix has two dimensions")
    if max(mat.shape) > _MAX_INT32:
        raise ValueError(f"mat has the shape {mat.shape}: at most {_MAX_INT32} rows and columns are possible")
    if not np.can_cast(mat.dtype, dtype, "same_kind"):
        raise TypeError(f"cannot cast mat from {mat.dtype} to {dtype}")
    csr = sparse.csr_matrix(mat, dtype=dtype)
    if not csr.has_canonical_format:
        # csr_matrix() shares the memory of a CSR matrix, and sum_duplicates() writes to it.
        csr = csr.copy() if sparse.issparse(mat) and mat.format == "csr" else csr
        csr.sum_duplicates()
    return csr


class DeviceMatrix:
    """Compressed rows on the device.

    Parameters
    ----------
    csr : scipy.sparse.csr_matrix
        Of one of the four dtypes.
    """

    def __init__(self, csr: Any) -> None:
        starts = csr.indptr.astype(np.int64)
        self.shape: tuple[int, int] = csr.shape
        self.dtype: np.dtype[Any] = csr.dtype
        self.nnz = int(starts[-1])
        self._layout = layouts.layout(starts, csr.indices, csr.data, csr.shape[1])
        self.tile_count = self._layout.tile_count

    def check_vector(self, name: str, vector: GPUArray, length: int) -> None:
        """TypeError or ValueError unless it is a vector of this length, with the matrix's dtype."""
        if not isinstance(vector, GPUArray):
            raise TypeError(
                f"{name} must be a GPUArray, not {type(vector).__name__}: create one with "
                "pycuda.gpuarray.to_gpu()"
            )
        if vector.dtype != self.dtype:
            raise TypeError(f"{name} is of {vector.dtype}, the matrix of {self.dtype}")
        if vector.shape != (length,):
            raise ValueError(
                f"{name} has the shape {vector.shape}, a matrix of shape {self.shape} needs ({length},)"
            )

    def multiply(self, x: GPUArray, y: GPUArray | None = None, stream: _Stream = None) -> GPUArray:
        """y += A x, returning y; without y, A x in a new array."""
        product = self._multiply(x, y, stream)
        return product if y is None else y

    @takes_arrays
    def _multiply(self, x: GPUArray, y: GPUArray | None, stream: _Stream) -> GPUArray:
        rows, columns = self.shape
        self.check_vector("x", x, columns)
        add = y is not None
        if y is None:
            y = gpuarray.empty(rows, self.dtype, allocator=x.allocator)
        else:
            self.check_vector("y", y, rows)
        if not rows or (add and not self.nnz):
            return y
        if not _is_packed(y):
            product = self.multiply(x, stream=stream)
            apply("add", parts(y), parts(product), out=parts(y), stream=stream)
            return y
        if not _is_packed(x) or overlap(x, y):
            x = packed(x, stream)
        self._layout.launch(x, y, add, stream)
        return y


def _is_packed(vector: GPUArray) -> bool:
    """Whether the kernel can use the array as it is: contiguous, and each element aligned to its size."""
    return not vector.size or (vector.flags.forc and vector._address % vector.itemsize == 0)
