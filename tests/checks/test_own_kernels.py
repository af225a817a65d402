"""racecheck reports nothing of the package's own kernels of several blocks: sums, scans, sorts, sparse
products.
"""

import pytest

pytestmark = pytest.mark.cpu("the CPU device's checks")

ARRAYS = """
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.scan import InclusiveScanKernel

a = np.random.default_rng(1).integers(0, 1000, 30_000).astype(np.int32)
gpu = gpuarray.to_gpu(a)
assert gpu.sum().get() == a.sum() and gpu.max().get() == a.max()
rows = gpu.reshape(300, 100)
assert (rows.sum(axis=0).get() == a.reshape(300, 100).sum(axis=0)).all()
assert (np.sort(gpu).get() == np.sort(a)).all()
assert (np.argsort(gpu, kind="stable").get() == np.argsort(a, kind="stable")).all()
assert (np.cumsum(gpu).get() == np.cumsum(a)).all()
assert (np.unique(gpu).get() == np.unique(a)).all()
assert (np.bincount(gpu).get() == np.bincount(a)).all()
assert (gpu[gpu > 500].get() == a[a > 500]).all()
assert (InclusiveScanKernel(np.int32, "a > b ? a : b")(gpu).get() == np.maximum.accumulate(a)).all()
"""
SPARSE = """
import numpy as np
import scipy.sparse
import pycuda.autoinit
from pycuda import gpuarray
from pycuda._kernels.sparse import column_sorted
from pycuda.sparse.coordinate import CoordinateSpMV

# Either algorithm, and small tiles, so that several blocks add to one row.
column_sorted.is_worth_it = lambda *arguments: {by_column}
column_sorted._tile_size = lambda *arguments: 700
mat = scipy.sparse.random(2000, 300_000, 0.00001, "csr", np.float32, np.random.default_rng(1))
x = np.arange(300_000, dtype=np.float32) % 7 - 3
y = CoordinateSpMV(mat, np.float32)(gpuarray.to_gpu(x)).get()
assert np.allclose(y, mat @ x, rtol=1e-4, atol=1e-4)
"""


@pytest.mark.parametrize("threads", ["1", "4"])
def test_arrays(run_python, threads):
    run_python(ARRAYS, env={"PYCUDA_CPU_CHECK": "racecheck", "PYCUDA_CPU_THREADS": threads}, check=True)


@pytest.mark.parametrize("by_column", [False, True])
def test_sparse(run_python, by_column):
    pytest.importorskip("scipy")
    run_python(SPARSE.format(by_column=by_column), env={"PYCUDA_CPU_CHECK": "racecheck"}, check=True)


SPARSE_ARRAYS = """
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.sparse import coo_array

rng = np.random.default_rng(1)
rows, columns = rng.integers(0, 300, 30_000), rng.integers(0, 900, 30_000)
rows[:20_000] = 123
values = rng.integers(-9, 10, 30_000).astype(np.float32)
dense = np.zeros((300, 900), np.float32)
np.add.at(dense, (rows, columns), values)
a = coo_array((values, (rows, columns)), shape=dense.shape)
x, many = (rng.integers(-9, 10, shape).astype(np.float32) for shape in (900, (900, 5)))
for each in a, a.tocsr(), a.tocsc():
    assert ((each @ gpuarray.to_gpu(x)).get() == dense @ x).all()
    assert ((each @ gpuarray.to_gpu(many)).get() == dense @ many).all()
    assert (each.toarray().get() == dense).all()
    assert (each.diagonal(5).get() == dense.diagonal(5)).all()
"""


def test_sparse_arrays(run_python):
    run_python(SPARSE_ARRAYS, env={"PYCUDA_CPU_CHECK": "racecheck"}, check=True)
