"""Joining, repeating, turning round, cutting and choosing, against NumPy."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

HOST = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture
def array(primary_context):
    return gpuarray.to_gpu(HOST)


def same(got, expected):
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(got.get(), expected)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_concatenate(array, axis):
    other = gpuarray.to_gpu(HOST.astype(np.int32))
    expected = np.concatenate([HOST, HOST.astype(np.int32), HOST[..., ::-1]], axis)
    same(gpuarray.concatenate([array, other, array[..., ::-1]], axis), expected)
    out = gpuarray.zeros(expected.shape, np.float64)
    assert gpuarray.concatenate([array, other, array[..., ::-1]], axis, out=out) is out
    np.testing.assert_array_equal(out.get(), expected)


@pytest.mark.parametrize("axis", [0, 1, 3, -1])
def test_stack(array, axis):
    same(gpuarray.stack([array, array], axis), np.stack([HOST, HOST], axis))
    fortran = gpuarray.to_gpu(np.asfortranarray(HOST))
    same(gpuarray.stack([array, fortran], axis), np.stack([HOST, HOST], axis))


def test_vstack_and_hstack(array):
    rows, there = [HOST[0, 0], HOST[1, 1]], [array[0, 0], array[1, 1]]
    same(gpuarray.vstack(there), np.vstack(rows))
    same(gpuarray.hstack(there), np.hstack(rows))
    same(gpuarray.hstack([array, array]), np.hstack([HOST, HOST]))


def test_what_cannot_be_joined(array):
    for arrays, axis in (([], 0), ([array, array[0]], 0), ([array, array[:, 1:]], 0), ([array[0, 0, 0]], 0)):
        with pytest.raises(ValueError):
            gpuarray.concatenate(arrays, axis)
    with pytest.raises(np.exceptions.AxisError):
        gpuarray.stack([array], 4)
    with pytest.raises(ValueError):
        gpuarray.stack([array, array[:1]])
    with pytest.raises(TypeError):
        gpuarray.concatenate([array, HOST])


@pytest.mark.parametrize("repeats, axis", [(2, None), (3, 1), ([1, 0, 2], 1), (0, 0), (np.array([2]), 2)])
def test_repeat(array, repeats, axis):
    same(array.repeat(repeats, axis), np.repeat(HOST, repeats, axis))
    with pytest.raises(ValueError):
        array.repeat([1, 2], 1)
    with pytest.raises(ValueError):
        array.repeat(-1)


@pytest.mark.parametrize("reps", [2, (2, 1), (1, 2, 3, 1), (2, 0, 1), ()])
def test_tile(array, reps):
    same(gpuarray.tile(array, reps), np.tile(HOST, reps))


@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
def test_flip(array, axis):
    same(gpuarray.flip(array, axis), np.flip(HOST, axis))
    assert gpuarray.flip(array, axis).base is array


@pytest.mark.parametrize(
    "shift, axis", [(5, None), (1, 0), ((1, -2), (1, 2)), (-1, -1), ((1, 1), (2, 2)), (0, 1)]
)
def test_roll(array, shift, axis):
    same(gpuarray.roll(array, shift, axis), np.roll(HOST, shift, axis))


@pytest.mark.parametrize("parts, axis", [(3, 1), ([1, 3], 2), ([2], 0), (1, 0), ([3, 1], 2)])
def test_split(array, parts, axis):
    for got, expected in zip(gpuarray.split(array, parts, axis), np.split(HOST, parts, axis), strict=True):
        same(got, expected)
    with pytest.raises(ValueError):
        gpuarray.split(array, 5, axis)


@pytest.mark.parametrize("order", "CFAK")
def test_flatten(array, order):
    same(array.flatten(order), HOST.flatten(order))
    same(array.T.flatten(order), HOST.T.flatten(order))
    assert array.flatten().gpudata != array.gpudata


def test_broadcast_to(array):
    same(gpuarray.broadcast_to(array, (5, 2, 3, 4)), np.broadcast_to(HOST, (5, 2, 3, 4)))
    with pytest.raises(ValueError):
        gpuarray.broadcast_to(array, (2, 3, 5))


def test_choices(array):
    flag = gpuarray.to_gpu(HOST > 5)
    same(gpuarray.where(flag, array, 0), np.where(HOST > 5, HOST, np.float32(0)))
    same(gpuarray.if_positive(array, array, 1), np.where(HOST > 0, HOST, np.float32(1)))
    same(gpuarray.maximum(array, 7), np.maximum(HOST, np.float32(7)))
    same(gpuarray.minimum(7, array), np.minimum(HOST, np.float32(7)))
    nan = gpuarray.to_gpu(np.array([np.nan, 1], np.float32))
    same(gpuarray.maximum(nan, 0), np.array([0, 1], np.float32))
    same(gpuarray.logical_and(array, flag), np.logical_and(HOST, HOST > 5))
    same(gpuarray.logical_or(array, 0), HOST != 0)
    same(gpuarray.logical_not(array), HOST == 0)
    with pytest.raises(ValueError):
        gpuarray.logical_and(array, HOST)


def test_clip_and_round(array):
    same(array.clip(3, 7), HOST.clip(3, 7))
    same(array.clip(min=3), HOST.clip(3))
    same(array.clip(max=gpuarray.to_gpu(HOST[::-1].copy())), HOST.clip(max=HOST[::-1]))
    for decimals in (0, 2, -1):
        same(gpuarray.to_gpu(HOST / 7).round(decimals), (HOST / 7).round(decimals))
    same(gpuarray.to_gpu(HOST.astype(int)).round(1), HOST.astype(int))


@pytest.mark.parametrize("dtype", ["f4", "i4", "?", "e", "D"])
@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((70, 33), (33, 130)), ((2, 1, 3, 4), (5, 4, 2))])
def test_matmul(shapes, dtype):
    rng = np.random.default_rng(0)
    a, b = ((rng.normal(size=shape) * 3).astype(dtype) for shape in shapes)
    wide = "f8" if dtype in ("f4", "e") else dtype
    expected = np.matmul(a.astype(wide), b.astype(wide)).astype(dtype)
    got = gpuarray.matmul(gpuarray.to_gpu(a), gpuarray.to_gpu(b)).get()
    assert got.dtype == expected.dtype
    bound = {"f4": 1e-5, "e": 2e-3, "D": 1e-12}.get(dtype, 0)
    np.testing.assert_allclose(got, expected, rtol=bound, atol=bound * 100)


@pytest.mark.parametrize(
    "shapes",
    [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 0), (0, 2)), ((0, 3), (3, 2)), ((4,), (2, 4, 3))],
)
def test_matmul_of_vectors_and_of_nothing(shapes):
    a, b = (np.arange(np.prod(shape), dtype=np.float64).reshape(shape) for shape in shapes)
    same(gpuarray.matmul(gpuarray.to_gpu(a), gpuarray.to_gpu(b)), np.asarray(np.matmul(a, b)))


def test_matmul_of_any_strides():
    a, b = np.random.default_rng(1).integers(0, 9, (2, 40, 50)).astype(float)
    there, other = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    same(gpuarray.matmul(there.T, other[::-1]), a.T @ b[::-1])
    same(gpuarray.matmul(there[:, ::2], other[:25]), a[:, ::2] @ b[:25])
    assert gpuarray.matmul(there[:, :40], there[:, :40], out=there[:, :40]).shape == (40, 40)
    np.testing.assert_array_equal(there[:, :40].get(), a[:, :40] @ a[:, :40])
    for x, y in ((there, other), (there[0, 0], other)):
        with pytest.raises(ValueError):
            gpuarray.matmul(x, y)
    drv.Context.synchronize()


def test_repeats_of_no_parts():
    host = np.zeros((0, 3))
    assert gpuarray.repeat(gpuarray.to_gpu(host), [], 0).shape == np.repeat(host, [], 0).shape
    with pytest.raises(ValueError):
        gpuarray.repeat(gpuarray.to_gpu(host), [], 1)
    with pytest.raises(ValueError):
        gpuarray.repeat(gpuarray.to_gpu(host), [1.5, 1, 1], 1)
