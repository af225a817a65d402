"""Truncated images and those with wrong sizes in them are refused before they reach the driver, which is
passed no length and would read past their end.
"""

import struct
from pathlib import Path

import pytest

import pycuda.driver as drv
from pycuda.compiler import compile

pytestmark = pytest.mark.usefixtures("primary_context")

CORPUS = Path(__file__).resolve().parents[2] / "fuzz" / "corpus"
FAT, WRAPPER = 0xBA55ED50, 0x466243B1  # magic numbers of a fat binary and of fatbinary's wrapper
LINK = b"\177pycuda-link\n\3"  # magic of what the CPU device's linker returns

# Each has one size that is larger than the image.
IMAGES = {
    "fat_entries": struct.pack("<IHHQ", FAT, 1, 16, 1 << 30)
    + struct.pack("<HHIQ", 2, 0x101, 64, 1 << 29)
    + bytes(48),
    "fat_payload": struct.pack("<IHHQ", FAT, 1, 16, 80)
    + struct.pack("<HHIQ", 2, 0x101, 64, 1 << 60)
    + bytes(64),
    "fat_header": struct.pack("<IHHQ", FAT, 1, 0xFFFF, 16),
    "wrapper": struct.pack("<IIQQ", WRAPPER, 1, 0x123456789000, 0),
    "elf_sections": b"\177ELF\2\1\1"
    + bytes(33)
    + struct.pack("<Q", 1 << 40)
    + bytes(10)
    + b"\1\0@\0\xff\xff",
    "link": LINK.ljust(16, b"\0") + struct.pack("<QQ", 1 << 40, 1) + bytes(64),
}


@pytest.mark.parametrize("name", IMAGES)
def test_images_with_wrong_sizes_are_refused_whatever_follows_them(name):
    """By the loader and by the linker, alone and followed by zeros."""
    for size in (len(IMAGES[name]), 4096):
        image = IMAGES[name].ljust(size, b"\0")
        with pytest.raises(drv.LogicError, match="invalid - the (buffer|fat binary|ELF file|linked image)"):
            drv.module_from_buffer(image)
        with pytest.raises(drv.LogicError, match="cuLinkAddData failed"):
            drv.Linker().add_data(image, drv.jit_input_type.CUBIN)


@pytest.mark.parametrize("name", ["fat_binary", "fat_binary_lz4", "linked_image"])
def test_beginnings_of_images_are_refused(name):
    image = (CORPUS / name).read_bytes()
    for size in range(1, len(image), 1 + len(image) // 50):
        with pytest.raises((drv.LogicError, drv.RuntimeError)):
            drv.module_from_buffer(image[:size])


@pytest.mark.gpu("the compiler makes PTX for the CPU device, which declares no sizes")
def test_beginnings_of_a_cubin_are_refused():
    image = compile("__global__ void one(int *a) { *a = 1; }")
    assert drv.module_from_buffer(image).get_function("one")
    for size in range(1, len(image), 1 + len(image) // 50):
        with pytest.raises((drv.LogicError, drv.RuntimeError)):
            drv.module_from_buffer(image[:size])
