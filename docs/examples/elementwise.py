# pycuda.elementwise: get_elwise_kernel get_elwise_kernel_and_types get_elwise_module get_elwise_range_module
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.elementwise import get_elwise_kernel
from pycuda.tools import ScalarArg, VectorArg

arguments = [ScalarArg(np.float32, "a"), VectorArg(np.float32, "x"), VectorArg(np.float32, "z")]
kernel = get_elwise_kernel(arguments, "z[i] = a * x[i]", "scale")
x = gpuarray.arange(5, dtype=np.float32)
z = gpuarray.empty_like(x)
kernel.prepared_async_call(x._grid, x._block, None, 2, x.gpudata, z.gpudata, x.mem_size)
assert z.get().tolist() == [0, 2, 4, 6, 8]

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
