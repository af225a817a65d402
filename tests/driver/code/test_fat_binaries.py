"""Fat binaries: PTX in them, uncompressed or compressed in each of nvcc's modes."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import pycuda.driver as drv

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"
KERNEL = 'extern "C" __global__ void doubled(float *a) { a[threadIdx.x] *= 2; }\n'
# Long enough that the lengths of matches and literals take several bytes in the compressed form.
LONG = "".join(
    f'extern "C" __global__ void k{i}(int *a) {{ a[{i * i}] = {i * 7919}; }}\n' for i in range(400)
)


def run(image, name="doubled"):
    """Asserts that the image loads and its kernel doubles 32 numbers."""
    a = np.arange(32, dtype=np.float32)
    drv.module_from_buffer(image).get_function(name)(drv.InOut(a), block=(32, 1, 1))
    assert a.tolist() == [2 * x for x in range(32)]


@pytest.mark.parametrize("name", ["fat_binary_zstd", "fat_binary_lz4"])
def test_recorded(name):
    """Fat binaries written by nvcc of CUDA 13.0."""
    run((CORPUS / name).read_bytes())


@pytest.mark.parametrize("mode", ["default", "size", "speed", "balance", "none"])
def test_compression_of_nvcc(mode, tmp_path, nvcc):
    if "--compress-mode" not in subprocess.run([nvcc, "--help"], capture_output=True, text=True).stdout:
        pytest.skip("this nvcc has no --compress-mode")
    source, image = tmp_path / "kernel.cu", tmp_path / "kernel.fatbin"
    source.write_text(KERNEL + LONG)
    ptx = ["-gencode", "arch=compute_75,code=compute_75", f"--compress-mode={mode}"]
    subprocess.run([nvcc, "-fatbin", *ptx, "-o", image, source], check=True)
    run(image.read_bytes())


@pytest.mark.cpu("the error of a GPU's driver for a damaged image is not specified")
@pytest.mark.parametrize("name", ["fat_binary_zstd", "fat_binary_lz4"])
def test_damaged(name):
    """Changed sizes in the entry's header and changed bytes of the payload do not crash the loader: it loads
    the image or raises an error with a message."""
    stored = (CORPUS / name).read_bytes()
    payload = 16 + 80  # after the file's header and the entry's
    sizes = [32, 33, 35, 72, 73, 75, 77]  # bytes of the compressed and the uncompressed size
    for at in [*sizes, *range(payload, payload + 60)]:
        image = bytearray(stored)
        image[at] ^= 0x55
        try:
            drv.module_from_buffer(bytes(image))
        except drv.Error as error:
            assert str(error)
    image = bytearray(stored)
    image[payload] ^= 0xFF
    with pytest.raises(drv.Error, match="compressed, and damaged"):
        drv.module_from_buffer(bytes(image))


@pytest.mark.cpu("a GPU takes machine code")
def test_machine_code_is_refused_with_what_to_do():
    header = bytearray(128)
    header[:6] = b"\x7fELF\x02\x01"
    header[18] = 190  # e_machine: EM_CUDA
    with pytest.raises(drv.Error, match=r"is a cubin.*the CPU device takes PTX"):
        drv.module_from_buffer(bytes(header))
