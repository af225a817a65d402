"""Stream-ordered allocation (cuMemAllocAsync and similar ones) by the driver's own calls; each test is a
process of its own."""

from pathlib import Path

import pytest

COMMON = (
    f"LATE = {str(Path(__file__).parents[1] / 'late.ptx')!r}"
    + '''
import ctypes
import os
import subprocess
import sys
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import numpy as np

import pycuda.driver as drv

drv.init()
context = drv.Device(0).make_context()
with open("/proc/self/maps") as maps:
    library = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libcuda.so" in line))
MiB = 1 << 20


class Properties(ctypes.Structure):
    """CUmemPoolProps: memory of device 0, for file descriptors."""

    _fields_ = [("allocation", c_int), ("handles", c_int), ("location", c_int), ("device", c_int),
                ("security", c_void_p), ("most", c_size_t), ("usage", ctypes.c_ushort),
                ("rest", ctypes.c_ubyte * 54)]


class Fails(Exception):
    """(name, code) of a driver call that failed."""


def call(name, *arguments):
    code = getattr(library, name)(*arguments)
    if code:
        raise Fails(name, code)


def handle(stream):
    return c_void_p(stream.handle if stream else 0)


def get(size, stream=None):
    address = c_uint64()
    call("cuMemAllocAsync", byref(address), c_size_t(size), handle(stream))
    return address.value


def free(address, stream=None):
    call("cuMemFreeAsync", c_uint64(address), handle(stream))


def default_pool():
    pool = c_void_p()
    call("cuDeviceGetDefaultMemPool", byref(pool), 0)
    return pool


def attribute(pool, number):
    value = c_uint64()
    call("cuMemPoolGetAttribute", pool, number, byref(value))
    return value.value


THRESHOLD, RESERVED, USED, USED_HIGH = 4, 5, 7, 8  # CUmemPool_attribute
INVALID_VALUE, NOT_SUPPORTED = 1, 801
'''
)


@pytest.fixture
def program(run_python):
    """Runs COMMON and the text in a process of its own; asserts that it ends well."""

    def run(text, **kwargs):
        done = run_python(COMMON + text + "\ncontext.pop()\nprint('fine')\n", **kwargs)
        assert (done.returncode, done.stdout.split()[-1:]) == (0, ["fine"]), done.stdout + done.stderr

    return run


def test_a_loop_of_allocations_reuses_the_same_memory(program):
    program("""
stream = drv.Stream()
first = get(256 * MiB, stream)
free(first, stream)
for i in range(2000):
    again = get(256 * MiB, stream)
    assert again == first, i
    free(again, stream)
stream.synchronize()
assert attribute(default_pool(), USED) == 0
""")


def test_the_host_sees_allocations_before_the_stream_reaches_them(program):
    """While a kernel delays the stream: a free makes the address available to the next call in the stream,
    the range of an address is known, and a second free is refused."""
    program("""
stream = drv.Stream()
spin = drv.module_from_file(LATE).get_function("spin")
spin(np.uint64(3e8), block=(1, 1, 1), stream=stream)
first = get(5000, stream)
free(first, stream)
second = get(4000, stream)
assert first == second and attribute(default_pool(), USED) > 0
size = c_size_t()
call("cuMemGetAddressRange_v2", None, byref(size), c_uint64(second))
assert size.value >= 4000
free(second, stream)
try:
    free(second, stream)
except Fails as problem:
    assert problem.args[1] == INVALID_VALUE
else:
    raise AssertionError("freed twice")
stream.synchronize()
""")


def test_memory_above_the_threshold_is_released(program):
    program("""
pool = default_pool()
for threshold in (0, 2**64 - 1):
    call("cuMemPoolSetAttribute", pool, THRESHOLD, byref(c_uint64(threshold)))
    free(get(64 * MiB))
    context.synchronize()
    assert (attribute(pool, RESERVED) >= 64 * MiB) == bool(threshold)
call("cuMemPoolTrimTo", pool, c_size_t(0))
assert attribute(pool, RESERVED) == 0
""")


def test_addresses_are_aligned(program):
    """To 512 bytes; those of managed memory above 1 MiB to 2 MiB."""
    program("""
for size in (1, 700, 4096, MiB):
    assert get(size) % 512 == 0
managed = c_uint64()
for size in (MiB + 1, 3 * MiB // 2, 5 * MiB):
    call("cuMemAllocManaged", byref(managed), c_size_t(size), 1)
    assert managed.value % (2 * MiB) == 0
""")


# Ends the program where the device has no pools for file descriptors.
NEEDS_DESCRIPTORS = """
if drv.Device(0).get_attribute(drv.device_attribute.MEMPOOL_SUPPORTED_HANDLE_TYPES) & 1 == 0:
    print("fine")
    sys.exit()
"""

PARENT = """
pool, descriptor, memory = c_void_p(), c_int(), c_uint64()
call("cuMemPoolCreate", byref(pool), byref(Properties(allocation=1, handles=1, location=LOCATION)))
call("cuMemPoolExportToShareableHandle", byref(descriptor), pool, 1, c_uint64(0))
other = default_pool()
try:
    call("cuMemPoolExportToShareableHandle", byref(c_int()), other, 1, c_uint64(0))
except Fails as problem:
    assert problem.args[1] in (INVALID_VALUE, NOT_SUPPORTED)
else:
    raise AssertionError("exported a pool that was not created for that")
call("cuMemAllocFromPoolAsync", byref(memory), c_size_t(5 * MiB), pool, None)
give_access(pool)
put(memory.value + 4 * MiB, np.arange(1000, dtype=np.int32))
context.synchronize()
data = (ctypes.c_ubyte * 64)()
call("cuMemPoolExportPointer", byref(data), memory)
child = subprocess.run([sys.executable, CHILD, str(descriptor.value), bytes(data).hex()],
                       pass_fds=[descriptor.value], stdout=subprocess.PIPE, text=True)
assert child.returncode == 0 and child.stdout.split()[-1] == "fine", child.stdout
assert (fetch(memory.value + 4 * MiB) == np.arange(1000) + 7).all()
free(memory.value)
context.synchronize()
"""

CHILD = """
pool, memory, data = c_void_p(), c_uint64(), (ctypes.c_ubyte * 64)(*bytes.fromhex(sys.argv[2]))
call("cuMemPoolImportFromShareableHandle", byref(pool), c_void_p(int(sys.argv[1])), 1, c_uint64(0))
call("cuMemPoolImportPointer", byref(memory), pool, byref(data))
give_access(pool)
add = drv.module_from_file(LATE).get_function("add")
start = memory.value + 4 * MiB
add(np.uintp(start), np.int32(7), block=(1000, 1, 1))
context.synchronize()
assert (fetch(start) == np.arange(1000) + 7).all()
kind = ctypes.c_uint()
call("cuPointerGetAttribute", byref(kind), MEMORY_TYPE, memory)
assert kind.value == (HOST if LOCATION == HOST_NUMA else DEVICE), kind
try:
    call("cuMemAllocFromPoolAsync", byref(c_uint64()), c_size_t(100), pool, None)
except Fails:
    pass
else:
    raise AssertionError("allocated from an imported pool")
free(memory.value)
context.synchronize()
call("cuMemPoolDestroy", pool)
context.pop()
print("fine")
"""


# Kernels need access to a pool of host memory, and no call takes it that names device memory.
PLACES = """
DEVICE, HOST, HOST_NUMA, MEMORY_TYPE = 2, 1, 3, 2
LOCATION = {}

def on_host(address):
    return np.frombuffer((c_int * 1000).from_address(address), np.int32)

def put(address, values):
    if LOCATION == HOST_NUMA:
        on_host(address)[:] = values
    else:
        drv.memcpy_htod(address, values)

def fetch(address):
    return on_host(address) if LOCATION == HOST_NUMA else drv.from_device(address, 1000, np.int32)

def give_access(pool):
    if LOCATION == HOST_NUMA:
        call("cuMemPoolSetAccess", pool, byref((c_int * 3)(1, 0, 3)), c_size_t(1))
"""


@pytest.mark.parametrize("location", [1, 3])
def test_a_pool_shared_by_two_processes(program, tmp_path, location):
    """Of memory of the device, of memory of a NUMA node."""
    child, places = tmp_path / "child.py", PLACES.format(location)
    child.write_text(COMMON + places + CHILD)
    program(places + NEEDS_DESCRIPTORS + f"CHILD = {str(child)!r}\n" + PARENT)


@pytest.mark.cpu("the CPU device's checks")
def test_reused_memory_is_uninitialized_from_its_allocation_on(program):
    """In the order of the stream: a kernel queued before the free reads what was written, one after the new
    allocation must not read words that nothing has written since."""
    program(
        """
module = drv.module_from_file(LATE)
add, spin = module.get_function("add"), module.get_function("spin")
stream = drv.Stream()
spin(np.uint64(2e8), block=(1, 1, 1), stream=stream)
first = get(256, stream)
drv.memset_d32_async(first, 0, 64, stream)
add(np.uintp(first), np.int32(1), block=(64, 1, 1), stream=stream)
free(first, stream)
again = get(256, stream)
assert first == again
drv.memset_d32_async(again, 0, 63, stream)
add(np.uintp(again), np.int32(1), block=(63, 1, 1), stream=stream)
stream.synchronize()
add(np.uintp(again), np.int32(1), block=(64, 1, 1), stream=stream)
try:
    stream.synchronize()
except drv.Error as error:
    assert "uninitialized memory" in str(error), error
else:
    raise AssertionError("a word that nothing has written was read")
print("fine", flush=True)
os._exit(0)
""",
        env={"PYCUDA_CPU_CHECK": "initcheck"},
    )
