"""The CPU device's interpreter on one core: ns per warp instruction, with PoCL, NumPy and plain C.

Three kernels: a stream (saxpy), divergence (Mandelbrot), barriers and shared memory (tiled product), on every
instruction set that this processor has. All run once a round, one after another, so that whatever else the
machine does falls on all; a ratio is the median of the rounds' ratios. Instructions are counted in the PTX:
those outside loops once a warp, those of the loop as often as the warp goes round.
"""

import ctypes
import os
import re
import statistics
import time

os.environ.update(PYCUDA_DEVICE="cpu", PYCUDA_CPU_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from common import build_raw, processor, rounds, table

import pycuda.autoinit
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule, compile

N = 1 << 20  # elements of saxpy
SIZE, LIMIT = 512, 256  # the side of Mandelbrot's picture, and its maximum of steps
M = 256  # the side of the matrices
ISAS = {"v2": "SSE4", "v3": "AVX2", "v4": "AVX-512"}
ROUNDS = 15

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
    """(instructions outside loops, instructions inside the largest loop) of the kernel's PTX: a loop is from
    a label to the last branch back to it.
    """
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


def addresses(arrays):
    """The addresses of NumPy arrays as arguments for C."""
    return [ctypes.c_void_p(array.ctypes.data) for array in arrays]


# A problem has: ours(), which returns the launch of its kernel on the CPU device; numpy() and plain(raw),
# which compute the same with NumPy and with raw.c; instructions(), the number of warp instructions that the
# last launch executed, which checks its results.


class Saxpy:
    name = "saxpy 2^20"

    def __init__(self):
        self.x, self.y = np.random.rand(2, N).astype(np.float32)
        self.arrays = [gpuarray.to_gpu(self.x), gpuarray.to_gpu(self.y), gpuarray.empty(N, np.float32)]
        self.plain_arrays = self.x, self.y, np.empty_like(self.x)

    def ours(self):
        kernel = SourceModule(SAXPY).get_function("saxpy").prepare("ifPPP")
        args = [N, 2.5, *(array.gpudata for array in self.arrays)]
        return lambda: kernel.prepared_call((N // 256, 1), (256, 1, 1), *args)

    def numpy(self):
        return np.float32(2.5) * self.x + self.y

    def plain(self, raw):
        raw.raw_saxpy(ctypes.c_long(N), ctypes.c_float(2.5), *addresses(self.plain_arrays))

    def instructions(self):
        assert np.allclose(self.arrays[2].get(), self.numpy())
        return count_instructions(SAXPY, "saxpy")[0] * N // 32


class Mandelbrot:
    name = "Mandelbrot 512x512"

    def __init__(self):
        self.out = gpuarray.empty((SIZE, SIZE), np.int32)
        self.counts = np.empty((SIZE, SIZE), np.int32)

    def ours(self):
        kernel = SourceModule(MANDELBROT).get_function("mandelbrot").prepare("iiP")
        args = [SIZE, LIMIT, self.out.gpudata]
        return lambda: kernel.prepared_call((SIZE // 32, SIZE // 8), (32, 8, 1), *args)

    def numpy(self):
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

    def plain(self, raw):
        raw.raw_mandelbrot(SIZE, LIMIT, ctypes.c_void_p(self.counts.ctypes.data))

    def instructions(self):
        counts = self.out.get()
        # Contraction to fused multiply-adds moves single pixels at the border by a step or two.
        assert (counts != self.counts).mean() < 0.02
        outside, inside = count_instructions(MANDELBROT, "mandelbrot")
        turns = counts.reshape(SIZE, SIZE // 32, 32).max(axis=2)
        return int(outside * turns.size + inside * turns.sum())


class Matmul:
    name = "16x16 tiled product 256^3"

    def __init__(self):
        self.a, self.b = np.random.rand(2, M, M).astype(np.float32)
        self.arrays = [gpuarray.to_gpu(self.a), gpuarray.to_gpu(self.b), gpuarray.empty((M, M), np.float32)]
        self.plain_arrays = self.a, self.b, np.empty_like(self.a)

    def ours(self):
        kernel = SourceModule(MATMUL).get_function("matmul").prepare("iPPP")
        args = [M, *(array.gpudata for array in self.arrays)]
        return lambda: kernel.prepared_call((M // 16, M // 16), (16, 16, 1), *args)

    def numpy(self):
        return self.a @ self.b

    def plain(self, raw):
        raw.raw_matmul(M, *addresses(self.plain_arrays))

    def instructions(self):
        assert np.allclose(self.arrays[2].get(), self.numpy(), rtol=1e-4)
        outside, inside = count_instructions(MATMUL, "matmul")
        return (outside + inside * (M // 16)) * M * M // 32


def our_launches(problem):
    """{name: launch} for each instruction set of this processor: the setting is read when a module
    is loaded.
    """
    launches = {}
    for isa, title in ISAS.items():
        os.environ["PYCUDA_CPU_ISA"] = isa
        if drv.Device(0).name().endswith(f", {isa})"):
            launches[f"ours, {title}"] = problem.ours()
    del os.environ["PYCUDA_CPU_ISA"]
    return launches


def pocl_launches():
    """{class of the problem: its launch on PoCL}, empty if that is not installed."""
    try:
        from interpreter_pocl import launches
    except ImportError:
        return {}
    return dict(zip((Saxpy, Mandelbrot, Matmul), launches(N, SIZE, LIMIT, M), strict=True))


def timed(call, wait=lambda: None):
    """A measure: nanoseconds of a call and of the wait for its work."""

    def measure():
        start = time.perf_counter_ns()
        call()
        wait()
        return time.perf_counter_ns() - start

    return measure


def median_ratio(times, others):
    """The median of the rounds' ratios of two measurements."""
    return statistics.median(a / b for a, b in zip(times, others, strict=True))


def rows_of(problem, raw, pocl):
    """The table's rows for a problem, one for each implementation. `raw` is the C library, `pocl` the launch
    on PoCL or None.
    """
    ours = our_launches(problem)
    measures = {name: timed(launch, drv.Context.synchronize) for name, launch in ours.items()}
    if pocl:
        measures["PoCL"] = timed(pocl)
    measures["NumPy"] = timed(problem.numpy)
    measures["C -O3"] = timed(lambda: problem.plain(raw))
    times = rounds(measures, ROUNDS)
    instructions = problem.instructions()
    for name, mine in times.items():
        yield (
            f"{problem.name}: {name}",
            f"{statistics.median(mine) / 1e6:.2f}",
            f"{min(mine) / 1e6:.2f}",
            f"{max(mine) / 1e6:.2f}",
            f"{statistics.median(mine) / instructions:.2f}" if name in ours else "",
            f"{median_ratio(mine, times['PoCL']):.2f}" if pocl else "",
            f"{median_ratio(mine, times['C -O3']):.2f}",
        )


def main():
    raw, pocl = build_raw(), pocl_launches()
    rows = [row for kind in (Saxpy, Mandelbrot, Matmul) for row in rows_of(kind(), raw, pocl.get(kind))]
    table(
        "CPU device, one core",
        ["kernel", "ms", "min", "max", "ns/warp instr.", "x PoCL", "x C"],
        rows,
        on=processor(),
    )


if __name__ == "__main__":
    print(pycuda.autoinit.device.name())
    main()
