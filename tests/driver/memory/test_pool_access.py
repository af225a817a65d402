"""Who may access a pool's memory (cuMemPoolGetAccess, cuMemPoolSetAccess), as an H200's driver of CUDA 13.0
answers: that of a host pool is not the device's until it is given."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_ulonglong, c_void_p

import numpy as np
import pytest
from test_pool_places import (
    DEVICE,
    HOST,
    HOST_NUMA,
    HOST_NUMA_CURRENT,
    INVALID_VALUE,
    MANAGED,
    NOT_SUPPORTED,
    NOWHERE,
    PINNED,
    SUCCESS,
    Access,
    Location,
    attribute,
    properties,
)

import pycuda.driver as drv

pytestmark = pytest.mark.driver(13000, "managed pools")

INVALID_DEVICE, ILLEGAL_ADDRESS = 101, 700
NONE, READ, ALL = 0, 1, 3

KERNEL = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry increment(.param .u64 p)
{
    .reg .b64 %a; .reg .b32 %r;
    ld.param.u64 %a, [p]; ld.global.u32 %r, [%a]; add.u32 %r, %r, 1; st.global.u32 [%a], %r; ret;
}
"""


@pytest.fixture
def cuda(primary_context, driver_library):
    return ctypes.CDLL(driver_library)


@pytest.fixture
def new_pool(cuda):
    """A function that makes a pool of memory of a type at a location."""
    made = []

    def make(allocation, location):
        pool, asked = c_void_p(), properties(allocation, location, 0)
        assert cuda.cuMemPoolCreate(byref(pool), byref(asked)) == SUCCESS
        made.append(pool)
        return pool

    yield make
    for pool in made:
        assert cuda.cuMemPoolDestroy(pool) == SUCCESS


def access(cuda, pool, place):
    """What cuMemPoolGetAccess says, or its error as a negative number."""
    flags, location = c_int(), Location(place, 0)
    result = cuda.cuMemPoolGetAccess(byref(flags), pool, byref(location))
    return flags.value if result == SUCCESS else -result


def give(cuda, pool, place, flags):
    wanted = Access(Location(place, 0), flags)
    return cuda.cuMemPoolSetAccess(pool, byref(wanted), c_size_t(1))


# (allocation, location): access of the device and of the host.
DEFAULTS = [
    (PINNED, DEVICE, ALL, NONE),
    (PINNED, HOST, NONE, ALL),
    (PINNED, HOST_NUMA, NONE, ALL),
    (MANAGED, NOWHERE, NONE, NONE),
    (MANAGED, DEVICE, NONE, NONE),
    (MANAGED, HOST, NONE, NONE),
]


@pytest.mark.parametrize(("allocation", "location", "device", "host"), DEFAULTS)
def test_of_a_new_pool(cuda, new_pool, allocation, location, device, host):
    pool = new_pool(allocation, location)
    assert [access(cuda, pool, place) for place in (DEVICE, HOST, HOST_NUMA)] == [device, host, host]
    assert access(cuda, pool, HOST_NUMA_CURRENT) == access(cuda, pool, NOWHERE) == -INVALID_VALUE


# (allocation, location), the place and the flags, the answer, and then the access of the device and the host.
CHANGES = [
    (PINNED, DEVICE, DEVICE, NONE, INVALID_DEVICE, ALL, NONE),
    (PINNED, DEVICE, DEVICE, READ, NOT_SUPPORTED, ALL, NONE),
    (PINNED, DEVICE, HOST, ALL, NOT_SUPPORTED, ALL, NONE),
    (PINNED, DEVICE, HOST, NONE, NOT_SUPPORTED, ALL, NONE),
    *((PINNED, place, DEVICE, ALL, SUCCESS, ALL, ALL) for place in (HOST, HOST_NUMA)),
    *((PINNED, place, DEVICE, READ, NOT_SUPPORTED, NONE, ALL) for place in (HOST, HOST_NUMA)),
    *((PINNED, place, DEVICE, NONE, SUCCESS, NONE, ALL) for place in (HOST, HOST_NUMA)),
    *((PINNED, place, HOST, ALL, SUCCESS, NONE, ALL) for place in (HOST, HOST_NUMA)),
    *((PINNED, place, HOST, NONE, NOT_SUPPORTED, NONE, ALL) for place in (HOST, HOST_NUMA)),
    *((PINNED, place, HOST, READ, NOT_SUPPORTED, NONE, ALL) for place in (HOST, HOST_NUMA)),
    *((PINNED, place, HOST_NUMA, ALL, SUCCESS, NONE, ALL) for place in (HOST, HOST_NUMA)),
    *((MANAGED, place, DEVICE, ALL, SUCCESS, ALL, NONE) for place in (NOWHERE, DEVICE, HOST)),
    *((MANAGED, place, DEVICE, READ, NOT_SUPPORTED, NONE, NONE) for place in (NOWHERE, DEVICE, HOST)),
    *((MANAGED, place, DEVICE, NONE, SUCCESS, NONE, NONE) for place in (NOWHERE, DEVICE, HOST)),
    *((MANAGED, place, HOST, ALL, SUCCESS, NONE, ALL) for place in (NOWHERE, DEVICE, HOST)),
    *((MANAGED, place, HOST, NONE, SUCCESS, NONE, NONE) for place in (NOWHERE, DEVICE, HOST)),
    *((MANAGED, place, HOST_NUMA, ALL, SUCCESS, NONE, ALL) for place in (NOWHERE, DEVICE, HOST)),
]


@pytest.mark.parametrize(("allocation", "location", "place", "flags", "answer", "device", "host"), CHANGES)
def test_changes(cuda, new_pool, allocation, location, place, flags, answer, device, host):
    pool = new_pool(allocation, location)
    assert give(cuda, pool, place, flags) == answer
    assert [access(cuda, pool, place) for place in (DEVICE, HOST)] == [device, host]


@pytest.fixture
def memory(cuda, new_pool):
    """A function that gives (address, stream) of memory of a host pool, with or without access."""
    taken = []

    def allocate(accessible):
        pool, address, stream = new_pool(PINNED, HOST), c_ulonglong(), drv.Stream()
        if accessible:
            assert give(cuda, pool, DEVICE, ALL) == SUCCESS
        handle = c_void_p(stream.handle)
        assert cuda.cuMemAllocFromPoolAsync(byref(address), c_size_t(64), pool, handle) == SUCCESS
        stream.synchronize()
        taken.append((stream, address, handle))
        return address, handle

    yield allocate
    for _, address, handle in taken:
        assert cuda.cuMemFreeAsync(address, handle) == SUCCESS


@pytest.mark.parametrize("accessible", [False, True])
def test_calls(cuda, memory, accessible):
    """Those that name device memory do not take a host pool's; a fill does where the device has access."""
    address, stream = memory(accessible)
    there, here, size = drv.mem_alloc(64), np.zeros(64, np.uint8), c_size_t(16)
    drv.memset_d8(there, 0, 64)
    other, host = c_ulonglong(int(there)), c_void_p(here.ctypes.data)
    for name, to, source in (
        ("cuMemcpyDtoHAsync_v2", host, address),
        ("cuMemcpyHtoDAsync_v2", address, host),
        ("cuMemcpyDtoDAsync_v2", address, other),
        ("cuMemcpyDtoDAsync_v2", other, address),
    ):
        assert getattr(cuda, name)(to, source, size, stream) == INVALID_VALUE
    for to, source in (address, other), (other, address):
        assert cuda.cuMemcpyAsync(to, source, size, stream) == SUCCESS
    assert cuda.cuMemcpyHtoDAsync_v2(other, address, size, stream) == SUCCESS
    filled = cuda.cuMemsetD8Async(address, 5, size, stream)
    assert filled == (SUCCESS if accessible else INVALID_VALUE)
    assert cuda.cuStreamSynchronize(stream) == SUCCESS
    assert ctypes.string_at(address.value, 1) == (b"\5" if accessible else b"\0")
    device_pointer = 3
    assert attribute(cuda, device_pointer, address)[0] == (SUCCESS if accessible else INVALID_VALUE)


def test_a_kernel_with_access(cuda, memory):
    address, stream = memory(True)
    ctypes.memset(address.value, 0, 64)
    increment = drv.module_from_buffer(KERNEL.encode()).get_function("increment")
    increment(np.uint64(address.value), block=(1, 1, 1))
    drv.Context.synchronize()
    assert ctypes.c_uint32.from_address(address.value).value == 1


def test_a_kernel_without_access(run_python, driver_library):
    done = run_python(f"""
    import ctypes
    from ctypes import byref, c_size_t, c_ulonglong, c_void_p
    import numpy as np
    import pycuda.autoprimaryctx
    import pycuda.driver as drv

    cuda = ctypes.CDLL({driver_library!r})
    asked = (ctypes.c_int * 22)(1, 0, 2)  # CUmemPoolProps: page-locked, no handles, of the host
    pool, address = c_void_p(), c_ulonglong()
    assert cuda.cuMemPoolCreate(byref(pool), byref(asked)) == 0
    assert cuda.cuMemAllocFromPoolAsync(byref(address), c_size_t(64), pool, None) == 0
    increment = drv.module_from_buffer({KERNEL.encode()!r}).get_function("increment")
    increment(np.uint64(address.value), block=(1, 1, 1))
    print(cuda.cuCtxSynchronize())
    """)
    assert done.stdout.split()[0] == str(ILLEGAL_ADDRESS), done.stderr
