"""Virtual memory management: address ranges, physical memory mapped to them, access of devices, and memory
that is shared with other processes."""

import gc
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from devices import free_bytes, memory_is_shared, tries

import pycuda.driver as drv
from pycuda import gpuarray

READ_WRITE = drv.mem_access_flags.PROT_READWRITE
DESCRIPTOR = drv.mem_handle_type.POSIX_FILE_DESCRIPTOR

# a[i] += i for i < n
PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .entry add_index(.param .u64 a, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r2, %r2, %r3, %r4;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra done;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r5, [%rd3];
    add.s32 %r5, %r5, %r2;
    st.global.u32 [%rd3], %r5;
done:
    ret;
}
"""


@pytest.fixture(autouse=True)
def supported(primary_context):
    attribute = drv.device_attribute.VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    assert drv.Context.get_device().get_attribute(attribute) == 1


@pytest.fixture
def unit(supported):
    return drv.mem_get_allocation_granularity()


@pytest.fixture
def add_index(supported):
    """launch(pointer, count): a[i] += i for the first elements."""
    function = drv.module_from_buffer(PTX).get_function("add_index")

    def launch(pointer, count, stream=None):
        function(pointer, np.uint32(count), block=(256, 1, 1), grid=(-(-count // 256), 1), stream=stream)

    return launch


def mapped(unit, pieces=1, **options):
    """A range with `pieces` allocations mapped at its beginning, and room for as many more."""
    space = drv.AddressRange(2 * pieces * unit)
    for piece in range(pieces):
        space.map(piece * unit, drv.PhysicalMemory(unit, **options))
    return space


def live():
    """{type: number of live objects}, without the types that have none."""
    gc.collect()
    return {name: count for name, count in drv._live_objects().items() if count}


def test_granularity(unit):
    recommended = drv.mem_get_allocation_granularity(option=drv.mem_alloc_granularity.RECOMMENDED)
    assert unit == drv.mem_get_allocation_granularity(drv.Context.get_device())
    assert unit >= 4096 and recommended % unit == 0


def test_attributes_of_memory_and_ranges(unit):
    device = drv.Context.get_device()
    memory, space = drv.PhysicalMemory(unit, device, DESCRIPTOR), drv.AddressRange(4 * unit)
    assert (memory.size, memory.device, memory.handle_type) == (unit, device, DESCRIPTOR)
    assert drv.PhysicalMemory(unit).handle_type == drv.mem_handle_type.NONE
    assert space.ptr == int(space) == space.get_pointer() and space.ptr % unit == 0
    assert (space.size, space.mappings) == (4 * unit, [])
    space.map(2 * unit, memory)
    space.map(0, memory)
    assert space.mappings == [(0, unit), (2 * unit, unit)]
    assert str(unit) in repr(memory) and str(4 * unit) in repr(space)
    aligned = drv.AddressRange(unit, alignment=16 * unit)
    assert aligned.ptr % (16 * unit) == 0


def test_pieces_are_one_buffer(unit, add_index):
    """Kernels, fills and copies work across the boundary of two pieces; a piece can be mapped at another
    address as well."""
    first, second = drv.PhysicalMemory(unit), drv.PhysicalMemory(unit)
    space, alias = drv.AddressRange(2 * unit), drv.AddressRange(unit)
    space.map(0, first)
    space.map(unit, second)
    alias.map(0, second)
    count = 2 * unit // 4
    drv.memset_d32(space, 5, count)
    add_index(space, count)
    whole = drv.from_device(space, count, np.int32)
    assert (whole == 5 + np.arange(count)).all()
    assert (drv.from_device(alias, count // 2, np.int32) == whole[count // 2 :]).all()
    drv.memcpy_htod(space.ptr + unit - 8, np.array([1, 2, 3, 4], np.int32))
    assert drv.from_device(alias, 2, np.int32).tolist() == [3, 4]
    target, stream = drv.pagelocked_zeros(count, np.int32), drv.Stream()
    drv.memcpy_dtoh_async(target, space, stream)
    stream.synchronize()
    assert (target == drv.from_device(space, count, np.int32)).all()


def test_a_range_grows_in_place(unit, add_index):
    space = mapped(unit, 1)
    address = space.ptr
    array = gpuarray.GPUArray(unit // 4, np.int32, gpudata=space)
    array.fill(7)
    space.map(unit, drv.PhysicalMemory(unit))
    drv.memset_d32(space.ptr + unit, 8, unit // 4)
    larger = gpuarray.GPUArray(unit // 2, np.int32, gpudata=space)
    assert space.ptr == address == larger.ptr
    assert (larger.get() == np.repeat([7, 8], unit // 4)).all()
    space.unmap(unit)
    assert space.mappings == [(0, unit)]
    assert (array.get() == 7).all()


def test_memory_lives_until_its_last_mapping_ends(unit):
    """Until then the device's free bytes are 4 units fewer. Repeated on a GPU, since other processes change
    the free memory as well."""
    for _ in tries():
        before = live(), free_bytes()
        memory, space, other = (
            drv.PhysicalMemory(4 * unit),
            drv.AddressRange(4 * unit),
            drv.AddressRange(4 * unit),
        )
        space.map(0, memory)
        other.map(0, memory)
        memory.free()
        drv.memset_d32(space, 3, unit)
        space.free()
        assert drv.from_device(other, 4, np.int32).tolist() == [3] * 4
        during = free_bytes()
        del other
        space = memory = None
        after = live(), free_bytes()
        held = 0 if memory_is_shared() else 4 * unit
        if (after, before[1] - during) == (before, held):
            return
    assert (after, before[1] - during) == (before, held)


def test_uses_of_freed_memory_and_ranges_raise(unit):
    memory, space = drv.PhysicalMemory(unit), drv.AddressRange(unit)
    before = drv._live_objects()
    memory.free()
    space.free()
    now = drv._live_objects()
    assert [before[name] - now[name] for name in ("PhysicalMemory", "AddressRange")] == [1, 1]
    for use in (
        memory.free,
        space.free,
        memory.export_fd,
        lambda: memory.handle,
        lambda: space.ptr,
        lambda: int(space),
        lambda: space.map(0, drv.PhysicalMemory(unit)),
        lambda: drv.AddressRange(unit).map(0, memory),
        lambda: space.unmap(),
        lambda: space.set_access(READ_WRITE),
        lambda: space.get_access(),
    ):
        with pytest.raises(drv.LogicError, match="freed"):
            use()


def test_access(unit):
    space, device = drv.AddressRange(2 * unit), drv.Context.get_device()
    space.map(0, drv.PhysicalMemory(unit), access=drv.mem_access_flags.PROT_NONE)
    space.map(unit, drv.PhysicalMemory(unit))
    assert space.get_access() == drv.mem_access_flags.PROT_NONE
    assert space.get_access(device, 2 * unit - 1).name == "PROT_READWRITE"
    space.set_access(READ_WRITE, device, 0, unit)
    assert space.get_access(device) == READ_WRITE
    space.set_access(drv.mem_access_flags.PROT_NONE)
    assert [space.get_access(offset=at).name for at in (0, unit)] == ["PROT_NONE"] * 2
    space.set_access(READ_WRITE)
    drv.memset_d8(space, 1, 2 * unit)
    drv.Context.synchronize()


def test_pointer_attributes_of_a_mapping(unit):
    space = drv.AddressRange(4 * unit)
    inside = space.ptr + unit + 12
    attributes = drv.pointer_attribute
    space.map(unit, drv.PhysicalMemory(unit))
    assert drv.pointer_get_attribute(attributes.RANGE_START_ADDR, inside) == space.ptr
    assert drv.pointer_get_attribute(attributes.RANGE_SIZE, inside) == 4 * unit
    assert drv.pointer_get_attribute(attributes.MAPPED, inside) is True
    assert drv.pointer_get_attribute(attributes.MEMORY_TYPE, inside) == drv.memory_type.DEVICE
    assert drv.pointer_get_attribute(attributes.MAPPING_BASE_ADDR, inside) == space.ptr + unit
    assert drv.pointer_get_attribute(attributes.MAPPING_SIZE, inside) == unit
    assert drv.mem_get_address_range(inside) == (space.ptr + unit, unit)


def test_errors(unit):
    memory, space = drv.PhysicalMemory(2 * unit), drv.AddressRange(4 * unit)
    space.map(unit, memory)
    for wrong, error, text in (
        (lambda: drv.PhysicalMemory(unit + 1), "LogicError", f"multiple of {unit} bytes"),
        (lambda: drv.PhysicalMemory(0), "LogicError", "CUDA_ERROR_INVALID_VALUE|invalid argument"),
        (lambda: drv.PhysicalMemory(1 << 50), "MemoryError", "1.0 PiB requested, .* free"),
        (lambda: drv.PhysicalMemory(unit, 0), "TypeError", "device must be a Device or None, not int"),
        (lambda: drv.AddressRange(unit + 1), "LogicError", "size must be a multiple"),
        (lambda: drv.AddressRange(unit // 2), "LogicError", "size must be a multiple"),
        (lambda: drv.AddressRange(unit, 3), "LogicError", "alignment a power of two"),
        (lambda: space.map(0, memory), "LogicError", "already mapped there"),
        (lambda: space.map(2 * unit, memory), "LogicError", "already mapped there"),
        (lambda: space.map(3 * unit, memory), "ValueError", "exceed the AddressRange"),
        (lambda: space.map(0, space), "TypeError", "PhysicalMemory is expected, not .*AddressRange"),
        (lambda: space.unmap(0, unit), "ValueError", "nothing is mapped"),
        (lambda: space.unmap(unit, unit), "ValueError", "only partly"),
        (lambda: space.set_access(3, offset=2 * unit), "ValueError", "only partly"),
        (lambda: space.set_access(7, offset=unit), "LogicError", "cuMemSetAccess"),
        (lambda: space.get_access(), "LogicError", "cuMemGetAccess"),
        (lambda: space.get_access(offset=4 * unit), "ValueError", "beyond"),
        (memory.export_fd, "LogicError", "POSIX_FILE_DESCRIPTOR"),
        (lambda: drv.PhysicalMemory.from_fd(-1, unit), "ValueError", "negative"),
    ):
        with pytest.raises(Exception, match=text) as caught:
            wrong()
        assert type(caught.value).__name__ == error
    half = drv.AddressRange(4 * unit)
    with pytest.raises(drv.LogicError, match=f"{2 * unit} bytes at offset {unit // 2} "):
        half.map(unit // 2, memory)
    assert half.mappings == []
    assert drv._live_objects()["AddressRange"] >= 2


def test_the_end_of_a_mapping_waits_for_work(unit, add_index):
    """unmap(), free() and the release of the last reference wait for queued kernels."""
    stream, target = drv.Stream(), drv.pagelocked_zeros(4, np.int32)
    for end in ("unmap", "free", "del"):
        space, kept = drv.AddressRange(unit), drv.PhysicalMemory(unit)
        space.map(0, kept)
        drv.memset_d32_async(space, 0, unit // 4, stream)
        for _ in range(20):
            add_index(space, unit // 4, stream)
        if end == "del":
            del space
        else:
            getattr(space, end)()
        again = drv.AddressRange(unit)
        again.map(0, kept)
        drv.memcpy_dtoh(target, again)
        assert target.tolist() == [0, 20, 40, 60]


def test_the_end_of_the_context(run_python):
    """The Python objects raise once their context is destroyed, and are released in either order."""
    done = run_python(
        """
import pycuda.driver as drv

drv.init()
for order in range(2):
    context = drv.Device(0).make_context()
    unit = drv.mem_get_allocation_granularity()
    memory, space = drv.PhysicalMemory(unit), drv.AddressRange(unit)
    space.map(0, memory)
    drv.memset_d8(space, 1, unit)
    context.detach()
    try:
        int(space)
    except drv.LogicError as problem:
        print("gone" if "context" in str(problem) else problem)
    if order:
        del space, memory
    else:
        del memory, space
    print({name for name, count in drv._live_objects().items() if count and "Context" not in name})
"""
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.split("\n")[:-1] == ["gone", "set()"] * 2


CHILD = """
import sys

import numpy as np

import pycuda.driver as drv

drv.init()
context = drv.Device(0).retain_primary_context()
context.push()
descriptor, unit = int(sys.argv[1]), drv.mem_get_allocation_granularity()
memory = drv.PhysicalMemory.from_fd(descriptor, unit)
assert memory.device == drv.Device(0)
space = drv.AddressRange(unit)
space.map(0, memory)
assert (drv.from_device(space, unit // 4, np.int32) == 41).all()
drv.memset_d32(space, 42, unit // 8)
drv.Context.synchronize()
context.pop()
"""


def test_two_processes(unit, tmp_path):
    """A child maps the memory by a file descriptor, reads what the parent wrote and writes half of it."""
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    memory, space = drv.PhysicalMemory(unit, handle_type=DESCRIPTOR), drv.AddressRange(unit)
    space.map(0, memory)
    drv.memset_d32(space, 41, unit // 4)
    drv.Context.synchronize()
    descriptor = memory.export_fd()
    memory.free()
    subprocess.run([sys.executable, script, str(descriptor)], pass_fds=[descriptor], check=True, timeout=100)
    os.close(descriptor)
    assert (drv.from_device(space, unit // 4, np.int32) == np.repeat([42, 41], unit // 8)).all()


def test_a_descriptor_keeps_the_memory(unit):
    memory, space = drv.PhysicalMemory(unit, handle_type=DESCRIPTOR), drv.AddressRange(unit)
    space.map(0, memory)
    drv.memset_d32(space, 9, 4)
    drv.Context.synchronize()
    descriptor = memory.export_fd()
    space.free()
    memory.free()
    again = drv.PhysicalMemory.from_fd(descriptor, unit)
    os.close(descriptor)
    space = drv.AddressRange(unit)
    space.map(0, again)
    assert drv.from_device(space, 4, np.int32).tolist() == [9] * 4


def test_memory_is_mapped_as_a_whole(unit):
    """from_fd() is passed the size; the driver refuses to map memory whose size is another."""
    memory, space = drv.PhysicalMemory(2 * unit, handle_type=DESCRIPTOR), drv.AddressRange(4 * unit)
    descriptor = memory.export_fd()
    for size in unit, 3 * unit:
        with pytest.raises(
            drv.Error, match="cuMemMap .*a PhysicalMemory can only be mapped as a whole"
        ) as caught:
            space.map(0, drv.PhysicalMemory.from_fd(descriptor, size))
        assert caught.value.name == "CUDA_ERROR_NOT_SUPPORTED"
    assert space.mappings == []
    space.map(0, drv.PhysicalMemory.from_fd(descriptor, 2 * unit))
    os.close(descriptor)
    drv.memset_d8(space, 1, 2 * unit)
    drv.Context.synchronize()


def test_a_descriptor_of_a_file_is_refused(unit, tmp_path):
    with open(tmp_path / "file", "w+b") as file:
        file.write(b"x" * 4096)
        with pytest.raises(drv.Error, match="cuMemImportFromShareableHandle"):
            drv.PhysicalMemory.from_fd(file.fileno(), unit)


def test_in_a_forked_child_nothing_is_released(run_python):
    done = run_python(
        """
import os

import pycuda.driver as drv
from forking import fork

drv.init()
context = drv.Device(0).make_context()
unit = drv.mem_get_allocation_granularity()
memory, space = drv.PhysicalMemory(unit), drv.AddressRange(unit)
space.map(0, memory)
child = fork()
if not child:
    del space, memory
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
drv.memset_d8(space, 1, unit)
drv.Context.synchronize()
context.pop()
"""
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.cpu("a GPU's driver has other messages, and may not support access for reads only")
def test_faults(run_python):
    """Accesses to addresses without memory, without access and with access for reads only. Each fault ends
    the context that it is in."""
    nothing, read_only = "nothing is mapped there", "this device may only read it"
    cases = (
        ("", "12", "read of 4 bytes at .* 12 bytes into the reserved addresses at .*: " + nothing),
        ("space.map(0, memory)", "unit", "0 bytes into the reserved addresses at .*: " + nothing),
        ("space.map(0, memory, 0)", "8", "8 bytes into the mapped memory at .*: no device has access to it"),
        ("space.map(0, memory, 1)", "8", "write of 4 bytes at .*: 8 bytes into the mapped .*: " + read_only),
        ("space.map(0, memory); space.unmap()", "0", "0 bytes into the reserved .*: " + nothing),
    )
    done = run_python(
        f"""
import numpy as np

import pycuda.driver as drv

drv.init()
for prepare, offset, _ in {cases!r}:
    context = drv.Device(0).make_context()
    unit = drv.mem_get_allocation_granularity()
    add_index = drv.module_from_buffer({PTX!r}).get_function("add_index")
    space, memory = drv.AddressRange(4 * unit), drv.PhysicalMemory(unit)
    exec(prepare)
    try:
        add_index(np.uint64(space.ptr + eval(offset)), np.uint32(1), block=(1, 1, 1))
        drv.Context.synchronize()
    except drv.LogicError as problem:
        print(problem.name, str(problem).replace(chr(10), " "))
    context.detach()
"""
    )
    lines = done.stdout.splitlines()
    assert (len(lines), done.stderr) == (len(cases), "")
    for line, (_, _, text) in zip(lines, cases, strict=True):
        assert re.match("CUDA_ERROR_ILLEGAL_ADDRESS .*" + text, line), line


@pytest.mark.cpu("needs two devices with peer access")
def test_two_devices(run_python):
    """Each device has the access that set_access() granted it."""
    done = run_python(
        f"""
import numpy as np

import pycuda.driver as drv

drv.init()
contexts = [drv.Device(1).make_context(), drv.Device(0).make_context()]
unit = drv.mem_get_allocation_granularity()
space = drv.AddressRange(unit)
space.map(0, drv.PhysicalMemory(unit, drv.Device(0)))
drv.memset_d32(space, 1, 8)
print(*(space.get_access(drv.Device(d)).name for d in range(2)))
space.set_access(drv.mem_access_flags.PROT_READWRITE, drv.Device(1))
print(*(space.get_access(drv.Device(d)).name for d in range(2)))
drv.Context.synchronize()
contexts[0].push()
add_index = drv.module_from_buffer({PTX!r}).get_function("add_index")
add_index(space, np.uint32(4), block=(32, 1, 1))
drv.Context.synchronize()
print(drv.from_device(space, 8, np.int32))
for _ in range(3):
    drv.Context.pop()
""",
        env={"PYCUDA_CPU_DEVICES": "2"},
    )
    assert done.stdout.split("\n")[:3] == [
        "PROT_READWRITE PROT_NONE",
        "PROT_READWRITE PROT_READWRITE",
        "[1 2 3 4 1 1 1 1]",
    ], done.stderr
