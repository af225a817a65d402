"""matmul, compared with NumPy."""

import numpy as np
import pytest
from against import compare

import pycuda
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.tools import DeviceMemoryPool

pytestmark = pytest.mark.usefixtures("primary_context", "kernels_or_library")


@pytest.fixture(params=["own kernels", "a library"])
def kernels_or_library(request):
    """Each test runs twice: with our own kernels, and with a library if there is one (on the CPU device
    NumPy)."""
    with pycuda.same_bits(request.param == "own kernels"):
        yield


@pytest.mark.parametrize("dtype", ["f4", "i4", "?", "e", "D"])
@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((70, 33), (33, 130)), ((2, 1, 3, 4), (5, 4, 2))])
def test_matmul(shapes, dtype):
    rng = np.random.default_rng(0)
    a, b = ((rng.normal(size=shape) * 3).astype(dtype) for shape in shapes)
    wide = "f8" if dtype in ("f4", "e") else dtype  # NumPy's sums in that dtype are less precise than ours
    expected = np.matmul(a.astype(wide), b.astype(wide)).astype(dtype)
    got = gpuarray.matmul(gpuarray.to_gpu(a), gpuarray.to_gpu(b)).get()
    assert got.dtype == expected.dtype
    bound = {"f4": 1e-5, "e": 2e-3, "D": 1e-12}.get(dtype, 0)
    np.testing.assert_allclose(got, expected, rtol=bound, atol=bound * 100)


@pytest.mark.parametrize(
    "shapes",
    [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 0), (0, 2)), ((0, 3), (3, 2)), ((4,), (2, 4, 3))],
)
def test_matmul_of_vectors_and_of_empty_arrays(shapes):
    a, b = (np.arange(np.prod(shape), dtype=np.float64).reshape(shape) for shape in shapes)
    compare(gpuarray.matmul(gpuarray.to_gpu(a), gpuarray.to_gpu(b)), np.asarray(np.matmul(a, b)))


def test_matmul_of_any_strides():
    a, b = np.random.default_rng(1).integers(0, 9, (2, 40, 50)).astype(float)
    on_device, other = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    compare(gpuarray.matmul(on_device.T, other[::-1]), a.T @ b[::-1])
    compare(gpuarray.matmul(on_device[:, ::2], other[:25]), a[:, ::2] @ b[:25])
    assert gpuarray.matmul(on_device[:, :40], on_device[:, :40], out=on_device[:, :40]).shape == (40, 40)
    np.testing.assert_array_equal(on_device[:, :40].get(), a[:, :40] @ a[:, :40])
    for x, y in ((on_device, other), (on_device[0, 0], other)):
        with pytest.raises(ValueError):
            gpuarray.matmul(x, y)


def test_matmul_of_other_dtypes():
    """Operands of two dtypes; dtype= and an out= of another dtype."""
    a, b = np.arange(12, dtype=np.int16).reshape(3, 4), np.arange(8, dtype=np.float32).reshape(4, 2)
    on_device, other = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    compare(gpuarray.matmul(on_device, other), a @ b)
    compare(gpuarray.matmul(on_device, other, dtype=np.complex128), (a @ b).astype(np.complex128))
    out = gpuarray.zeros((3, 2), np.float64)
    gpuarray.matmul(on_device, other, out=out)
    compare(out, (a @ b).astype(np.float64))


@pytest.mark.parametrize("dtype", ["f4", "i8"])
@pytest.mark.parametrize(
    "shapes", [((3, 4), (4, 5)), ((4,), (4, 3)), ((2, 3, 4), (4,)), ((200, 200), (200, 200))]
)
def test_remembered_plans(shapes, dtype):
    """The plan of a product is remembered by the forms of its operands. Calls of the same forms with other
    arrays, with a stream and an allocator, and with another setting of same_bits give their own results.
    """
    rng, stream, pool = np.random.default_rng(1), drv.Stream(), DeviceMemoryPool()
    for repetition in range(3):
        a, b = (rng.integers(-9, 9, shape).astype(dtype) for shape in shapes)
        x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
        compare(x @ y, a @ b)
        compare(gpuarray.matmul(x[::-1], y), a[::-1] @ b)
        with pycuda.same_bits(repetition == 1):
            compare(x @ y, a @ b)
        drv.Context.synchronize()
        other = gpuarray.matmul(x, y, stream=stream, allocator=pool.allocate)
        stream.synchronize()
        compare(other, a @ b)
        assert pool.active_blocks == 1
        del other


@pytest.mark.parametrize("dtype", ["f4", "i8"])
@pytest.mark.parametrize(
    "shapes", [((3, 4), (4, 5)), ((3, 4), (4,)), ((4,), (4, 2)), ((4,), (4,)), ((2, 3, 4), (4, 5))]
)
def test_remembered_plans_with_out(shapes, dtype):
    """A product with out= uses the remembered plan of a call with arrays of the same forms, unless out has
    another dtype or other strides.
    """
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-5, 5, shape).astype(dtype) for shape in shapes)
    want = np.matmul(a, b)
    x, y, out = gpuarray.to_gpu(a), gpuarray.to_gpu(b), gpuarray.zeros(want.shape, dtype)
    for k in range(1, 4):
        assert np.matmul(x * k, y, out=out) is out
        assert (out.get() == want * k).all()
    wide = gpuarray.zeros(want.shape, "f8")
    assert (np.matmul(x, y, out=wide).get() == want).all()
    base = gpuarray.zeros((*want.shape, 2), dtype)
    for _ in range(2):
        np.matmul(x, y, out=base[..., 1])
        assert (base.get()[..., 1] == want).all() and not base.get()[..., 0].any()


def test_products_into_an_operand_with_a_remembered_plan():
    a = np.arange(9.0).reshape(3, 3)
    x, y, out = gpuarray.to_gpu(a), gpuarray.to_gpu(a.T.copy()), gpuarray.zeros((3, 3))
    np.matmul(x, y, out=out)
    assert (np.matmul(x, y, out=x).get() == a @ a.T).all()
    x.set(a)
    assert (np.matmul(x, y, out=y).get() == a @ a.T).all()
    read_only = gpuarray.broadcast_to(gpuarray.zeros(()), (3, 3))
    with pytest.raises(ValueError, match="read-only"):
        np.matmul(x, x, out=read_only)


@pytest.mark.parametrize("dtype", ["?", "i1", "e", "i4", "f4", "f8", "F", "D"])
@pytest.mark.parametrize("inner", [1, 8, 17])
def test_tiles(dtype, inner):
    """64 matrices are enough blocks for the kernels with large tiles; 131 x 70 elements do not fill the last
    tiles. Rows or columns of the operands are contiguous.
    """
    rng = np.random.default_rng(inner)
    a, b = (rng.integers(-2, 3, (64, *s)).astype(dtype) for s in ((131, inner), (inner, 70)))
    want = np.matmul(a, b) if dtype != "e" else np.matmul(a.astype("f4"), b.astype("f4")).astype("e")
    x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    columns = gpuarray.to_gpu(a.mT.copy()).mT, gpuarray.to_gpu(b.mT.copy()).mT
    for left, right in ((x, y), columns, (x[:, ::-1][:, ::-1], y)):
        assert (np.matmul(left, right).get() == want).all()
