"""Sparse matrices times vectors, compared with SciPy."""

import threading

import numpy as np
import pytest
from matrices import DTYPES, MATRICES, check, of_lengths, poisson, power_law, random, sparse, typed, vector

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
import pycuda.sparse
from pycuda._kernels.sparse import spmv as kernels
from pycuda.sparse.coordinate import CoordinateSpMV
from pycuda.sparse.operator import MatrixOperator
from pycuda.sparse.packeted import PacketedSpMV
from pycuda.tools import DeviceMemoryPool

pytestmark = pytest.mark.usefixtures("primary_context")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MATRICES)
def test_product(name, dtype):
    mat = MATRICES[name]()
    mat = mat if name == "duplicates" else typed(mat, dtype)
    x, y = vector(mat.shape[1], dtype), vector(mat.shape[0], dtype, 6)
    operator = CoordinateSpMV(mat, dtype)
    assert operator.shape == mat.shape and operator.dtype == dtype
    assert operator.nnz == sparse.csr_matrix(mat).nnz
    x_gpu = gpuarray.to_gpu(x)
    csr = sparse.csr_matrix(mat)
    check(operator(x_gpu).get(), csr, x)
    y_gpu = gpuarray.to_gpu(y)
    assert operator(x_gpu, y_gpu) is y_gpu
    check(y_gpu.get(), csr, x, y)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_matrix_operator_takes_matrices_of_the_host_and_the_device(form):
    host = poisson(9).asformat(form)
    x = vector(host.shape[1], np.float64)
    for mat in host, getattr(pycuda.sparse, f"{form}_array")(host):
        check(MatrixOperator(mat)(gpuarray.to_gpu(x)).get(), host.tocsr(), x)
    with pytest.raises(TypeError, match="mat must be a sparse matrix"):
        MatrixOperator("eye")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"])
@pytest.mark.parametrize("new", [False, True], ids=["matrix", "array"])
def test_every_format_of_scipy(form, new):
    mat = poisson(9).asformat(form)
    if new:
        mat = getattr(sparse, f"{form}_array")(mat)
    x = vector(81, np.float64)
    check(CoordinateSpMV(mat, np.float64)(gpuarray.to_gpu(x)).get(), poisson(9), x)


def test_summing_duplicates_does_not_change_the_matrix():
    mat = sparse.csr_matrix(([1.0, 2.0, 4.0], [1, 0, 1], [0, 3]), shape=(1, 2))
    operator = CoordinateSpMV(mat, np.float32)
    assert operator.nnz == 2 and mat.nnz == 3
    assert operator(gpuarray.to_gpu(np.float32([1, 10]))).get() == [52]


@pytest.mark.parametrize("dtype", DTYPES)
def test_starts_of_64_bits(dtype, monkeypatch):
    """The kernels for more than 2^31 elements. _MAX_INT32 is the number beyond which they are used."""
    monkeypatch.setattr("pycuda.sparse._layouts._MAX_INT32", 5000)
    mat = typed(power_law(300, 4000), dtype)
    assert mat.nnz > 5000
    operator = CoordinateSpMV(mat, dtype)
    assert operator._matrix._layout._starts.dtype == np.int64
    x = vector(4000, dtype)
    check(operator(gpuarray.to_gpu(x)).get(), mat, x)


def test_the_same_bits_in_the_order_of_the_kernel():
    """NumPy gives the same bits by the order in pycuda-sparse.hpp: each lane sums every n-th product, and the
    lanes' sums are added by halves."""
    mat = of_lengths([32] * 30, 500)
    mat.data[:] = np.abs(mat.data) + 1
    found = kernels.plan_row_tiles(mat.indptr.astype(np.int64), 4)
    assert len(found.tiles) == 1
    lanes = 1 << int(unpacked(found.tiles)[1][0])
    x = vector(500, np.float32)
    products = (mat.data.astype(np.float32) * x[mat.indices]).reshape(30, 32 // lanes, lanes)
    sums = products[:, 0]
    for k in range(1, 32 // lanes):
        sums = sums + products[:, k]
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    assert lanes > 1 and sums.dtype == np.float32
    result = CoordinateSpMV(mat, np.float32)(gpuarray.to_gpu(x)).get()
    assert (result == sums[:, 0]).all()


def test_the_same_bits_each_time():
    mat, x = power_law(800, 9000), vector(9000, np.float32)
    results = {CoordinateSpMV(mat, np.float32)(gpuarray.to_gpu(x)).get().tobytes() for _ in range(3)}
    assert len(results) == 1


def unpacked(tiles):
    """(number of rows, binary logarithm of the lanes for each row, number of elements) of each tile."""
    packed = tiles["packed"].astype(np.int64)
    return packed & 4095, packed >> 12 & 15, packed >> 16


@pytest.mark.parametrize("itemsize", [4, 8, 16])
@pytest.mark.parametrize("seed", range(6))
def test_tiles_have_every_element_once(itemsize, seed):
    """Each row of the matrix is in one tile or among long_rows, and tiles follow each other without a gap.

    A tile is several short rows (rows > 0, from row on), one row (rows = 0, row >= 0) or a piece of a long
    row (rows = 0, row = -1 - number of the piece).
    """
    rng = np.random.default_rng(seed)
    lengths = np.concatenate([
        rng.integers(0, 20, 3000), rng.integers(0, 600, 300), rng.integers(0, 9000, 20), np.zeros(9000, int),
    ])  # fmt: skip
    rng.shuffle(lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    found = kernels.plan_row_tiles(starts, itemsize)
    rows, shifts, counts = unpacked(found.tiles)
    assert (found.tiles["first"] + counts == np.append(found.tiles["first"][1:], starts[-1])).all()
    short = rows > 0
    assert counts[short].max() <= kernels.window(itemsize) + kernels._LONGEST_SHORT_ROW
    assert shifts.max() <= 5  # a row has at most the 32 lanes of a warp
    seen = np.zeros(len(lengths), int)
    for row, n in zip(found.tiles["row"][short], rows[short], strict=True):
        seen[row : row + n] += 1
    single = ~short & (found.tiles["row"] >= 0)
    seen[found.tiles["row"][single]] += 1
    seen[found.long_rows["row"]] += 1
    assert (seen == 1).all()
    numbers = np.sort(-1 - found.tiles["row"][found.tiles["row"] < 0])
    assert (numbers == np.arange(found.pieces)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize(
    ("kind", "columns"),
    [("NearColumns", 1 << 16), ("SplitColumns", (1 << 16) + 1), ("SplitColumns", 1 << 24),
     ("WholeColumns", (1 << 24) + 1)],
)  # fmt: skip
def test_columns_of_every_width(kind, columns, dtype):
    """Columns are stored in as few bits as their number needs. A tile has the first and the last column,
    others are far apart, and there are rows without elements."""
    rows = np.array([0, 0, 0, 2, 2, 700, 900])
    indices = np.array([0, 1, columns - 1, columns // 2, columns - 1, 3, columns - 2])
    mat = sparse.csr_matrix((vector(7, dtype), (rows, indices)), shape=(1000, columns))
    found = kernels.narrow_columns(kernels.plan_row_tiles(mat.indptr, 4).tiles, mat.indices, columns)
    assert found.kind == kind
    x = vector(columns, dtype)
    check(CoordinateSpMV(mat, dtype)(gpuarray.to_gpu(x)).get(), mat, x)


def test_near_columns_far_from_the_first():
    mat = sparse.csr_matrix(sparse.diags([1.0, 2.0], [0, 30_000], shape=(200_000, 200_000)))
    tiles = kernels.plan_row_tiles(mat.indptr, 8).tiles
    assert kernels.narrow_columns(tiles, mat.indices, 200_000).kind == "NearColumns"
    x = vector(200_000, np.float64)
    check(CoordinateSpMV(mat, np.float64)(gpuarray.to_gpu(x)).get(), mat, x)


def test_views_and_overlapping_vectors():
    mat = poisson(12)
    x = vector(288, np.float64)
    whole = gpuarray.to_gpu(x)
    check(CoordinateSpMV(mat, np.float64)(whole[::2]).get(), mat, x[::2])
    y = gpuarray.to_gpu(x)
    CoordinateSpMV(mat, np.float64)(whole[:144], y[::2])
    check(y.get()[::2], mat, x[:144], x[::2])
    assert (y.get()[1::2] == x[1::2]).all()
    CoordinateSpMV(mat, np.float64)(whole[:144], whole[10:154])
    check(whole.get()[10:154], mat, x[:144], x[10:154])


def test_complex_numbers_that_are_aligned_as_floats():
    mat = typed(poisson(5), np.complex64)
    raw = gpuarray.zeros(51, np.float32)
    x = vector(25, np.complex64)
    raw[1:].set(x.view(np.float32))
    odd = gpuarray.GPUArray((25,), np.complex64, base=raw, gpudata=raw.ptr + 4)
    operator = CoordinateSpMV(mat, np.complex64)
    check(operator(odd).get(), mat, x)
    operator(gpuarray.to_gpu(x), odd)
    check(raw.get()[1:].view(np.complex64), mat, x, x)


def test_products_on_several_streams():
    mat, x = power_law(500, 5000), vector(5000, np.float32)
    operator = CoordinateSpMV(mat, np.float32)
    x_gpu = gpuarray.to_gpu(x)
    expected = operator(x_gpu).get()
    drv.Context.synchronize()
    streams = [drv.Stream(), drv.Stream()]
    results = [operator(x_gpu, stream=stream) for stream in streams * 3]
    with streams[0]:
        results.append(operator(x_gpu))
    for stream in streams:
        stream.synchronize()
    assert all((result.get() == expected).all() for result in results)


def test_everything_is_queued_on_the_stream():
    """Copies of views as well. A host function blocks the stream, and the vectors get their values after it:
    work on another stream would read zeros."""
    mat, x = poisson(12), vector(288, np.float64)
    operator = CoordinateSpMV(mat, np.float64)
    new = drv.pagelocked_empty(288, np.float64)
    new[:] = x
    x_gpu, y_gpu = gpuarray.zeros(288, np.float64), gpuarray.zeros(288, np.float64)
    operator(x_gpu[::2], y_gpu[::2])  # compiles
    drv.Context.synchronize()
    stream, go = drv.Stream(drv.stream_flags.NON_BLOCKING), threading.Event()
    stream.launch_host_func(go.wait, 20)
    x_gpu.set_async(new, stream=stream)
    y_gpu.set_async(new, stream=stream)
    operator(x_gpu[::2], y_gpu[1::2], stream=stream)
    go.set()
    stream.synchronize()
    check(y_gpu.get()[1::2], mat, x[::2], x[1::2])
    assert (y_gpu.get()[::2] == x[::2]).all()


def test_results_use_the_vectors_allocator():
    pool = DeviceMemoryPool()
    x = gpuarray.to_gpu(vector(25, np.float32), allocator=pool.allocate)
    y = CoordinateSpMV(poisson(5), np.float32)(x)
    assert y.allocator == pool.allocate
    del x, y
    pool.stop_holding()


def test_wrong_operands_are_refused():
    operator = CoordinateSpMV(random(6, 4, 1.0), np.float32)
    x = gpuarray.zeros(4, np.float32)
    with pytest.raises(ValueError, match=r"x has the shape \(6,\), a matrix of shape \(6, 4\) needs \(4,\)"):
        operator(gpuarray.zeros(6, np.float32))
    with pytest.raises(ValueError, match=r"y has the shape \(4,\)"):
        operator(x, x)
    with pytest.raises(TypeError, match="x is of float64, the matrix of float32"):
        operator(gpuarray.zeros(4, np.float64))
    with pytest.raises(
        TypeError, match=r"x must be a GPUArray, not ndarray: create one with pycuda.gpuarray.to_gpu\(\)"
    ):
        operator(np.zeros(4, np.float32))
    with pytest.raises(TypeError, match="dtype int32 are not supported: use float32"):
        CoordinateSpMV(poisson(3), np.int32)
    with pytest.raises(TypeError, match="cannot cast mat from complex128 to float32"):
        CoordinateSpMV(typed(poisson(3), np.complex128), np.float32)
    with pytest.raises(TypeError, match="mat must be a sparse matrix of SciPy, not list"):
        CoordinateSpMV([[1]], np.float32)
    with pytest.raises(ValueError, match=r"only square matrices are supported.*\(6, 4\)"):
        PacketedSpMV(random(6, 4, 1.0), False, np.float32)


def test_without_scipy(run_python):
    """The import works; an operator raises an error that says what to install."""
    run_python(
        """
        import sys
        sys.modules["scipy"] = None
        import numpy as np
        from pycuda.sparse import cg, coordinate, inner, operator, packeted
        try:
            coordinate.CoordinateSpMV(np.eye(3), np.float32)
        except ImportError as error:
            assert "pip install scipy" in str(error) and error.name == "scipy"
        else:
            raise AssertionError
        """,
        check=True,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("symmetric", [False, True])
def test_packeted_products_and_permutations(dtype, symmetric):
    mat = typed(random(600, 600, 0.01), dtype)
    if symmetric:
        mat = (mat + mat.T).tocsr()
    operator = PacketedSpMV(mat, symmetric, dtype)
    assert operator.shape == (600, 600) and operator.dtype == dtype and operator.block_count >= 1
    x, y = vector(600, dtype), vector(600, dtype, 6)
    x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    assert (operator.unpermute(operator.permute(x_gpu)).get() == x).all()
    check(operator.unpermute(operator(operator.permute(x_gpu))).get(), mat, x)
    inner = operator.permute(y_gpu)
    assert operator(operator.permute(x_gpu), inner) is inner
    check(operator.unpermute(inner).get(), mat, x, y)
    assert (y_gpu.get() == y).all()


def test_packeted_places_neighbors_close_to_each_other():
    """The points of a grid are shuffled; the operator's order has neighbors at most 100 apart again."""
    order = np.random.default_rng(0).permutation(900)
    mat = sparse.csr_matrix(poisson(30))[order][:, order]
    operator = PacketedSpMV(mat, True, np.float64)
    old = operator.new2old_fetch_indices.get()
    assert sorted(old) == list(range(900))
    assert (operator.old2new_fetch_indices.get()[old] == np.arange(900)).all()
    moved = mat[old][:, old].tocoo()
    assert abs(moved.row - moved.col).max() < 100
    x = vector(900, np.float64)
    check(operator.unpermute(operator(operator.permute(gpuarray.to_gpu(x)))).get(), mat, x)


def test_packeted_without_rows():
    operator = PacketedSpMV(sparse.csr_matrix((0, 0)), True, np.float32)
    x = gpuarray.zeros(0, np.float32)
    assert operator(operator.permute(x)).shape == (0,)
