"""Batches of copies (cuMemcpyBatchAsync, cuMemcpy3DBatchAsync): either all are made, or one of them is
refused and none is made."""

import ctypes
from ctypes import c_int, c_size_t, c_uint, c_ulonglong, c_void_p

import numpy as np
import pytest

import pycuda.driver as drv

SUCCESS, INVALID_VALUE = 0, 1
IN_STREAM_ORDER, DURING_THE_CALL = 1, 2  # CUmemcpySrcAccessOrder

pytestmark = pytest.mark.driver(13000, "cuMemcpyBatchAsync without the index of a failure")


class Attributes(ctypes.Structure):
    """CUmemcpyAttributes."""

    _fields_ = [("order", c_int), ("hints", c_int * 4), ("flags", c_uint)]


@pytest.fixture
def stream(primary_context):
    return drv.Stream(1)


@pytest.fixture
def copy(stream, driver_library):
    """A function that copies a batch in `stream`."""
    cuda = ctypes.CDLL(driver_library)

    def copy(pairs, attributes=((IN_STREAM_ORDER, 0),)):
        """The result of a batch. pairs: (to, from, bytes); attributes: (order, the index of the first copy
        that it applies to)."""
        count = len(pairs)
        to, origin = (
            (c_ulonglong * count)(*(p[0] for p in pairs)),
            (c_ulonglong * count)(*(p[1] for p in pairs)),
        )
        sizes = (c_size_t * count)(*(p[2] for p in pairs))
        given = (Attributes * len(attributes))(*(Attributes(order) for order, _ in attributes))
        starts = (c_size_t * len(attributes))(*(start for _, start in attributes))
        numbers = c_size_t(count), given, starts, c_size_t(len(attributes))
        return cuda.cuMemcpyBatchAsync_v2(to, origin, sizes, *numbers, c_void_p(stream.handle))

    return copy


def filled(value):
    """New memory of 64 words that have this value."""
    memory = drv.mem_alloc(256)
    drv.memset_d32(memory, value, 64)
    drv.Context.synchronize()
    return memory


def words(memory):
    """The list of the 64 words."""
    out = np.empty(64, np.uint32)
    drv.memcpy_dtoh(out, memory)
    return out.tolist()


def test_each_copy_is_made(copy, stream):
    """The second one reads host memory during the call: it may be changed at once."""
    first, second, third = filled(1), filled(2), filled(3)
    host = np.arange(64, dtype=np.uint32)
    pairs = [(int(second), int(first), 64), (int(third) + 128, host.ctypes.data, 128)]
    assert copy(pairs, ((IN_STREAM_ORDER, 0), (DURING_THE_CALL, 1))) == SUCCESS
    host[:] = 0
    stream.synchronize()
    assert words(second) == [1] * 16 + [2] * 48
    assert words(third) == [3] * 32 + list(range(32))


@pytest.mark.parametrize("attributes", [((0, 0),), ((4, 0),), ((1, 1),), ((1, 0), (1, 0)), ((1, 0), (1, 2))])
def test_wrong_attributes(copy, stream, attributes):
    """Unknown orders, and indices that do not begin with 0, do not rise or are beyond the copies."""
    first, second = filled(1), filled(2)
    pair = int(second), int(first), 64
    assert copy([pair, (int(second) + 64, int(first), 64)], attributes) == INVALID_VALUE
    stream.synchronize()
    assert words(second) == [2] * 64


@pytest.mark.cpu("a GPU's driver may accept a copy that goes on into the next allocation")
def test_a_copy_that_is_refused_leaves_the_others_undone(copy, stream):
    first, second = filled(1), filled(2)
    assert copy([(int(second), int(first), 64), (int(second), int(first), 1 << 40)]) == INVALID_VALUE
    stream.synchronize()
    assert words(second) == [2] * 64


POINTER, ARRAY = 1, 2  # CUmemcpy3DOperandType


class Side(ctypes.Structure):
    """CUmemcpy3DOperand: a pointer with the row length and layer height, or a CUDA array with an offset."""

    _fields_ = [("type", c_int), ("what", c_ulonglong), ("lengths", c_size_t * 3)]


class Shape(ctypes.Structure):
    """CUDA_MEMCPY3D_BATCH_OP."""

    _fields_ = [("origin", Side), ("to", Side), ("extent", c_size_t * 3), ("order", c_int), ("flags", c_uint)]


def linear(memory, row=16, layer=2):
    """The memory as a Side; row: bytes of a row, layer: rows of a layer; 0: as many as are copied."""
    return Side(POINTER, int(memory), (c_size_t * 3)(row, layer))


class TestShapes:
    @pytest.fixture
    def copy_shapes(self, stream, driver_library):
        """A function that copies a batch of shapes in `stream`."""
        cuda = ctypes.CDLL(driver_library)

        def copy_shapes(*shapes, flags=0):
            """The result of the batch, once the stream is done."""
            copies = (Shape * len(shapes))(*shapes)
            call = cuda.cuMemcpy3DBatchAsync_v2
            result = call(c_size_t(len(shapes)), copies, c_ulonglong(flags), c_void_p(stream.handle))
            stream.synchronize()
            return result

        return copy_shapes

    def shape(self, origin, to, extent=(8, 2, 2), order=IN_STREAM_ORDER):
        return Shape(origin, to, (c_size_t * 3)(*extent), order, 0)

    def test_rows_and_layers(self, copy_shapes):
        first, second, third = filled(5), filled(0), filled(0)
        dense = self.shape(linear(first, 0, 0), linear(third, 0, 0))
        assert copy_shapes(self.shape(linear(first), linear(second)), dense) == SUCCESS
        assert words(second) == [5, 5, 0, 0] * 4 + [0] * 48
        assert words(third) == [5] * 8 + [0] * 56

    @pytest.mark.parametrize(
        "change", [{"extent": (8, 2, 0)}, {"order": 0}, {"to": {"row": 4}}, {"flags": 1}], ids=str
    )
    def test_one_wrong_copy_refuses_the_batch(self, copy_shapes, change):
        """change: what is wrong with the second copy, or with the call."""
        first, second = filled(5), filled(0)
        good = self.shape(linear(first), linear(second))
        keywords = {k: v for k, v in change.items() if k in ("extent", "order")}
        bad = self.shape(linear(first), linear(second, **change.get("to", {})), **keywords)
        assert copy_shapes(good, bad, flags=change.get("flags", 0)) == INVALID_VALUE
        assert words(second) == [0] * 64

    def test_an_empty_batch_is_refused(self, copy_shapes):
        assert copy_shapes() == INVALID_VALUE

    def test_offsets_and_extents_of_arrays_are_in_elements(self, copy_shapes):
        description = drv.ArrayDescriptor()
        description.width, description.height, description.num_channels = 8, 4, 1
        description.format = drv.array_format.UNSIGNED_INT32
        array = drv.Array(description)
        first, second = filled(0), filled(0)
        drv.memcpy_htod(first, np.arange(64, dtype=np.uint32))
        whole = Side(ARRAY, array.handle, (c_size_t * 3)(0, 0, 0))
        part = Side(ARRAY, array.handle, (c_size_t * 3)(2, 1, 0))
        assert copy_shapes(self.shape(linear(first, 8, 4), whole, (8, 4, 1))) == SUCCESS
        assert copy_shapes(self.shape(part, linear(second, 4, 2), (3, 2, 1))) == SUCCESS
        assert words(second)[:8] == [10, 11, 12, 0, 18, 19, 20, 0]
