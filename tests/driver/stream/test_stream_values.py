"""Words of memory that streams write and wait for (cuStreamWriteValue32 and similar functions)."""

import ctypes
import time
from ctypes import byref, c_int, c_uint, c_ulonglong, c_void_p

import numpy as np
import pytest

import pycuda.driver as drv

SUCCESS, INVALID_VALUE, NOT_READY, NOT_SUPPORTED = 0, 1, 600, 801
AT_LEAST, EQUAL, AND, NOR = range(4)  # CUstreamWaitValue_flags: when a wait ends
WAIT_32, WRITE_32, WRITE_64 = 1, 2, 5  # CUstreamBatchMemOpType

pytestmark = pytest.mark.driver(11070, "stream memory operations without a setting of the driver")


class Operation(ctypes.Structure):
    """CUstreamBatchMemOpParams."""

    _fields_ = [("operation", c_int), ("address", c_ulonglong), ("value", c_ulonglong), ("flags", c_uint)]
    _fields_.append(("unused", c_ulonglong * 2))


@pytest.fixture
def cuda(primary_context, driver_library):
    return ctypes.CDLL(driver_library)


@pytest.fixture
def memory():
    words = drv.mem_alloc(64)
    drv.memset_d32(words, 0, 16)
    drv.Context.synchronize()  # the streams of these tests do not wait for it
    return words


@pytest.fixture
def stream(primary_context):
    return drv.Stream(1)


def address(memory, offset=0):
    return c_ulonglong(int(memory) + offset)


def words(memory, count=4):
    """The list of the first words of the memory."""
    out = np.empty(count, np.uint32)
    drv.memcpy_dtoh(out, memory)
    return out.tolist()


def test_writes(cuda, memory, stream):
    handle = c_void_p(stream.handle)
    assert cuda.cuStreamWriteValue32_v2(handle, address(memory), c_uint(5), 0) == SUCCESS
    assert cuda.cuStreamWriteValue64_v2(handle, address(memory, 8), c_ulonglong(2**40 + 3), 0) == SUCCESS
    stream.synchronize()
    assert words(memory) == [5, 0, 3, 256]


@pytest.mark.parametrize(
    "how, value, wrong, right",
    [
        (AT_LEAST, 3, 2, 4),
        (AT_LEAST, 3, 2**31 + 3, 3),
        (EQUAL, 3, 4, 3),
        (AND, 6, 9, 2),
        (NOR, 1, 0xFFFFFFFE, 4),
    ],
)
def test_a_stream_waits_until_the_condition_holds(cuda, memory, stream, how, value, wrong, right):
    """wrong: a word for which the stream still waits; right: one that ends the wait. AT_LEAST compares by the
    sign of the difference."""
    other, handle = drv.Stream(1), c_void_p(stream.handle)
    drv.memset_d32(memory, wrong, 1)
    drv.Context.synchronize()
    assert cuda.cuStreamWaitValue32_v2(handle, address(memory), c_uint(value), how) == SUCCESS
    assert cuda.cuStreamWriteValue32_v2(handle, address(memory, 4), c_uint(1), 0) == SUCCESS
    time.sleep(0.02)
    assert cuda.cuStreamQuery(handle) == NOT_READY
    assert cuda.cuStreamWriteValue32_v2(c_void_p(other.handle), address(memory), c_uint(right), 0) == SUCCESS
    stream.synchronize()
    assert words(memory, 2) == [right, 1]


def test_a_batch_runs_in_order(cuda, memory, stream):
    start = int(memory)
    batch = (Operation * 3)(
        Operation(WRITE_32, start, 11),
        Operation(WAIT_32, start, 11, EQUAL),
        Operation(WRITE_64, start + 8, 12),
    )
    assert cuda.cuStreamBatchMemOp_v2(c_void_p(stream.handle), 3, batch, 0) == SUCCESS
    stream.synchronize()
    assert words(memory) == [11, 0, 12, 0]


def test_an_empty_batch_and_one_that_is_too_long(cuda, memory, stream):
    handle, batch = c_void_p(stream.handle), (Operation * 256)(*[Operation(WRITE_32, int(memory), 1)] * 256)
    assert cuda.cuStreamBatchMemOp_v2(handle, 0, batch, 0) == SUCCESS
    assert cuda.cuStreamBatchMemOp_v2(handle, 256, batch, 0) == INVALID_VALUE
    stream.synchronize()
    assert words(memory) == [0] * 4


def test_the_first_versions_are_not_supported(cuda, memory, stream):
    handle = c_void_p(stream.handle)
    for name, value in (("Value32", c_uint(0)), ("Value64", c_ulonglong(0))):
        for kind in ("Wait", "Write"):
            call = getattr(cuda, f"cuStream{kind}{name}")
            assert call(handle, address(memory), value, 0) == NOT_SUPPORTED
    assert cuda.cuStreamBatchMemOp(handle, 1, byref(Operation(WRITE_32, int(memory), 1)), 0) == NOT_SUPPORTED
    assert cuda.cuStreamWriteValue32(handle, c_ulonglong(0), c_uint(0), 4) == NOT_SUPPORTED
    stream.synchronize()
    assert words(memory) == [0] * 4


def test_unknown_flags(cuda, memory, stream):
    handle = c_void_p(stream.handle)
    for flags in (1, 2, 4):
        assert cuda.cuStreamWriteValue32_v2(handle, address(memory), c_uint(1), flags) == INVALID_VALUE
    for flags, result in ((4, INVALID_VALUE), (1 << 30, NOT_SUPPORTED)):
        assert cuda.cuStreamWaitValue32_v2(handle, address(memory), c_uint(0), c_uint(flags)) == result
    stream.synchronize()
    assert words(memory) == [0] * 4


def test_unaligned_addresses_and_unknown_operations_write_nothing(cuda, memory, stream):
    handle, start = c_void_p(stream.handle), int(memory)
    assert cuda.cuStreamWriteValue32_v2(handle, address(memory, 2), c_uint(1), 0) == INVALID_VALUE
    assert cuda.cuStreamWriteValue64_v2(handle, address(memory, 4), c_ulonglong(1), 0) == INVALID_VALUE
    batch = (Operation * 2)(Operation(WRITE_32, start, 11), Operation(99, start, 11))
    assert cuda.cuStreamBatchMemOp_v2(handle, 2, byref(batch), 0) == INVALID_VALUE
    stream.synchronize()
    assert words(memory) == [0] * 4


@pytest.mark.cpu("on a GPU the end of the process waits for the word")
def test_a_program_ends_although_a_stream_still_waits(run_python):
    """After PYCUDA_EXIT_WAIT seconds."""
    program = """
import ctypes, pycuda.driver as drv
drv.init()
context = drv.Device(0).make_context()
with open("/proc/self/maps") as maps:
    cuda = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libcuda.so" in line))
stream, memory = drv.Stream(), drv.mem_alloc(4)
drv.memset_d32(memory, 0, 1)
cuda.cuStreamWaitValue32_v2(ctypes.c_void_p(stream.handle), ctypes.c_ulonglong(int(memory)), 1, 1)
print("waits")
"""
    done = run_python(program, env={"PYCUDA_EXIT_WAIT": "0.1"})
    assert done.stdout == "waits\n"
