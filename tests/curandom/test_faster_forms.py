"""Faster code for special cases gives the bits of the general one: logf() and sqrtf() for the operands that
occur, and MRG32k3a computed in doubles."""

import numpy as np
import pytest
from devices import on_cpu_device

import pycuda.driver as drv
from pycuda.compiler import SourceModule

COMPARE = r"""
#include "random/pycuda-random.hpp"
using namespace pycuda;
extern "C" __global__ void compare(u64 first, u64 count, u64 step, u64 *different)
{
    for (u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x; k < count; k += gridDim.x * (u64)blockDim.x) {
        float u = unit_float((u32)(first + k * step));
        float logarithm = logf(u), root = sqrtf(-2.0f * logarithm);
        if (__float_as_uint(logarithm) != __float_as_uint(log_of_unit(u)) ||
            __float_as_uint(root) != __float_as_uint(root_of(-2.0f * logarithm)))
            atomicAdd(different, 1ull);
    }
}
"""


@pytest.mark.usefixtures("primary_context")
def test_logarithms_and_square_roots_are_those_of_logf_and_sqrtf():
    compare = SourceModule(COMPARE, no_extern_c=True).get_function("compare")
    different = np.zeros(1, np.uint64)
    # (first, count, step): on a GPU all 2**32 words, on the CPU device the ends of the range and a sample.
    ranges = [(0, 1 << 16, 1), ((1 << 32) - (1 << 16), 1 << 16, 1), (0, (1 << 32) // 4099, 4099)]
    for first, count, step in ranges if on_cpu_device() else [(0, 1 << 32, 1)]:
        numbers = (np.uint64(value) for value in (first, count, step))
        compare(*numbers, drv.InOut(different), grid=(1024, 1), block=(256, 1, 1))
    assert different[0] == 0


MRG_NUMBERS = """
import hashlib
import numpy as np
import pycuda.autoinit
import pycuda.curandom as curandom
import pycuda.gpuarray as gpuarray

generator = curandom.MRG32k3aRandomNumberGenerator(lambda n: gpuarray.arange(7, n + 7, dtype=np.int32))
parts = [generator.gen_uniform(300_001, np.float32), generator.gen_uniform(65_536, np.float64)]
generator.call_skip_ahead(1_000_003)
parts.append(generator.gen_normal(300_001, np.float32))
print(hashlib.sha256(b"".join(part.get().tobytes() for part in parts)).hexdigest())
"""


@pytest.mark.cpu("a GPU has one capability")
def test_mrg_in_doubles_and_in_integers(run_python):
    """The compute capability determines which of the two is used."""
    digests = {
        run_python(MRG_NUMBERS, env={"PYCUDA_CPU_COMPUTE_CAPABILITY": capability}, check=True).stdout
        for capability in ("8.6", "9.0")
    }
    assert len(digests) == 1
