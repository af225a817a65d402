"""The CPU device's interpreter on one core: ns per warp instruction, beside PoCL, NumPy and plain C.

Three kernels: a stream (saxpy), divergence (Mandelbrot), barriers and shared memory (tiled product).
Instructions are counted in the PTX: those outside loops once a warp, those of the loop as often as
the warp goes round.
"""

import ctypes
import os
import re

os.environ.update(PYCUDA_DEVICE="cpu", PYCUDA_CPU_THREADS="1")

import numpy as np
from common import build_raw, median_time, table

import pycuda.autoinit
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule, compile

N, SIZE, LIMIT, M = 1 << 20, 512, 256, 256

SAXPY = """
__global__ void saxpy(int n, float s, const float *x, const float *y, float *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = s * x[i] + y[i];
}
"""
MANDELBROT = """
__global__ void mandelbrot(int size, int limit, int *out)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float cr = -2.0f + 3.0f * column / size, ci = -1.5f + 3.0f * row / size, zr = 0, zi = 0;
    int i = 0;
    #pragma unroll 1
    while (i < limit && zr * zr + zi * zi < 4.0f) {
        float t = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = t;
        i++;
    }
    out[row * size + column] = i;
}
"""
MATMUL = """
__global__ void matmul(int n, const float *a, const float *b, float *c)
{
    __shared__ float as[16][16], bs[16][16];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    #pragma unroll 1
    for (int t = 0; t < n; t += 16) {
        as[y][x] = a[row * n + t + x];
        bs[y][x] = b[(t + y) * n + column];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; k++)
            sum += as[y][k] * bs[k][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
"""


def count_instructions(source, name):
    """(instructions outside loops, instructions inside the one loop) of the kernel's PTX."""
    ptx = compile(source, target="ptx", cache_dir=False).decode()
    body = ptx[ptx.index(f".entry {name}") :]
    body = body[body.index("{") :]
    lines = [line.strip() for line in body.splitlines()]
    code = [
        line
        for line in lines
        if re.match(r"(@!?%p\d+\s+)?[a-z]+[a-z0-9_.:]*\b.*;|\$\w+:", line) and not line.startswith(".")
    ]
    labels = {line[:-1]: i for i, line in enumerate(code) if line.endswith(":")}
    inside = 0
    for i, line in enumerate(code):
        match = re.search(r"\bbra(?:\.uni)?\s+(\$\w+);", line)
        if match and labels[match.group(1)] < i:
            inside = max(
                inside, sum(not other.endswith(":") for other in code[labels[match.group(1)] : i + 1])
            )
    return sum(not line.endswith(":") for line in code) - inside, inside


def run_saxpy(raw):
    kernel = SourceModule(SAXPY).get_function("saxpy")
    x, y = np.random.rand(2, N).astype(np.float32)
    gx, gy, gz = gpuarray.to_gpu(x), gpuarray.to_gpu(y), gpuarray.empty(N, np.float32)
    kernel.prepare("ifPPP")

    def launch():
        kernel.prepared_call((N // 256, 1), (256, 1, 1), N, 2.5, gx.gpudata, gy.gpudata, gz.gpudata)
        drv.Context.synchronize()

    launch()
    assert np.allclose(gz.get(), np.float32(2.5) * x + y)
    z = np.empty_like(x)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, y, z)]
    outside, _ = count_instructions(SAXPY, "saxpy")
    return (
        outside * N // 32,
        median_time(launch),
        median_time(lambda: np.float32(2.5) * x + y),
        median_time(lambda: raw.raw_saxpy(ctypes.c_long(N), ctypes.c_float(2.5), *pointers)),
    )


def run_mandelbrot(raw):
    kernel = SourceModule(MANDELBROT).get_function("mandelbrot")
    out = gpuarray.empty((SIZE, SIZE), np.int32)
    kernel.prepare("iiP")

    def launch():
        kernel.prepared_call((SIZE // 32, SIZE // 8), (32, 8, 1), SIZE, LIMIT, out.gpudata)
        drv.Context.synchronize()

    launch()
    counts = out.get()
    plain = np.empty((SIZE, SIZE), np.int32)

    def in_c():
        raw.raw_mandelbrot(SIZE, LIMIT, ctypes.c_void_p(plain.ctypes.data))

    in_c()
    # Contraction to fused multiply-adds moves single pixels at the border by a step or two.
    assert (counts != plain).mean() < 0.02
    outside, inside = count_instructions(MANDELBROT, "mandelbrot")
    rounds = counts.reshape(SIZE, SIZE // 32, 32).max(axis=2)
    instructions = int(outside * rounds.size + inside * rounds.sum())
    return instructions, median_time(launch, 5), median_time(mandelbrot_numpy, 3), median_time(in_c, 3)


def mandelbrot_numpy():
    steps = np.arange(SIZE, dtype=np.float32) / SIZE * np.float32(3)
    c = (steps - 2)[None, :] + 1j * (steps - np.float32(1.5))[:, None]
    c = c.astype(np.complex64)
    z, counts = np.zeros_like(c), np.zeros(c.shape, np.int32)
    alive = np.ones(c.shape, bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(LIMIT):
            z[alive] = z[alive] ** 2 + c[alive]
            counts[alive] += 1
            alive &= (z.real**2 + z.imag**2) < 4
    return counts


def run_matmul(raw):
    kernel = SourceModule(MATMUL).get_function("matmul")
    a, b = np.random.rand(2, M, M).astype(np.float32)
    ga, gb, gc = gpuarray.to_gpu(a), gpuarray.to_gpu(b), gpuarray.empty((M, M), np.float32)
    kernel.prepare("iPPP")

    def launch():
        kernel.prepared_call((M // 16, M // 16), (16, 16, 1), M, ga.gpudata, gb.gpudata, gc.gpudata)
        drv.Context.synchronize()

    launch()
    assert np.allclose(gc.get(), a @ b, rtol=1e-4)
    outside, inside = count_instructions(MATMUL, "matmul")
    warps = M * M // 32
    c = np.empty_like(a)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)]
    return (
        (outside + inside * (M // 16)) * warps,
        median_time(launch),
        median_time(lambda: a @ b),
        median_time(lambda: raw.raw_matmul(M, *pointers)),
    )


def pocl_times():
    """Seconds of the same three kernels on PoCL, or Nones when it is not installed."""
    try:
        from interpreter_pocl import times
    except ImportError:
        return None, None, None
    return times(N, SIZE, LIMIT, M)


def main():
    raw = build_raw()
    names = ("saxpy 2^20", "Mandelbrot 512x512", "16x16 tiled product 256^3")
    rows = []
    for name, run, pocl in zip(names, (run_saxpy, run_mandelbrot, run_matmul), pocl_times(), strict=True):
        instructions, ours, numpy_time, plain = run(raw)
        rows.append(
            (
                name,
                f"{ours * 1e9 / instructions:.2f}",
                f"{ours * 1e3:.2f}",
                f"{pocl * 1e3:.2f}" if pocl else "",
                f"{ours / pocl:.2f}" if pocl else "",
                f"{numpy_time * 1e3:.2f}",
                f"{plain * 1e3:.2f}",
            )
        )
    table(
        "CPU device, one core",
        ["kernel", "ns/warp instr.", "ours, ms", "PoCL, ms", "x PoCL", "NumPy, ms", "C -O3, ms"],
        rows,
    )


if __name__ == "__main__":
    print(pycuda.autoinit.device.name())
    main()
