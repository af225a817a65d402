"""Whole kernels give a GPU's results to the last bit.

last_bits/ has the kernels, their PTX (precise, and with --use_fast_math) and for each a hash of the results
of a GPU of compute capability 9.0.

    python test_last_bits.py compile    makes the PTX by NVRTC
    python test_last_bits.py record     the hashes, on a GPU
"""

import hashlib
import lzma
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import pycuda.autoinit  # noqa: F401
import pycuda.driver as drv
from pycuda.compiler import compile as compile_source

FOLDER = Path(__file__).parent / "last_bits"
OPTIONS = {"precise": [], "fast": ["--use_fast_math"]}
KERNELS = re.findall(r"^KERNEL\((\w+)\)", (FOLDER / "kernels.cu").read_text(), re.M)
COUNT = 1 << 14


def load(options):
    """The module of the stored PTX; options: a key of OPTIONS."""
    return drv.module_from_buffer(lzma.decompress((FOLDER / f"{options}.ptx.xz").read_bytes()))


def result(module, kernel):
    """A hash of what the kernel computes, with all NaNs made one value."""
    x, out = np.random.default_rng(1).random(COUNT, np.float32), np.empty(COUNT, np.float32)
    function = module.get_function(kernel)
    function(drv.In(x), drv.Out(out), np.int32(COUNT), block=(256, 1, 1), grid=(COUNT // 256, 1))
    out[np.isnan(out)] = np.nan
    return hashlib.blake2b(out.tobytes(), digest_size=8).hexdigest()


def recorded():
    """{(kernel, options): the hash from the GPU}."""
    lines = (FOLDER / "recorded.txt").read_text().splitlines()
    return {tuple(line.split()[:2]): line.split()[2] for line in lines if not line.startswith("#")}


@pytest.mark.parametrize("options", OPTIONS)
def test_results_have_the_bits_of_a_gpu(options):
    module, known = load(options), recorded()
    assert len(KERNELS) == 19
    assert not [kernel for kernel in KERNELS if result(module, kernel) != known[kernel, options]]


def compile_all():
    """Writes the PTX files, for the oldest version that reads them, without comments."""
    for name, options in OPTIONS.items():
        source = (FOLDER / "kernels.cu").read_text()
        ptx = compile_source(source, options=options, arch="compute_75", target="ptx", no_extern_c=True)
        ptx = re.sub(rb"//[^\n]*\n", b"\n", re.sub(rb"\.version [\d.]+", b".version 8.5", ptx, count=1))
        (FOLDER / f"{name}.ptx.xz").write_bytes(lzma.compress(ptx, preset=9 | lzma.PRESET_EXTREME))


def record():
    """Writes the current device's hashes."""
    lines = [f"# {drv.Context.get_device().name()}"]
    for options in OPTIONS:
        module = load(options)
        lines += [f"{kernel} {options} {result(module, kernel)}" for kernel in KERNELS]
    (FOLDER / "recorded.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    {"compile": compile_all, "record": record}[sys.argv[1]]()
