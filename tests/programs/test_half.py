"""Half and bfloat16 arithmetic of cuda_fp16.h and cuda_bf16.h, rounded to the format."""

import numpy as np

import pycuda.driver as drv

SOURCE = r"""
#include <cuda_fp16.h>

extern "C" __global__ void half_math(const __half *a, const __half *b, const __half *c, __half *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i] = a[i] + b[i];
    out[n + i] = a[i] - b[i];
    out[2 * n + i] = a[i] * b[i];
    out[3 * n + i] = a[i] / b[i];
    out[4 * n + i] = __hfma(a[i], b[i], c[i]);
    out[5 * n + i] = hsqrt(__habs(a[i]));
    out[6 * n + i] = __hmax(a[i], b[i]);
    out[7 * n + i] = __hmin(a[i], b[i]);
    out[8 * n + i] = __float2half(__half2float(a[i]) * 1.1f);
    out[9 * n + i] = __int2half_rn(int(threadIdx.x) * 100 - 3000);
    out[10 * n + i] = -a[i] < b[i] ? hfloor(a[i]) : hceil(b[i]);
}

extern "C" __global__ void half_pairs(const __half2 *a, const __half2 *b, __half2 *sum, __half2 *fused,
                                      float2 *wide, unsigned *less)
{
    int i = threadIdx.x;
    sum[i] = __hadd2(a[i], __lowhigh2highlow(b[i]));
    fused[i] = __hfma2(a[i], b[i], __float2half2_rn(0.5f));
    wide[i] = __half22float2(a[i]);
    less[i] = __hlt2_mask(a[i], b[i]);
}

extern "C" __global__ void half_atomic(__half *out) { atomicAdd(out, __float2half(0.25f)); }
"""

# A program that runs in its own process, as only a setting gives the CPU device compute capability 9.0.
BFLOAT16 = r"""
import numpy as np
import pycuda.autoinit, pycuda.driver as drv
from pycuda.compiler import SourceModule

source = r'''
#include <cuda_bf16.h>
extern "C" __global__ void math(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i] = a[i] + b[i];
    out[n + i] = a[i] - b[i];
    out[2 * n + i] = a[i] * b[i];
    out[3 * n + i] = __hfma(a[i], b[i], a[i]);
    out[4 * n + i] = __hmax(a[i], b[i]);
    out[5 * n + i] = __float2bfloat16(__bfloat162float(a[i]) / 3);
    __nv_bfloat162 pair = __hmul2(__halves2bfloat162(a[i], b[i]), __halves2bfloat162(b[i], b[i]));
    out[6 * n + i] = __high2bfloat16(pair);
}
'''

def narrow(x):
    '''The bfloat16 nearest to x, ties to even; x: the exact result, or that rounded to 24 bits.'''
    word = np.asarray(x, np.float32).view(np.uint32)
    return ((word + np.uint32(0x7fff) + (word >> 16 & 1)) >> 16).astype(np.uint16)

def wide(x):
    '''The values of bfloat16 words as floats.'''
    return (x.astype(np.uint32) << 16).view(np.float32)

major = pycuda.autoinit.device.compute_capability()[0]
if major < 8:
    print("no bfloat16 before 8.0")
else:
    random, n = np.random.default_rng(1), 1000
    a, b = (narrow(random.normal(size=n) * 10) for _ in range(2))
    out = np.empty((7, n), np.uint16)
    SourceModule(source, no_extern_c=True).get_function("math")(
        drv.In(a), drv.In(b), drv.Out(out), np.int32(n), block=(128, 1, 1), grid=(8, 1))
    x, y = wide(a), wide(b)
    exact = x.astype(float) * y + x
    wanted = [x + y, x - y, x * y, exact, np.maximum(x, y), x / 3, y * y]
    for k in range(7):
        assert (out[k] == narrow(wanted[k])).all(), k
    print("equal")
"""


def test_half(programs):
    random, n = np.random.default_rng(2), 1000
    a, b, c = ((random.normal(size=n) * 3).astype(np.float16) for _ in range(3))
    a[:4] = [65504, 6e-8, np.nan, 0]
    b[:4] = [65504, 0.5, 1, -2]
    out = np.empty((11, n), np.float16)
    programs.get_function("half_math")(
        *map(drv.In, (a, b, c)), drv.Out(out), np.int32(n), block=(128, 1, 1), grid=(8, 1)
    )
    i = np.arange(n) % 128
    with np.errstate(all="ignore"):
        wanted = [
            a + b, a - b, a * b, a / b,
            (a.astype(float) * b + c).astype(np.float16),
            np.sqrt(abs(a)), np.fmax(a, b), np.fmin(a, b),
            (a.astype(np.float32) * np.float32(1.1)).astype(np.float16),
            (i * 100 - 3000).astype(np.float16),
            np.where(-a < b, np.floor(a), np.ceil(b)),
        ]  # fmt: skip
    for k, row in enumerate(wanted):
        np.testing.assert_array_equal(out[k], row, err_msg=str(k))


def test_half_pairs(programs):
    random = np.random.default_rng(3)
    a, b = (random.normal(size=(64, 2)).astype(np.float16) for _ in range(2))
    total, fused, wide = np.empty_like(a), np.empty_like(a), np.empty((64, 2), np.float32)
    less = np.empty((64, 2), np.uint16)
    programs.get_function("half_pairs")(
        drv.In(a), drv.In(b), *map(drv.Out, (total, fused, wide, less.view(np.uint32))), block=(64, 1, 1)
    )
    assert (total == a + b[:, ::-1]).all()
    assert (fused == (a.astype(float) * b + 0.5).astype(np.float16)).all()
    assert (wide == a).all()
    assert (less == np.where(a < b, 0xFFFF, 0)).all()


def test_half_atomic(programs):
    out = np.zeros(2, np.float16)
    programs.get_function("half_atomic")(drv.InOut(out), block=(100, 1, 1), grid=(3, 1))
    assert (out == [75, 0]).all()


def test_bfloat16(run_python):
    done = run_python(BFLOAT16, env={"PYCUDA_CPU_COMPUTE_CAPABILITY": "9.0"}, check=True)
    assert done.stdout.strip() in ("equal", "no bfloat16 before 8.0")
