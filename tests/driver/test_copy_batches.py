"""Batches of copies (cuMemcpyBatchAsync): all of them, or none where one cannot be."""

import ctypes
from ctypes import c_int, c_size_t, c_uint, c_ulonglong, c_void_p

import numpy as np
import pytest

import pycuda.driver as drv

SUCCESS, INVALID_VALUE = 0, 1
IN_STREAM_ORDER, DURING_THE_CALL = 1, 2

pytestmark = pytest.mark.driver(13000, "cuMemcpyBatchAsync without the index of a failure")


class Attributes(ctypes.Structure):
    _fields_ = [("order", c_int), ("hints", c_int * 4), ("flags", c_uint)]


@pytest.fixture
def stream(primary_context):
    return drv.Stream(1)


@pytest.fixture
def copy(stream, driver_library):
    cuda = ctypes.CDLL(driver_library)

    def copy(pairs, attributes=((IN_STREAM_ORDER, 0),)):
        """Pairs: (to, from, bytes); attributes: (order, the first copy that it is for)."""
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
    memory = drv.mem_alloc(256)
    drv.memset_d32(memory, value, 64)
    drv.Context.synchronize()
    return memory


def words(memory):
    out = np.empty(64, np.uint32)
    drv.memcpy_dtoh(out, memory)
    return out.tolist()


def test_each_copy_is_done(copy, stream):
    first, second, third = filled(1), filled(2), filled(3)
    host = np.arange(64, dtype=np.uint32)
    pairs = [(int(second), int(first), 64), (int(third) + 128, host.ctypes.data, 128)]
    assert copy(pairs, ((IN_STREAM_ORDER, 0), (DURING_THE_CALL, 1))) == SUCCESS
    host[:] = 0
    stream.synchronize()
    assert words(second) == [1] * 16 + [2] * 48
    assert words(third) == [3] * 32 + list(range(32))


@pytest.mark.parametrize("attributes", [((0, 0),), ((4, 0),), ((1, 1),), ((1, 0), (1, 0)), ((1, 0), (1, 2))])
def test_attributes_that_do_not_fit(copy, stream, attributes):
    first, second = filled(1), filled(2)
    pair = int(second), int(first), 64
    assert copy([pair, (int(second) + 64, int(first), 64)], attributes) == INVALID_VALUE
    stream.synchronize()
    assert words(second) == [2] * 64


@pytest.mark.cpu("a GPU may take what another allocation follows")
def test_a_copy_that_cannot_be_leaves_the_others_undone(copy, stream):
    first, second = filled(1), filled(2)
    assert copy([(int(second), int(first), 64), (int(second), int(first), 1 << 40)]) == INVALID_VALUE
    stream.synchronize()
    assert words(second) == [2] * 64
