"""External memory and semaphores: memory that this driver exports, imported by the driver's own calls."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

import pycuda.driver as drv

# CUresult.
SUCCESS, INVALID_VALUE, INVALID_HANDLE, NOT_READY, NOT_SUPPORTED, UNKNOWN = 0, 1, 400, 600, 801, 999
# CUexternalMemoryHandleType and CUexternalSemaphoreHandleType, in which 9 differs.
OPAQUE_FD, OPAQUE_WIN32, TIMELINE_FD, DMABUF_FD = 1, 2, 9, 9
SIZE = 2 << 20


class MemoryHandle(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_HANDLE_DESC."""

    _fields_ = [("type", c_int), ("fd", c_ulonglong), ("unused", c_void_p), ("size", c_ulonglong)]
    _fields_ += [("flags", c_uint), ("reserved", c_uint * 16)]


class Part(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_BUFFER_DESC."""

    _fields_ = [("offset", c_ulonglong), ("size", c_ulonglong), ("flags", c_uint), ("reserved", c_uint * 16)]


class SemaphoreHandle(ctypes.Structure):
    """CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC."""

    _fields_ = [("type", c_int), ("fd", c_ulonglong), ("unused", c_void_p), ("flags", c_uint)]
    _fields_ += [("reserved", c_uint * 16)]


class External:
    """The driver's calls for external memory."""

    def __init__(self, cuda):
        self.cuda = cuda

    @staticmethod
    def exported():
        """(physical memory of SIZE bytes, a file descriptor of it)"""
        memory = drv.PhysicalMemory(SIZE, handle_type=drv.mem_handle_type.POSIX_FILE_DESCRIPTOR)
        return memory, memory.export_fd()

    def import_memory(self, fd, size=SIZE, kind=OPAQUE_FD, flags=0):
        """(result, external memory)"""
        memory = c_void_p()
        handle = MemoryHandle(kind, fd & 0xFFFFFFFF, None, size, flags)
        return self.cuda.cuImportExternalMemory(byref(memory), byref(handle)), memory

    def import_semaphore(self, fd, kind=OPAQUE_FD, flags=0):
        """(result, external semaphore)"""
        semaphore = c_void_p()
        handle = SemaphoreHandle(kind, fd & 0xFFFFFFFF, None, flags)
        return self.cuda.cuImportExternalSemaphore(byref(semaphore), byref(handle)), semaphore

    def map(self, memory, offset=0, size=SIZE, flags=0):
        """(result, address)"""
        address = c_size_t()
        part = Part(offset, size, flags)
        return self.cuda.cuExternalMemoryGetMappedBuffer(byref(address), memory, byref(part)), address

    def memory(self):
        """New memory that was exported and imported: the handle of the external memory."""
        result, memory = self.import_memory(self.exported()[1])
        assert result == SUCCESS
        return memory

    def mapped(self, memory, *part):
        """The address of a new mapping of the external memory, or of a part of it: (offset, size)."""
        result, address = self.map(memory, *part)
        assert result == SUCCESS
        return address.value

    def free(self, *addresses):
        for address in addresses:
            assert self.cuda.cuMemFree_v2(c_size_t(address)) == SUCCESS
