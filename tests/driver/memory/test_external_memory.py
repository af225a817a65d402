"""External memory: what cuMemExportToShareableHandle exports is imported and mapped. Errors are those of an
H100's driver (580); the layout of arrays in the memory is not tested."""

import ctypes
import os
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

import numpy as np
import pytest
from external import DMABUF_FD, INVALID_VALUE, NOT_SUPPORTED, OPAQUE_WIN32, SIZE, SUCCESS, UNKNOWN, External

import pycuda.driver as drv

FLOAT = 0x20  # CU_AD_FORMAT_FLOAT
SURFACE, COLOR = 2, 32  # CUDA_ARRAY3D_SURFACE_LDST, CUDA_ARRAY3D_COLOR_ATTACHMENT
DEDICATED = 1  # CUDA_EXTERNAL_MEMORY_DEDICATED


class Levels(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC."""

    _fields_ = [("offset", c_ulonglong), ("width", c_size_t), ("height", c_size_t), ("depth", c_size_t)]
    _fields_ += [("format", c_int), ("channels", c_uint), ("flags", c_uint), ("end", c_uint)]
    _fields_ += [("levels", c_uint), ("reserved", c_uint * 16)]


@pytest.fixture
def external(primary_context, driver_library):
    return External(ctypes.CDLL(driver_library))


@pytest.fixture
def memory(external):
    memory = external.memory()
    yield memory
    assert external.cuda.cuDestroyExternalMemory(memory) == SUCCESS


class TestImport:
    def test_the_import_closes_the_descriptor(self, external):
        kept, fd = External.exported()
        result, memory = external.import_memory(fd)
        assert result == SUCCESS
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)
        assert external.cuda.cuDestroyExternalMemory(memory) == SUCCESS

    def test_refused_descriptors(self, external):
        """When an import is refused for its size, the descriptor stays open; one that is not the driver's
        memory is closed, as an H100's driver does it.
        """
        kept, fd = External.exported()
        assert external.import_memory(fd, size=0)[0] == INVALID_VALUE
        os.close(fd)
        other = os.memfd_create("other")
        assert external.import_memory(other)[0] == UNKNOWN
        with pytest.raises(OSError):
            os.close(other)
        assert external.import_memory(-1)[0] == external.import_memory(12345)[0] == UNKNOWN

    @pytest.mark.parametrize(
        "given, result",
        [
            *[({"kind": kind}, INVALID_VALUE) for kind in (0, 5, 6, 7, 10, 99)],
            *[({"kind": kind}, NOT_SUPPORTED) for kind in (OPAQUE_WIN32, 3, 4, 8, DMABUF_FD)],
            ({"flags": 2}, INVALID_VALUE),
            ({"flags": 3}, INVALID_VALUE),
        ],
    )
    def test_unknown_kinds_and_flags_are_refused(self, external, given, result):
        kept, fd = External.exported()
        assert external.import_memory(fd, **given)[0] == result
        os.close(fd)

    @pytest.mark.parametrize("size, max_bytes", [(1, 1), (4096, 4096), (2 * SIZE, SIZE)])
    def test_only_as_much_as_was_imported_is_mapped(self, external, size, max_bytes):
        """The imported size limits mappings, and so does the size of the memory if that is smaller."""
        kept, fd = External.exported()
        result, memory = external.import_memory(fd, size=size, flags=DEDICATED)
        assert result == SUCCESS
        external.free(external.mapped(memory, 0, max_bytes))
        assert (
            external.map(memory, 0, max_bytes + 1)[0]
            == external.map(memory, max_bytes, 1)[0]
            == INVALID_VALUE
        )
        assert external.cuda.cuDestroyExternalMemory(memory) == SUCCESS

    def test_null_arguments(self, external):
        cuda = external.cuda
        assert cuda.cuImportExternalMemory(None, None) == cuda.cuDestroyExternalMemory(None) == INVALID_VALUE
        assert external.map(None)[0] == INVALID_VALUE


class TestMappings:
    def test_all_mappings_are_the_same_memory(self, external, memory):
        whole, part = external.mapped(memory), external.mapped(memory, 4096, 8)
        other = external.mapped(memory)
        assert len({whole, part, other}) == 3
        values = np.arange(SIZE // 4, dtype=np.uint32)
        drv.memcpy_htod(whole, values)
        found, copy = np.zeros(2, np.uint32), np.zeros_like(values)
        drv.memcpy_dtoh(found, part)
        drv.memcpy_dtoh(copy, other)
        assert list(found) == [1024, 1025]
        np.testing.assert_array_equal(copy, values)
        external.free(whole, part, other)

    @pytest.mark.parametrize("part", [(0, 0), (SIZE, 1), (1, SIZE), (2**64 - 1, 2), (0, SIZE, 1)])
    def test_parts_beyond_the_memory(self, external, memory, part):
        assert external.map(memory, *part)[0] == INVALID_VALUE

    def test_attributes_of_a_mapping(self, external, memory):
        """A mapping of 3 bytes has their start and size, as an allocation of the device's own would."""
        address = external.mapped(memory, 1, 3)
        base, size, value = c_size_t(), c_size_t(), c_ulonglong()
        get_range, get_attribute = external.cuda.cuMemGetAddressRange_v2, external.cuda.cuPointerGetAttribute
        assert get_range(byref(base), byref(size), c_size_t(address + 2)) == SUCCESS
        assert (base.value, size.value) == (address, 3)
        attribute = drv.pointer_attribute
        for which, expected in (
            (attribute.MEMORY_TYPE, drv.memory_type.DEVICE),
            (attribute.IS_MANAGED, 0),
            (attribute.IS_LEGACY_CUDA_IPC_CAPABLE, 0),
            (attribute.RANGE_START_ADDR, address),
            (attribute.RANGE_SIZE, 3),
            (attribute.MAPPED, 1),
            (attribute.ALLOWED_HANDLE_TYPES, 0),
            (attribute.MEMPOOL_HANDLE, 0),
        ):
            value.value = 0
            assert get_attribute(byref(value), int(which), c_size_t(address)) == SUCCESS
            assert value.value == expected, which
        external.free(address)

    def test_mappings_have_no_handles_and_cannot_be_unmapped(self, external, memory):
        """Neither of physical memory nor for other processes; they end by cuMemFree."""
        address = external.mapped(memory)
        cuda, handle = external.cuda, ctypes.create_string_buffer(64)
        assert cuda.cuMemRetainAllocationHandle(handle, c_size_t(address)) == INVALID_VALUE
        assert cuda.cuIpcGetMemHandle(handle, c_size_t(address)) == INVALID_VALUE
        assert cuda.cuMemUnmap(c_size_t(address), c_size_t(SIZE)) == INVALID_VALUE
        external.free(address)

    def test_a_mapping_is_freed_once_and_by_its_start(self, external, memory):
        address = external.mapped(memory)
        assert external.cuda.cuMemFree_v2(c_size_t(address + 16)) == INVALID_VALUE
        assert external.cuda.cuMemFreeAsync(c_size_t(address), None) == NOT_SUPPORTED
        external.free(address)
        assert external.cuda.cuMemFree_v2(c_size_t(address)) == INVALID_VALUE

    def test_a_mapping_outlives_the_external_memory(self, external):
        kept, fd = External.exported()
        memory = external.import_memory(fd)[1]
        address, found = external.mapped(memory), np.zeros(4, np.uint8)
        kept.free()
        assert external.cuda.cuDestroyExternalMemory(memory) == SUCCESS
        drv.memset_d8(address, 7, SIZE)
        drv.memcpy_dtoh(found, address)
        assert list(found) == [7] * 4
        external.free(address)


class TestArrays:
    @pytest.fixture
    def levels(self, external, memory):
        def levels(width=64, height=64, depth=0, offset=0, channels=1, format=FLOAT, flags=0, count=1):
            """(result, mipmapped array in the memory); count: of levels."""
            array = c_void_p()
            shape = Levels(offset, width, height, depth, format, channels, flags, 0, count)
            map_array = external.cuda.cuExternalMemoryGetMappedMipmappedArray
            return map_array(byref(array), memory, byref(shape)), array

        return levels

    def test_levels_are_in_the_memory(self, external, memory, levels):
        """A fill of the memory shows in a level, and a copy to the level shows in the memory."""
        cuda, level = external.cuda, c_void_p()
        address = external.mapped(memory, 1 << 20, 1 << 20)
        drv.memset_d32(address, 0x3F800000, 1 << 18)  # the bits of 1.0f
        result, array = levels(offset=1 << 20, count=7)
        assert result == SUCCESS
        assert cuda.cuMipmappedArrayGetLevel(byref(level), array, 2) == SUCCESS
        row = np.zeros(16, np.float32)
        assert cuda.cuMemcpyAtoH_v2(c_void_p(row.ctypes.data), level, c_size_t(0), c_size_t(64)) == SUCCESS
        assert list(row) == [1] * 16
        row[:] = np.arange(16) + 2
        assert cuda.cuMemcpyHtoA_v2(level, c_size_t(0), c_void_p(row.ctypes.data), c_size_t(64)) == SUCCESS
        found = np.zeros(1 << 18, np.float32)
        drv.memcpy_dtoh(found, address)
        assert sorted(found[found != 1]) == list(row)  # the device decides where each element is
        assert cuda.cuMipmappedArrayDestroy(array) == SUCCESS
        external.free(address)

    @pytest.mark.parametrize(
        "shape",
        [
            {"count": 7},
            {"width": 1024, "height": 512},
            {"offset": 1 << 20},
            {"height": 0},
            {"depth": 64},
            {"flags": SURFACE},
            {"flags": COLOR},
            {"width": 512, "height": 256, "count": 9, "offset": 1 << 20},
        ],
    )
    def test_shapes_that_fit(self, external, levels, shape):
        result, array = levels(**shape)
        assert result == SUCCESS
        assert external.cuda.cuMipmappedArrayDestroy(array) == SUCCESS

    @pytest.mark.parametrize(
        "shape",
        [
            {"count": 8},
            {"width": 1024, "height": 1024},
            {"width": 1024, "height": 512, "offset": 512},
            {"width": 512, "height": 512, "count": 10, "offset": 1 << 20},
            {"width": 0},
            {"channels": 3},
            {"format": 99},
        ],
    )
    def test_shapes_that_are_refused(self, levels, shape):
        assert levels(**shape)[0] == INVALID_VALUE
