"""DLPack: what a GPUArray exports, and what from_dlpack() and operations take of other libraries."""

import ctypes
import gc
import threading
import weakref

import numpy as np
import pytest
from dlpack_abi import CPU, CUDA, CUDA_HOST, CUDA_MANAGED, Producer, Versioned, capsule_name, read, take

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.tools import DeviceMemoryPool

NON_BLOCKING = 1  # a flag of streams
ROCM = 10  # a DLDeviceType
READ_ONLY, IS_COPIED = 1, 2  # DLManagedTensorVersioned.flags

pytestmark = pytest.mark.usefixtures("nothing_in_flight")


def managed_array(host):
    """An array in managed memory."""
    memory = drv.managed_empty(host.shape, host.dtype, mem_flags=drv.mem_attach_flags.GLOBAL)
    memory[...] = host
    return gpuarray.GPUArray(host.shape, host.dtype, gpudata=memory)


def locked_array(host):
    """An array in page-locked memory, by its address on the device."""
    memory = drv.pagelocked_empty(host.shape, host.dtype, mem_flags=drv.host_alloc_flags.DEVICEMAP)
    memory[...] = host
    return gpuarray.GPUArray(host.shape, host.dtype, gpudata=memory.base.get_device_pointer(), base=memory)


# ---- export


def test_the_capsule_is_versioned_if_the_consumer_knows_version_1(ours):
    assert capsule_name(ours.__dlpack__()) == b"dltensor"
    assert capsule_name(ours.__dlpack__(max_version=(0, 8))) == b"dltensor"
    for version in (1, 0), (1, 3), (2, 0):
        capsule = ours.__dlpack__(max_version=version)
        assert capsule_name(capsule) == b"dltensor_versioned"
        managed = read(capsule)
        assert type(managed) is Versioned and managed.version[0] == 1 and managed.flags == 0


@pytest.mark.parametrize(
    "view", [..., np.s_[::-1], np.s_[:, 1::2], np.s_[1], np.s_[1:2, ::-3], np.s_[0, 0], np.s_[:0]]
)
def test_fields_of_exported_views(host, ours, view):
    array, expected = ours[view], host[view]
    for capsule in array.__dlpack__(), array.__dlpack__(max_version=(1, 0)), array.T.T.__dlpack__():
        tensor = read(capsule).tensor
        assert tensor.ndim == expected.ndim and tensor.byte_offset == 0
        assert tensor.shape[: tensor.ndim] == list(expected.shape) if tensor.ndim else not tensor.shape
        if tensor.ndim:
            assert tensor.strides[: tensor.ndim] == [stride // 4 for stride in array.strides]
        assert (tensor.data or 0) == (array.ptr if array.size else 0)
        assert (tensor.device.kind, tensor.device.number) == array.__dlpack_device__() == (CUDA, 0)


@pytest.mark.parametrize(
    "dtype, code",
    [
        *((name, 0) for name in ("i1", "i2", "i4", "i8", "longlong", "intc")),
        *((name, 1) for name in ("u1", "u2", "u4", "u8", "ulonglong")),
        *((name, 2) for name in ("f2", "f4", "f8")),
        ("c8", 5),
        ("c16", 5),
        ("?", 6),
    ],
)
def test_dtypes_and_their_type_codes(dtype, code):
    array = gpuarray.zeros(3, dtype)
    found = read(array.__dlpack__()).tensor.dtype
    assert (found.code, found.bits, found.lanes) == (code, 8 * array.dtype.itemsize, 1)
    again = gpuarray.from_dlpack(array)
    assert again.dtype == array.dtype and again.ptr == array.ptr


def test_floats_of_8_and_16_bits():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name, code in ("bfloat16", 4), ("float8_e4m3fn", 10), ("float8_e5m2", 12):
        array = gpuarray.GPUArray(4, np.dtype(getattr(ml_dtypes, name)))
        assert read(array.__dlpack__()).tensor.dtype.code == code
        assert gpuarray.from_dlpack(array).dtype == array.dtype


@pytest.mark.parametrize("dtype", [[("a", "i4"), ("b", "f4")], "V8", "M8[s]", "m8[s]", "S4", "U2", "g"])
def test_dtypes_that_dlpack_does_not_have_are_refused(dtype):
    with pytest.raises(BufferError, match="dtype"):
        gpuarray.GPUArray(3, dtype).__dlpack__()


def test_strides_that_are_not_whole_elements_are_refused():
    """DLPack's strides count elements. The stride of an axis of length 1 is never used."""
    memory = gpuarray.zeros(20, np.uint8).gpudata
    array = gpuarray.GPUArray(2, np.complex64, gpudata=memory, strides=(12,))
    with pytest.raises(BufferError, match="12 bytes"):
        array.__dlpack__()
    one = gpuarray.GPUArray(1, np.complex64, gpudata=memory, strides=(12,))
    assert read(one.__dlpack__()).tensor.shape[0] == 1


def test_kinds_of_memory(host):
    managed, locked = managed_array(host), locked_array(host)
    assert managed.__dlpack_device__() == managed[1:].__dlpack_device__() == (CUDA_MANAGED, 0)
    assert locked.__dlpack_device__() == (CUDA_HOST, 0)
    assert read(managed.__dlpack__()).tensor.device.kind == CUDA_MANAGED
    assert (np.from_dlpack(managed) == host).all() and (np.from_dlpack(locked[::2]) == host[::2]).all()
    shared = np.from_dlpack(managed, device="cpu")
    assert shared.ctypes.data == managed.ptr and (shared == host).all()
    copy = np.from_dlpack(managed, device="cpu", copy=True)
    assert copy.ctypes.data != managed.ptr and (copy == host).all()


def test_numpy_sees_finished_work(host):
    """NumPy reads managed memory as soon as it has it, so the export waits for queued work."""
    managed = managed_array(host)
    ElementwiseKernel("float *x", "for (int k = 0; k < 20000; k++) x[i] += (k & 1) ? -1 : 1; x[i] += 1")(
        managed
    )
    assert (np.from_dlpack(managed) == host + 1).all()


def test_numpy_gets_a_copy_when_it_asks(host, ours):
    for array, expected in (ours, host), (ours.T[::-1], host.T[::-1]), (ours[:0], host[:0]):
        copy = np.from_dlpack(array, device="cpu")
        assert (copy == expected).all() and copy.dtype == host.dtype and copy.shape == expected.shape
    assert read(ours.__dlpack__(dl_device=(CPU, 0), max_version=(1, 0))).flags == IS_COPIED
    assert read(ours.__dlpack__(dl_device=(CPU, 0))).tensor.device.kind == CPU
    with pytest.raises(BufferError, match="copy"):
        ours.__dlpack__(dl_device=(CPU, 0), copy=False)
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(ours)


def test_copy_makes_the_capsules_own_memory(host, ours):
    capsule = ours.__dlpack__(copy=True, max_version=(1, 0))
    assert read(capsule).flags == IS_COPIED and read(capsule).tensor.data != ours.ptr
    ours.fill(0)
    assert (gpuarray.from_dlpack(Holds(capsule)).get() == host).all()
    assert read(ours.__dlpack__(copy=False)).tensor.data == ours.ptr
    assert read(ours.__dlpack__(dl_device=ours.__dlpack_device__())).tensor.data == ours.ptr


class Holds:
    """An object whose __dlpack__() returns a given capsule."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **keywords):
        return self.capsule

    def __dlpack_device__(self):
        return CUDA, 0


@pytest.mark.parametrize(
    "keywords, error",
    [
        ({"stream": 0}, ValueError),
        ({"stream": -2}, OverflowError),
        ({"stream": "1"}, TypeError),
        ({"stream": True}, TypeError),
        ({"stream": 1.0}, TypeError),
        ({"max_version": 1}, TypeError),
        ({"max_version": (1,)}, TypeError),
        ({"max_version": ("a", 0)}, TypeError),
        ({"dl_device": 2}, TypeError),
        ({"dl_device": (CUDA, 5)}, BufferError),
        ({"dl_device": (8, 0)}, BufferError),
        ({"unknown": 1}, TypeError),
    ],
)
def test_arguments_that_are_refused(ours, keywords, error):
    with pytest.raises(error):
        ours.__dlpack__(**keywords)


def test_arguments_by_position_are_refused(ours):
    with pytest.raises(TypeError):
        ours.__dlpack__(None)


def test_freed_memory_is_refused(ours):
    ours.gpudata.free()
    for call in ours.__dlpack__, ours.__dlpack_device__:
        with pytest.raises(drv.LogicError):
            call()


def test_read_only_arrays(host, ours):
    fixed = gpuarray.from_dlpack(Producer(ours, flags=READ_ONLY))
    assert not fixed.flags.writeable and not fixed[1:].flags.writeable and ours.flags.writeable
    assert not gpuarray.broadcast_to(fixed, (2, 3, 4)).flags.writeable and not fixed.T.flags.writeable
    assert fixed.__cuda_array_interface__["data"] == (ours.ptr, True)
    assert read(fixed.__dlpack__(max_version=(1, 0))).flags == READ_ONLY
    with pytest.raises(BufferError, match="read-only"):
        fixed.__dlpack__()
    for change in (
        lambda: fixed.fill(0),
        lambda: fixed.set(host),
        lambda: fixed.__setitem__(0, 1),
        lambda: fixed.__setitem__(np.array([0]), 1),
        lambda: fixed.__iadd__(1),
        lambda: np.add(ours, 1, out=fixed),
        lambda: ElementwiseKernel("float *x", "x[i] = 0")(fixed),
    ):
        with pytest.raises(ValueError, match="read-only"):
            change()
    assert ((fixed + 1).get() == host + 1).all() and fixed.copy().flags.writeable


# ---- the lifetime of a tensor


def test_an_unused_capsule_releases_its_array(ours):
    array = ours[1:]
    reference = weakref.ref(array)
    capsules = [array.__dlpack__(), array.__dlpack__(max_version=(1, 0))]
    del array
    assert reference() is not None
    del capsules
    assert reference() is None


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_tensor_keeps_its_array(ours, version):
    array = ours[1:]
    reference = weakref.ref(array)
    managed = take(array.__dlpack__(max_version=version))
    del array
    gc.collect()
    assert reference() is not None
    managed.deleter(ctypes.pointer(managed))
    assert reference() is None


def test_tensors_are_deleted_by_any_thread(host):
    """Four threads call deleters at once: ctypes releases the GIL for each call."""
    arrays = [gpuarray.to_gpu(host) for _ in range(40)]
    references = [weakref.ref(array) for array in arrays]
    tensors = [
        take(array.__dlpack__(max_version=(1, 0) if i % 2 else None)) for i, array in enumerate(arrays)
    ]
    del arrays

    def delete(part):
        for managed in part:
            managed.deleter(ctypes.pointer(managed))

    threads = [threading.Thread(target=delete, args=(tensors[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(each() for each in references)


def test_a_tensor_outlives_its_context(host):
    context = drv.Device(0).make_context()
    managed = take(gpuarray.to_gpu(host).__dlpack__())
    context.pop()
    context.detach()
    managed.deleter(ctypes.pointer(managed))


# A program whose tensors are deleted by a function that atexit() calls, after the end of the interpreter.
ENDS = """
import ctypes, sys
import numpy as np
import pycuda.driver as drv
from pycuda import gpuarray
sys.path.insert(0, {folder!r})
from dlpack_abi import take
library = ctypes.CDLL({library!r})
drv.init()
context = drv.Device(0).retain_primary_context()
context.push()
for version in None, (1, 0):
    managed = take(gpuarray.to_gpu(np.arange(5)).__dlpack__(max_version=version))
    library.at_the_end(managed.deleter, ctypes.byref(managed))
print("done")
"""

AT_THE_END = """
#include <stdio.h>
#include <stdlib.h>
static void (*deleters[4])(void *); static void *tensors[4]; static int count;
static void end(void) { while (count) { count--; deleters[count](tensors[count]); } puts("deleted"); }
void at_the_end(void (*deleter)(void *), void *tensor)
{
    if (!count) atexit(end);
    deleters[count] = deleter, tensors[count++] = tensor;
}
"""


def test_tensors_are_deleted_after_the_interpreter(run_python, compiled):
    library = compiled(AT_THE_END)
    import dlpack_abi

    done = run_python(ENDS.format(folder=dlpack_abi.__file__.rpartition("/")[0], library=library))
    assert done.returncode == 0 and done.stdout.split("\n")[:2] == ["done", "deleted"], done.stderr


# ---- import


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("view", [..., np.s_[::-1], np.s_[:, ::2], np.s_[1], np.s_[0, 0], np.s_[:0]])
def test_from_dlpack(host, ours, versioned, view):
    producer = Producer(ours[view], versioned=versioned)
    array = gpuarray.from_dlpack(producer)
    assert type(array) is gpuarray.GPUArray and array.dtype == host.dtype
    assert (array.get() == host[view]).all() and array.shape == host[view].shape
    assert not array.size or array.ptr == producer.array.ptr
    assert producer.calls[-1] == ({"stream": 1, "max_version": (1, 3)} if versioned else {"stream": 1})
    assert producer.deleted == 0
    del array
    drv.Context.synchronize()
    assert producer.deleted == 1


def test_tensors_without_strides_and_with_an_offset(host, ours):
    array = gpuarray.from_dlpack(Producer(ours, strides=False, byte_offset=16))
    assert (array.get() == host).all() and array.ptr == ours.ptr


@pytest.mark.parametrize("keywords", [{}, {"max_version": (1, 0)}])
def test_from_dlpack_takes_a_capsule(host, ours, keywords):
    view = gpuarray.from_dlpack(ours.__dlpack__(**keywords))
    assert view.ptr == ours.ptr and (view.get() == host).all()
    copy = gpuarray.from_dlpack(ours.__dlpack__(**keywords), copy=True)
    assert copy.ptr != ours.ptr and (copy.get() == host).all()
    with pytest.raises(BufferError, match="is in host memory"):
        gpuarray.from_dlpack(host.__dlpack__())


def test_a_capsule_is_taken_once(ours):
    capsule = ours.__dlpack__(max_version=(1, 0))
    gpuarray.from_dlpack(Holds(capsule))
    assert capsule_name(capsule) == b"used_dltensor_versioned"
    with pytest.raises(BufferError, match="unused capsule"):
        gpuarray.from_dlpack(Holds(capsule))
    with pytest.raises(TypeError, match="capsule"):
        gpuarray.from_dlpack(Holds(5))


@pytest.mark.parametrize(
    "changes, error, words",
    [
        ({"version": (2, 0)}, BufferError, "DLPack 2.0"),
        ({"version": (0, 9)}, BufferError, "DLPack 0.9"),
        ({"code": 3}, BufferError, "code 3"),
        ({"bits": 4}, BufferError, "4 bits"),
        ({"lanes": 4}, BufferError, "4 lanes"),
        ({"ndim": 65}, BufferError, "65 dimensions"),
        ({"ndim": -1}, BufferError, "dimensions"),
        ({"length": -1}, BufferError, "negative"),
        ({"length": 1 << 62}, BufferError, "too many"),
    ],
)
@pytest.mark.parametrize("consume", [gpuarray.from_dlpack, gpuarray.sum])
def test_bad_tensors_are_refused_and_deleted_once(ours, changes, error, words, consume):
    producer = Producer(ours, **changes)
    with pytest.raises(error, match=words):
        consume(producer)
    assert producer.deleted == 1


def test_kinds_of_devices_that_are_refused(ours):
    """from_dlpack() refuses them before it has a tensor, by __dlpack_device__()."""
    producer = Producer(ours, kind=ROCM)
    with pytest.raises(BufferError, match="type 10"):
        gpuarray.from_dlpack(producer)
    assert producer.deleted == 0
    with pytest.raises(BufferError, match="type 10"):
        ours + producer
    assert producer.deleted == 1


def test_host_arrays(host, ours):
    for theirs in host, Producer(host, kind=CPU):
        with pytest.raises(BufferError, match="copy=True"):
            gpuarray.from_dlpack(theirs)
        with pytest.raises(BufferError, match="host memory"):
            gpuarray.from_dlpack(theirs, copy=False, device=drv.Device(0))
    assert (gpuarray.from_dlpack(host, copy=True).get() == host).all()
    assert (gpuarray.from_dlpack(host.T, device=drv.Context.get_device()).get() == host.T).all()
    assert (gpuarray.from_dlpack(host, device=(CUDA, 0)).get() == host).all()
    with pytest.raises(TypeError, match="host memory"):
        ours + Producer(host, kind=CPU)


def test_other_libraries_arrays_in_host_memory_are_indices(host, ours):
    """Such indices are read by __array__(), not by DLPack."""

    class OnHost(Producer):
        def __array__(self, dtype=None, copy=None):
            return self.array

        def __index__(self):
            raise TypeError("only arrays of one element are an index")

    indices = OnHost(np.array([1, 0]), kind=CPU)
    assert (ours.take(indices, 0).get() == host[[1, 0]]).all() and (ours[indices].get() == host[[1, 0]]).all()
    assert indices.calls == []


def test_copy_and_device(host, ours):
    producer = Producer(ours)
    copy = gpuarray.from_dlpack(producer, copy=True)
    assert copy.ptr != ours.ptr and (copy.get() == host).all()
    assert gpuarray.from_dlpack(producer, copy=False).ptr == ours.ptr
    assert producer.calls[-1]["copy"] is False
    assert gpuarray.from_dlpack(producer, device=(CUDA, 0)).ptr == ours.ptr
    with pytest.raises(TypeError, match="device"):
        gpuarray.from_dlpack(producer, device="gpu")
    with pytest.raises(BufferError, match="device"):
        gpuarray.from_dlpack(producer, device=(CPU, 0))


def test_errors_of_producers_are_raised(ours):
    class Fails(Producer):
        def __dlpack__(self, **keywords):
            raise RuntimeError("not now")

    for call in (lambda: gpuarray.from_dlpack(Fails(ours)), lambda: ours + Fails(ours)):
        with pytest.raises(RuntimeError, match="not now"):
            call()


# ---- operands and pointers


@pytest.mark.parametrize("versioned", [True, False])
def test_producers_as_operands(host, ours, versioned):
    """An operand is exported at each use, and its structure is deleted once."""
    producer = Producer(ours.copy(), versioned=versioned)
    assert ((ours + producer).get() == 2 * host).all() and ((producer - ours).get() == 0).all()
    assert gpuarray.sum(producer).get() == host.sum()
    ours[...] = Producer(gpuarray.to_gpu(host[0]), versioned=versioned)
    assert (ours.get() == host[0]).all()
    drv.Context.synchronize()
    assert producer.deleted == len(producer.kept) // 2 == 3  # each structure is kept with its numbers


def test_streams_of_operands(ours):
    producer, stream = Producer(ours), drv.Stream()
    gpuarray.maximum(producer, 1, stream=stream)
    assert producer.calls[-1]["stream"] == stream.handle
    gpuarray.from_dlpack(producer, stream=stream)
    assert producer.calls[-1]["stream"] == stream.handle
    stream.synchronize()


def test_producers_where_a_pointer_is_expected(host, ours):
    producer, out = Producer(ours), np.zeros_like(host)
    drv.memcpy_dtoh(out, producer)
    assert (out == host).all() and producer.deleted == 1
    code = drv.module_from_buffer(CODE).get_function("twice")
    code(Producer(ours), block=(12, 1, 1))
    code.prepare("P").prepared_call((1, 1), (12, 1, 1), Producer(ours))
    assert (ours.get() == 4 * host).all()
    with pytest.raises(BufferError, match="copy"):
        drv.memcpy_dtoh(out, Producer(ours, flags=IS_COPIED))


CODE = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry twice(.param .u64 array)
{
    .reg .u64 %a<3>; .reg .u32 %t; .reg .f32 %x;
    ld.param.u64 %a0, [array];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %a1, %t, 4;
    add.u64 %a2, %a0, %a1;
    ld.global.f32 %x, [%a2];
    add.f32 %x, %x, %x;
    st.global.f32 [%a2], %x;
    ret;
}
\0"""


# ---- the order of streams


def test_the_consumers_stream_waits_for_the_arrays_stream(host):
    """The array's stream is the one for which a pool allocated its memory. The host does not wait: a host
    function blocks the array's stream until `opened` is set.
    """
    pool, opened = DeviceMemoryPool(), threading.Event()
    mine, theirs = drv.Stream(NON_BLOCKING), drv.Stream(NON_BLOCKING)
    array = gpuarray.GPUArray(12, np.float32, gpudata=pool.allocate(48, mine))
    out = drv.mem_alloc(48)
    drv.Context.synchronize()
    mine.launch_host_func(opened.wait, 20)
    drv.memcpy_htod_async(array.gpudata, drv.register_host_memory(host.copy()), mine)
    capsule = array.__dlpack__(stream=theirs.handle)
    drv.memcpy_dtod_async(out, array.gpudata, 48, theirs)
    assert not theirs.is_done() and not mine.is_done()
    opened.set()
    theirs.synchronize()
    assert (drv.from_device(out, (3, 4), np.float32) == host).all()
    del capsule
    assert array.__dlpack__(stream=-1) and array.__dlpack__(stream=mine.handle) and array.__dlpack__(stream=2)
    mine.synchronize()


def test_memory_that_an_unknown_stream_uses_is_not_held_by_the_pool(host):
    """A consumer may delete the tensor before its work is done: memory that was exported for a stream whose
    end the pool cannot know is freed, and not used for another array.
    """
    pool, theirs = DeviceMemoryPool(), drv.Stream(NON_BLOCKING)
    for stream, held_blocks in (1, 1), (2, 1), (-1, 1), (theirs.handle, 0):
        array = gpuarray.GPUArray((3, 4), np.float32, pool.allocate)
        capsule = array.__dlpack__(stream=stream)
        assert pool.active_blocks == 1
        del array, capsule
        assert pool.active_blocks == 0 and pool.held_blocks == held_blocks, stream
        pool.free_held()


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("protocol", ["dlpack", "interface"])
def test_the_consumer_waits_for_work_of_the_block_with_stream(host, pooled, protocol):
    """The array is of the default stream, the last work on it of `mine`, which is blocked until `opened` is
    set: the consumer's stream waits for that work too.
    """
    allocator = None if pooled else drv.mem_alloc
    array, out = gpuarray.to_gpu(host, allocator), drv.mem_alloc(48)
    array += 0
    mine, theirs, opened = drv.Stream(NON_BLOCKING), drv.Stream(NON_BLOCKING), threading.Event()
    drv.Context.synchronize()
    mine.launch_host_func(opened.wait, 20)
    with mine:
        array += 1
        if protocol == "dlpack":
            capsule = array.__dlpack__(stream=theirs.handle)
        else:
            capsule = None
            drv.memcpy_dtod_async(out, OnlyInterface(array), 48, theirs)
    if protocol == "dlpack":
        drv.memcpy_dtod_async(out, array.gpudata, 48, theirs)
    assert not theirs.is_done() and not mine.is_done()
    opened.set()
    theirs.synchronize()
    assert (drv.from_device(out, (3, 4), np.float32) == host + 1).all()
    del capsule


class OnlyInterface:
    """Another library's array, which has only __cuda_array_interface__."""

    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def test_from_dlpack_is_for_the_current_stream(ours):
    producer = Producer(ours)
    with drv.Stream() as stream:
        gpuarray.from_dlpack(producer)
        assert producer.calls[-1]["stream"] == stream.handle
        ours + producer
        assert producer.calls[-1]["stream"] == stream.handle
