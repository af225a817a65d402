"""Indexing with arrays, and assignment, compared with NumPy."""

import numpy as np
import pytest
from drawing import arrays, few, layouts, numbers
from hypothesis import given
from hypothesis import strategies as st

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda._array.core import flags

pytestmark = pytest.mark.usefixtures("primary_context")


@st.composite
def indices(draw, shape, assigning=False):
    """A random index for an array of this shape: a tuple of slices, ints, None, at most one Ellipsis, at most
    one mask, and integer arrays, which have the shape `joint` or broadcast to it. With assigning, the
    integers of arrays are not negative, so that two of them name the same element only if they are equal."""
    joint = draw(st.sampled_from([(3,), (2, 3), (1,), (0,), ()]))
    items, axis = [], 0  # axis: the next one without an index
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    masked = dots = False
    while axis < len(shape) or (not dots and draw(st.booleans())):
        kind = draw(st.sampled_from(["slice", "slice", "numbers", "int", "none", "mask", "stop", "dots"]))
        if not dots and (kind == "dots" or axis == len(shape)):
            dots = True  # after which every axis is indexed
            items.append(Ellipsis)
            axis += draw(st.integers(0, len(shape) - axis))
            continue
        if kind in ("stop", "dots"):
            if dots:
                continue
            break
        length = shape[axis]
        if kind == "none":
            items.append(None)
            continue
        if kind == "slice" or length == 0 or (kind == "mask" and masked):
            items.append(slice(draw(st.integers(-3, 3)), None, draw(st.sampled_from([1, 2, -1]))))
        elif kind == "int":
            items.append(draw(st.integers(-length, length - 1)))
        elif kind == "mask":
            masked, joint = True, ()
            mask = np.zeros(length, bool)  # one true element, which broadcasts with any integer array
            mask[rng.integers(length)] = True
            items.append(mask)
        else:
            lengths = tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in joint)
            chosen = rng.integers(0 if assigning else -length, length, lengths)
            items.append(chosen.astype(draw(st.sampled_from([np.int64, np.int32]))))
        axis += 1
    return tuple(items)


def on_device(index):
    """The index with copies on the device instead of NumPy's arrays."""
    return tuple(gpuarray.to_gpu(item) if isinstance(item, np.ndarray) else item for item in index)


@few
@given(st.data())
def test_reading_by_drawn_indices(data):
    host, array = data.draw(arrays("f", min_ndim=1, max_ndim=3))
    index = data.draw(indices(host.shape))
    expected = host[index]
    for each in (index, on_device(index)):
        got = array[each]
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got.get(), expected)


@few
@given(st.data())
def test_assigning_by_drawn_indices(data):
    shape = data.draw(st.sampled_from([(5,), (4, 6), (3, 4, 5), (0, 3)]))
    host, array = data.draw(layouts(np.arange(np.prod(shape), dtype=np.float32).reshape(shape)))
    index = data.draw(indices(host.shape, True))
    # An element that the index names twice gets either value: all values are equal, so that results are too.
    value = data.draw(st.sampled_from([7, 2.5, np.float64(3), np.array(4)]))
    host[index] = value
    array[on_device(index) if data.draw(st.booleans()) else index] = value
    np.testing.assert_array_equal(array.get(), host)


@pytest.mark.parametrize("of_device", [False, True])
@pytest.mark.parametrize(
    "index",
    [
        0, slice(None), (..., 1), (slice(None, None, -2), slice(1, 4)), (None, 2), (slice(4, 1),),
        (slice(None), np.array([2, 0])), (np.array([[1], [3]]), np.array([0, 4, 2])),
        np.arange(30).reshape(5, 6) % 3 == 0, (np.array([True, False, True, True, False]),),
    ],
)  # fmt: skip
def test_set_from_arrays(index, of_device):
    host = np.arange(30, dtype=np.float32).reshape(5, 6)
    array = gpuarray.to_gpu(host)
    values = -np.arange(host[index].size).reshape(host[index].shape)
    index_on_device = on_device(index if isinstance(index, tuple) else (index,)) if of_device else index
    for value in (values, values.astype("f"), values[..., :1]):
        host[index] = value
        array[index_on_device] = gpuarray.to_gpu(value) if of_device else value
        np.testing.assert_array_equal(array.get(), host)
    if values.size > 1:
        with pytest.raises(ValueError):
            array[index_on_device] = np.zeros(values.size + 1, "f")


def test_overlapping_assignment():
    host = np.arange(20.0)
    array = gpuarray.to_gpu(host)
    array[1:] = array[:-1]
    host[1:] = host[:-1].copy()
    np.testing.assert_array_equal(array.get(), host)
    array[::-1] = array
    np.testing.assert_array_equal(array.get(), host[::-1])
    array[np.arange(20)[::-1].copy()] = array
    np.testing.assert_array_equal(array.get(), host)
    drv.Context.synchronize()  # releases the temporaries


@pytest.mark.parametrize(
    "index",
    [
        np.s_[:, [0, 1, 2], ..., 0], np.s_[[0, 1], ..., [1, 0], :], np.s_[..., [0, 1], 1, :],
        np.s_[[0, 1], [1, 2], ..., 0], np.s_[0, ..., [1, 2], [0, 1]], np.s_[:, [0, 2], [1, 0], ...],
    ],
)  # fmt: skip
def test_an_ellipsis_that_stands_for_no_axis_separates_arrays(index):
    """Integer arrays with an Ellipsis between them count as separated: their axes come first in the
    result."""
    host = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    array = gpuarray.to_gpu(host)
    np.testing.assert_array_equal(array[index].get(), host[index])
    values = -np.arange(host[index].size, dtype=np.float32).reshape(host[index].shape)
    array[index] = values
    host[index] = values
    np.testing.assert_array_equal(array.get(), host)


def test_single_booleans_and_empty_lists():
    host = np.arange(6.0).reshape(2, 3)
    array = gpuarray.to_gpu(host)
    for index in (True, False, np.array(True), [], ([], 1), np.True_):
        np.testing.assert_array_equal(array[index].get(), host[index])


@pytest.mark.parametrize("part, whole", [(np.float32, np.complex64), (np.float64, np.complex128)])
def test_complex_numbers_are_aligned_as_their_parts(part, whole):
    host = np.arange(9, dtype=part)
    array = gpuarray.to_gpu(host)[1:].view(whole)
    picked = array[gpuarray.to_gpu(np.array([3, 0, 2]))]
    np.testing.assert_array_equal(picked.get(), host[1:].view(whole)[[3, 0, 2]])


def test_elements_that_are_structures():
    host = np.zeros(6, [("x", "f4"), ("y", "i4"), ("z", "i4")])
    array = gpuarray.to_gpu(host)
    array[1:4] = np.array((1, 2, 3), host.dtype)
    host[1:4] = (1, 2, 3)
    array[[0, 5]] = array[[2, 4]]
    host[[0, 5]] = host[[2, 4]]
    np.testing.assert_array_equal(array.get(), host)
    np.testing.assert_array_equal(array[np.arange(6) % 2 == 0].get(), host[::2])


@pytest.mark.parametrize("of_device", [False, True])
@pytest.mark.parametrize("wrong", [6, -7, 2**31, -(2**63), 2**63 - 1])
def test_out_of_bounds(wrong, of_device):
    host = np.arange(6, dtype=np.float32)
    array = gpuarray.to_gpu(host)
    index = np.array([1, wrong, 2])
    index = gpuarray.to_gpu(index) if of_device else index
    for use in (
        lambda: array[index],
        lambda: array.__setitem__(index, 0),
        lambda: array.take(index),
        lambda: array.put(index, 5),
        lambda: gpuarray.take(array, index),
        lambda: array.reshape(2, 3)[np.array([0, 1, 0]), index],
    ):
        with pytest.raises(IndexError, match="out of bounds"):
            use()
    assert array[[3]].get() == 3  # the next call does not report the index of this one
    array = gpuarray.to_gpu(host)  # put() may have changed the elements whose indices are in bounds
    for mode, at in ("wrap", wrong % 6), ("clip", min(max(wrong, 0), 5)):
        np.testing.assert_array_equal(array.take(index, mode=mode).get(), host[[1, at, 2]])


BLOCK = 1024  # the number of indices that a block of the gather kernel moves


@few
@given(st.data())
def test_one_axis(data):
    """Arrays of one axis, which have a kernel of their own: elements of any size, indices of any integer
    dtype, at any address, on the device and on the host, in bounds and out of them.
    """
    size = data.draw(st.sampled_from([1, 3, 700, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5]))
    dtype = data.draw(st.sampled_from(["i1", "f2", "f4", "f8", "c8", "c16", "u1,u1,u1", "f4,f4,f4"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    whole = np.frombuffer(rng.bytes(2 * size * np.dtype(dtype).itemsize), np.uint8).view(dtype)
    step = data.draw(st.sampled_from([slice(None), slice(None, None, -2), slice(1, None, 2)]))
    host, array = whole[step], gpuarray.to_gpu(whole)[step]
    count = data.draw(st.sampled_from([0, 1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK]))
    small = np.int8 if size < 128 else np.int16
    kind = data.draw(st.sampled_from([small, np.int32, np.int64, np.uint32, np.uint64]))
    places = rng.integers(0 if np.dtype(kind).kind == "u" else -len(host), len(host), count).astype(kind)
    offset = data.draw(st.integers(0, 3))  # of the indices in their memory
    numbers = gpuarray.to_gpu(np.concatenate([np.zeros(offset, kind), places]))[offset:]
    out = gpuarray.empty(count, host.dtype)
    for got in array[numbers], gpuarray.take(array, numbers), array.take(numbers, out=out), array[places]:
        assert got.dtype == host.dtype and got.get().tobytes() == host[places].tobytes()
    beyond = places.astype(np.int64) * 3
    for mode in "wrap", "clip":
        got = array.take(gpuarray.to_gpu(beyond), mode=mode)
        assert got.get().tobytes() == host.take(beyond, mode=mode).tobytes()
    if count:
        beyond = places.astype(np.int64)
        beyond[data.draw(st.integers(0, count - 1))] = data.draw(st.sampled_from([len(host), -len(host) - 1]))
        with pytest.raises(IndexError):
            array[gpuarray.to_gpu(beyond)]
        assert array[numbers].get().tobytes() == host[places].tobytes()


def test_a_check_within_a_check(monkeypatch):
    """If a destructor indexes an array while the check of another index begins or ends, each check has its
    own flag, and the outer one still raises its error. The outer check's methods __enter__ and __exit__ are
    patched here to index an array once more.
    """
    array, wrong = gpuarray.arange(5, dtype=np.float32), gpuarray.to_gpu(np.array([7]))
    enter = flags.ErrorCheck.__enter__

    def entered(self):
        with monkeypatch.context() as patched:
            patched.setattr(flags.ErrorCheck, "__enter__", enter)
            array[gpuarray.to_gpu(np.array([2]))]
        return enter(self)

    def left(self, *error, leave=flags.ErrorCheck.__exit__):
        monkeypatch.setattr(flags.ErrorCheck, "__exit__", leave)
        array[gpuarray.to_gpu(np.array([2]))]
        return leave(self, *error)

    monkeypatch.setattr(flags.ErrorCheck, "__enter__", entered)
    monkeypatch.setattr(flags.ErrorCheck, "__exit__", left)
    with pytest.raises(IndexError):
        array[wrong]


def test_the_flag_of_an_interrupted_check_is_not_used_again():
    """A kernel writes to the flag of its call if an index is out of bounds. After an interrupt the kernel may
    still write to it, which a later call would take for its own error. The event that the check waits for is
    replaced by one whose record() raises KeyboardInterrupt.
    """
    array, places = gpuarray.arange(5, dtype=np.float32), gpuarray.to_gpu(np.array([1]))
    array[places]
    spare, used = flags._flags().spare, flags._flags().used
    before = len(used)

    class Interrupted:
        def record(self, stream):
            raise KeyboardInterrupt

    flag = spare[-1]  # which the next check takes
    event, flag.event = flag.event, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        array[places]
    assert flag in used and flag not in spare and len(used) == before + 1
    flag.value[0] = 1  # as the interrupted call's kernel would write it
    assert array[places].get() == [1]
    flag.event, flag.value[0] = event, 0


def test_flags_of_failed_calls_are_used_again():
    """Each call whose memory cannot be allocated leaves its flag, which later calls take."""
    matrix = gpuarray.to_gpu(np.eye(3))
    kept = flags._flags()

    def fail():
        with flags.ErrorCheck(True, None, IndexError):
            raise MemoryError

    count = max(len(kept.spare) + len(kept.abandoned), 1)
    for _ in range(count + 10):
        with pytest.raises(MemoryError):
            fail()
        drv.Context.synchronize()
    assert len(kept.abandoned) == count
    kept.abandoned[0].value[0] = 1  # as the failed call's kernel may have written it
    index = gpuarray.to_gpu(np.array([2, 0]))
    assert (matrix[index].get() == np.eye(3)[[2, 0]]).all()
    assert len(kept.abandoned) == count - 1 and len(kept.spare) == 1


def test_unsigned_indices():
    array = gpuarray.arange(300, dtype=np.float32)
    for dtype in (np.uint8, np.uint16, np.uint64):
        index = np.array([0, 255, 7], dtype)
        np.testing.assert_array_equal(array[gpuarray.to_gpu(index)].get(), [0, 255, 7])
    with pytest.raises(IndexError):
        array[gpuarray.to_gpu(np.array([2**64 - 1], np.uint64))]


def test_bad_indices():
    array = gpuarray.zeros((3, 4), np.float32)
    for index in (
        np.zeros((3, 3), bool), np.zeros(4, bool), gpuarray.zeros(4, bool), np.array([0.5]), "x",
        ([0, 1], [0, 1, 2]), (0, 0, [0]), gpuarray.zeros(2, np.float32), (np.array(["a"]),),
    ):  # fmt: skip
        with pytest.raises(IndexError):
            array[index]
        with pytest.raises(IndexError):
            array[index] = 1
    with pytest.raises(ValueError):
        del array[0]
    for value, error in ((1j, TypeError), ("a", ValueError), (np.zeros((2, 2)), ValueError)):
        with pytest.raises(error):
            array[0] = value


@few
@given(st.data())
def test_nonzero(data):
    host, array = data.draw(arrays("i", min_ndim=1, max_ndim=2))
    for got, expected in zip(array.nonzero(), host.nonzero(), strict=True):
        np.testing.assert_array_equal(got.get(), expected)
    np.testing.assert_array_equal(array[gpuarray.to_gpu(host != 0)].get(), host[host != 0])


@pytest.mark.parametrize("n", [2047, 2048, 2049, 200_000])
def test_long_nonzero(n):
    host = np.random.default_rng(n).integers(0, 3, n).astype(np.int8)
    array = gpuarray.to_gpu(host)
    np.testing.assert_array_equal(array.nonzero()[0].get(), host.nonzero()[0])


def test_take_along_axis_put_and_compress():
    host = numbers(np.random.default_rng(0), (4, 5, 6), "f")
    array = gpuarray.to_gpu(host)
    for axis in (0, 1, -1):
        order = np.argsort(host, axis)
        got = gpuarray.take_along_axis(array, gpuarray.to_gpu(order), axis)
        np.testing.assert_array_equal(got.get(), np.take_along_axis(host, order, axis))
    first = host.argmax(1)[:, None]
    got = gpuarray.take_along_axis(array, gpuarray.to_gpu(first), 1)
    np.testing.assert_array_equal(got.get(), np.take_along_axis(host, first, 1))
    for axis in (None, 0, 2):
        indices = np.array([[0, 3], [-1, 2]])
        np.testing.assert_array_equal(
            array.take(gpuarray.to_gpu(indices), axis).get(), host.take(indices, axis)
        )
    condition = np.array([1, 0, 1, 1, 0], bool)
    np.testing.assert_array_equal(array.compress(condition, 1).get(), host.compress(condition, 1))
    array.transpose(2, 0, 1).put([0, 7, -1], [5, 6])
    transposed = host.transpose(2, 0, 1)
    flat = transposed.ravel()
    flat[[0, 7, -1]] = [5, 6, 5]
    np.testing.assert_array_equal(array.transpose(2, 0, 1).get(), flat.reshape(transposed.shape))
    out = gpuarray.zeros(3, np.float64)
    assert array.take([1, 2, 3], out=out) is out
    np.testing.assert_array_equal(out.get(), array.get().take([1, 2, 3]))


def test_multi_take_and_multi_put():
    first, second = np.arange(10, dtype=np.float32), np.arange(10, 20).astype(np.float32)
    arrays_on_device = [gpuarray.to_gpu(first), gpuarray.to_gpu(second)]
    source, target = (gpuarray.to_gpu(np.array(each, np.int32)) for each in ([1, 5, 7], [2, 0, 1]))
    for got, host in zip(gpuarray.multi_take(arrays_on_device, source), (first, second), strict=True):
        np.testing.assert_array_equal(got.get(), host[[1, 5, 7]])
    moved = gpuarray.multi_take_put(arrays_on_device, target, source, (3,), src_offsets=[0, 2])
    np.testing.assert_array_equal(moved[0].get(), first[[5, 7, 1]])
    np.testing.assert_array_equal(moved[1].get(), second[[7, 9, 3]])
    put = gpuarray.multi_put([each[:3] for each in arrays_on_device], target, (3,))
    np.testing.assert_array_equal(put[1].get(), [11, 12, 10])
    assert gpuarray.multi_take([], source) == gpuarray.multi_put([], target) == []
    with pytest.raises(ValueError):
        gpuarray.multi_take_put(arrays_on_device, target, source[:2], (3,))
    with pytest.raises(TypeError):
        gpuarray.multi_take(arrays_on_device, source, [gpuarray.zeros(3, int), gpuarray.zeros(3, int)])


def test_take_on_a_stream():
    stream = drv.Stream()
    array, index = gpuarray.arange(1000, dtype=np.float32), gpuarray.to_gpu(np.arange(0, 1000, 7))
    got = array.take(index, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(got.get(), np.arange(0, 1000, 7))


@pytest.mark.parametrize("wrong", [("x",), (0, 0, 0)])
def test_errors_of_an_index_are_the_same_with_and_without_an_array(wrong):
    """An index with an array is read in Python (getitem.py), one without in C (indexing.c): the errors
    agree."""
    array = gpuarray.zeros((2, 3), np.float32)
    with pytest.raises(IndexError) as without:
        array[wrong]
    with pytest.raises(IndexError) as with_array:
        array[(np.array([0, 1]), *wrong[-2:])]
    assert str(with_array.value).startswith(str(without.value))
