"""Milliseconds of a sparse matrix times a vector: ours, cuSPARSE's, torch's; on the CPU device SciPy's.

Three classic patterns: neighbors in a plane, random columns, a network with hubs.
"""

import numpy as np
import scipy.sparse
from arrays import ON_GPU, seconds
from common import table

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.sparse.operator import MatrixOperator


def poisson(rows):
    """Five numbers a row: the Laplace operator on a square grid."""
    side = int(rows**0.5)
    line = scipy.sparse.diags([-1, 2, -1], [-1, 0, 1], (side, side), format="csr")
    one = scipy.sparse.identity(side, format="csr")
    return (scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line)).tocsr()


def compressed(lengths, columns, count):
    starts = np.concatenate([[0], np.cumsum(lengths)])
    values = np.random.default_rng(2).random(starts[-1])
    matrix = scipy.sparse.csr_matrix((values, columns[: starts[-1]], starts), shape=(count, count))
    matrix.sum_duplicates()
    return matrix


def random(rows):
    """32 numbers a row, in any columns."""
    numbers = np.random.default_rng(1).integers(0, rows, 32 * rows, dtype=np.int32)
    return compressed(np.full(rows, 32), numbers, rows)


def network(rows):
    """Rows and columns whose lengths follow a power law: few have very many."""
    generator = np.random.default_rng(3)
    lengths = np.minimum(8 * (generator.pareto(1.2, rows) + 0.5), rows / 16).astype(np.int64)
    names = generator.permutation(rows).astype(np.int32)
    columns = names[(rows * generator.random(lengths.sum()) ** 4).astype(np.int64)]
    return compressed(lengths, columns, rows)


def cusparse(matrix, x):
    """{name: call} of cuSPARSE's algorithms for compressed rows, through CuPy."""
    import cupy
    from cupy._core._dtype import to_cuda_dtype
    from cupy_backends.cuda.libs import cusparse as library
    from cupyx.cusparse import DnVecDescriptor, SpMatDescriptor
    from cupyx.scipy.sparse import csr_matrix

    theirs, vector, out = csr_matrix(matrix), cupy.asarray(x), cupy.zeros(len(x), x.dtype)
    one, zero = np.ones(1, x.dtype), np.zeros(1, x.dtype)
    parts = SpMatDescriptor.create(theirs), DnVecDescriptor.create(vector), DnVecDescriptor.create(out)
    made, by, into = (part.desc for part in parts)
    handle = cupy.cuda.device.get_cusparse_handle()
    calls = {}
    for algorithm in 2, 3:  # CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2
        head = handle, 0, one.ctypes.data, made, by, zero.ctypes.data, into, to_cuda_dtype(x.dtype), algorithm
        room = cupy.empty(library.spMV_bufferSize(*head), np.int8)

        def call(head=head, room=room, keep=(theirs, vector, out, one, zero, parts)):
            library.spMV(*head, room.data.ptr)

        calls[f"cuSPARSE {algorithm - 1}"] = call
    return calls, cupy.cuda.runtime.deviceSynchronize


def torch_product(matrix, x):
    import torch

    parts = (torch.from_numpy(part).cuda() for part in (matrix.indptr, matrix.indices, matrix.data))
    csr, vector = torch.sparse_csr_tensor(*parts, size=matrix.shape), torch.from_numpy(x).cuda()
    return {"torch": lambda: torch.mv(csr, vector)}, torch.cuda.synchronize


def peers(matrix, x):
    """{name: (call, wait)}"""
    if not ON_GPU:
        return {"scipy": (lambda: matrix @ x, lambda: None)}
    found = {}
    for make in cusparse, torch_product:
        try:
            calls, wait = make(matrix, x)
        except ImportError as error:
            print(f"({error})")
            continue
        found.update({name: (call, wait) for name, call in calls.items()})
    return found


def ours(matrix, x):
    operator, vector = MatrixOperator(matrix), gpuarray.to_gpu(x)
    np.testing.assert_allclose(operator(vector).get(), matrix @ x, rtol=1e-2, atol=1e-3)
    return lambda: operator(vector), drv.Context.synchronize


def main():
    rows, header = [], ["ms"]
    size = 1 << (22 if ON_GPU else 14)
    for name, make, part in (("grid", poisson, 1), ("random", random, 4), ("network", network, 4)):
        whole = make(size // part)
        for dtype in np.float32, np.float64:
            matrix = whole.astype(dtype)
            x = np.random.default_rng(4).random(matrix.shape[1]).astype(dtype)
            calls = {"pycuda": ours(matrix, x), **peers(matrix, x)}
            times = {library: seconds(*call) * 1e3 for library, call in calls.items()}
            best = min(time for library, time in times.items() if library != "pycuda")
            header = ["ms", *times, "x best peer"]
            what = f"{name}, {matrix.shape[0]} rows, {matrix.nnz} {np.dtype(dtype).name}"
            rows.append((what, *(f"{time:.4f}" for time in times.values()), f"{best / times['pycuda']:.2f}"))
    table("Sparse matrix times vector", header, rows)


if __name__ == "__main__":
    main()
