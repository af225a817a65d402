"""Memcpy2D, Memcpy3D and Memcpy3DPeer: every kind of source and destination, offsets, pitches, streams,
errors."""

import gc
import weakref

import numpy as np
import pytest

import pycuda.driver as drv

KINDS = ["host", "device", "array", "unified", "unified_host"]
CLASSES = [drv.Memcpy2D, drv.Memcpy3D, drv.Memcpy3DPeer]


class End:
    """The source or destination of a copy: (depth, height, width) floats in memory of one of KINDS. Rows have
    PAD more elements, all -1, which no copy may change."""

    PAD = 4

    def __init__(self, kind, values):
        self.kind, self.shape = kind, values.shape
        depth, height, width = values.shape
        self.padded = np.full((depth, height, width + self.PAD), -1, np.float32)
        self.padded[..., :width] = values
        self.pitch = self.padded.strides[1]
        if kind == "array":
            descr = drv.ArrayDescriptor3D()
            descr.width, descr.height, descr.depth = width, height, depth
            descr.format, descr.num_channels = drv.array_format.FLOAT, 1
            self.memory = drv.Array(descr)
            self.transfer(values, to_array=True)
        elif kind in ("device", "unified"):
            self.memory = drv.to_device(self.padded)
        else:
            self.memory = self.padded

    def transfer(self, values, to_array):
        """Copies the values to the array, or the array to the values."""
        copy = drv.Memcpy3D()
        (copy.set_src_host if to_array else copy.set_dst_host)(values)
        (copy.set_dst_array if to_array else copy.set_src_array)(self.memory)
        copy.src_pitch = copy.dst_pitch = copy.width_in_bytes = values.strides[1]
        copy.src_height = copy.dst_height = copy.height = values.shape[1]
        copy.depth = values.shape[0]
        copy()

    def set(self, copy, side):
        """Makes this the "src" or "dst" of a copy."""
        kind = self.kind.split("_")[0]
        getattr(copy, f"set_{side}_{kind}")(self.memory)
        if kind != "array":
            setattr(copy, f"{side}_pitch", self.pitch)
            if hasattr(copy, f"{side}_height"):
                setattr(copy, f"{side}_height", self.shape[1])

    def values(self):
        """The values, without the padding, which is checked."""
        out = np.zeros(self.shape, np.float32)
        if self.kind == "array":
            self.transfer(out, to_array=False)
            return out
        if self.kind in ("device", "unified"):
            drv.memcpy_dtoh(self.padded, self.memory)
        assert (self.padded[..., self.shape[2] :] == -1).all(), "the space between the rows was written"
        return self.padded[..., : self.shape[2]].copy()


def ends(source, destination, shape):
    """(source, destination, their values): two Ends of these kinds with random values."""
    rng = np.random.default_rng(3)
    first, second = rng.random(shape, np.float32), rng.random(shape, np.float32)
    return End(source, first), End(destination, second), first, second


@pytest.mark.parametrize("destination", KINDS)
@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("how", ["aligned", "unaligned", "stream", "plain"])
def test_2d(source, destination, how):
    """A part of 4 rows of 3 floats, at an offset in both."""
    src, dst, first, second = ends(source, destination, (1, 6, 7))
    copy = drv.Memcpy2D()
    src.set(copy, "src")
    dst.set(copy, "dst")
    copy.src_x_in_bytes, copy.src_y = 8, 1
    copy.dst_x_in_bytes, copy.dst_y = 4, 2
    copy.width_in_bytes, copy.height = 12, 4
    if how == "stream":
        stream = drv.Stream()
        copy(stream)
        stream.synchronize()
    elif how == "plain":
        copy()
    else:
        copy(aligned=how == "aligned")
    second[0, 2:6, 1:4] = first[0, 1:5, 2:5]
    assert (dst.values() == second).all()


@pytest.mark.parametrize("destination", KINDS)
@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("on_stream", [False, True])
@pytest.mark.parametrize("cls", CLASSES[1:])
def test_3d(cls, source, destination, on_stream):
    """A part of 2 layers of 3 rows of 4 floats, at an offset in both."""
    src, dst, first, second = ends(source, destination, (4, 5, 6))
    copy = cls()
    src.set(copy, "src")
    dst.set(copy, "dst")
    copy.src_x_in_bytes, copy.src_y, copy.src_z = 4, 1, 2
    copy.dst_x_in_bytes, copy.dst_y, copy.dst_z = 8, 2, 1
    copy.width_in_bytes, copy.height, copy.depth = 16, 3, 2
    if on_stream:
        stream = drv.Stream()
        copy(stream)
        stream.synchronize()
    else:
        copy()
    second[1:3, 2:5, 2:6] = first[2:4, 1:4, 1:5]
    assert (dst.values() == second).all()


def test_between_contexts():
    current = drv.Context.get_current() or drv.Device(0).retain_primary_context()
    data, out = np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros((3, 4), np.float32)
    memory = drv.to_device(data)
    copy = drv.Memcpy3DPeer()
    copy.set_src_device(memory)
    copy.set_src_context(current)
    copy.set_dst_host(out)
    copy.set_dst_context(None)
    copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = 16
    copy.height = copy.src_height = copy.dst_height = 3
    copy.depth = 1
    copy()
    assert (out == data).all()
    with pytest.raises(TypeError, match="src_context must be a Context"):
        copy.set_src_context(5)


# ---- Fields

SIZES = ["x_in_bytes", "y", "pitch"]


@pytest.mark.parametrize("cls", CLASSES)
def test_fields(cls):
    copy = cls()
    names = [f"{side}_{name}" for side in ("src", "dst") for name in SIZES] + ["height", "width_in_bytes"]
    if cls is not drv.Memcpy2D:
        names += [f"{side}_{name}" for side in ("src", "dst") for name in ("height", "z", "lod")] + ["depth"]
    assert [getattr(copy, name) for name in names] == [0] * len(names)
    for number, name in enumerate(names, 1):
        setattr(copy, name, number)
    assert [getattr(copy, name) for name in names] == list(range(1, len(names) + 1))
    for name in names:
        with pytest.raises(ValueError, match=f"{name} is -1"):
            setattr(copy, name, -1)
        with pytest.raises(TypeError, match=name):
            setattr(copy, name, 1.0)
        with pytest.raises(AttributeError):
            delattr(copy, name)
    assert hasattr(copy, "src_z") == (cls is not drv.Memcpy2D)
    assert hasattr(copy, "set_src_context") == (cls is drv.Memcpy3DPeer)


@pytest.mark.parametrize("cls", CLASSES)
def test_types_and_addresses(cls):
    copy, memory = cls(), drv.mem_alloc(16)
    assert copy.src_memory_type == copy.dst_memory_type == 0
    copy.set_src_host(b"1234")
    copy.set_dst_device(memory)
    assert copy.src_memory_type is drv.memory_type.HOST
    assert str(copy.dst_memory_type) == "DEVICE" and copy.dst_device == int(memory)
    copy.dst_device = int(memory) + 4
    copy.dst_memory_type = drv.memory_type.UNIFIED
    assert copy.dst_device == int(memory) + 4 and str(copy.dst_memory_type) == "UNIFIED"


def test_the_source_set_by_fields_alone():
    memory, out = drv.to_device(np.arange(4, dtype=np.int32)), np.zeros(4, np.int32)
    copy = drv.Memcpy2D()
    copy.src_memory_type, copy.src_device = drv.memory_type.DEVICE, memory
    copy.set_dst_host(out)
    copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = 16
    copy.height = 1
    copy()
    assert out.tolist() == [0, 1, 2, 3]


# ---- Host memory


def test_a_corner_of_an_array_with_its_pitch():
    source, target = np.arange(30, dtype=np.int32).reshape(5, 6), np.zeros((5, 6), np.int32)
    copy = drv.Memcpy2D()
    copy.set_src_host(source[1:, 2:])
    copy.set_dst_host(target[2:4, 1:])
    copy.src_pitch = copy.dst_pitch = source.strides[0]
    copy.width_in_bytes, copy.height = 8, 2
    copy()
    expected = np.zeros((5, 6), np.int32)
    expected[2:4, 1:3] = source[1:3, 2:4]
    assert (target == expected).all()


@pytest.mark.parametrize("make", [bytearray, lambda n: memoryview(bytearray(n)), lambda n: np.zeros(n, "u1")])
def test_other_buffers(make):
    target = make(8)
    copy = drv.Memcpy2D()
    copy.set_src_host(b"abcdefgh")
    copy.set_dst_host(target)
    copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = 4
    copy.height = 2
    copy()
    assert bytes(target) == b"abcdefgh"


def test_page_locked_memory():
    source, target = drv.pagelocked_zeros((3, 4), np.float32), drv.pagelocked_zeros((3, 4), np.float32)
    source[:] = np.arange(12).reshape(3, 4)
    stream, copy = drv.Stream(), drv.Memcpy2D()
    copy.set_src_unified(source)
    copy.set_dst_host(target)
    copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = 16
    copy.height = 3
    copy(stream=stream)
    stream.synchronize()
    assert (target == source).all()


# ---- References


def test_a_copy_keeps_what_is_set():
    class Buffer(np.ndarray):
        pass

    buffer = np.arange(4, dtype=np.float32).view(Buffer)
    reference = weakref.ref(buffer)
    copy, out = drv.Memcpy2D(), np.zeros(4, np.float32)
    copy.set_src_host(buffer)
    copy.set_dst_host(out)
    del buffer
    gc.collect()
    assert reference() is not None
    copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = 16
    copy.height = 1
    copy()
    assert out.tolist() == [0, 1, 2, 3]
    copy.set_src_host(out)
    gc.collect()
    assert reference() is None


def test_a_queued_copy_keeps_what_it_uses():
    class Buffer(np.ndarray):
        pass

    stream, memory = drv.Stream(), drv.mem_alloc(16)
    target = drv.pagelocked_empty(4, np.float32).view(Buffer)
    reference = weakref.ref(target)
    copy = drv.Memcpy2D()
    copy.set_src_device(memory)
    copy.set_dst_host(target)
    copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = 16
    copy.height = 1
    copy(stream)
    del copy, target
    gc.collect()
    assert reference() is not None
    stream.synchronize()
    gc.collect()
    assert reference() is None


def test_reference_cycles_are_collected():
    class Holder(drv.PointerHolderBase):
        def get_pointer(self):
            return 0

    holder = Holder()
    holder.copy = drv.Memcpy3D()
    holder.copy.set_src_device(holder)
    reference = weakref.ref(holder)
    del holder
    gc.collect()
    assert reference() is None


# ---- Errors


def good_copy(cls=drv.Memcpy2D):
    """A copy of 2 rows of 8 bytes from device memory to the host."""
    copy = cls()
    copy.set_src_device(drv.to_device(np.arange(4, dtype=np.float32)))
    copy.set_dst_host(np.zeros(4, np.float32))
    copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = 8
    copy.height = 2
    if cls is not drv.Memcpy2D:
        copy.src_height = copy.dst_height = 2
        copy.depth = 1
    return copy


@pytest.mark.parametrize("cls", CLASSES)
def test_source_and_destination_must_be_set(cls):
    copy = cls()
    with pytest.raises(drv.LogicError, match="the copy has no src"):
        copy()
    copy.set_src_host(b"1234")
    with pytest.raises(drv.LogicError, match="the copy has no dst"):
        copy()
    copy.dst_memory_type = drv.memory_type.ARRAY
    with pytest.raises(drv.LogicError, match="set_dst_array was not called"):
        copy()


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(
    ("field", "value", "side"),
    [
        ("src_y", 1, "src"),
        ("dst_y", 1, "dst"),
        ("src_x_in_bytes", 1, "src"),
        ("dst_x_in_bytes", 1, "dst"),
        ("height", 3, "src"),
        ("dst_pitch", 9, "dst"),
        ("src_pitch", (1 << 63) - 1, "src"),
        ("dst_y", (1 << 63) - 1, "dst"),
    ],
)
def test_copies_beyond_the_memory_are_refused(cls, field, value, side):
    copy = good_copy(cls)
    copy()
    setattr(copy, field, value)
    with pytest.raises(ValueError, match=f"{side}: the copy reaches up to byte .* has 16 bytes"):
        copy()


@pytest.mark.parametrize("cls", CLASSES[1:])
def test_copies_beyond_the_last_layer_are_refused(cls):
    copy = good_copy(cls)
    copy.depth = 2
    with pytest.raises(ValueError, match="src: the copy reaches up to byte 32"):
        copy()
    copy.depth, copy.dst_z = 1, 1
    with pytest.raises(ValueError, match="dst: the copy reaches up to byte 32"):
        copy()


def test_an_empty_copy_touches_nothing():
    copy = good_copy()
    copy.height, copy.src_y = 0, 100
    copy()


def test_freed_memory_and_arrays():
    copy, memory = good_copy(), drv.mem_alloc(16)
    copy.set_src_device(memory)
    memory.free()
    with pytest.raises(drv.LogicError, match="freed"):
        copy()
    array = drv.matrix_to_array(np.zeros((2, 2), np.float32), "C")
    copy.set_src_array(array)
    array.free()
    with pytest.raises(drv.LogicError, match="freed"):
        copy()


def test_copies_beyond_an_array_are_refused_by_the_driver():
    copy = good_copy()
    copy.set_src_array(drv.matrix_to_array(np.zeros((2, 2), np.float32), "C"))
    copy()
    copy.src_y = 1
    with pytest.raises(drv.LogicError, match="cuMemcpy2D failed"):
        copy()


@pytest.mark.parametrize("cls", CLASSES)
def test_wrong_objects(cls):
    copy = cls()
    for setter, value, error in [
        (copy.set_src_host, 5, TypeError),
        (copy.set_src_host, np.array([object()]), TypeError),
        (copy.set_dst_host, b"read-only", BufferError),
        (copy.set_dst_host, np.broadcast_to(np.float32(1), 4), ValueError),
        (copy.set_src_array, b"1234", TypeError),
        (copy.set_src_device, "no address", TypeError),
        (copy.set_dst_unified, np.zeros((4, 4))[:, ::2], ValueError),
        (copy.set_src_unified, None, TypeError),
    ]:
        with pytest.raises(error):
            setter(value)
    assert copy.src_memory_type == copy.dst_memory_type == 0


@pytest.mark.parametrize("cls", CLASSES)
def test_wrong_calls(cls):
    copy = good_copy(cls)
    with pytest.raises(TypeError, match="stream must be a Stream"):
        copy("stream")
    with pytest.raises(TypeError, match="unexpected keyword"):
        copy(nonsense=1)
    with pytest.raises(TypeError, match="arguments"):
        cls(1)
    copy(None) if cls is not drv.Memcpy2D else copy(stream=None)


def test_a_column_of_device_memory_by_address():
    memory = drv.to_device(np.arange(12, dtype=np.int32))
    copy, out = drv.Memcpy2D(), np.zeros(2, np.int32)
    copy.set_src_device(int(memory) + 16)
    copy.set_dst_host(out)
    copy.src_pitch, copy.dst_pitch, copy.width_in_bytes, copy.height = 12, 4, 4, 2
    copy()
    assert out.tolist() == [4, 7]


def test_a_pitch_that_is_too_small_is_named():
    copy = drv.Memcpy2D()
    copy.set_src_host(np.zeros((4, 8), np.float32))
    memory = drv.mem_alloc(1024)
    copy.set_dst_device(memory)
    copy.width_in_bytes, copy.height = 32, 4
    copy.src_pitch, copy.dst_pitch = 32, 16
    with pytest.raises(drv.LogicError, match="dst_pitch is 16 bytes, but .* up to byte 32"):
        copy(aligned=False)
    copy.src_x_in_bytes, copy.dst_pitch, copy.height = 4, 32, 3
    with pytest.raises(drv.LogicError, match="src_pitch is 32 bytes, but .* up to byte 36"):
        copy(aligned=False)
