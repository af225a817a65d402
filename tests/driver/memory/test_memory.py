"""Device, page-locked, aligned, registered and managed memory."""

import weakref

import numpy as np
import pytest
from devices import tries

import pycuda.driver as drv


def count(kind="DeviceAllocation"):
    """The number of live objects of that type."""
    return drv._driver._live_objects()[kind]


# ---- Device memory ----


@pytest.mark.parametrize("size", [1, 100, np.int32(100), np.uint64(100), True])
def test_mem_alloc(size):
    memory = drv.mem_alloc(size)
    assert type(memory) is drv.DeviceAllocation and memory.size == int(size)
    assert int(memory) != 0 and int(memory) % 256 == 0


LARGE = """
import pycuda.autoinit
import pycuda.driver as drv

MiB = 1 << 20
make = {make}
kept = []
for size in (MiB + 512 * 64, 3 * MiB // 2, 2 * MiB, 5 * MiB // 2, 5 * MiB):
    kept += [make(size), drv.mem_alloc(700), drv.mem_alloc(MiB)]
    assert int(kept[-3]) % (2 * MiB) == 0, size
    assert int(kept[-2]) % 512 == 0 and int(kept[-1]) % 512 == 0
"""


@pytest.mark.parametrize("make", ["drv.mem_alloc", "lambda size: drv.mem_alloc_pitch(size // 64, 64, 4)[0]"])
def test_large_memory_starts_at_a_multiple_of_2_mib(run_python, make):
    """In a new process, since a GPU's driver places sizes up to 2 MiB in blocks that it still holds."""
    run_python(LARGE.format(make=make), check=True)


def test_an_address_is_an_index():
    memory = drv.mem_alloc(100)
    address = int(memory)
    assert memory.__index__() == memory.__long__() == address
    assert hex(memory) == hex(address) and np.intp(memory) == address and np.uint64(int(memory)) == address
    assert "100 bytes" in repr(memory)


def test_allocations_are_equal_to_themselves_only():
    first, second = drv.mem_alloc(100), drv.mem_alloc(100)
    assert int(first) != int(second)
    assert len({first, second}) == 2 and first == first and first != second


def test_mem_alloc_like():
    assert drv.mem_alloc_like(np.zeros((3, 4), np.float64)).size == 96
    with pytest.raises(AttributeError):
        drv.mem_alloc_like(3)


def test_the_last_reference_frees():
    before = count()
    memory = drv.mem_alloc(100)
    assert count() == before + 1
    del memory
    assert count() == before


def test_freed_memory_is_the_drivers_again():
    """Repeated on a GPU, since other processes change the free memory as well."""
    size, seen = 1 << 26, []
    for _ in tries():
        free, total = drv.mem_get_info()
        memory = drv.mem_alloc(size)
        taken = free - drv.mem_get_info()[0]
        memory.free()
        returned = drv.mem_get_info()[0] - free + taken
        assert 0 < free <= total
        if taken >= size and returned >= size:
            return
        seen.append((taken, returned))
    pytest.fail(f"allocated and freed: {seen}")


def test_free_twice():
    memory = drv.mem_alloc(100)
    memory.free()
    with pytest.raises(drv.LogicError, match="already freed"):
        memory.free()


@pytest.mark.parametrize(
    "use",
    [
        lambda memory: int(memory),
        lambda memory: drv.memcpy_htod(memory, b"1"),
        lambda memory: drv.memcpy_dtoh(bytearray(1), memory),
        lambda memory: drv.memset_d8(memory, 1, 1),
        lambda memory: drv.from_device(memory, 1, np.uint8),
        lambda memory: drv.memcpy_dtod(memory, memory, 1),
        lambda memory: drv.mem_get_address_range(memory),
        lambda memory: memory.as_buffer(1),
    ],
)
def test_freed_memory_is_not_used(use):
    memory = drv.mem_alloc(100)
    memory.free()
    with pytest.raises(drv.LogicError, match="the DeviceAllocation was freed"):
        use(memory)


def test_allocations_are_not_constructed():
    with pytest.raises(TypeError):
        drv.DeviceAllocation()


def test_weak_references():
    memory = drv.mem_alloc(4)
    reference = weakref.ref(memory)
    del memory
    assert reference() is None


def test_as_buffer():
    memory = drv.mem_alloc(100)
    buffer = memory.as_buffer(10, offset=5)
    assert type(buffer) is memoryview and buffer.nbytes == 10 and not buffer.readonly
    assert np.frombuffer(buffer, np.uint8).ctypes.data == int(memory) + 5
    with pytest.raises(ValueError, match="exceed the allocation"):
        memory.as_buffer(96, 5)


def test_pitch():
    memory, pitch = drv.mem_alloc_pitch(width=100, height=7, access_size=4)
    assert pitch >= 100 and pitch % 4 == 0 and memory.size == pitch * 7
    with pytest.raises(drv.LogicError, match="cuMemAllocPitch failed: invalid argument"):
        drv.mem_alloc_pitch(100, 7, 3)


def test_address_range():
    memory = drv.mem_alloc(1000)
    base, size = drv.mem_get_address_range(int(memory) + 500)
    assert base == int(memory) and size >= 1000
    with pytest.raises(drv.LogicError, match="cuMemGetAddressRange failed"):
        drv.mem_get_address_range(64)


# ---- Pointer holders ----


class Holder(drv.PointerHolderBase):
    def __init__(self, memory, offset=0):
        super().__init__()
        self.memory, self.offset = memory, offset

    def get_pointer(self):
        return int(self.memory) + self.offset


def test_pointer_holder():
    memory = drv.to_device(np.arange(10))
    holder = Holder(memory, 16)
    assert int(holder) == holder.__index__() == holder.__long__() == int(memory) + 16
    assert drv.from_device(holder, 3, int).tolist() == [2, 3, 4]
    assert holder.as_buffer(8).nbytes == 8


def test_pointer_holder_without_pointer():
    with pytest.raises(NotImplementedError, match="get_pointer"):
        int(drv.PointerHolderBase())

    class Failing(drv.PointerHolderBase):
        def get_pointer(self):
            raise KeyError("no pointer")

    with pytest.raises(KeyError):
        drv.memset_d8(Failing(), 0, 1)


def test_array_interface_is_a_pointer():
    memory = drv.to_device(np.arange(10))

    class Foreign:
        __cuda_array_interface__ = {
            "data": (int(memory), False),
            "shape": (10,),
            "typestr": "<i8",
            "version": 3,
        }

    assert drv.from_device(Foreign(), 10, int).tolist() == list(range(10))


# ---- Page-locked memory ----

FAMILIES = ["pagelocked", "aligned", "managed"]  # prefixes of the functions that make host arrays


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def function(family, name):
    """drv.pagelocked_empty and similar ones, by prefix and name."""
    return getattr(drv, f"{family}_{name}")


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((3, 4), "C"),
        ((3, 4), "F"),
        (5, "C"),
        ([2, np.int64(3)], "F"),
        ((), "C"),
        (np.int32(4), "C"),
        ((0, 3), "C"),
    ],
)
def test_host_arrays(family, shape, order):
    array = function(family, "empty")(shape, np.float32, order)
    like = np.empty(shape, np.float32, order)
    assert array.shape == like.shape and array.dtype == np.float32
    assert array.strides == like.strides or array.size == 0
    assert array.flags.writeable and array.flags.aligned
    array[...] = 3
    assert (array == 3).all()


def test_zeroed(family):
    for _ in range(3):
        array = function(family, "zeros")((30, 40), "i2", order="F")
        assert array.flags.f_contiguous and array.dtype == np.int16 and not array.any()
        array[...] = 1


def test_like(family):
    source = np.asfortranarray(np.ones((3, 4), np.complex64))
    array = function(family, "empty_like")(source)
    assert array.flags.f_contiguous and array.shape == (3, 4) and array.dtype == np.complex64
    array = function(family, "zeros_like")(source.T)
    assert array.flags.c_contiguous and array.shape == (4, 3) and not array.any()
    with pytest.raises(ValueError, match="contiguous"):
        function(family, "empty_like")(np.zeros((4, 4))[::2, ::2])


def test_wrong_shapes_dtypes_and_orders(family):
    empty = function(family, "empty")
    with pytest.raises(drv.LogicError, match="order must be"):
        empty(3, np.float32, "A")
    with pytest.raises(TypeError):
        empty(3, "no dtype")
    with pytest.raises(ValueError):
        empty(-3, np.float32)
    with pytest.raises(TypeError):
        empty(3.5, np.float32)
    with pytest.raises(TypeError, match="Python objects"):
        empty(3, object)
    with pytest.raises(ValueError, match="too big"):
        empty((1 << 40, 1 << 40), np.float32)


def test_page_locked_base():
    array = drv.pagelocked_empty((3, 4), np.float32, mem_flags=drv.host_alloc_flags.DEVICEMAP)
    base = array.base
    assert type(base) is drv.PagelockedHostAllocation is drv.HostAllocation
    assert isinstance(base, drv.HostPointer)
    assert base.get_flags() & drv.host_alloc_flags.DEVICEMAP
    assert base.size == 48
    array[...] = np.arange(12).reshape(3, 4)
    assert (drv.from_device(base.get_device_pointer(), (3, 4), np.float32) == array).all()


def test_page_locked_memory_lives_as_long_as_its_views():
    before = count("PagelockedHostAllocation")
    array = drv.pagelocked_empty(100, np.float32)
    view = array[10:]
    del array
    assert count("PagelockedHostAllocation") == before + 1
    del view
    assert count("PagelockedHostAllocation") == before


@pytest.mark.parametrize("family", FAMILIES)
def test_host_memory_is_freed_once(family):
    base = function(family, "empty")(100, np.float32).base
    base.free()
    with pytest.raises(drv.LogicError, match="already"):
        base.free()
    with pytest.raises(drv.LogicError, match=r"released|freed"):
        base.get_device_pointer()


def test_bad_flags():
    with pytest.raises(drv.LogicError, match="cuMemHostAlloc failed: invalid argument"):
        drv.pagelocked_empty(3, np.float32, mem_flags=1 << 20)


@pytest.mark.parametrize("alignment", [1, 64, 4096, 1 << 16])
def test_alignment(alignment):
    for _ in range(4):
        array = drv.aligned_empty(100, np.float64, alignment=alignment)
        assert array.ctypes.data % alignment == 0
        assert isinstance(array.base, drv.AlignedHostAllocation) and isinstance(array.base, drv.HostPointer)


@pytest.mark.parametrize("alignment", [0, 3, 100])
def test_alignment_is_a_power_of_two(alignment):
    with pytest.raises(drv.LogicError, match="power of two"):
        drv.aligned_empty(100, np.float64, alignment=alignment)


# ---- Registered memory ----


def test_register():
    array = drv.aligned_zeros((1024, 4), np.float32)
    registered = drv.register_host_memory(array)
    assert registered.ctypes.data == array.ctypes.data and registered.shape == array.shape
    assert isinstance(registered.base, drv.RegisteredHostMemory) and registered.base.base is array
    registered[...] = 2
    assert (array == 2).all()
    memory = drv.mem_alloc(array.nbytes)
    stream = drv.Stream()
    drv.memcpy_htod_async(memory, registered, stream)
    stream.synchronize()
    assert (drv.from_device_like(memory, array) == 2).all()
    registered.base.unregister()
    with pytest.raises(drv.LogicError, match="already"):
        registered.base.unregister()


def test_registration_ends_with_its_array():
    array = drv.aligned_zeros(4096, np.uint8)
    before = count("RegisteredHostMemory")
    for _ in range(3):
        registered = drv.register_host_memory(array, flags=drv.mem_host_register_flags.DEVICEMAP)
        pointer = registered.base.get_device_pointer()
        assert pointer != 0
        del registered
    assert count("RegisteredHostMemory") == before


def test_what_cannot_be_registered():
    with pytest.raises(drv.LogicError, match="C-contiguous"):
        drv.register_host_memory(np.zeros((4096, 2))[:, 0])
    with pytest.raises(drv.LogicError, match="not empty"):
        drv.register_host_memory(np.zeros(0))
    with pytest.raises(TypeError, match="ndarray"):
        drv.register_host_memory(b"1234")


# ---- Managed memory ----


def test_managed_base():
    array = drv.managed_zeros(10, np.int64)
    base = array.base
    assert type(base) is drv.ManagedAllocation and isinstance(base, drv.DeviceAllocation)
    assert base.get_device_pointer() == int(base) == array.ctypes.data
    drv.memset_d32(base, 1, 20)
    drv.Context.synchronize()
    assert (array == (1 << 32) + 1).all()


def test_a_view_of_a_managed_array_is_a_pointer_to_the_view():
    array = drv.managed_zeros(10, np.uint8)
    drv.memset_d8(array[4:], 9, 2)
    drv.Context.synchronize()
    assert array.tolist() == [0, 0, 0, 0, 9, 9, 0, 0, 0, 0]
    with pytest.raises(TypeError):
        drv.memset_d8(np.zeros(10, np.uint8), 9, 2)


def test_attach():
    array = drv.managed_empty(10, np.float32, mem_flags=drv.mem_attach_flags.GLOBAL)
    stream = drv.Stream()
    array.base.attach(drv.mem_attach_flags.SINGLE, stream)
    stream.synchronize()
    array.base.attach(mem_flags=drv.mem_attach_flags.GLOBAL)
    drv.Context.synchronize()
