"""Elements, rows and columns by index: of any size, at any address, with indices in and out of bounds."""

import numpy as np
import pytest
from drawing import few, layouts, numbers
from hypothesis import given
from hypothesis import strategies as st

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda._kernels.builtin import gather as kernels

DTYPES = ["u1", "f2", "f4", "f8", "F", "D", "V3", "V24", "b1"]
INDICES = ["i8", "i4", "u1", "i2"]
SEEDS = st.integers(0, 2**32 - 1)
ROWS, COLUMNS = st.integers(1, 40), st.sampled_from([1, 3, 4, 8, 30, 64, 100, 600])


def drawn(data, rng, dtype, rows, columns):
    """(host, device): a random matrix at a random offset in its memory, with any strides."""
    dtype, start = np.dtype(dtype), data.draw(st.integers(0, 5))
    count = rows * columns + start
    if dtype.kind == "V":
        flat = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype)
    else:
        flat = numbers(rng, count, dtype)
    if data.draw(st.booleans()):
        return data.draw(layouts(flat[start:].reshape(rows, columns)))
    on_device = gpuarray.to_gpu(flat)[start:]
    return flat[start:].reshape(rows, columns), on_device.reshape(rows, columns)


def drawn_indices(data, rng, length, shape, wrong=False):
    """(host, device): random indices for an axis of this length, of either sign, with any strides. With
    wrong, one of them is out of bounds."""
    dtype = np.dtype(data.draw(st.sampled_from(INDICES)))
    if wrong and length > np.iinfo(dtype).max:
        dtype = np.dtype("i4")
    minimum = 0 if dtype.kind == "u" else -length
    found = rng.integers(minimum, length, shape).astype(dtype)
    if wrong and found.size:
        beyond = [length, 100] if dtype.kind == "u" else [length, -length - 1, 100, -101]
        found.flat[rng.integers(found.size)] = rng.choice([n for n in beyond if not minimum <= n < length])
        return found[::-1], gpuarray.to_gpu(found)[::-1]
    return data.draw(layouts(found))


def check(got, want):
    """Asserts the same shape, dtype and bytes."""
    assert got.shape == want.shape and got.dtype == want.dtype
    assert got.get().tobytes() == want.tobytes()


DRAWN = (SEEDS, st.sampled_from(DTYPES), ROWS, COLUMNS, st.data())


@few
@given(*DRAWN)
def test_rows(seed, dtype, rows, columns, data):
    rng = np.random.default_rng(seed)
    host, on_device = drawn(data, rng, dtype, rows, columns)
    index, index_on_device = drawn_indices(
        data, rng, len(host), data.draw(st.sampled_from([(0,), (7,), (3, 5)]))
    )
    check(on_device[index_on_device], host[index])
    check(on_device.take(index_on_device, 0, mode="wrap"), host.take(index, 0))
    check(on_device[index], host[index])  # indices of the host
    mask = rng.random(len(host)) < 0.5
    check(on_device[gpuarray.to_gpu(mask)], host[mask])


@few
@given(*DRAWN)
def test_columns(seed, dtype, rows, columns, data):
    rng = np.random.default_rng(seed)
    host, on_device = drawn(data, rng, dtype, rows, columns)
    shape = data.draw(st.sampled_from([(0,), (7,), (3, 5), (512,), (1500,)]))
    index, index_on_device = drawn_indices(data, rng, host.shape[1], shape)
    check(on_device[:, index_on_device], host[:, index])
    check(on_device[index_on_device[:5] * 0, index_on_device[:5]], host[index[:5] * 0, index[:5]])


@few
@given(*DRAWN)
def test_take_along_axis(seed, dtype, rows, columns, data):
    rng = np.random.default_rng(seed)
    host, on_device = drawn(data, rng, dtype, rows, columns)
    axis, count = data.draw(st.sampled_from([0, 1, -1])), data.draw(st.sampled_from([0, 1, 6, 700]))
    shape = list(host.shape)
    shape[axis] = count
    index = rng.integers(-host.shape[axis], host.shape[axis], shape)
    index_on_device = gpuarray.to_gpu(index)
    check(gpuarray.take_along_axis(on_device, index_on_device, axis), np.take_along_axis(host, index, axis))


@few
@given(*DRAWN)
def test_rows_are_assigned(seed, dtype, rows, columns, data):
    rng = np.random.default_rng(seed)
    host, on_device = drawn(data, rng, dtype, rows, columns)
    host = host.copy()
    chosen = rng.permutation(len(host))[: data.draw(st.integers(0, len(host)))]  # none twice
    values, values_on_device = drawn(data, rng, dtype, max(len(chosen), 1), host.shape[1])
    if values.shape != (len(chosen), host.shape[1]):  # transposed, or of one row for no index: use one value
        values, values_on_device = values[:1, :1], values_on_device[:1, :1]
    for index in (gpuarray.to_gpu(chosen - len(host)), chosen):
        on_device[index] = values_on_device
        host[chosen] = values
        check(on_device, host)


@few
@given(*DRAWN)
def test_an_index_out_of_bounds_raises_and_assigns_nothing(seed, dtype, rows, columns, data):
    rng = np.random.default_rng(seed)
    host, on_device = drawn(data, rng, dtype, rows, columns)
    axis = data.draw(st.sampled_from([0, 1]))
    shape = data.draw(st.sampled_from([(1,), (3, 2), (600,)]))
    index, wrong = drawn_indices(data, rng, host.shape[axis], shape, wrong=True)
    with pytest.raises(IndexError):
        on_device[(slice(None),) * axis + (wrong,)]
    with pytest.raises(IndexError):
        on_device.take(wrong, axis)
    before = on_device.get()
    with pytest.raises(IndexError):
        on_device[(slice(None),) * axis + (wrong,)] = on_device[:1, :1]
    check(on_device, before)
    # The word in which kernels report an index out of bounds is 0 again.
    right = gpuarray.to_gpu(np.arange(host.shape[axis]))
    check(on_device.take(right, axis), host)


def test_work_after_an_index_of_large_rows_is_ordered():
    """With few indices of many elements the host waits only until the indices are checked: the elements are
    moved later, but before later work of the stream.
    """
    stream = drv.Stream()
    host = np.arange(64 * 4096, dtype=np.float32).reshape(64, 4096)
    on_device, index = gpuarray.to_gpu(host), gpuarray.to_gpu(np.arange(63, -1, -1))
    with stream:
        found = on_device[index]
        on_device.fill(0)  # in the stream's order: after the elements were moved
    check(found, host[::-1])


@few
@given(
    SEEDS,
    st.sampled_from(["u1", "f4", "D", "V3"]),
    st.sampled_from([512, 530, 600]),
    st.booleans(),
    st.data(),
)
def test_many_elements_of_many_rows(seed, dtype, columns, alike, data):
    """The kernel that gathers from rows in shared memory is used; `alike`: each row has the same indices."""
    rng = np.random.default_rng(seed)
    rows, start = kernels._MANY_ROWS, data.draw(st.integers(0, 3))
    nbytes = (rows * columns + start) * np.dtype(dtype).itemsize
    flat = rng.integers(0, 256, nbytes, dtype=np.uint8).view(dtype)
    host, on_device = (each[start:].reshape(rows, columns) for each in (flat, gpuarray.to_gpu(flat)))
    count = data.draw(st.sampled_from([512, 700, 2500]))
    index = rng.integers(-columns, columns, (1 if alike else rows, count))
    index_on_device = gpuarray.to_gpu(index)
    if alike:
        check(on_device[:, index_on_device[0]], host[:, index[0]])
        check(on_device.take(index_on_device[0] + 5, 1, mode="clip"), host.take(index[0] + 5, 1, mode="clip"))
    else:
        check(gpuarray.take_along_axis(on_device, index_on_device, 1), np.take_along_axis(host, index, 1))
    index[-1, -1] = columns
    with pytest.raises(IndexError):
        gpuarray.take_along_axis(on_device, gpuarray.to_gpu(index), 1)
