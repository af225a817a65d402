"""A program compiled by nvcc -ptx, where nvcc is installed; the other tests of this folder use NVRTC."""

import subprocess

import numpy as np

import pycuda.driver as drv

SOURCE = r"""
#include <cstdio>
#include <cub/block/block_radix_sort.cuh>
#include <cuda/std/complex>

template <int depth> struct Tower {
    static __device__ __noinline__ float height(float x)
    {
        return Tower<depth - 1>::height(x) * 0.5f + depth;
    }
};
template <> struct Tower<0> {
    static __device__ float height(float x) { return x; }
};

__constant__ int offsets[4] = {1, -2, 3, -4};

extern "C" __global__ void sort_and_more(int *keys, float *heights, float2 *squares)
{
    using Sort = cub::BlockRadixSort<int, 64, 2>;
    __shared__ typename Sort::TempStorage room;
    int i = threadIdx.x, mine[2] = {keys[2 * i], keys[2 * i + 1]};
    Sort(room).Sort(mine);
    keys[2 * i] = mine[0];
    keys[2 * i + 1] = mine[1];
    heights[i] = Tower<4>::height(i + offsets[i % 4]);
    cuda::std::complex<float> z(i, -1);
    z *= z;
    squares[i] = make_float2(z.real(), z.imag());
}
"""


def test_program_through_nvcc(tmp_path, nvcc):
    major, minor = drv.Context.get_device().compute_capability()
    source, ptx = tmp_path / "program.cu", tmp_path / "program.ptx"
    source.write_text(SOURCE)
    subprocess.run(
        [nvcc, "-ptx", "-lineinfo", f"-arch=compute_{major}{minor}", "-o", ptx, source],
        check=True,
        capture_output=True,
    )
    kernel = drv.module_from_file(str(ptx)).get_function("sort_and_more")
    keys = np.random.default_rng(8).integers(-(10**9), 10**9, 128).astype(np.int32)
    wanted = np.sort(keys)
    heights, squares = np.empty(64, np.float32), np.empty((64, 2), np.float32)
    kernel(drv.InOut(keys), drv.Out(heights), drv.Out(squares), block=(64, 1, 1))
    i = np.arange(64)
    x = i + np.array([1, -2, 3, -4])[i % 4]
    assert (keys == wanted).all()
    assert (heights == x / 16 + (1 / 8 + 2 / 4 + 3 / 2 + 4)).all()
    assert (squares == np.stack([i * i - 1, -2 * i], axis=1)).all()
