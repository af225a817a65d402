"""Products of matrices whose elements are sorted by column within large tiles."""

import numpy as np
import pytest
from matrices import MATRICES, check, of_lengths, poisson, power_law, sparse, typed, vector

import pycuda.gpuarray as gpuarray
from pycuda._kernels.sparse import column_sorted as kernels
from pycuda.sparse import _layouts
from pycuda.sparse.coordinate import CoordinateSpMV

pytestmark = pytest.mark.usefixtures("primary_context")

MORE_MATRICES = {
    **{name: make for name, make in MATRICES.items() if name not in ("no elements", "no rows", "no columns")},
    "rows in parts": lambda: of_lengths([4096, 4097, 0, 33, 8192, 5, 9000, 32, 8193], 9000),
    "rows of a warp": lambda: of_lengths(list(range(100)), 3000),
}


@pytest.fixture
def always(monkeypatch):
    """Sorts the elements by column even of matrices that are too small to gain by it."""
    monkeypatch.setattr(kernels, "is_worth_it", lambda *arguments: True)


def by_column(mat, dtype):
    """The operator of a matrix, which must have sorted the elements by column."""
    operator = CoordinateSpMV(mat, dtype)
    assert isinstance(operator._matrix._layout, _layouts.ByColumn)
    return operator


@pytest.mark.parametrize("size", [None, 700], ids=["large tiles", "small tiles"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("name", MORE_MATRICES)
def test_product(name, dtype, size, always, monkeypatch):
    if size:
        monkeypatch.setattr(kernels, "_tile_size", lambda *arguments: size)
    mat = MORE_MATRICES[name]()
    mat = mat if name == "duplicates" else typed(mat, dtype)
    x, y = vector(mat.shape[1], dtype), vector(mat.shape[0], dtype, 6)
    operator, csr = by_column(mat, dtype), sparse.csr_matrix(mat)
    x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    check(operator(x_gpu).get(), csr, x)
    operator(x_gpu, y_gpu)
    check(y_gpu.get(), csr, x, y)


def test_starts_of_64_bits(always, monkeypatch):
    """_MAX_INT32 is the number of elements beyond which the starts of tiles have 64 bits."""
    monkeypatch.setattr(_layouts, "_MAX_INT32", 5000)
    mat = typed(power_law(300, 4000), np.float32)
    operator, x = by_column(mat, np.float32), vector(4000, np.float32)
    assert operator._matrix._layout._starts.dtype == np.int64
    check(operator(gpuarray.to_gpu(x)).get(), mat, x)


def test_the_bits_do_not_depend_on_the_tiles(always, monkeypatch):
    mat, x = power_law(1500, 9000), gpuarray.to_gpu(vector(9000, np.float32))
    results = set()
    for size in 300, 1000, 10_000:
        monkeypatch.setattr(kernels, "_tile_size", lambda *arguments, size=size: size)
        results.add(by_column(mat, np.float32)(x).get().tobytes())
    assert len(results) == 1


def test_the_order_of_sums(always):
    """NumPy gives the same bits by the order in pycuda-sparse-sorted.hpp: short rows are summed in sequence,
    long ones by the lanes of a warp."""
    mat = of_lengths([32] * 20 + [96] * 20, 500)
    mat.data[:] = np.abs(mat.data) + 1
    x = vector(500, np.float32)
    products = mat.data.astype(np.float32) * x[mat.indices]
    short, long = products[: 20 * 32].reshape(20, 32), products[20 * 32 :].reshape(20, 3, 32)
    in_order = np.add.accumulate(short, axis=1)[:, -1]
    lanes = long[:, 0] + long[:, 1] + long[:, 2]
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    result = by_column(mat, np.float32)(gpuarray.to_gpu(x)).get()
    assert (result == np.concatenate([in_order, lanes[:, 0]])).all()


@pytest.mark.parametrize(("apart", "chunks"), [((1 << 16) - 1, 1), (1 << 16, 2)])
def test_tiles_with_columns_too_far_apart_for_16_bits(apart, chunks, always, monkeypatch):
    """A tile stores 16 bits of each column; more distant columns need another chunk."""
    monkeypatch.setattr(kernels, "_tile_size", lambda *arguments: 100)
    mat = sparse.csr_matrix((np.ones(3), ([0, 9, 9], [3, 4, 3 + apart])), shape=(10, 200_000))
    operator, x = by_column(mat, np.float32), vector(200_000, np.float32)
    assert len(operator._matrix._layout._elements[0]) == chunks
    check(operator(gpuarray.to_gpu(x)).get(), mat, x)


def large(draw_columns):
    """A matrix with 32 elements in each row, at the columns draw_columns(shape), and enough of them, even
    without duplicates, to be sorted by column."""
    rows = kernels.MIN_ELEMENTS // 24
    columns = np.sort(draw_columns((rows, 32)), axis=1).reshape(-1)
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, np.arange(rows + 1) * 32))


def test_which_matrices_are_sorted_by_column():
    """Large ones with many columns, but not too many, that are scattered; not for complex128, a narrow or a
    banded one."""
    rng = np.random.default_rng(7)
    anywhere = large(lambda shape: rng.integers(0, 1 << 17, shape, dtype=np.int32))
    operator, x = by_column(anywhere, np.float32), vector(anywhere.shape[1], np.float32)
    check(operator(gpuarray.to_gpu(x)).get(), sparse.csr_matrix(anywhere), x)

    def worth_it(mat, itemsize=4, columns=None):
        return kernels.is_worth_it(mat.indices, columns or mat.shape[1], itemsize)

    assert worth_it(anywhere) and worth_it(anywhere, 8)
    assert not worth_it(anywhere, 16)
    assert not worth_it(anywhere, columns=1 << 24)
    assert not worth_it(anywhere, columns=1 << 16) and worth_it(anywhere, columns=(1 << 16) + 1)
    assert not worth_it(anywhere[: 1 << 16])
    assert not worth_it(large(lambda shape: rng.integers(0, 1 << 23, shape, dtype=np.int32)))
    assert not worth_it(sparse.csr_matrix(poisson(1000)))
