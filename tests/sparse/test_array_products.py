"""Products of sparse arrays with vectors and dense matrices."""

import time

import numpy as np
import pytest
from drawn import CLASSES, few, pairs
from hypothesis import given
from hypothesis import strategies as st
from matrices import DTYPES, MATRICES, check, of_lengths, poisson, power_law, sparse, typed, vector

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._kernels.sparse import rows as kernels
from pycuda.sparse import csc_array, csr_array
from pycuda.sparse.coordinate import CoordinateSpMV
from pycuda.tools import DeviceMemoryPool


def matrix(rows, columns, dtype, seed=6):
    """A dense array of NumPy of normally distributed numbers."""
    return vector(rows * columns, dtype, seed).reshape(rows, columns)


@pytest.mark.parametrize("name", MATRICES)
def test_products_of_every_kind_of_matrix(name):
    mat = typed(MATRICES[name](), np.float64)
    x, y = vector(mat.shape[1], np.float64), vector(mat.shape[0], np.float64)
    for made in (csr_array(mat), csc_array(mat), csr_array(mat).tocoo()):
        check((made @ gpuarray.to_gpu(x)).get(), mat, x)
        check((made.T @ gpuarray.to_gpu(y)).get(), mat.T, y)
        check((gpuarray.to_gpu(y) @ made).get(), mat.T, y)
        many = matrix(mat.shape[1], 5, np.float64)
        check((made @ gpuarray.to_gpu(many)).get(), mat, many)
        rows = matrix(3, mat.shape[0], np.float64)
        check((gpuarray.to_gpu(rows) @ made).get().T, mat.T, rows.T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["power law", "Poisson"])
def test_products_of_every_dtype(name, dtype):
    mat = typed(MATRICES[name](), dtype)
    made = csr_array(mat)
    x = vector(mat.shape[1], dtype)
    check((made @ gpuarray.to_gpu(x)).get(), mat, x)
    check((made.tocsc() @ gpuarray.to_gpu(x)).get(), mat, x)
    many = matrix(mat.shape[1], 9, dtype)
    check((made @ gpuarray.to_gpu(many)).get(), mat, many)
    rows = matrix(2, mat.shape[0], dtype)
    check((gpuarray.to_gpu(rows) @ made).get().T, mat.T, rows.T)


@pytest.mark.parametrize("width", [0, 1, 2, 3, 8, 31, 33, 64, 65, 128, 200])
def test_widths(width):
    """Numbers of columns of the dense matrix for each kernel, with columns left over and rows divided among
    tiles."""
    mat = typed(of_lengths([0, 3, 5000, 0, 70, 600, 2], 6000), np.float32)
    many = matrix(6000, width, np.float32)
    check((csr_array(mat) @ gpuarray.to_gpu(many)).get(), mat, many)


def test_some_columns_at_a_time(monkeypatch):
    """_MAX_CARRY_BYTES limits the memory for partial sums, and so the columns that one launch computes."""
    monkeypatch.setattr("pycuda.sparse._compressed._MAX_CARRY_BYTES", 1)
    mat, many = typed(power_law(300, 2000), np.float32), matrix(2000, 100, np.float32)
    assert kernels.columns_at_a_time(9, 4, 1) == 32
    check((csr_array(mat) @ gpuarray.to_gpu(many)).get(), mat, many)


@few
@given(data=st.data())
def test_any_elements(data):
    """Duplicates, any order, empty rows; sums of integers are exact."""
    host, made = data.draw(pairs())
    rng = np.random.default_rng(0)
    for shape in (host.shape[1],), (host.shape[1], data.draw(st.sampled_from([1, 3, 40]))):
        x = rng.integers(-5, 6, shape).astype(host.dtype)
        result = made @ gpuarray.to_gpu(x)
        assert result.dtype == host.dtype and (result.get() == host @ x).all()
        back = rng.integers(-5, 6, shape[1:] + host.shape[:1]).astype(host.dtype)
        assert ((gpuarray.to_gpu(back) @ made).get() == back @ host).all()


@pytest.mark.parametrize("dtype", ["?", "b", "B", "h", "H", "i", "I", "q", "Q"])
def test_products_of_integers(dtype):
    rng = np.random.default_rng(1)
    host = sparse.csr_array(rng.integers(0, 3, (30, 40)).astype(dtype))
    x, many = (rng.integers(0, 5, shape).astype(dtype) for shape in ((40,), (40, 6)))
    made = csr_array(host)
    for each in x, many:
        result = (made @ gpuarray.to_gpu(each)).get()
        assert result.dtype == (host @ each).dtype and (result == host @ each).all()


@pytest.mark.parametrize(
    "first, second", [("f", "d"), ("i", "f"), ("f", "D"), ("?", "h"), ("b", "e"), ("F", "d"), ("d", "i")]
)
def test_two_dtypes(first, second):
    host = sparse.csr_array(np.arange(12).reshape(3, 4).astype(first))
    x = np.arange(4).astype(second)
    result = (csr_array(host) @ gpuarray.to_gpu(x)).get()
    expected = np.float32 if second == "e" else np.result_type(first, second)
    assert result.dtype == expected and (result == host.toarray() @ x.astype(expected)).all()


VIEWS = {
    "C": lambda x: x,
    "F": lambda x: x.T.copy().T,
    "part": lambda x: x[:, 2:-1],
    "every other row": lambda x: x[::2],
    "every other column": lambda x: x[:, ::2],
    "backwards": lambda x: x[::-1, ::-1],
    "rows backwards": lambda x: x[::-1],
    "transposed": lambda x: x.T,
}


@pytest.mark.parametrize("view", VIEWS)
def test_strides_of_the_dense_operand(view):
    host = np.arange(60 * 50, dtype=np.float64).reshape(60, 50) % 17
    x, x_gpu = VIEWS[view](host), VIEWS[view](gpuarray.to_gpu(host))
    rng = np.random.default_rng(2)
    mat = sparse.csr_array(rng.integers(-2, 3, (33, x.shape[0])).astype(np.float64))
    made = csr_array(mat)
    assert ((made @ x_gpu).get() == mat @ x).all()
    assert ((x_gpu.T @ made.T).get() == (mat @ x).T).all()
    assert ((made @ x_gpu[:, 3]).get() == mat @ x[:, 3]).all()


def test_broadcast_operands():
    """Broadcast operands have strides of 0."""
    mat = sparse.csr_array(np.arange(20.0).reshape(4, 5))
    one = gpuarray.to_gpu(np.array([3.0]))
    assert ((csr_array(mat) @ gpuarray.broadcast_to(one, (5,))).get() == mat @ np.full(5, 3.0)).all()
    many = gpuarray.broadcast_to(one, (5, 7))
    assert ((csr_array(mat) @ many).get() == mat @ np.full((5, 7), 3.0)).all()


def test_complex_numbers_that_are_aligned_as_floats():
    mat, x = typed(poisson(5), np.complex64), vector(25, np.complex64)
    raw = gpuarray.zeros(51, np.float32)
    raw[1:].set(x.view(np.float32))
    odd = gpuarray.GPUArray((25,), np.complex64, base=raw, gpudata=raw.ptr + 4)
    check((csr_array(mat) @ odd).get(), mat, x)
    values = gpuarray.zeros(2 * mat.nnz + 1, np.float32)
    values[1:].set(mat.data.view(np.float32))
    data = gpuarray.GPUArray((mat.nnz,), np.complex64, base=values, gpudata=values.ptr + 4)
    made = csr_array((data, mat.indices, mat.indptr), shape=mat.shape)
    check((made @ gpuarray.to_gpu(x)).get(), mat, x)
    check((csr_array(mat) @ odd.reshape(25, 1)).get()[:, 0], mat, x)


def test_nan_and_infinity():
    """Elements that are not stored are not multiplied; NaN and infinity change only results of their rows."""
    host = sparse.csr_array(np.array([[np.nan, 0, 1], [0, 2, 0], [np.inf, 0, 0], [0, 0, 0]]))
    x = np.array([1.0, np.inf, -3.0])
    for each in (x, np.stack([x, x[::-1]], 1)):
        result = (csr_array(host) @ gpuarray.to_gpu(each)).get()
        np.testing.assert_array_equal(result, host @ each)


@pytest.mark.parametrize("width", [None, 3])
def test_one_very_long_row(width):
    """The sums of its tiles are added by whole blocks."""
    count = 150_000
    lengths = [0] * 100 + [count] + [1] * 50
    mat = typed(of_lengths(lengths, count), np.float64)
    x = vector(count, np.float64) if width is None else matrix(count, width, np.float64)
    made = csr_array(mat)
    tiles = made._lines.tiles(kernels.vector_tiling(mat.dtype))
    assert tiles.count > 64
    check((made @ gpuarray.to_gpu(x)).get(), mat, x)


def test_tiles_have_every_element_once():
    """bounds[k] is (row, element) at which tile k begins: the tiles follow each other without gaps, are about
    equally large, and begin within a row only if it is longer than `longest`.
    """
    rng = np.random.default_rng(5)
    lengths = np.concatenate([rng.integers(0, 9, 3000), rng.integers(0, 900, 40), np.zeros(9000, int)])
    rng.shuffle(lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    made = csr_array((np.ones(starts[-1]), np.zeros(starts[-1], int), starts), shape=(len(lengths), 1))
    for size, longest in ((64, 64), (64, 256), (1024, 512), (300, 7)):
        tiling = kernels.Tiling(size, longest)
        bounds = made._lines.tiles(tiling).bounds.get().astype(np.int64)
        assert (bounds[0] == 0).all() and (bounds[-1] == [len(lengths), starts[-1]]).all()
        assert (np.diff(bounds, axis=0) >= 0).all()
        assert np.diff(bounds.sum(1)).max() <= size + longest
        inner = bounds[1:-1]
        assert (starts[inner[:, 0]] <= inner[:, 1]).all() and (inner[:, 1] <= starts[inner[:, 0] + 1]).all()
        cut = inner[:, 1] > starts[inner[:, 0]]
        assert (lengths[inner[cut, 0]] > longest).all()
        if longest >= size:  # long rows are cut into pieces of that length
            assert ((inner[cut, 1] - starts[inner[cut, 0]]) % longest == 0).all()


def test_the_same_bits_each_time_and_in_each_format():
    mat, x = typed(power_law(800, 9000), np.float32), vector(9000, np.float32)
    mat.sort_indices()
    made = csr_array(mat)
    results = {
        (each @ gpuarray.to_gpu(x)).get().tobytes() for each in (made, made, made.tocsc(), made.tocoo())
    }
    assert len(results) == 1
    many = gpuarray.to_gpu(matrix(9000, 6, np.float32))
    assert len({(each @ many).get().tobytes() for each in (made, made, made.tocsc())}) == 1


@pytest.mark.parametrize("lengths, lanes", [([32] * 5 + [3] * 150, 1), ([24] * 30, 8), ([500], 32)])
def test_the_same_bits_in_the_order_of_the_kernel(lengths, lanes):
    """Each of a row's lanes sums every `lanes`-th product; then the lanes' sums are added by halves."""
    mat = typed(of_lengths(lengths, 500), np.float32)
    x = vector(500, np.float32)
    products = (mat.data * x[mat.indices]).astype(np.float32)
    expected = []
    for begin, end in zip(mat.indptr[:-1], mat.indptr[1:], strict=True):
        parts = [products[begin:end][lane::lanes] for lane in range(lanes)]
        sums = [np.add.accumulate(np.append(np.float32(0), part))[-1] for part in parts]
        while len(sums) > 1:
            half = len(sums) // 2
            sums = [sums[k] + sums[k + half] for k in range(half)]
        expected.append(float(sums[0]))
    assert (csr_array(mat) @ gpuarray.to_gpu(x)).get().tolist() == expected


def test_indices_of_64_bits():
    mat = typed(power_law(300, 4000), np.float32)
    arrays = (gpuarray.to_gpu(each) for each in (mat.data, mat.indices.astype("i8"), mat.indptr.astype("i8")))
    made = csr_array(tuple(arrays), shape=mat.shape)
    assert made.indices.dtype == made.indptr.dtype == np.int64
    x, many = vector(4000, np.float32), matrix(4000, 4, np.float32)
    check((made @ gpuarray.to_gpu(x)).get(), mat, x)
    check((made @ gpuarray.to_gpu(many)).get(), mat, many)
    y = vector(300, np.float32)
    check((made.T @ gpuarray.to_gpu(y)).get(), mat.T, y)


def test_a_matrix_wider_than_32_bits():
    """No vector would fit into memory, but the matrix can be made and copied back."""
    host = sparse.coo_array((np.array([2.0, 3.0]), ([1, 0], [2**40, 5])), shape=(2, 2**41))
    made = CLASSES["csr"](host)
    assert made.indices.dtype == np.int64 and made.shape == (2, 2**41)
    assert (made.get() != sparse.csr_array(host)).nnz == 0


def test_values_may_change():
    mat = typed(poisson(6), np.float64)
    made, x = csr_array(mat), gpuarray.to_gpu(vector(36, np.float64))
    before = [(each @ x).get() for each in (made, made.T, made.tocoo())]
    made.data *= 2
    for each, old in zip((made, made.T, made.tocoo()), before, strict=True):
        assert ((each @ x).get() == 2 * old).all()
    made.data = gpuarray.to_gpu(mat.data * 4)
    assert ((made @ x).get() == 4 * before[0]).all()
    made.data = mat.data.astype(np.float32)
    assert made.dtype == np.float32
    for wrong in mat.data[1:], mat.data[None], mat.data.astype(np.float16):
        with pytest.raises(ValueError):
            made.data = wrong


def test_products_on_several_streams():
    mat, x = typed(power_law(500, 5000), np.float32), vector(5000, np.float32)
    x_gpu = gpuarray.to_gpu(x)
    expected = (csr_array(mat) @ x_gpu).get()
    made, results = csr_array(mat), []
    for stream in [drv.Stream(), drv.Stream()] * 2:
        with stream:
            results.append(made @ x_gpu)
        stream.synchronize()
    assert all((result.get() == expected).all() for result in results)


@pytest.mark.parametrize("columns", [1, 3])
def test_an_operand_may_be_dropped_while_its_product_is_queued(columns):
    """Its memory is given to others after the product."""
    mat, host = typed(power_law(500, 5000), np.float32), matrix(5000, columns, np.float32)
    made, stream = csr_array(mat), drv.Stream(drv.stream_flags.NON_BLOCKING)
    with stream:
        expected = (made @ gpuarray.to_gpu(host)).get()
    x = gpuarray.to_gpu(host)
    x += 0
    drv.Context.synchronize()
    stream.launch_host_func(time.sleep, 0.2)
    with stream:
        result = made @ x
    del x
    others = [gpuarray.zeros(host.shape, np.float32) - 1 for _ in range(3)]
    assert (result.get(stream=stream) == expected).all()
    assert all((other.get() == -1).all() for other in others)


def test_products_are_captured():
    """The plan that a matrix's first product makes is not a part of the graph."""
    mat = typed(power_law(300, 2000), np.float64)
    made, x = csr_array(mat), gpuarray.to_gpu(vector(2000, np.float64))
    many = gpuarray.to_gpu(matrix(2000, 3, np.float64))
    drv.Context.synchronize()
    stream = drv.Stream()
    with stream.capture() as graph:
        one, several = made @ x, made @ many
        back = made.T @ one
    graph.instantiate().launch(stream)
    stream.synchronize()
    check(one.get(), mat, x.get())
    check(several.get(), mat, many.get())
    check(back.get(), mat.T, one.get())


def test_products_that_are_refused():
    made = csr_array(sparse.csr_array(np.ones((3, 4))))
    x, y = gpuarray.zeros(4, np.float64), gpuarray.zeros(3, np.float64)
    for call in (
        lambda: made @ y,
        lambda: x @ made,
        lambda: made.T @ x,
        lambda: made @ gpuarray.zeros((3, 4), "d"),
    ):
        with pytest.raises(ValueError, match="dimension mismatch"):
            call()
    with pytest.raises(ValueError, match="one axis or two"):
        made @ gpuarray.zeros((2, 4, 1), np.float64)
    for call in (lambda: made @ 2, lambda: 2 @ made, lambda: made @ np.float32(2)):
        with pytest.raises(ValueError, match="Scalar operands are not allowed"):
            call()
    for call in (lambda: made @ np.zeros(4), lambda: np.zeros(3) @ made, lambda: made @ [1, 2, 3, 4]):
        with pytest.raises(TypeError, match="data in host memory is never copied implicitly"):
            call()
    with pytest.raises(TypeError, match="two sparse arrays"):
        made @ made.T
    with pytest.raises(TypeError):
        made * x
    with pytest.raises(TypeError):
        made + made


class Foreign:
    """An array of another library, in the memory of a GPUArray."""

    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__
        self._array = array


def test_arrays_of_other_libraries():
    mat = typed(poisson(5), np.float64)
    parts = [Foreign(gpuarray.to_gpu(each)) for each in (mat.data, mat.indices, mat.indptr)]
    made, x = csr_array(tuple(parts), shape=mat.shape), vector(25, np.float64)
    assert made.data.ptr == parts[0]._array.ptr
    check((made @ Foreign(gpuarray.to_gpu(x))).get(), mat, x)
    check((Foreign(gpuarray.to_gpu(x)) @ made).get(), mat.T, x)
    dense = csr_array(Foreign(gpuarray.to_gpu(mat.toarray())))
    assert (dense.get() != mat).nnz == 0


def test_operators_take_sparse_arrays():
    mat, x = typed(poisson(5), np.float32), vector(25, np.float32)
    for made in csr_array(mat), csc_array(mat):
        check(CoordinateSpMV(made, np.float32)(gpuarray.to_gpu(x)).get(), mat, x)


def test_results_use_the_vectors_allocator():
    pool = DeviceMemoryPool()
    x = gpuarray.to_gpu(vector(25, np.float32), allocator=pool.allocate)
    y = csr_array(typed(poisson(5), np.float32)) @ x
    assert y.allocator == pool.allocate
    del x, y
    pool.stop_holding()
