"""Functions of skcuda.misc, compared with NumPy."""

from pathlib import Path

import numpy as np
import pytest
from devices import needs_library
from numpy.testing import assert_allclose

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule
from skcuda import misc

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
every_dtype = pytest.mark.parametrize("dtype", DTYPES)
close = {"rtol": 2e-5, "atol": 1e-5}


def random(dtype, *shape, order="C"):
    """Random integers from 1 to 9 for an integer dtype, else normally distributed numbers."""
    generator = np.random.default_rng([ord(np.dtype(dtype).char), *shape])
    if np.dtype(dtype).kind in "iu":
        return np.asarray(generator.integers(1, 10, shape), dtype, order=order)
    values = generator.normal(size=shape, scale=5)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.normal(size=shape)
    return np.asarray(values, dtype, order=order)


# ---- devices


def test_device_functions():
    device = misc.get_current_device()
    assert device == drv.Context.get_device()
    assert misc.get_compute_capability(device) == float("{}.{}".format(*device.compute_capability()))
    threads, block, grid = misc.get_dev_attrs(device)
    assert threads == device.max_threads_per_block
    assert (block[2], grid[1]) == (device.max_block_dim_z, device.max_grid_dim_y)
    assert misc.init_device(0) == drv.Device(0)


def test_init_context_and_done_context(run_python):
    """A program that makes a context may end without done_context()."""
    program = """
import sys
from skcuda import misc
import pycuda.driver as drv
device = misc.init_device(0)
context = misc.init_context(device)
assert drv.Context.get_current() is not None and misc.get_current_device() == device
if sys.argv[1:] == ["done"]:
    misc.done_context(context)
"""
    folder = str(Path(misc.__file__).parents[1])
    start = f"import sys; sys.path.insert(0, {folder!r})\n"
    run_python(start + program, check=True)
    run_python(start + "import sys; sys.argv[1:] = ['done']\n" + program, check=True)


@pytest.mark.parametrize("threads", [None, 32])
@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (100, 1000)])
def test_blocks_and_grids(shape, threads):
    """A kernel that numbers its threads as scikit-cuda's kernels do has a thread for each element."""
    device = misc.get_current_device()
    block, grid = misc.select_block_grid_sizes(device, shape, threads)
    max_threads, _, max_grid = misc.get_dev_attrs(device)
    source = f"""
__global__ void number(unsigned *x, unsigned n)
{{
    unsigned i = blockIdx.y * {threads or max_threads} * {max(max_grid)}u
        + blockIdx.x * {threads or max_threads} + threadIdx.x;
    if (i < n) x[i] += i;
}}"""
    size = int(np.prod(shape))
    x = gpuarray.zeros(size, np.uint32)
    SourceModule(source).get_function("number")(x, np.uint32(size), block=block, grid=grid)
    assert (x.get() == np.arange(size)).all()
    with pytest.raises(ValueError, match="threads_per_block is 4096"):
        misc.select_block_grid_sizes(device, shape, 4096)


def test_isdoubletype_and_iscomplextype():
    assert misc.isdoubletype(np.float64) and misc.isdoubletype(np.complex128)
    assert misc.iscomplextype(np.complex64) and misc.iscomplextype(np.complex128)
    assert not misc.isdoubletype(np.float32) and not misc.iscomplextype(np.float64)


def test_global_handles():
    needs_library("cublas")
    needs_library("cusolver")
    misc.init()
    assert misc._global_cublas_handle is misc._global_cublas_handle
    assert misc._global_cublas_handle is not misc._global_cusolver_handle
    misc.shutdown()
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = misc.other


# ---- new arrays


@pytest.mark.parametrize("order", "CF")
@every_dtype
def test_new_arrays(dtype, order):
    for function, value in (misc.zeros, 0), (misc.ones, 1), (misc.inf, np.inf):
        for array in (
            function((3, 4), dtype, order),
            function((3, 4), dtype, order=order, allocator=drv.mem_alloc),
        ):
            assert (array.get() == np.full((3, 4), value, dtype)).all() and array.dtype == dtype
            assert array.flags.f_contiguous == (order == "F")
    for function, value in (misc.zeros_like, 0), (misc.ones_like, 1):
        array = function(gpuarray.to_gpu(random(dtype, 3, 4, order=order)))
        assert (array.get() == value).all() and array.flags.f_contiguous == (order == "F")


def test_the_allocator_is_called():
    sizes = []

    def allocate(size):
        sizes.append(size)
        return drv.mem_alloc(size)

    assert (misc.ones(5, np.float32, allocator=allocate).get() == 1).all()
    assert sizes == [5 * 4]


# ---- elements


@every_dtype
def test_maxabs_cumsum_and_diff(dtype):
    x = random(dtype, 3, 5)
    x_gpu = gpuarray.to_gpu(x)
    assert_allclose(misc.maxabs(x_gpu).get(), abs(x).max(), **close)
    assert_allclose(misc.cumsum(x_gpu).get(), np.cumsum(x), **close)
    assert_allclose(misc.diff(x_gpu[0]).get(), np.diff(x[0]), **close)


@pytest.mark.parametrize("data", [np.arange(5.0), np.ones((2, 3), np.float32), np.ones((10, 1), order="F")])
def test_set_realloc(data):
    x = gpuarray.to_gpu(np.zeros(5))
    misc.set_realloc(x, data)
    assert x.shape == data.shape and x.dtype == data.dtype and (x.get() == data).all()
    assert ((x + 1).get() == data + 1).all()


@pytest.mark.parametrize("on_device", [True, False])
def test_get_and_set_by_index(on_device):
    ind = np.array([0, 2, 4])
    index = gpuarray.to_gpu(ind) if on_device else ind
    src = gpuarray.to_gpu(np.arange(5, dtype=np.float32) + 10)
    assert (misc.get_by_index(src, index).get() == [10, 12, 14]).all()
    dest = gpuarray.to_gpu(np.arange(5, dtype=np.float32))
    misc.set_by_index(dest, index, gpuarray.to_gpu(np.ones(3, np.float32)))
    assert (dest.get() == [1, 1, 1, 3, 1]).all()
    dest = gpuarray.zeros(3, np.float32)
    misc.set_by_index(dest, index, src, ind_which="src")
    assert (dest.get() == [10, 12, 14]).all()
    misc.set_by_index(dest, index[:0], src)
    assert (dest.get() == [10, 12, 14]).all() and misc.get_by_index(src, index[:0]).size == 0
    with pytest.raises(ValueError, match="3 indices for 5 elements"):
        misc.set_by_index(src, index, gpuarray.zeros(5, np.float32))
    with pytest.raises(ValueError, match="vector of integers"):
        misc.get_by_index(src, gpuarray.zeros((2, 2), np.int32))
    with pytest.raises(ValueError, match="ind_which is 'x'"):
        misc.set_by_index(dest, index, src, "x")


# ---- arithmetic


@pytest.mark.parametrize("dtype", [np.int32, *DTYPES])
def test_arithmetic_functions(dtype):
    x, y = random(dtype, 4, 3), random(dtype, 1, 3)
    divided = x // y if dtype is np.int32 else x / y
    x_gpu, y_gpu = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    for function, want in (
        (misc.add, x + y), (misc.subtract, x - y), (misc.multiply, x * y), (misc.divide, divided),
    ):  # fmt: skip
        assert_allclose(function(x_gpu, y_gpu).get(), want, **close)
    with pytest.raises(ValueError):
        misc.add(x_gpu, gpuarray.zeros((2, 3), dtype))


@pytest.mark.parametrize("dtype", [np.int32, *DTYPES])
def test_matvec_functions(dtype):
    x, row, column = random(dtype, 3, 5), random(dtype, 1, 5), random(dtype, 3, 1)
    x_gpu = gpuarray.to_gpu(x)
    stream = drv.Stream()
    for function, operator in (
        (misc.add_matvec, np.add),
        (misc.mult_matvec, np.multiply),
        (misc.div_matvec, np.floor_divide if dtype is np.int32 else np.divide),
    ):
        for vector in row, column, row[0]:
            out = gpuarray.empty(x.shape, dtype)
            result = function(x_gpu, gpuarray.to_gpu(vector), out=out, stream=stream)
            stream.synchronize()
            assert result is out
            assert_allclose(out.get(), operator(x, vector), **close)
        for axis, vector in (0, column[:, 0]), (1, row[0]):
            result = function(x_gpu, gpuarray.to_gpu(vector), axis)
            assert_allclose(result.get(), operator(x, column if axis == 0 else row), **close)
        with pytest.raises(ValueError):  # without an axis a vector is a row, as in NumPy
            function(x_gpu, gpuarray.to_gpu(column[:, 0]))
        with pytest.raises(ValueError, match="the vector has 3 elements, axis 1 has 5"):
            function(x_gpu, gpuarray.to_gpu(column), 1)
    with pytest.raises(ValueError, match="binary_op is"):
        misc.binaryop_matvec("^", x_gpu, x_gpu)


# ---- reductions


@pytest.mark.parametrize("order", "CF")
@every_dtype
def test_reductions(dtype, order):
    x = random(dtype, 3, 5, order=order)
    x_gpu = gpuarray.to_gpu(x)
    for axis in None, 0, 1, -1, -2:
        for keepdims in False, True:
            options = {"axis": axis, "keepdims": keepdims}
            for name in "sum", "mean", "var", "std":
                result = getattr(misc, name)(x_gpu, **options)
                want = getattr(x, name)(**options)
                assert result.shape == np.shape(want)
                assert_allclose(result.get(), want, **close)
            assert_allclose(misc.var(x_gpu, ddof=1, **options).get(), x.var(ddof=1, **options), **close)
            assert_allclose(misc.std(x_gpu, 1, **options).get(), x.std(ddof=1, **options), **close)
    out = gpuarray.empty(5, dtype)
    assert misc.sum(x_gpu, 0, out) is out and misc.mean(x_gpu, 0, out) is out
    assert_allclose(out.get(), x.mean(axis=0), **close)
    assert misc.sum(x_gpu).dtype == dtype


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
def test_extrema(dtype, order):
    x = np.asarray(np.random.default_rng(0).permutation(15).reshape(3, 5), dtype, order=order)
    x_gpu = gpuarray.to_gpu(x)
    for name in "max", "min":
        assert getattr(misc, name)(x_gpu).get() == getattr(x, name)()
    for axis in 0, 1:
        for keepdims in False, True:
            for name in "max", "min", "argmax", "argmin":
                result = getattr(misc, name)(x_gpu, axis, keepdims=keepdims)
                assert (result.get() == getattr(x, name)(axis=axis, keepdims=keepdims)).all()
                assert result.dtype == (np.uint32 if name.startswith("arg") else dtype)
