# pycuda.sparse: SparseArray
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.sparse import csr_array

matrix = csr_array(gpuarray.to_gpu(np.array([[1, 0], [2, 3]], np.float64)))
assert matrix.asformat("csc").format == "csc" and matrix.tocsc().tocsr().nnz == 3
assert matrix.diagonal().get().tolist() == [1, 3]
assert matrix.dot(gpuarray.ones(2, np.float64)).get().tolist() == [1, 5]
assert matrix.transpose().todense().get().tolist() == [[1, 2], [0, 3]]
assert matrix.conj().toarray().get().tolist() == [[1, 0], [2, 3]]
assert matrix.get().shape == (2, 2)  # SciPy's array, on the host
