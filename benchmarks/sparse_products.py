"""Milliseconds of sparse matrices times vectors, and of sparse arrays times vectors and dense matrices: ours,
cuSPARSE's, CuPy's, torch's; on the CPU device SciPy's.

Classic patterns: neighbors in a plane, random columns, a network with hubs, and one very long row.
`sparse_products.py arrays` makes the tables of sparse arrays alone, `sparse.py operators` the other one.
"""

import functools
import sys

import numpy as np
import scipy.sparse
from arrays import ON_GPU, seconds
from common import table

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._libraries import finding
from pycuda._libraries import sparse as library
from pycuda.sparse import csr_array
from pycuda.sparse.operator import MatrixOperator


def poisson(rows):
    """Five numbers a row: the Laplace operator on a square grid."""
    side = int(rows**0.5)
    line = scipy.sparse.diags([-1, 2, -1], [-1, 0, 1], (side, side), format="csr")
    one = scipy.sparse.identity(side, format="csr")
    return (scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line)).tocsr()


def compressed(lengths, columns, count):
    """A square CSR matrix with `count` rows: row i has random values in lengths[i] columns, which are the
    next elements of `columns`.
    """
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
    """Rows and columns whose numbers of elements follow a power law: a few have very many."""
    generator = np.random.default_rng(3)
    lengths = np.minimum(8 * (generator.pareto(1.2, rows) + 0.5), rows / 16).astype(np.int64)
    names = generator.permutation(rows).astype(np.int32)
    columns = names[(rows * generator.random(lengths.sum()) ** 4).astype(np.int64)]
    return compressed(lengths, columns, rows)


def long_row(rows):
    """4 numbers a row, and a row that has one in every column."""
    lengths = np.full(rows, 4)
    lengths[rows // 2] = rows
    numbers = np.random.default_rng(5).integers(0, rows, 5 * rows, dtype=np.int32)
    begin = 4 * (rows // 2)
    numbers[begin : begin + rows] = np.arange(rows)
    return compressed(lengths, numbers, rows)


def ten(rows):
    """10 numbers a row, in any columns."""
    numbers = np.random.default_rng(6).integers(0, rows, 10 * rows, dtype=np.int32)
    return compressed(np.full(rows, 10), numbers, rows)


# ---- operators


def cusparse(matrix, x):
    """({name: call} of cuSPARSE's algorithms for compressed rows, called through CuPy; what waits)."""
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
    """({"torch": call}, what waits)"""
    import torch

    parts = (torch.from_numpy(part).cuda() for part in (matrix.indptr, matrix.indices, matrix.data))
    csr, vector = torch.sparse_csr_tensor(*parts, size=matrix.shape), torch.from_numpy(x).cuda()
    return {"torch": lambda: torch.mv(csr, vector)}, torch.cuda.synchronize


def peers(matrix, x):
    """{name: (call, wait)} of the peers that are installed."""
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
    """(call, wait) of pycuda's operator, after a check of its result."""
    operator, vector = MatrixOperator(matrix), gpuarray.to_gpu(x)
    np.testing.assert_allclose(operator(vector).get(), matrix @ x, rtol=1e-2, atol=1e-3)
    return lambda: operator(vector), drv.Context.synchronize


def operators(size):
    rows, header = [], ["ms"]
    for name, make, divisor in (("grid", poisson, 1), ("random", random, 4), ("network", network, 4)):
        whole = make(size // divisor)
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


# ---- sparse arrays


def by_cusparse(a, x):
    """{algorithm: call} of cuSPARSE, called through pycuda; empty if it is not installed."""
    if finding.problem("cusparse"):
        return {}
    y = gpuarray.empty(a.shape[:1] + x.shape[1:], x.dtype)
    matrix = library.Rows(a.shape, a.indptr, a.indices, a.data)
    is_vector = x.ndim == 1
    multiply = library.multiply_vector if is_vector else library.multiply_matrix
    names = library.VECTOR_ALGORITHMS if is_vector else library.MATRIX_ALGORITHMS
    return {name: functools.partial(multiply, matrix, x, y, name) for name in names}


# Of the peers, (call, wait): the product of a SciPy matrix, copied to the device, and a GPUArray's memory.


def by_cupy(matrix, x):
    import cupy
    from cupyx.scipy.sparse import csr_matrix

    theirs, dense = csr_matrix(matrix), cupy.from_dlpack(x)
    return (lambda: theirs @ dense), cupy.cuda.runtime.deviceSynchronize


def by_torch(matrix, x):
    import torch

    parts = (torch.from_numpy(part).cuda() for part in (matrix.indptr, matrix.indices, matrix.data))
    theirs, dense = torch.sparse_csr_tensor(*parts, size=matrix.shape), torch.from_dlpack(x)
    return (lambda: theirs @ dense), torch.cuda.synchronize


def by_scipy(matrix, x):
    host = x.get()
    return (lambda: matrix @ host), lambda: None


PEERS = {"cupy": by_cupy, "torch": by_torch} if ON_GPU else {"scipy": by_scipy}


def milliseconds(name, make, *operands):
    """Milliseconds of the (call, wait) that make(*operands) returns; None if the peer is not installed or
    does not support the call.
    """
    try:
        return seconds(*make(*operands)) * 1e3
    except (ImportError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        print(f"({name}: {type(error).__name__}: {error})")
        return None


def measured(matrix, width):
    """{name: milliseconds} of a product with a matrix of `width` columns, with a vector if that is 0; ours
    first.
    """
    shape = (matrix.shape[1], width) if width else matrix.shape[1:]
    a, x = csr_array(matrix), gpuarray.to_gpu(np.random.default_rng(4).random(shape).astype(matrix.dtype))
    wait = drv.Context.synchronize
    times = {"pycuda": seconds(lambda: a @ x, wait) * 1e3}
    if ON_GPU:
        calls = by_cusparse(a, x)
        for name in ("CSR_ALG1", "CSR_ALG2", "CSR_ALG3"):
            times[name] = seconds(calls[name], wait) * 1e3 if name in calls else None
    for name, make in PEERS.items():
        times[name] = milliseconds(name, make, matrix, x)
    return times


def arrays(size):
    rows, header = [], ["ms"]
    for name, make in (
        ("grid", poisson),
        ("10 a row", ten),
        ("network", network),
        ("one long row", long_row),
    ):
        whole = make(size)
        for dtype in np.float32, np.float64:
            matrix = whole.astype(dtype)
            for width in 0, 8, 32, 128:
                times = measured(matrix, width)
                best = min((time for each, time in times.items() if each != "pycuda" and time), default=None)
                header = ["ms", *times, "x best peer"]
                what = f"{name}, {matrix.nnz} {np.dtype(dtype).name}, " + (
                    f"{width} columns" if width else "vector"
                )
                ratio = f"{best / times['pycuda']:.2f}" if best else ""
                rows.append((what, *(f"{time:.4f}" if time else "-" for time in times.values()), ratio))
    table(f"Sparse arrays of {size} rows times vectors and dense matrices", header, rows)


def main():
    wanted = sys.argv[1:] or ["operators", "arrays"]
    if "operators" in wanted:
        operators(1 << (22 if ON_GPU else 14))
    if "arrays" in wanted:
        arrays(1_000_000 if ON_GPU else 10_000)


if __name__ == "__main__":
    main()
