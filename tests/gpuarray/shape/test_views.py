"""Views with other axes and parts of arrays: reshape, swapaxes, flip, roll, split, compared with NumPy."""

import numpy as np
import pytest
from against import compare, same
from drawing import arrays, few
from hypothesis import given
from hypothesis import strategies as st

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


HOST = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture
def array(primary_context):
    return gpuarray.to_gpu(HOST)


DTYPES = ["f4", "i4", "?"]


def axis_of(data, ndim):
    """A random axis of an array of ndim axes; out of range if there are none."""
    return data.draw(st.integers(-ndim - (ndim == 0), max(ndim - 1, 0)))


VIEWS = {
    "expand_dims": lambda a, i, j: np.expand_dims(a, (i, j) if i != j else i),
    "swapaxes": np.swapaxes,
    "moveaxis": np.moveaxis,
    "rollaxis": np.rollaxis,
    "squeeze": lambda a, i, j: np.squeeze(a, i),
    "squeeze_all": lambda a, i, j: a.squeeze(),
    "atleast": lambda a, i, j: (np.atleast_1d(a), np.atleast_2d(a), np.atleast_3d(a)),
    "rot90": lambda a, i, j: np.rot90(a, i + j, (i, j)),
    "fliplr": lambda a, i, j: (np.flipud(a), np.fliplr(a)),
    "ravel": lambda a, i, j: [a.ravel(order) for order in "CFAK"],
    "flatten": lambda a, i, j: [a.flatten(order) for order in "CF"],
    "reshape": lambda a, i, j: [a.reshape(-1, order=order) for order in "CFA"],
    "copy": lambda a, i, j: [np.copy(a, order).flags[f"{order}_CONTIGUOUS"] for order in "CF"],
    "unstack": lambda a, i, j: np.moveaxis(a, i, 0).shape,
    "array_split": lambda a, i, j: np.array_split(a, abs(j) + 2, i),
    "split": lambda a, i, j: np.split(a, [1, 3], i),
    "split_equal": lambda a, i, j: np.split(a, 2, i),
    "hsplit": lambda a, i, j: np.hsplit(a, [1]),
    "diagonal": lambda a, i, j: np.diagonal(a, i - j, i, j),
    "trace": lambda a, i, j: np.trace(a, i - j, i, j),
    "diag": lambda a, i, j: np.diag(a, j),
    "diagflat": lambda a, i, j: np.diagflat(a[..., :2], i),
    "mT": lambda a, i, j: a.mT,
    "resize": lambda a, i, j: np.resize(a, (3, abs(i) + 2)),
    "flat": lambda a, i, j: (a.flat[2:7], len(a.flat), a.flat[-1]),
    "argwhere": lambda a, i, j: np.argwhere(a),
}


@pytest.mark.parametrize("name", VIEWS)
@few
@given(data=st.data())
def test_functions_of_views_and_parts(data, name):
    if name == "mT" and not hasattr(np.ndarray, "mT"):
        pytest.skip("NumPy's arrays have no mT")
    pair = data.draw(arrays(DTYPES, max_ndim=3))
    i, j = axis_of(data, pair[0].ndim), axis_of(data, pair[0].ndim)
    if name in ("rot90", "mT") and pair[0].ndim < 2:
        return
    same(lambda a: VIEWS[name](a, i, j), pair, rtol=1e-5, atol=1e-4)


def test_views_share_memory():
    array = gpuarray.to_gpu(np.arange(12.0).reshape(3, 4))
    for view in (
        np.diagonal(array), array.swapaxes(0, 1), np.moveaxis(array, 0, 1), np.expand_dims(array, 0),
        np.flipud(array), np.hsplit(array, 2)[1], array.ravel(), array.T.ravel("F"), array.mT,
    ):  # fmt: skip
        assert np.shares_memory(view, array)
    np.diagonal(array)[...] = 7
    assert array.get()[[0, 1, 2], [0, 1, 2]].tolist() == [7, 7, 7]
    assert not np.shares_memory(array[:, ::2], array[:, 1::2])
    assert np.may_share_memory(array[:, ::2], array[:, 1::2])


def test_copy_argument_of_reshape():
    array = gpuarray.to_gpu(np.arange(12.0).reshape(3, 4))
    assert array.reshape(4, 3, copy=True).ptr != array.ptr
    assert array.reshape((4, 3), copy=False).ptr == array.ptr
    with pytest.raises(ValueError, match="copy"):
        array.T.reshape(12, copy=False)
    assert np.reshape(array, (2, 6), copy=None).shape == (2, 6)


def test_order_f_gives_fortran_contiguous_arrays():
    host = np.arange(128, dtype=np.float32).reshape(4, 32)
    device = gpuarray.to_gpu(host)
    for shape in ((4, 32), (32, 4), (4, 2, 16), (2, 2, 32), (128,), (4, -1)):
        got, expected = device.reshape(*shape, order="F"), host.reshape(*shape, order="F")
        assert got.flags.f_contiguous and (got.get() == expected).all()


@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
def test_flip(array, axis):
    compare(gpuarray.flip(array, axis), np.flip(HOST, axis))
    assert gpuarray.flip(array, axis).base is array


@pytest.mark.parametrize(
    "shift, axis", [(5, None), (1, 0), ((1, -2), (1, 2)), (-1, -1), ((1, 1), (2, 2)), (0, 1)]
)
def test_roll(array, shift, axis):
    compare(gpuarray.roll(array, shift, axis), np.roll(HOST, shift, axis))


@pytest.mark.parametrize("parts, axis", [(3, 1), ([1, 3], 2), ([2], 0), (1, 0), ([3, 1], 2)])
def test_split(array, parts, axis):
    for got, expected in zip(gpuarray.split(array, parts, axis), np.split(HOST, parts, axis), strict=True):
        compare(got, expected)
    with pytest.raises(ValueError):
        gpuarray.split(array, 5, axis)


@pytest.mark.parametrize("order", "CFAK")
def test_flatten(array, order):
    compare(array.flatten(order), HOST.flatten(order))
    compare(array.T.flatten(order), HOST.T.flatten(order))
    assert array.flatten().gpudata != array.gpudata


def test_broadcast_to(array):
    compare(gpuarray.broadcast_to(array, (5, 2, 3, 4)), np.broadcast_to(HOST, (5, 2, 3, 4)))
    with pytest.raises(ValueError):
        gpuarray.broadcast_to(array, (2, 3, 5))


windows = np.lib.stride_tricks.sliding_window_view


@few
@given(data=st.data())
def test_sliding_windows(data):
    pair = data.draw(arrays(DTYPES, max_ndim=3))
    ndim = pair[0].ndim
    axes = data.draw(st.one_of(st.none(), st.lists(st.integers(-ndim, ndim), max_size=3).map(tuple)))
    count = ndim if axes is None else len(axes)
    shape = data.draw(st.lists(st.integers(-1, 5), min_size=count, max_size=count + 1).map(tuple))
    same(lambda a: windows(a, shape, axes), pair)


def test_sliding_windows_are_views(array):
    same(lambda a: windows(a, 3, 2).max(axis=-1), HOST)
    same(lambda a: windows(a, 2, axis=0) + windows(a, 2, 0), HOST)
    view = windows(array, 2, -1)
    assert not view.flags.writeable and np.shares_memory(view, array)
    with pytest.raises(ValueError):
        view[...] = 0
    view = windows(array, 2, -1, writeable=True)
    assert view.flags.writeable
    view[0, 0, 0, 1] = 50
    assert float(array[0, 0, 1].get()) == 50
    assert not windows(gpuarray.broadcast_to(array, (2, 2, 3, 4)), 2, 0, writeable=True).flags.writeable
