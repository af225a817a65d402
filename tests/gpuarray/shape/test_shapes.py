"""Views with other axes, diagonals, cuts, parts put in and taken out, and borders, against NumPy."""

import math

import numpy as np
import pytest
from against import same
from drawing import arrays
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

few = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
DTYPES = ["f4", "i4", "?"]


def axis_of(data, ndim):
    """An axis, seldom one that there is not."""
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
def test_views(data, name):
    if name == "mT" and not hasattr(np.ndarray, "mT"):
        pytest.skip("NumPy's arrays have no mT")
    pair = data.draw(arrays(DTYPES, most=3))
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


def test_reshape_copies_as_it_is_told():
    array = gpuarray.to_gpu(np.arange(12.0).reshape(3, 4))
    assert array.reshape(4, 3, copy=True).ptr != array.ptr
    assert array.reshape((4, 3), copy=False).ptr == array.ptr
    with pytest.raises(ValueError, match="copy"):
        array.T.reshape(12, copy=False)
    assert np.reshape(array, (2, 6), copy=None).shape == (2, 6)


def test_flat():
    host = np.arange(12.0).reshape(3, 4)
    for view in (lambda a: a, lambda a: a.T, lambda a: a[:, ::-2]):
        for index, value in ((3, 5), (slice(1, 9, 3), 7), ([0, 2], [8, 9]), (slice(0, 6), [1, 2])):
            mine, theirs = gpuarray.to_gpu(host), host.copy()
            view(mine).flat[index] = value
            view(theirs).flat[index] = value
            assert (mine.get() == theirs).all()
    mine.flat = 3
    assert (mine.get() == 3).all()
    mine.flat = gpuarray.to_gpu(np.arange(5.0))
    theirs.flat = np.arange(5.0)
    assert (mine.get() == theirs).all()
    assert [float(each) for each in mine.flat] == list(theirs.flat)


def test_attributes_of_numpys_arrays():
    array = gpuarray.to_gpu(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert array.flags["C_CONTIGUOUS"] and not array.flags["F"] and array.T.flags.fnc
    assert np.isfortran(array.T) and not np.isfortran(array)
    assert array.flags[:2] == (True, False)
    with pytest.raises(KeyError):
        array.flags["X"]
    with pytest.raises(AttributeError, match="get"):
        _ = array.data
    assert f"{array[1, 0]:.2f}" == "3.00" and format(array, "") == str(array)
    with pytest.raises(TypeError):
        format(array, ".2f")
    assert 3 in array and 7 not in array and np.float32(5) in array
    assert array.tobytes() == array.get().tobytes() and array.tobytes("F") == array.get().tobytes("F")


@pytest.mark.parametrize("other", [[1, 2], (1, 2), [[1]]])
def test_comparison_with_a_list_is_not_silently_false(other):
    array = gpuarray.to_gpu(np.array([1, 2]))
    for compare in (lambda: array == other, lambda: array != other, lambda: other == array):
        with pytest.raises(TypeError, match="to_gpu"):
            compare()
    assert (array == "text") is False and (array != None) is True  # noqa: E711


# ---- parts put in and taken out


@few
@given(data=st.data())
def test_delete(data):
    pair = data.draw(arrays(DTYPES, least=1, most=3))
    axis = data.draw(st.sampled_from([None, *range(-pair[0].ndim, pair[0].ndim)]))
    length = pair[0].size if axis is None else pair[0].shape[axis]
    places = st.integers(-length - 1, length)
    obj = data.draw(
        st.one_of(places, st.lists(places, max_size=4), st.builds(slice, places, places, st.just(2)))
    )
    same(lambda a: np.delete(a, obj, axis), pair)


@few
@given(data=st.data())
def test_insert(data):
    pair = data.draw(arrays(DTYPES, least=1, most=3))
    axis = data.draw(st.sampled_from([None, *range(-pair[0].ndim, pair[0].ndim)]))
    length = pair[0].size if axis is None else pair[0].shape[axis]
    places = st.integers(-length - 1, length + 1)
    obj = data.draw(st.one_of(places, st.lists(places, min_size=2, max_size=4)))
    same(lambda a: np.insert(a, obj, 5, axis), pair)


def test_insert_and_delete_with_arrays():
    host = np.arange(12.0).reshape(3, 4)
    row, numbers, mask = np.arange(4.0), np.array([2, 0]), np.array([True, False, True])
    same(lambda a, v: np.insert(a, 1, v, 0), host, row)
    same(lambda a, v: np.insert(a, [1, 1], v, 0), host, row)
    same(lambda a, v, n: np.insert(a, n, v, 0), host, row, numbers)
    same(lambda a, n: np.delete(a, n, 0), host, numbers)
    same(lambda a, m: np.delete(a, m, 0), host, mask)
    same(lambda a, v: np.insert(a, 1, v[:3], 1), host, row)
    same(lambda a, v: np.insert(a, [1], v[:3, None], 1), host, row)
    same(lambda a, v: np.append(a, v), host, row)
    same(lambda a: np.append(a, 3), host)
    with pytest.raises(TypeError, match="to_gpu"):
        np.append(gpuarray.to_gpu(host), row)


def test_joined_in_other_ways():
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


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (7, 3), (3, 7), (3, 3, 3), (0, 3)])
def test_fill_diagonal(shape, wrap):
    host = np.arange(float(math.prod(shape))).reshape(shape)
    same(lambda a: (np.fill_diagonal(a, 9, wrap), a), host)
    same(lambda a: (np.fill_diagonal(a.T, [1, 2], wrap), a), host)


# ---- borders


@few
@given(data=st.data())
def test_pad(data):
    pair = data.draw(arrays(["f4", "i4"], least=1, most=3))
    ndim = pair[0].ndim
    width = data.draw(st.one_of(
        st.integers(0, 7), st.tuples(*[st.tuples(st.integers(0, 7), st.integers(0, 7))] * ndim)
    ))  # fmt: skip
    modes = "constant edge linear_ramp maximum mean median minimum reflect symmetric wrap".split()
    mode = data.draw(st.sampled_from(modes))
    options = {}
    if mode == "constant" and data.draw(st.booleans()):
        options["constant_values"] = (3, 4)
    if mode == "linear_ramp" and data.draw(st.booleans()):
        options["end_values"] = -2
    if mode in ("reflect", "symmetric") and data.draw(st.booleans()):
        options["reflect_type"] = "odd"
    if mode in ("maximum", "mean", "median", "minimum") and data.draw(st.booleans()):
        options["stat_length"] = data.draw(st.integers(1, 3))
    same(lambda a: np.pad(a, width, mode, **options), pair, rtol=1e-5, atol=1e-4)


def test_pad_as_it_is_told():
    host = np.arange(6.0).reshape(2, 3)

    def function(line, width, axis, keywords):
        line[: width[0]] = keywords.get("value", 7)
        line[len(line) - width[1] :] = axis

    same(lambda a: np.pad(a, 1, function, value=3), host)
    same(lambda a: np.pad(a, ((1, 2), (0, 1)), "empty").shape, host)
    same(lambda a: np.pad(a, -1), host)
    same(lambda a: np.pad(a, 1, "nonsense"), host)
    same(lambda a: np.pad(a, 1, "edge", constant_values=3), host)
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 2):
        same(lambda a: np.pad(a, {-1: (1, 2)}), host)


def test_order_f_gives_fortran_contiguous_arrays():
    host = np.arange(128, dtype=np.float32).reshape(4, 32)
    device = gpuarray.to_gpu(host)
    for shape in ((4, 32), (32, 4), (4, 2, 16), (2, 2, 32), (128,), (4, -1)):
        got, expected = device.reshape(*shape, order="F"), host.reshape(*shape, order="F")
        assert got.flags.f_contiguous and (got.get() == expected).all()
