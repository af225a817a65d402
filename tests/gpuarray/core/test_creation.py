"""Functions that make new arrays (full, arange, eye, meshgrid), compared with NumPy."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


def same(got, expected):
    """Asserts equal shapes and dtypes, and values that are equal up to rounding."""
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got.get(), expected, rtol=1e-15)


def test_full_and_ones():
    same(gpuarray.full((2, 3), 7), np.full((2, 3), 7))
    same(gpuarray.full((), 1.5, np.float32), np.full((), 1.5, np.float32))
    same(gpuarray.ones((0, 2), np.int8), np.ones((0, 2), np.int8))
    assert gpuarray.ones((2, 3), order="F").flags.f_contiguous
    same(gpuarray.ones(3, np.complex64), np.ones(3, np.complex64))
    fortran = gpuarray.zeros((3, 4), np.float32, order="F")
    like = gpuarray.ones_like(fortran, np.int16)
    same(like, np.ones((3, 4), np.int16))
    assert like.flags.f_contiguous
    same(gpuarray.full_like(fortran, 2), np.full((3, 4), 2, np.float32))
    with pytest.raises(ValueError):
        gpuarray.ones_like(fortran, order="X")


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i2", "u8", "F"])
@pytest.mark.parametrize("limits", [(10,), (1, 10, 3), (5, 0, -1), (3, 1)])
def test_arange(limits, dtype):
    same(gpuarray.arange(*limits, dtype=dtype), np.arange(*limits, dtype=dtype))
    same(gpuarray.arange(*limits, np.dtype(dtype)), np.arange(*limits, dtype=dtype))


def test_arange_has_pycudas_arguments():
    """arange() without dtype= warns of the dtype that it takes; wrong arguments raise PyCUDA's errors."""
    with pytest.warns(UserWarning, match="int64"):
        same(gpuarray.arange(5), np.arange(5))
    with pytest.warns(UserWarning, match="float64"):
        same(gpuarray.arange(0, 1, 0.1), np.arange(0, 1, 0.1))
    single = gpuarray.arange(np.float32(0), np.float32(4), np.float32(0.5))
    assert single.dtype == np.float32
    stream = drv.Stream()
    same(gpuarray.arange(start=1, stop=4, dtype=np.int32, stream=stream), np.arange(1, 4, dtype=np.int32))
    for args, kwargs in (((), {}), ((1,), {"stop": 2}), ((1,), {"length": 2}), ((1, 2, 3, 4, 5), {})):
        with pytest.raises(ValueError):
            gpuarray.arange(*args, **kwargs)
    with pytest.raises(ZeroDivisionError):
        gpuarray.arange(0, 4, 0, dtype=np.int32)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 50])
def test_linspace(num, endpoint):
    for dtype in (None, np.float32, np.int32):
        expected = np.linspace(-2, 9, num, endpoint, dtype=dtype)
        same(gpuarray.linspace(-2, 9, num, endpoint, dtype=dtype), expected)
    array, step = gpuarray.linspace(0, 1, 5, retstep=True)
    assert (array.size, step) == (5, 0.25)


@pytest.mark.parametrize(
    "rows, columns, k", [(3, None, 0), (3, 4, 1), (4, 3, -2), (2, 2, 5), (3, 5, -1), (0, 0, 0)]
)
def test_diagonals_and_triangles(rows, columns, k):
    same(gpuarray.eye(rows, columns, k), np.eye(rows, columns, k))
    same(gpuarray.tri(rows, columns, k, np.int32), np.tri(rows, columns, k, np.int32))
    host = np.arange(float(2 * rows * (columns or rows))).reshape(2, rows, columns or rows)
    same(gpuarray.tril(gpuarray.to_gpu(host), k), np.tril(host, k))
    same(gpuarray.triu(gpuarray.to_gpu(host), k), np.triu(host, k))


def test_identity_and_meshgrid():
    same(gpuarray.identity(4, np.float32), np.identity(4, np.float32))
    x, y, z = np.arange(3.0), np.arange(2.0), np.arange(4.0)
    for indexing in ("xy", "ij"):
        for count in (1, 2, 3):
            axes = (x, y, z)[:count]
            got = gpuarray.meshgrid(*map(gpuarray.to_gpu, axes), indexing=indexing)
            for one, expected in zip(got, np.meshgrid(*axes, indexing=indexing), strict=True):
                same(one, expected)
