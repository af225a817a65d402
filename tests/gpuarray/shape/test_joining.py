"""Arrays joined: concatenate, stack, block, compared with NumPy."""

import numpy as np
import pytest
from against import compare, same
from drawing import few, shapes
from hypothesis import given
from hypothesis import strategies as st

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


HOST = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture
def array(primary_context):
    return gpuarray.to_gpu(HOST)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_concatenate(array, axis):
    other = gpuarray.to_gpu(HOST.astype(np.int32))
    expected = np.concatenate([HOST, HOST.astype(np.int32), HOST[..., ::-1]], axis)
    compare(gpuarray.concatenate([array, other, array[..., ::-1]], axis), expected)
    out = gpuarray.zeros(expected.shape, np.float64)
    assert gpuarray.concatenate([array, other, array[..., ::-1]], axis, out=out) is out
    np.testing.assert_array_equal(out.get(), expected)


@pytest.mark.parametrize("axis", [0, 1, 3, -1])
def test_stack(array, axis):
    compare(gpuarray.stack([array, array], axis), np.stack([HOST, HOST], axis))
    fortran = gpuarray.to_gpu(np.asfortranarray(HOST))
    compare(gpuarray.stack([array, fortran], axis), np.stack([HOST, HOST], axis))


def test_vstack_and_hstack(array):
    rows, on_device = [HOST[0, 0], HOST[1, 1]], [array[0, 0], array[1, 1]]
    compare(gpuarray.vstack(on_device), np.vstack(rows))
    compare(gpuarray.hstack(on_device), np.hstack(rows))
    compare(gpuarray.hstack([array, array]), np.hstack([HOST, HOST]))


def test_arrays_that_do_not_fit_are_refused(array):
    for arrays, axis in (([], 0), ([array, array[0]], 0), ([array, array[:, 1:]], 0), ([array[0, 0, 0]], 0)):
        with pytest.raises(ValueError):
            gpuarray.concatenate(arrays, axis)
    with pytest.raises(np.exceptions.AxisError):
        gpuarray.stack([array], 4)
    with pytest.raises(ValueError):
        gpuarray.stack([array, array[:1]])
    with pytest.raises(TypeError):
        gpuarray.concatenate([array, HOST])


def test_block_dstack_column_stack_and_options():
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    same(lambda a: np.block([[a, a[:, :1]], [a[:1], a[:1, :1]]]), host)
    same(lambda a: np.block(a), host)
    same(lambda a: np.block([a[0], a[1]]), host)
    same(lambda a: np.block([[a], [a[0]]]), host)
    same(lambda a: np.dstack((a, a)), host)
    same(lambda a: np.column_stack((a[:, 0], a)), host)
    same(lambda a: np.concatenate((a, a), dtype="f8"), host)
    same(lambda a: np.concatenate((a, a), casting="unsafe", dtype="i4"), host)
    same(lambda a: np.concatenate((a, a), casting="no", dtype="i4"), host)
    same(lambda a: np.stack((a, a), -1, dtype="f8"), host)
    same(lambda a: np.vstack((a[0], a[1]), dtype="i8", casting="unsafe"), host)
    same(lambda a, o: np.concatenate((a, a), 0, o), host, np.zeros((4, 3)))
    same(lambda a: np.trim_zeros(a), np.array([0, 0, 3, 0, 4, 0]))
    same(lambda a: np.trim_zeros(a, "b"), np.array([0, 0, 3, 0, 4, 0]))
    same(lambda a: np.trim_zeros(a), np.zeros(3))


@few
@given(
    st.sampled_from(["u1", "f2", "f4", "D", "V3"]),
    shapes(min_ndim=1, max_ndim=3),
    st.integers(1, 34),
    st.data(),
)
def test_arrays_joined_by_one_launch_and_by_many(dtype, shape, count, data):
    """Few contiguous arrays are joined by one launch, others by one for each. The arrays have different
    lengths along the axis, and then one length.
    """
    rng, dtype = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))), np.dtype(dtype)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    pairs = []
    for _ in range(count):
        lengths = list(shape)
        lengths[axis] = data.draw(st.integers(0, 3))
        nbytes = int(np.prod(lengths, dtype=np.int64)) * dtype.itemsize
        host = rng.integers(0, 256, nbytes, dtype=np.uint8).view(dtype).reshape(lengths)
        pairs.append((host, gpuarray.to_gpu(host)))
    if data.draw(st.integers(0, 3)) == 0:
        pairs[-1] = tuple(each[..., ::-1] for each in pairs[-1])
    for hosts, devices in (zip(*pairs, strict=True), zip(*pairs[:1] * count, strict=True)):
        for _ in range(2):  # the second time with the remembered plan
            got, want = gpuarray.concatenate(devices, axis), np.concatenate(hosts, axis)
            assert got.shape == want.shape and got.get().tobytes() == want.tobytes()
    host, on_device = pairs[0]
    for axis in range(-len(shape) - 1, len(shape) + 1):
        got, want = gpuarray.stack([on_device] * count, axis), np.stack([host] * count, axis)
        assert got.shape == want.shape and got.get().tobytes() == want.tobytes()


def test_plans_are_remembered_by_dtypes_and_shapes():
    a, b = gpuarray.arange(6, dtype=np.float32), gpuarray.arange(6, dtype=np.float64)
    for _ in range(2):
        assert gpuarray.concatenate([a, a]).dtype == np.float32
        assert gpuarray.concatenate([a, b]).dtype == np.float64
        assert gpuarray.concatenate([a, a], dtype=np.float64).dtype == np.float64
        assert gpuarray.stack([a, a], 1).shape == (6, 2)
        with pytest.raises(ValueError):
            gpuarray.stack([a, a[:3]])
        with pytest.raises(np.exceptions.AxisError):
            gpuarray.concatenate([a, a], 1)
        out = gpuarray.empty(12, np.float32)
        assert gpuarray.concatenate([a, a], out=out) is out
