"""Products of matrices by nvcuda::wmma, and by ldmatrix and mma.sync as hand-written kernels use them."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

WMMA = r"""
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;

// c = a * b + c of n x n matrices, a tile of 16 x 16 a warp.
extern "C" __global__ void product(const half *a, const half *b, float *c, int n)
{
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * 16;
    int column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum, given;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(fa, a + row * n + k, n);
        wmma::load_matrix_sync(fb, b + column * n + k, n);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::load_matrix_sync(given, c + row * n + column, n, wmma::mem_row_major);
    for (int k = 0; k < sum.num_elements; k++)
        sum.x[k] = 2 * sum.x[k] + given.x[k];
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

// Through shared memory, with sums of halves; bytes with whole sums.
extern "C" __global__ void halves(const half *a, const half *b, half *c)
{
    __shared__ half near[3][256];
    for (int k = threadIdx.x; k < 256; k += 32) {
        near[0][k] = a[k];
        near[1][k] = b[k];
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> sum;
    wmma::fill_fragment(sum, __float2half(1.0f));
    wmma::load_matrix_sync(fa, near[0], 16);
    wmma::load_matrix_sync(fb, near[1], 16);
    wmma::mma_sync(sum, fa, fb, sum);
    wmma::store_matrix_sync(near[2], sum, 16, wmma::mem_col_major);
    __syncwarp();
    for (int k = threadIdx.x; k < 256; k += 32)
        c[k] = near[2][k];
}

extern "C" __global__ void bytes(const signed char *a, const signed char *b, int *c)
{
    wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> sum;
    wmma::fill_fragment(sum, -3);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(sum, fa, fb, sum);
    wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
}
"""
# Since compute capability 8.0.
WMMA_8 = r"""
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;

extern "C" __global__ void doubles(const double *a, const double *b, double *c)
{
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
    wmma::fill_fragment(sum, 0.5);
    wmma::load_matrix_sync(fa, a, 4);
    wmma::load_matrix_sync(fb, b, 4);
    wmma::mma_sync(sum, fa, fb, sum);
    wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
}

extern "C" __global__ void brains(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(sum, fa, fb, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void tensors(const float *a, const float *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(fa, a, 8);
    wmma::load_matrix_sync(fb, b, 16);
    for (int k = 0; k < fa.num_elements; k++)
        fa.x[k] = wmma::__float_to_tf32(fa.x[k]);
    for (int k = 0; k < fb.num_elements; k++)
        fb.x[k] = wmma::__float_to_tf32(fb.x[k]);
    wmma::mma_sync(sum, fa, fb, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}
"""
# Tiles of 64 x 64 by 4 warps: copies ahead of their use, ldmatrix, mma.
TILED = r"""
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
constexpr int tile = 64, deep = 32, wide = deep + 8;

__device__ unsigned near_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void ldmatrix(unsigned (&r)[4], const half *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(near_address(p)));
}
__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// c = a * transposed b, n x n; rows of a and of b lie in memory one after another.
extern "C" __global__ void tiled(const half *a, const half *b, float *c, int n)
{
    __shared__ alignas(16) half na[2][tile][wide], nb[2][tile][wide];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const half *from_a = a + blockIdx.y * tile * n, *from_b = b + blockIdx.x * tile * n;
    float sum[8][4] = {};
    auto fetch = [&](int stage, int k) {
        for (int i = t; i < tile * deep / 8; i += blockDim.x) {
            int row = i / (deep / 8), at = i % (deep / 8) * 8;
            __pipeline_memcpy_async(&na[stage][row][at], from_a + row * n + k + at, 16);
            __pipeline_memcpy_async(&nb[stage][row][at], from_b + row * n + k + at, 16);
        }
        __pipeline_commit();
    };
    fetch(0, 0);
    for (int k = 0; k < n; k += deep) {
        int stage = k / deep % 2;
        if (k + deep < n)
            fetch(1 - stage, k + deep);
        else
            __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int inner = 0; inner < deep; inner += 16) {
            unsigned fa[4], fb[4];
            ldmatrix(fa, &na[stage][warp * 16 + lane % 16][inner + lane / 16 * 8]);
            for (int j = 0; j < tile / 16; j++) {
                ldmatrix(fb, &nb[stage][j * 16 + lane % 16][inner + lane / 16 * 8]);
                mma(sum[2 * j], fa, fb[0], fb[2]);
                mma(sum[2 * j + 1], fa, fb[1], fb[3]);
            }
        }
        __syncthreads();
    }
    float *to = c + (blockIdx.y * tile + warp * 16 + lane / 4) * n + blockIdx.x * tile + lane % 4 * 2;
    for (int j = 0; j < 8; j++) {
        to[j * 8] = sum[j][0];
        to[j * 8 + 1] = sum[j][1];
        to[j * 8 + 8 * n] = sum[j][2];
        to[j * 8 + 8 * n + 1] = sum[j][3];
    }
}
"""


def folder_of_headers():
    """A folder with crt/mma.h, which mma.h includes and the wheel of the runtime's headers lacks; or None."""
    spec = importlib.util.find_spec("nvidia")
    places = [Path(place) / "cu13" / "include" for place in (spec.submodule_search_locations if spec else [])]
    toolkits = sorted(Path("/usr/local").glob("cuda-1[23]*"), reverse=True)
    places += [folder / "include" for folder in (Path("/usr/local/cuda"), *toolkits)]
    return next((str(place) for place in places if (place / "crt" / "mma.h").is_file()), None)


def compiled(source):
    """The module of a source that includes mma.h."""
    return SourceModule(source, no_extern_c=True, options=["-I" + folder_of_headers()])


def numbers(random, *shape):
    """Random halves."""
    return random.normal(size=shape).astype(np.float16)


def within(found, a, b, c=0, rounding=2.0**-22):
    """Whether `found` is a @ b + c up to a few roundings of the largest numbers in the sums."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    exact = a @ b + c
    return (np.abs(found - exact) <= (np.abs(a) @ np.abs(b) + np.abs(c)) * rounding * 4 + 1e-30).all()


def check_wmma():
    """Products of halves and of bytes, which every device with matrix units has."""
    random, n = np.random.default_rng(1), 64
    module = compiled(WMMA)
    a, b = numbers(random, n, n), numbers(random, n, n)
    c = random.normal(size=(n, n)).astype(np.float32)
    out = c.copy()
    module.get_function("product")(
        drv.In(a), drv.In(b), drv.InOut(out), np.int32(n), block=(64, 2, 1), grid=(2, 2)
    )
    assert within(out, 2.0 * a.astype(float), b.T, c)
    a, b = (random.integers(-8, 9, (16, 16)).astype(np.float16) for _ in range(2))
    out = np.zeros((16, 16), np.float16)
    module.get_function("halves")(drv.In(a), drv.In(b), drv.InOut(out), block=(32, 1, 1))
    assert (a.T.astype(float) @ b + 1 == out.T).all()
    a, b = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((32, 16), (8, 16)))
    out = np.zeros((32, 8), np.int32)
    module.get_function("bytes")(drv.In(a), drv.In(b), drv.InOut(out), block=(32, 1, 1))
    assert (out == a.astype(int) @ b.T - 3).all()


def check_wmma_8():
    """Products of doubles, bfloat16 and TF32, from compute capability 8.0 on."""
    random = np.random.default_rng(2)
    module = compiled(WMMA_8)
    a, b = random.integers(-9, 9, (8, 4)).astype(float), random.integers(-9, 9, (8, 4)).astype(float)
    out = np.zeros((8, 8))
    module.get_function("doubles")(drv.In(a), drv.In(b), drv.InOut(out), block=(32, 1, 1))
    assert (out == a @ b.T + 0.5).all()
    words = [numbers(random, 16, 16).astype(np.float32).view(np.uint32) >> 16 for _ in range(2)]
    a, b = ((word << 16).astype(np.uint32).view(np.float32) for word in words)
    out = np.zeros((16, 16), np.float32)
    brains = [drv.In(word.astype(np.uint16)) for word in words]
    module.get_function("brains")(*brains, drv.InOut(out), block=(32, 1, 1))
    assert within(out, a, b)
    a, b = numbers(random, 16, 8).astype(np.float32), numbers(random, 8, 16).astype(np.float32)
    module.get_function("tensors")(drv.In(a), drv.In(b), drv.InOut(out), block=(32, 1, 1))
    assert within(out, a, b)


def check_tiled():
    """A product by ldmatrix and mma, with tiles that are copied ahead."""
    random, n = np.random.default_rng(3), 128
    a, b = numbers(random, n, n), numbers(random, n, n)
    out = np.zeros((n, n), np.float32)
    function = SourceModule(TILED, no_extern_c=True).get_function("tiled")
    function(drv.In(a), drv.In(b), drv.InOut(out), np.int32(n), block=(128, 1, 1), grid=(2, 2))
    assert within(out, a, b.T)


@pytest.mark.skipif(folder_of_headers() is None, reason="crt/mma.h is not installed (wheel nvidia-cuda-crt)")
@pytest.mark.parametrize(
    ("capability", "check"), [((7, 5), check_wmma), ((8, 0), check_wmma), ((9, 0), check_wmma_8)]
)
def test_wmma(at_capability, capability, check):
    at_capability(capability, check)


@pytest.mark.parametrize("capability", [(8, 0), (9, 0)])
def test_tiled(at_capability, capability):
    at_capability(capability, check_tiled)
