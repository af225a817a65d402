"""docs/limits/driver.md: of each function that is there in part, what it refuses is refused.

cuGraphicsGLRegisterImage needs a context of OpenGL: tests/gl.
"""

import ctypes
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from limits import pages

import pycuda.driver as drv

pytestmark = pytest.mark.cpu("what the CPU device refuses")

NOT_SUPPORTED, NO_BINARY, NOT_FOUND, UNKNOWN, NO_AFFINITY = 801, 209, 500, 999, 224
OPENGL = {"cuGraphicsGLRegisterImage"}
# The header of an ELF file for machine EM_CUDA, as a cubin has it.
CUBIN = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1\x33\7", 2, 190, 130, 0, 0, 0, 90, 64, 0, 0, 64, 0, 0)
CUBIN_INPUT, LTOIR_INPUT = 0, 5  # CUjitInputType
IOMEMORY = 4  # CU_MEMHOSTREGISTER_IOMEMORY
WINDOWS_HANDLE, TIMELINE = 2, 9  # CUexternalMemoryHandleType, CUexternalSemaphoreHandleType


class Call:
    """Calls of the driver by ctypes; each method makes one with what the function of its name refuses."""

    def __init__(self, library, folder):
        self.driver, self.out = ctypes.CDLL(library), ctypes.create_string_buffer(256)
        self.file = folder / "kernel.cubin"
        self.file.write_bytes(CUBIN)

    def coredump(self, name):
        on, size = ctypes.c_bool(True), ctypes.c_size_t(1)
        return getattr(self.driver, name)(1, ctypes.byref(on), ctypes.byref(size))

    def cuCoredumpSetAttribute(self):
        return self.coredump("cuCoredumpSetAttribute")

    def cuCoredumpSetAttributeGlobal(self):
        return self.coredump("cuCoredumpSetAttributeGlobal")

    def cuCtxCreate_v3(self):
        affinity = (ctypes.c_uint * 8)(0, 4)
        return self.driver.cuCtxCreate_v3(self.out, affinity, 1, 0, 0)

    def cuCtxCreate_v4(self):
        graphics = (ctypes.c_uint64 * 2)(1, 0)
        parameters = (ctypes.c_uint64 * 3)(0, 0, ctypes.addressof(graphics))
        return self.driver.cuCtxCreate_v4(self.out, parameters, 0, 0)

    def cuGetExportTable(self):
        return self.driver.cuGetExportTable(self.out, (ctypes.c_uint8 * 16)(1))

    def cuImportExternalMemory(self):
        descriptor = struct.pack("<iiQQQI64x", WINDOWS_HANDLE, 0, 0, 0, 4096, 0)
        return self.driver.cuImportExternalMemory(self.out, descriptor)

    def cuImportExternalSemaphore(self):
        descriptor = struct.pack("<iiQQI64x", TIMELINE, 0, 0, 0, 0)
        return self.driver.cuImportExternalSemaphore(self.out, descriptor)

    def cuLibraryLoadData(self):
        return self.driver.cuLibraryLoadData(self.out, CUBIN, None, None, 0, None, None, 0)

    def cuLibraryLoadFromFile(self):
        path = str(self.file).encode()
        return self.driver.cuLibraryLoadFromFile(self.out, path, None, None, 0, None, None, 0)

    def linked(self, add):
        state = ctypes.c_void_p()
        assert self.driver.cuLinkCreate_v2(0, None, None, ctypes.byref(state)) == 0
        result = add(state)
        assert self.driver.cuLinkDestroy(state) == 0
        return result

    def cuLinkAddData_v2(self):
        size = ctypes.c_size_t(len(CUBIN))
        add = self.driver.cuLinkAddData_v2
        return self.linked(lambda state: add(state, CUBIN_INPUT, CUBIN, size, b"cubin", 0, None, None))

    def cuLinkAddFile_v2(self):
        path, add = str(self.file).encode(), self.driver.cuLinkAddFile_v2
        return self.linked(lambda state: add(state, CUBIN_INPUT, path, 0, None, None))

    def cuMemCreate(self):
        properties = struct.pack("<iiiiQQ", 1, 0, 2, 0, 0, 0)  # pinned memory of the host
        return self.driver.cuMemCreate(self.out, ctypes.c_size_t(1 << 21), properties, ctypes.c_ulonglong(0))

    def cuMemHostRegister_v2(self):
        return self.driver.cuMemHostRegister_v2(self.out, ctypes.c_size_t(256), IOMEMORY)

    def cuModuleLoad(self):
        return self.driver.cuModuleLoad(self.out, str(self.file).encode())

    def cuModuleLoadData(self):
        return self.driver.cuModuleLoadData(self.out, CUBIN)

    def cuModuleLoadDataEx(self):
        return self.driver.cuModuleLoadDataEx(self.out, CUBIN, 0, None, None)

    def cuModuleLoadFatBinary(self):
        entry = (
            struct.pack("<HHIQIIIIII", 2, 0x101, 64, len(CUBIN), 0, 0, 0, 90, 64, 0).ljust(64, b"\0") + CUBIN
        )
        return self.driver.cuModuleLoadFatBinary(
            self.out, struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry
        )

    def encoded(self, name, box, interleave=0, mode=()):
        memory, place = drv.mem_alloc(1 << 16), np.zeros(256, np.uint8)
        sizes, strides = (ctypes.c_uint64 * 4)(32, 8, 8, 8), (ctypes.c_uint64 * 3)(128, 1024, 8192)
        map_ = ctypes.c_void_p(place.ctypes.data + -place.ctypes.data % 64)
        steps = (ctypes.c_uint * 4)(1, 1, 1, 1)
        return getattr(self.driver, name)(
            map_, 7, 4, ctypes.c_void_p(int(memory)), sizes, strides, *box, steps, interleave, *mode, 0, 0, 0
        )

    def cuTensorMapEncodeTiled(self):
        assert self.encoded("cuTensorMapEncodeTiled", [(ctypes.c_uint * 4)(8, 8, 1, 1)]) == 0
        return self.encoded("cuTensorMapEncodeTiled", [(ctypes.c_uint * 4)(8, 8, 1, 1)], interleave=1)

    def cuTensorMapEncodeIm2col(self):
        box = [(ctypes.c_int * 2)(), (ctypes.c_int * 2)(), 8, 8]
        assert self.encoded("cuTensorMapEncodeIm2col", box) == 0
        return self.encoded("cuTensorMapEncodeIm2col", box, interleave=1)

    def cuTensorMapEncodeIm2colWide(self):
        return self.encoded("cuTensorMapEncodeIm2colWide", [0, 0, 8, 8], mode=[0])

    def cuTexObjectCreate(self):
        array = drv.np_to_array(np.zeros((8, 8), np.float32), "C")
        resource = struct.pack("<iiQ", 0, 0, array.handle).ljust(144, b"\0")
        texture = bytes(104)
        whole = struct.pack("<iiQQQ", 0x16, 0, 8, 8, 0).ljust(112, b"\0")  # one channel of float
        other = struct.pack("<iiQQQ", 0x0D, 0, 8, 8, 0).ljust(112, b"\0")  # one channel of int16
        assert self.driver.cuTexObjectCreate(self.out, resource, texture, whole) == 0
        return self.driver.cuTexObjectCreate(self.out, resource, texture, other)


REFUSED = {
    "cuCoredumpSetAttribute": NOT_SUPPORTED,
    "cuCoredumpSetAttributeGlobal": NOT_SUPPORTED,
    "cuCtxCreate_v3": NO_AFFINITY,
    "cuCtxCreate_v4": NOT_SUPPORTED,
    "cuGetExportTable": NOT_FOUND,
    "cuImportExternalMemory": NOT_SUPPORTED,
    "cuImportExternalSemaphore": UNKNOWN,
    "cuLibraryLoadData": NO_BINARY,
    "cuLibraryLoadFromFile": NO_BINARY,
    "cuLinkAddData_v2": NO_BINARY,
    "cuLinkAddFile_v2": NO_BINARY,
    "cuMemCreate": NOT_SUPPORTED,
    "cuMemHostRegister_v2": NOT_SUPPORTED,
    "cuModuleLoad": NO_BINARY,
    "cuModuleLoadData": NO_BINARY,
    "cuModuleLoadDataEx": NO_BINARY,
    "cuModuleLoadFatBinary": NO_BINARY,
    "cuTensorMapEncodeIm2col": NOT_SUPPORTED,
    "cuTensorMapEncodeIm2colWide": NOT_SUPPORTED,
    "cuTensorMapEncodeTiled": NOT_SUPPORTED,
    "cuTexObjectCreate": NOT_SUPPORTED,
}


@pytest.mark.usefixtures("primary_context")
@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(cpu_device_library, tmp_path, name):
    assert getattr(Call(cpu_device_library, tmp_path), name)() == REFUSED[name]


def test_every_function_that_is_there_in_part_is_called():
    in_part = {name for name, (_, answer) in pages.driver_functions().items() if answer.state == "in part"}
    assert in_part == REFUSED.keys() | OPENGL
