"""GPUArray: construction, attributes, views, compared with NumPy."""

import gc
import itertools
import operator
import weakref

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.gpuarray import GPUArray

INDICES = [
    np.s_[::2],
    np.s_[:, ::-1],
    np.s_[1:4, 2:5, ::3],
    np.s_[..., 3],
    np.s_[2],
    np.s_[::-2, ::-3, ::-1],
    np.s_[None, 1, ...],
    np.s_[4:1],
    np.s_[1, 2, 3],
    np.s_[-1],
    np.s_[:, None, :, 5:2:-1],
    np.s_[...],
    np.s_[10:],
    np.s_[:, 5:5],
    np.s_[2:3, 3:4, 4:5],
    np.s_[()],
    np.s_[-3:, :-2],
    np.s_[np.int32(1)],
]


@pytest.fixture
def pair():
    host = np.arange(210, dtype=np.float32).reshape(5, 6, 7)
    return host, gpuarray.to_gpu(host)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (5, (5,)),
        ((), ()),
        ((3, 4), (3, 4)),
        ([2, 3], (2, 3)),
        (np.int64(6), (6,)),
        (np.array(7), (7,)),
        (np.array([2, 5]), (2, 5)),
        ((np.uint8(2), np.int16(3)), (2, 3)),
        (range(3), (0, 1, 2)),
    ],
)
def test_shapes(shape, expected):
    """A shape is a tuple of Python's int, whatever was given; sizes and strides follow as in NumPy."""
    array = GPUArray(shape, np.float32)
    assert array.shape == expected and all(type(length) is int for length in array.shape)
    reference = np.empty(expected, np.float32)
    assert (array.size, array.nbytes, array.ndim, array.itemsize, array.mem_size, array.strides) == (
        reference.size,
        reference.nbytes,
        reference.ndim,
        4,
        reference.size,
        reference.strides if reference.size else array.strides,  # any strides, where there are no elements
    )


def test_shape_may_be_an_iterator():
    test_shapes(iter((4, 1)), (4, 1))


@pytest.mark.parametrize(
    "dtype",
    [
        "?",
        "i1",
        "u2",
        "i8",
        "f2",
        "f4",
        "f8",
        "c8",
        "c16",
        np.float32,
        float,
        int,
        np.dtype([("a", "i4"), ("b", "f8")]),
    ],
    ids=str,
)
def test_dtypes(dtype):
    assert GPUArray(3, dtype).dtype == np.dtype(dtype)
    assert isinstance(GPUArray(3, dtype).dtype, np.dtype)


@pytest.mark.parametrize("order", ["C", "F"])
def test_order(order):
    array, reference = GPUArray((2, 3, 4), np.float64, order=order), np.empty((2, 3, 4), order=order)
    assert array.strides == reference.strides
    assert (array.flags.c_contiguous, array.flags.f_contiguous) == (order == "C", order == "F")
    assert array.flags.forc is True


@pytest.mark.parametrize(
    "arguments",
    [
        lambda: GPUArray((2, 3), np.float32, order="Q"),
        lambda: GPUArray((2, 3), np.float32, order="K"),
        lambda: GPUArray(-1, np.float32),
        lambda: GPUArray((2, -3), np.float32),
        lambda: GPUArray((1 << 40, 1 << 40), "i1"),
        lambda: GPUArray((2, 3), np.float32, strides=(4,)),
        lambda: GPUArray((2, 3), np.float32, strides=(-12, 4)),
    ],
)
def test_bad_values(arguments):
    with pytest.raises((ValueError, OverflowError)):
        arguments()


@pytest.mark.parametrize(
    "arguments",
    [
        lambda: GPUArray(2.5, np.float32),
        lambda: GPUArray((2, "3"), np.float32),
        lambda: GPUArray(3, object),
        lambda: GPUArray(3, "no dtype"),
        lambda: GPUArray(),
        lambda: GPUArray(3),
        lambda: GPUArray(3, "f4", nonsense=1),
        lambda: GPUArray(3, "f4", gpudata="text"),
    ],
)
def test_bad_types(arguments):
    with pytest.raises(TypeError):
        arguments()


def test_without_elements():
    for shape in (0, (0, 3), (3, 0)):
        array = GPUArray(shape, np.float64)
        assert array.gpudata is None and array.size == array.nbytes == 0
        with pytest.raises(AttributeError):
            array.ptr  # noqa: B018
        assert array.__cuda_array_interface__["data"] == (0, False)
        assert array.flags.c_contiguous and array.flags.f_contiguous
        assert array.get().shape == np.empty(shape).shape
        assert array.reshape(0).shape == (0,) and array.copy().shape == array.shape
    assert gpuarray.zeros(0, np.float32).get().shape == (0,)
    assert gpuarray.to_gpu(np.zeros((2, 0, 3))).shape == (2, 0, 3)


def test_memory_given():
    """gpudata may be an allocation, which must be large enough, or an address, with or without a base."""
    memory = drv.mem_alloc(64)
    array = GPUArray((4, 4), np.float32, gpudata=memory)
    assert array.gpudata is memory and array.ptr == int(memory) and array.base is None
    token = object()
    other = GPUArray((2,), np.float32, base=token, gpudata=int(memory) + 8)
    assert other.ptr == int(memory) + 8 and other.base is token
    with pytest.raises(AssertionError):
        GPUArray((2,), np.float32, base=token)
    for shape in (17, (4, 5)):
        with pytest.raises(ValueError, match="64 bytes"):
            GPUArray(shape, np.float32, gpudata=memory)
    with pytest.raises(ValueError, match="64 bytes"):
        GPUArray((2, 4), np.float32, gpudata=memory, strides=(64, 4))


def test_arrays_use_and_keep_their_allocator():
    sizes = []

    def allocator(size):
        sizes.append(size)
        return drv.mem_alloc(size)

    array = GPUArray((3, 5), np.float32, allocator)
    assert sizes == [60] and array.allocator is allocator and array[1:].allocator is allocator
    array.copy()
    assert sizes == [60, 60]
    GPUArray(0, np.float32, allocator)
    assert sizes == [60, 60]
    assert GPUArray(1, np.float32).allocator is drv.default_allocate
    assert type(GPUArray(1, np.float32, drv.mem_alloc).gpudata) is drv.DeviceAllocation
    with pytest.raises(ZeroDivisionError):
        GPUArray(1, np.float32, lambda size: 1 // 0)


def test_memory_is_freed_with_the_last_array_or_view_of_it():
    def living():
        return drv._live_objects()["PooledDeviceAllocation"]

    before = living()
    array = GPUArray(1000, np.float32)
    view = array[10:]
    assert living() == before + 1
    del array
    assert living() == before + 1
    del view
    assert living() == before


def test_arrays_in_freed_memory_are_refused():
    array = gpuarray.zeros(8, np.float32)
    view = array[2:]
    array.gpudata.free()
    for call in (
        array.get,
        view.get,
        lambda: array.set(np.zeros(8, np.float32)),
        lambda: array.ptr,
        array.copy,
        lambda: array.__cuda_array_interface__,
    ):
        with pytest.raises(drv.LogicError, match="freed"):
            call()


def test_cuda_array_interface(pair):
    _host, array = pair
    for view in (array, array.T, array[1::2, ::-1]):
        interface = view.__cuda_array_interface__
        assert interface["version"] == 3 and interface["stream"] == 1
        assert interface["typestr"] == "<f4" and interface["data"] == (view.ptr, False)
        assert interface["shape"] == view.shape and interface["strides"] == view.strides


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_basic_indexing(pair, index):
    host, array = pair
    view, expected = array[index], host[index]
    assert view.shape == expected.shape
    np.testing.assert_array_equal(view.get(), expected)
    if expected.size and isinstance(expected, np.ndarray):
        address, start = (each.__array_interface__["data"][0] for each in (expected, host))
        assert view.ptr - array.ptr == address - start
        assert all(
            a == b for a, b, n in zip(view.strides, expected.strides, view.shape, strict=True) if n > 1
        )
        assert (view.flags.c_contiguous, view.flags.f_contiguous) == (
            expected.flags.c_contiguous,
            expected.flags.f_contiguous,
        )


@pytest.mark.parametrize(
    "index", [5, -6, (0, 6), (0, 0, 0, 0), [5], "a", 1.5, (..., ...), np.array([1.5]), ([0], ..., ...)]
)
def test_bad_indices(pair, index):
    with pytest.raises(IndexError):
        pair[1][index]


def test_iteration_and_length(pair):
    host, array = pair
    assert len(array) == 5
    for row, expected in zip(array, host, strict=True):
        np.testing.assert_array_equal(row.get(), expected)
    with pytest.raises(TypeError):
        len(array[1, 2, 3])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed", "transposed"])
@pytest.mark.parametrize("shape", [(210,), (7, 30), (2, 3, 5, 7), (-1, 7), (30, -1), (1, 210, 1), (5, 6, 7)])
def test_reshape(layout, shape, order):
    big = np.arange(420, dtype=np.int32).reshape(10, 6, 7)
    host = {
        "C": big[:5].copy(),
        "F": np.asfortranarray(big[:5]),
        "strided": big[::2],
        "reversed": big[4::-1],
        "transposed": big[:5].transpose(1, 2, 0),
    }[layout]
    whole = gpuarray.to_gpu(big)
    array = {
        "strided": whole[::2],
        "reversed": whole[4::-1],
        "transposed": whole[:5].transpose((1, 2, 0)),
    }.get(layout, gpuarray.to_gpu(host))
    np.testing.assert_array_equal(array.reshape(*shape, order=order).get(), host.reshape(shape, order=order))
    np.testing.assert_array_equal(array.reshape(shape).get(), host.reshape(shape))


def test_reshape_is_a_view_where_it_can_be(pair):
    array = pair[1]
    assert array.reshape(210).ptr == array.ptr and array.reshape(210).base is array
    assert array.reshape(5, 6, 7) is array
    assert array[:, :, ::7].reshape(5, 6).ptr == array.ptr
    assert array.T.reshape(210).ptr != array.ptr


@pytest.mark.parametrize("shape", [(3, 3), (-1, -1), (-1, 4), (-2, 105), (0, -1)])
def test_bad_reshape(pair, shape):
    with pytest.raises(ValueError):
        pair[1].reshape(shape)
    with pytest.raises(ValueError):
        pair[1].reshape(210, order="Q")


def test_transpose(pair):
    host, array = pair
    np.testing.assert_array_equal(array.T.get(), host.T)
    np.testing.assert_array_equal(array.transpose().get(), host.T)
    for axes in itertools.permutations(range(3)):
        np.testing.assert_array_equal(array.transpose(axes).get(), host.transpose(axes))
    for axes in ((0, 1), (0, 0, 1), (0, 1, 3), (0, 1, 2, 3)):
        with pytest.raises(ValueError):
            array.transpose(axes)


def test_ravel_and_squeeze(pair):
    host, array = pair
    np.testing.assert_array_equal(array.ravel().get(), host.ravel())
    np.testing.assert_array_equal(array.T.ravel().get(), host.T.ravel())
    np.testing.assert_array_equal(array[1:2, :, 3:4].squeeze().get(), host[1:2, :, 3:4].squeeze())


@pytest.mark.parametrize("dtype", ["i4", "u1", "f4"])
def test_view(pair, dtype):
    host, array = pair
    np.testing.assert_array_equal(array.view(dtype).get(), host.view(dtype))
    assert array.view(dtype).ptr == array.ptr and array.view().shape == array.shape


def test_view_of_other_size(pair):
    host, array = pair
    np.testing.assert_array_equal(array[:, :, :6].copy().view("f8").get(), host[:, :, :6].copy().view("f8"))
    with pytest.raises(ValueError):
        array.view("f8")
    with pytest.raises(ValueError):
        array[:, :, ::2].view("u1")


def test_truth():
    assert bool(gpuarray.to_gpu(np.array([3]))) and not gpuarray.to_gpu(np.array([[0.0]]))
    for size in (0, 2):
        with pytest.raises(ValueError):
            bool(GPUArray(size, np.float32))


def test_text(pair):
    host, array = pair
    assert str(array) == str(host) and repr(array[0]) == repr(host[0])


@pytest.mark.parametrize("operation", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_refuse_other_objects(pair, operation):
    """Arrays of NumPy and other objects are not operands: Python's fallback, a comparison of identities,
    would look like a result."""
    compare = getattr(operator, operation)
    for other in (pair[0], object(), [1], "a"):
        if operation in ("eq", "ne") and not isinstance(other, np.ndarray):
            continue  # Python compares identities where neither side knows the other
        with pytest.raises(TypeError):
            compare(pair[1], other)
    assert pair[1] != None  # noqa: E711


def test_not_hashable(pair):
    with pytest.raises(TypeError):
        hash(pair[1])


def test_subclass_and_own_attributes():
    class Tagged(GPUArray):
        def __init__(self, size):
            super().__init__((size,), np.float32)
            self.tag = size

    array = Tagged(4)
    assert array.tag == 4 and array.shape == (4,) and type(array[1:]) is GPUArray
    plain = GPUArray(3, np.float32)
    plain.note = "x"
    reference = weakref.ref(plain)
    plain.cycle = plain  # arrays with attributes of their own can be in cycles
    del plain
    gc.collect()
    assert reference() is None


def test_an_array_made_without_init_is_empty():
    array = GPUArray.__new__(GPUArray)
    assert array.shape == (0,) and array.get().shape == (0,) and array.gpudata is None


def test_priority_and_launch_shape(pair):
    array = pair[1]
    assert array.__array_priority__ == 100
    (blocks, one), (threads, *ones) = array._grid, array._block
    assert one == 1 and ones == [1, 1] and 32 <= threads <= 1024 and threads % 32 == 0 and blocks >= 1


def test_copy(pair):
    host, array = pair
    np.testing.assert_array_equal(array.copy().get(), host)
    assert array.copy().ptr != array.ptr


def test_scalars_of_numpy_become_0d_arrays():
    for number in (np.float32(2.5), np.int8(3), np.complex64(1j), np.bool_(True)):
        array = gpuarray.to_gpu(number)
        assert array.shape == () and array.dtype == number.dtype and array.get() == number


def test_bytes():
    """bytes() returns the elements' bytes: it neither iterates over integers nor takes an array of one
    element as a count."""
    for host in (np.arange(3), np.array(3), np.arange(6.0).reshape(2, 3).T, np.zeros((0, 2))):
        assert bytes(gpuarray.to_gpu(host)) == host.tobytes()


def test_views_of_no_elements():
    for shape, strided in ((4, 0), False), ((0, 3), False), ((0, 6), True):
        host = np.zeros(shape)
        device = gpuarray.to_gpu(host)
        if strided:  # NumPy views only contiguous arrays as other dtypes
            host, device = host[:, ::-2].copy(), device[:, ::-2]
        assert device.view(np.int16).shape == host.view(np.int16).shape
    with pytest.raises(ValueError, match="must be a divisor of the"):
        gpuarray.zeros((0, 3), np.float32).view(np.float64)
