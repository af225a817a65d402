"""Transfers between host and device and on the device, for layouts of every kind."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

SHAPE = (5, 6, 7)
LAYOUTS = {
    "C": lambda a: a,
    "F": lambda a: a.transpose(2, 1, 0),
    "permuted": lambda a: a.transpose(1, 2, 0),
    "outer gap": lambda a: a[::2],
    "middle gap": lambda a: a[:, ::2],
    "inner gap": lambda a: a[:, :, ::2],
    "all gaps": lambda a: a[::2, ::2, ::3],
    "block": lambda a: a[1:4, 2:5, 3:6],
    "reversed": lambda a: a[::-1],
    "all reversed": lambda a: a[::-1, ::-1, ::-1],
    "mixed": lambda a: a[::-2, :, ::3].transpose(2, 0, 1),
    "row": lambda a: a[2, 3],
    "column": lambda a: a[2, :, 3],
    "pile": lambda a: a[:, 2, 3],
    "element": lambda a: a[1, 2, 3],
    "empty": lambda a: a[:, 3:3],
    "new axis": lambda a: a[:, None, ::2],
    "single": lambda a: a[2:3, 1:2],
}


@pytest.fixture
def base():
    return np.random.default_rng(7).integers(0, 1 << 30, SHAPE, dtype=np.int32)


def axis_order(array):
    """The axes, without those of length 1, from the slowest to the fastest in memory."""
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    return sorted(axes, key=lambda axis: -abs(array.strides[axis]))


def is_packed(array):
    """Whether the elements fill the memory from the first to the last without gaps, in any order of axes."""
    last = sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True))
    return last + array.itemsize == array.nbytes


@pytest.mark.parametrize("layout", LAYOUTS)
def test_to_gpu(base, layout):
    host = np.asarray(LAYOUTS[layout](base))
    array = gpuarray.to_gpu(host)
    assert array.shape == host.shape and array.dtype == host.dtype
    np.testing.assert_array_equal(array.get(), host)
    if host.size:
        assert axis_order(array) == axis_order(host) and is_packed(array)


@pytest.mark.parametrize("value", [3.5, 7, True, 2j, [1, 2, 3], [[1.5, 2], [3, 4]], (), [np.float32(2)]])
def test_to_gpu_of_numbers_and_sequences(value):
    for array in (gpuarray.to_gpu(value), gpuarray.to_gpu_async(value)):
        want = np.asarray(value)
        assert (array.shape, array.dtype) == (want.shape, want.dtype)
        np.testing.assert_array_equal(array.get(), want)


def test_to_gpu_of_objects_is_refused():
    for value in (object(), None, [1, None], {"a": 1}):
        with pytest.raises(TypeError, match="numbers, not "):
            gpuarray.to_gpu(value)
    with pytest.raises(TypeError, match="get"):
        gpuarray.to_gpu([gpuarray.zeros(3), gpuarray.zeros(3)])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_get_of_a_view(base, layout):
    expected = np.asarray(LAYOUTS[layout](base))
    view = LAYOUTS[layout](gpuarray.to_gpu(base))
    result = view.get()
    np.testing.assert_array_equal(result, expected)
    if result.size:
        assert axis_order(result) == axis_order(expected) and is_packed(result)


@pytest.mark.parametrize("target", ["C", "F", "gaps", "reversed"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_get_into(base, layout, target):
    expected = np.asarray(LAYOUTS[layout](base))
    whole = np.zeros(tuple(2 * n for n in expected.shape), np.int32)
    step = {"gaps": 2, "reversed": -2}.get(target)
    if step and expected.ndim:
        out = whole[tuple(slice(None, None, step) for _ in expected.shape)]
    else:
        out = np.zeros(expected.shape, np.int32, order="F" if target == "F" else "C")
    assert LAYOUTS[layout](gpuarray.to_gpu(base)).get(out) is out
    np.testing.assert_array_equal(out, expected)
    if step and expected.ndim:
        assert np.count_nonzero(whole) == np.count_nonzero(expected)


@pytest.mark.parametrize("source", ["C", "F", "gaps", "device", "device F", "device gaps"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_set_of_a_view(base, layout, source):
    """Only the view's own elements change."""
    expected, array = base.copy(), gpuarray.to_gpu(base)
    new = -np.arange(1, LAYOUTS[layout](base).size + 1, dtype=np.int32).reshape(LAYOUTS[layout](base).shape)
    if new.ndim:
        LAYOUTS[layout](expected)[...] = new
    else:
        expected[1, 2, 3] = new
    step = 3 if source.endswith("gaps") and new.ndim else None
    values = np.array(new, order="F" if source.endswith("F") else "C")
    if step:
        values = np.zeros((*new.shape[:-1], new.shape[-1] * step), np.int32)
        values[..., ::step] = new
    if source.startswith("device"):
        values = gpuarray.to_gpu(values)
    LAYOUTS[layout](array).set(values[..., ::step] if step else values)
    np.testing.assert_array_equal(array.get(), expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copy(base, layout):
    """A copy has its own memory, without gaps, even if the array has gaps."""
    expected = np.asarray(LAYOUTS[layout](base))
    view = LAYOUTS[layout](gpuarray.to_gpu(base))
    copy = view.copy()
    np.testing.assert_array_equal(copy.get(), expected)
    if expected.size:
        assert is_packed(copy) and axis_order(copy) == axis_order(expected)
    view.set(np.zeros(expected.shape, np.int32))
    np.testing.assert_array_equal(copy.get(), expected)


@pytest.mark.parametrize(
    "dtype",
    ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", "S5", "V7", [("a", "u1"), ("b", "f8")]],
    ids=str,
)
def test_transfers_of_every_dtype_and_layout(dtype):
    host = np.frombuffer(np.random.default_rng(1).bytes(24 * np.dtype(dtype).itemsize), dtype).reshape(4, 6)
    if np.dtype(dtype) == bool:
        host = np.arange(24).reshape(4, 6) % 3 == 0
    for view in (host, host[::2], host.T, host[:, ::-1]):
        assert gpuarray.to_gpu(view).get().tobytes() == view.tobytes()
    assert gpuarray.to_gpu(host)[:, 1::2].get().tobytes() == host[:, 1::2].tobytes()


def test_repeated_elements_can_be_read_but_not_set(base):
    row = gpuarray.to_gpu(base[0])
    spread = gpuarray.GPUArray((3, 6, 7), np.int32, base=row, gpudata=row.gpudata, strides=(0, *row.strides))
    np.testing.assert_array_equal(spread.get(), np.broadcast_to(base[0], (3, 6, 7)))
    with pytest.raises(ValueError, match="share memory"):
        spread.set(np.zeros((3, 6, 7), np.int32))
    np.testing.assert_array_equal(row.get(), base[0])


@pytest.mark.parametrize(
    ("to", "source"), [(np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:]), (np.s_[::-1], np.s_[:])]
)
def test_overlapping_views(base, to, source):
    array, expected = gpuarray.to_gpu(base), base.copy()
    array[to].set(array[source])
    expected[to] = base[source].copy()
    np.testing.assert_array_equal(array.get(), expected)


def test_views_with_large_strides():
    host = np.arange(3000 * 2000, dtype=np.int32).reshape(3000, 2000)
    array = gpuarray.to_gpu(host)
    for index in (np.s_[:, 5], np.s_[::1000, ::500], np.s_[7], np.s_[::-1499, 3:9], np.s_[:2000, :1999]):
        np.testing.assert_array_equal(array[index].get(), host[index])
    array[:, 5].set(np.full(3000, -1, np.int32))
    host[:, 5] = -1
    np.testing.assert_array_equal(array.get(), host)


def test_get_and_set_with_another_shape_warn(base):
    array = gpuarray.to_gpu(base)
    flat = np.zeros(210, np.int32)
    with pytest.warns(DeprecationWarning, match="shape"):
        array.get(flat)
    np.testing.assert_array_equal(flat, base.ravel())
    with pytest.warns(UserWarning, match="shape"):
        array.set(-flat.reshape(35, 6))
    np.testing.assert_array_equal(array.get(), -base)
    with pytest.warns(UserWarning, match="shape"):
        array.set(gpuarray.to_gpu(flat))
    np.testing.assert_array_equal(array.get(), base)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: a.set(np.zeros(3, np.int32)), ValueError),
        (lambda a: a.set(np.zeros(SHAPE, np.int64)), ValueError),
        (lambda a: a.set(gpuarray.zeros(3, np.int32)), ValueError),
        (lambda a: a.set([1, 2]), TypeError),
        (lambda a: a.get(np.zeros(3, np.int32)), ValueError),
        (lambda a: a.get(np.zeros(SHAPE, np.int64)), TypeError),
        (lambda a: a.get([1, 2]), TypeError),
        (lambda a: a.get(np.broadcast_to(np.int32(0), SHAPE)), ValueError),
        (lambda a: a.get(stream=5.5), TypeError),
        (lambda a: a.set(), TypeError),
        (lambda a: a.get(nonsense=1), TypeError),
        (lambda a: gpuarray.to_gpu(np.array([object()])), TypeError),
    ],
)
def test_bad_input(base, call, error):
    with pytest.raises(error):
        call(gpuarray.to_gpu(base))


@pytest.mark.parametrize("flags", [0, drv.stream_flags.NON_BLOCKING])
def test_transfers_on_a_stream(base, flags):
    stream = drv.Stream(flags)
    array = gpuarray.to_gpu_async(base, stream=stream)
    result = array.get_async(stream)
    stream.synchronize()
    np.testing.assert_array_equal(result, base)
    array.set_async(base * 2, stream)
    out = drv.pagelocked_empty(SHAPE, np.int32)
    assert array.get_async(stream, out) is out
    stream.synchronize()
    np.testing.assert_array_equal(out, base * 2)
    array.set(base, async_=True, stream=stream)
    np.testing.assert_array_equal(array.get(stream=stream), base)
    result = array[:, ::2].get(async_=True, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(result, base[:, ::2])


def test_async_transfers_keep_their_memory(base):
    """The arrays have no other references while the copies are under way."""
    stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
    results = []
    for i in range(20):
        pinned = drv.pagelocked_empty(100000, np.int32)
        pinned[:] = i
        results.append(gpuarray.to_gpu_async(pinned, stream=stream).get_async(stream))
        del pinned
    stream.synchronize()
    assert [int(result[0]) for result in results] == list(range(20))
    assert all((result == result[0]).all() for result in results)


def test_get_to_page_locked_memory(base):
    array = gpuarray.to_gpu(base)
    result = array.get(pagelocked=True)
    np.testing.assert_array_equal(result, base)
    owner = result
    while isinstance(owner, np.ndarray):
        owner = owner.base
    assert isinstance(owner, drv.PagelockedHostAllocation)
    np.testing.assert_array_equal(array.T.get(pagelocked=True), base.T)


def test_zeros():
    for order in "CF":
        array = gpuarray.zeros((3, 4), np.float32, order=order)
        assert (array.get() == 0).all() and array.flags.c_contiguous == (order == "C")
    assert gpuarray.zeros(3).dtype == np.float64


def test_get_of_a_0d_array_is_an_array():
    result = gpuarray.to_gpu(np.array(5)).get()
    assert isinstance(result, np.ndarray) and result.shape == () and result == 5
