"""Copies between host and device, and fills."""

import array

import numpy as np
import pytest

import pycuda.driver as drv


def fetch(memory, count, dtype=np.uint8):
    """A new array with the first elements of the memory."""
    out = np.empty(count, dtype)
    drv.memcpy_dtoh(out, memory)
    return out


# ---- Host and device ----


@pytest.mark.parametrize(
    "source",
    [
        np.arange(10.0),
        np.arange(12, dtype=np.int16).reshape(3, 4),
        np.asfortranarray(np.arange(12).reshape(3, 4)),
        np.array(5),
        np.array(["2020-01-01"], "M8[D]"),
        np.ones(3, [("a", "i4"), ("b", "f8")]),
        b"some bytes",
        bytearray(b"more"),
        memoryview(b"view"),
        array.array("d", [1, 2, 3]),
        np.float32(3.5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_bytes_arrive_in_memory_order(source):
    expected = source.tobytes("A") if isinstance(source, np.ndarray) else bytes(source)
    memory = drv.mem_alloc(len(expected))
    drv.memcpy_htod(memory, source)
    assert fetch(memory, len(expected)).tobytes() == expected


def test_keywords():
    memory = drv.mem_alloc(8)
    drv.memcpy_htod(dest=memory, src=b"12345678")
    out = bytearray(8)
    drv.memcpy_dtoh(dest=out, src=memory)
    assert out == b"12345678"


def test_copies_to_fortran_ordered_arrays_and_slices():
    memory = drv.to_device(np.arange(12, dtype=np.int32))
    fortran = np.empty((3, 4), np.int32, "F")
    drv.memcpy_dtoh(fortran, memory)
    assert (fortran.ravel("K") == np.arange(12)).all()
    view = memoryview(bytearray(48))
    drv.memcpy_dtoh(view[8:16], memory)
    assert view.tobytes()[:24] == bytes(8) + np.arange(2, dtype=np.int32).tobytes() + bytes(8)


def test_parts_by_address():
    memory = drv.to_device(np.arange(10, dtype=np.int64))
    assert fetch(int(memory) + 16, 3, np.int64).tolist() == [2, 3, 4]
    drv.memcpy_htod(np.uint64(int(memory) + 72), np.array([99]))
    assert fetch(memory, 10, np.int64)[-1] == 99


def test_large():
    data = np.random.default_rng(1).integers(0, 256, 1 << 23, dtype=np.uint8)
    memory = drv.to_device(data)
    assert (fetch(memory, data.size) == data).all()


def test_empty_buffers():
    memory = drv.mem_alloc(4)
    drv.memcpy_htod(memory, b"")
    drv.memcpy_dtoh(np.empty(0), memory)
    drv.memcpy_dtod(memory, memory, 0)
    drv.memset_d8(memory, 1, 0)


@pytest.mark.parametrize(
    "strided", [np.arange(10)[::2], np.arange(12).reshape(3, 4)[:, :2], memoryview(bytes(10))[::2]]
)
def test_strided_buffers_are_refused(strided):
    memory = drv.mem_alloc(1000)
    with pytest.raises((ValueError, BufferError), match="not contiguous"):
        drv.memcpy_htod(memory, strided)


@pytest.mark.parametrize(
    "target", [b"12345678", np.frombuffer(b"12345678", np.uint8), memoryview(b"12345678")]
)
def test_read_only_targets_are_refused(target):
    memory = drv.to_device(np.arange(1))
    before = bytes(target)
    with pytest.raises((ValueError, BufferError), match="read-only"):
        drv.memcpy_dtoh(target, memory)
    assert bytes(target) == before


def test_arrays_of_objects_are_refused():
    memory = drv.mem_alloc(100)
    with pytest.raises(TypeError, match="Python objects"):
        drv.memcpy_htod(memory, np.array([None]))
    with pytest.raises(TypeError, match="Python objects"):
        drv.memcpy_dtoh(np.array([None]), memory)


@pytest.mark.parametrize(
    "copy",
    [
        lambda memory: drv.memcpy_htod(memory, bytes(101)),
        lambda memory: drv.memcpy_dtoh(bytearray(101), memory),
        lambda memory: drv.memcpy_htod_async(memory, bytes(101)),
        lambda memory: drv.memcpy_dtoh_async(bytearray(101), memory),
        lambda memory: drv.memcpy_dtod(memory, int(memory), 101),
        lambda memory: drv.memcpy_dtod(int(memory), memory, 101),
        lambda memory: drv.memset_d8(memory, 0, 101),
        lambda memory: drv.memset_d16(memory, 0, 51),
        lambda memory: drv.memset_d32(memory, 0, 26),
        lambda memory: drv.memset_d32(memory, 0, 1 << 62),
        lambda memory: drv.memset_d2d8(memory, 50, 0, 51, 2),
        lambda memory: drv.memset_d2d32_async(memory, 50, 0, 13, 2),
        lambda memory: drv.from_device(memory, 101, np.uint8),
        lambda memory: drv.from_device_like(memory, np.empty(26, np.float32)),
    ],
)
def test_more_than_the_allocation_is_refused(copy):
    memory = drv.mem_alloc(100)
    with pytest.raises(ValueError, match="bytes are requested, but the allocation has 100"):
        copy(memory)


def test_a_bad_address_is_the_drivers_error():
    with pytest.raises(drv.LogicError, match="cuMemcpyHtoD failed: invalid argument"):
        drv.memcpy_htod(0, b"1234")


# ---- Asynchronous ----


@pytest.mark.parametrize("make_stream", [lambda: None, drv.Stream, lambda: drv.Stream(1)])
def test_asynchronous_copies_and_a_fill(make_stream):
    """From page-locked memory to the device, within the device, and back."""
    stream = make_stream()
    source, out = drv.pagelocked_empty(1000, np.int32), drv.pagelocked_zeros(1000, np.int32)
    source[:] = np.arange(1000)
    first, second = drv.mem_alloc(4000), drv.mem_alloc(4000)
    drv.memcpy_htod_async(first, source, stream)
    drv.memcpy_dtod_async(second, first, 4000, stream=stream)
    drv.memset_d32_async(int(second) + 4, 77, 1, stream)
    drv.memcpy_dtoh_async(out, second, stream)
    (stream or drv.Context).synchronize()
    expected = np.arange(1000)
    expected[1] = 77
    assert (out == expected).all()


def test_pageable_memory_is_accepted():
    stream, out = drv.Stream(), np.zeros(1000, np.int32)
    memory = drv.mem_alloc(4000)
    drv.memcpy_htod_async(memory, np.arange(1000, dtype=np.int32), stream)
    drv.memcpy_dtoh_async(out, memory, stream)
    stream.synchronize()
    assert (out == np.arange(1000)).all()


# ---- Within and between devices ----


def test_dtod():
    first, second = drv.to_device(np.arange(10)), drv.mem_alloc(80)
    drv.memcpy_dtod(second, first, 80)
    drv.memcpy_dtod(dest=second, src=int(first) + 72, size=8)
    assert fetch(second, 10, np.int64).tolist() == [9] + list(range(1, 10))


def test_copies_between_contexts():
    """Of the first and the last device, which may be one."""
    drv.init()
    first = drv.to_device(np.arange(10))
    here = drv.Context.get_current()
    peer = drv.Device(drv.Device.count() - 1).make_context()
    second, stream = drv.mem_alloc(80), drv.Stream()
    drv.memcpy_peer(second, first, 80, peer, here)
    assert fetch(second, 10, np.int64).tolist() == list(range(10))
    drv.memset_d8(second, 0, 80)
    drv.memcpy_peer_async(second, first, 40, dest_context=peer, src_context=here, stream=stream)
    stream.synchronize()
    assert fetch(second, 10, np.int64).tolist() == [0, 1, 2, 3, 4, 0, 0, 0, 0, 0]
    with pytest.raises(TypeError, match="dest_context must be a Context or None"):
        drv.memcpy_peer(second, first, 80, 1)
    peer.detach()


def test_peer_of_the_current_context():
    first, second = drv.to_device(np.arange(10)), drv.mem_alloc(80)
    drv.memcpy_peer(second, first, 80)
    assert fetch(second, 10, np.int64).tolist() == list(range(10))


# ---- With allocation ----


@pytest.mark.parametrize(
    "source",
    [
        np.arange(12).reshape(3, 4),
        np.arange(12).reshape(3, 4).T,
        np.arange(24).reshape(4, 6)[::2, ::-2],
        memoryview(np.arange(12))[::3],
    ],
)
def test_to_device_takes_the_order_of_indices(source):
    expected = np.ascontiguousarray(source)
    memory = drv.to_device(source)
    assert memory.size == expected.nbytes
    assert (drv.from_device(memory, expected.shape, expected.dtype) == expected).all()


def test_to_device_of_bytes():
    assert fetch(drv.to_device(b"abc"), 3).tobytes() == b"abc"


def test_from_device():
    memory = drv.to_device(np.arange(12, dtype=np.float32))
    array = drv.from_device(memory, (3, 4), np.float32)
    assert (array == np.arange(12).reshape(3, 4)).all() and array.flags.c_contiguous and array.flags.owndata
    array = drv.from_device(devptr=memory, shape=(3, 4), dtype="f4", order="F")
    assert (array == np.arange(12).reshape(4, 3).T).all() and array.flags.f_contiguous
    assert drv.from_device(memory, (), np.float32) == 0
    assert drv.from_device(memory, 0, np.float32).size == 0


def test_from_device_like():
    other = np.asfortranarray(np.arange(12).reshape(3, 4))
    memory = drv.mem_alloc_like(other)
    drv.memcpy_htod(memory, other)
    result = drv.from_device_like(memory, other)
    assert (result == other).all() and result.flags.f_contiguous
    with pytest.raises(ValueError, match="contiguous"):
        drv.from_device_like(memory, np.zeros((4, 4))[::2])


# ---- Fills ----


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("suffix", ["", "_async"])
def test_memset(bits, suffix):
    dtype, value = np.dtype(f"u{bits // 8}"), (1 << bits) - 2
    memory = drv.to_device(np.zeros(20, dtype))
    fill = getattr(drv, f"memset_d{bits}{suffix}")
    fill(memory, value, 10)
    fill(int(memory) + 15 * dtype.itemsize, data=5, size=2)
    fill(dest=int(memory) + 18 * dtype.itemsize, data=np.uint8(6), count=1)
    drv.Context.synchronize()
    assert fetch(memory, 20, dtype).tolist() == [value] * 10 + [0] * 5 + [5, 5, 0, 6, 0]


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("suffix", ["", "_async"])
def test_memset_2d(bits, suffix):
    dtype = np.dtype(f"u{bits // 8}")
    memory = drv.to_device(np.zeros((4, 16), dtype))
    fill = getattr(drv, f"memset_d2d{bits}{suffix}")
    fill(memory, pitch=16 * dtype.itemsize, data=9, width=3, height=2)
    drv.Context.synchronize()
    expected = np.zeros((4, 16), dtype)
    expected[:2, :3] = 9
    assert (fetch(memory, 64, dtype).reshape(4, 16) == expected).all()


def test_memset_async_in_a_stream():
    memory, stream = drv.mem_alloc(16), drv.Stream()
    drv.memset_d8_async(memory, 1, 16, stream)
    drv.memset_d2d8_async(memory, 4, 2, 1, 4, stream=stream)
    stream.synchronize()
    assert fetch(memory, 16).tolist() == [2, 1, 1, 1] * 4


@pytest.mark.parametrize("value", [256, -1])
def test_memset_values_must_fit(value):
    memory = drv.mem_alloc(16)
    with pytest.raises(OverflowError, match="data is"):
        drv.memset_d8(memory, value, 1)


def test_memset_of_floats_is_refused():
    memory = drv.mem_alloc(16)
    with pytest.raises(TypeError, match="data must be an integer"):
        drv.memset_d32(memory, 1.0, 1)
