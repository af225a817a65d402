"""Queries about memory that devices, the host and other hardware share; errors are those of an H100's driver
(580)."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

import pytest

import pycuda.driver as drv

SUCCESS, INVALID_VALUE, INVALID_DEVICE, INVALID_CONTEXT, NOT_SUPPORTED = 0, 1, 101, 201, 801
OPERATIONS = 13  # of CUatomicOperation
NO_DEVICE = 99  # an ordinal that no device has
PAGE, SIZE = 4096, 1 << 21  # of the host; of an allocation


@pytest.fixture
def cuda(primary_context, driver_library):
    return ctypes.CDLL(driver_library)


class TestAtomics:
    """Which atomic operations work across the bus: a bit mask for each operation."""

    ALL = (c_int * OPERATIONS)(*range(OPERATIONS))

    def test_with_the_host(self, cuda):
        found = (c_uint * OPERATIONS)(*[77] * OPERATIONS)
        assert cuda.cuDeviceGetHostAtomicCapabilities(found, self.ALL, OPERATIONS, 0) == SUCCESS
        native = drv.Device(0).get_attribute(drv.device_attribute.HOST_NATIVE_ATOMIC_SUPPORTED)
        assert any(found) == bool(native)
        assert max(found) < 1 << 7

    def test_what_is_refused(self, cuda):
        """Null pointers, unknown operations, a count of 0 and devices that do not exist are errors."""
        ask, found, one = (
            cuda.cuDeviceGetHostAtomicCapabilities,
            (c_uint * OPERATIONS)(),
            (c_int * 1)(OPERATIONS),
        )
        assert (
            ask(None, self.ALL, 1, 0) == ask(found, None, 1, 0) == ask(found, self.ALL, 0, 0) == INVALID_VALUE
        )
        assert ask(found, one, 1, 0) == ask(None, self.ALL, 0, NO_DEVICE) == INVALID_VALUE
        assert ask(found, self.ALL, 1, NO_DEVICE) == INVALID_DEVICE

    def test_between_devices(self, cuda):
        ask, found = cuda.cuDeviceGetP2PAtomicCapabilities, (c_uint * OPERATIONS)()
        assert ask(found, self.ALL, 1, 0, 0) == ask(found, self.ALL, 1, NO_DEVICE, 0) == INVALID_DEVICE
        assert ask(found, self.ALL, 1, 0, NO_DEVICE) == INVALID_DEVICE
        assert ask(found, self.ALL, 0, 0, 0) == INVALID_VALUE


class TestRemoteWrites:
    """cuFlushGPUDirectRDMAWrites: target 0 is the current context; scopes 100 (owner) and 200 (all
    devices)."""

    @pytest.mark.parametrize("target", [0, 1])
    @pytest.mark.parametrize("scope", [0, 100, 150, 200, 300])
    def test_a_flush(self, cuda, target, scope):
        expected = SUCCESS if target == 0 and scope in (100, 200) else INVALID_VALUE
        assert cuda.cuFlushGPUDirectRDMAWrites(target, scope) == expected

    def test_a_flush_without_a_context(self, cuda, primary_context):
        with ThreadPoolExecutor(1) as other:
            assert other.submit(cuda.cuFlushGPUDirectRDMAWrites, 0, 100).result() == INVALID_CONTEXT


class TestHandles:
    """cuMemGetHandleForAddressRange: file descriptors of memory, for other drivers; kind 1 is DMA-BUF."""

    @pytest.fixture
    def memory(self, primary_context):
        memory = drv.mem_alloc(SIZE)
        yield int(memory)
        memory.free()

    def ask(self, cuda, address, size=PAGE, kind=1, flags=0):
        """The result of the call."""
        handle = c_int(-5)
        call = cuda.cuMemGetHandleForAddressRange
        return call(byref(handle), c_size_t(address), c_size_t(size), kind, c_ulonglong(flags))

    def test_what_is_refused(self, cuda, memory):
        """Unknown flags and kinds, and ranges that are not whole pages of one allocation are errors."""
        assert self.ask(cuda, memory, flags=2) == self.ask(cuda, memory, kind=2) == INVALID_VALUE
        for address, size in (
            (memory, PAGE - 1),
            (memory + 8, PAGE),
            (memory, 0),
            (0, PAGE),
            (memory, 2 * SIZE),
        ):
            assert self.ask(cuda, address, size) == INVALID_VALUE
        no_place = cuda.cuMemGetHandleForAddressRange(
            None, c_size_t(memory), c_size_t(PAGE), 1, c_ulonglong()
        )
        assert no_place == INVALID_VALUE

    @pytest.mark.cpu("many GPUs support DMA-BUF")
    def test_the_cpu_device_has_none(self, cuda, memory):
        assert drv.Device(0).get_attribute(drv.device_attribute.DMA_BUF_SUPPORTED) == 0
        assert self.ask(cuda, memory) == self.ask(cuda, memory, SIZE, flags=1) == NOT_SUPPORTED


class TestNotifications:
    Callback = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)

    def test_they_are_registered(self, cuda):
        function, handles = self.Callback(lambda *_: None), [c_void_p(), c_void_p()]
        for handle in handles:
            assert cuda.cuDeviceRegisterAsyncNotification(0, function, None, byref(handle)) == SUCCESS
        assert handles[0].value != handles[1].value
        for handle in handles:
            assert cuda.cuDeviceUnregisterAsyncNotification(0, handle) == SUCCESS
        assert cuda.cuDeviceUnregisterAsyncNotification(0, None) == INVALID_VALUE

    def test_what_is_refused(self, cuda):
        register, handle = cuda.cuDeviceRegisterAsyncNotification, c_void_p()
        assert register(0, None, None, byref(handle)) == INVALID_VALUE
        assert register(NO_DEVICE, self.Callback(lambda *_: None), None, byref(handle)) == INVALID_DEVICE
