"""The interpreter benchmark's kernels in OpenCL, on PoCL with one thread. Needs pyopencl and PoCL."""

import os

os.environ.update(POCL_MAX_PTHREAD_COUNT="1", POCL_CPU_MAX_CU_COUNT="1")

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void saxpy(int n, float s, global const float *x, global const float *y, global float *z)
{ int i = get_global_id(0); if (i < n) z[i] = s * x[i] + y[i]; }
kernel void mandelbrot(int size, int limit, global int *out)
{
    int column = get_global_id(0), row = get_global_id(1), i = 0;
    float cr = -2.0f + 3.0f * column / size, ci = -1.5f + 3.0f * row / size, zr = 0, zi = 0;
    while (i < limit && zr * zr + zi * zi < 4.0f) {
        float t = zr * zr - zi * zi + cr; zi = 2.0f * zr * zi + ci; zr = t; i++;
    }
    out[row * size + column] = i;
}
kernel void matmul(int n, global const float *a, global const float *b, global float *c)
{
    local float as[16][16], bs[16][16];
    int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        as[y][x] = a[row * n + t + x]; bs[y][x] = b[(t + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++) sum += as[y][k] * bs[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
"""


def launches(n, size, limit, m):
    """Calls that run saxpy, mandelbrot and matmul once and wait; built and run once before."""
    context = cl.Context(dev_type=cl.device_type.CPU)
    queue = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()
    flags = cl.mem_flags.COPY_HOST_PTR | cl.mem_flags.READ_WRITE
    arrays = [cl.Buffer(context, flags, hostbuf=np.random.rand(n).astype(np.float32)) for _ in range(3)]
    counts = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * size * size)
    calls = [
        (program.saxpy, (n,), (256,), (np.int32(n), np.float32(2.5), *arrays)),
        (program.mandelbrot, (size, size), (32, 8), (np.int32(size), np.int32(limit), counts)),
        (program.matmul, (m, m), (16, 16), (np.int32(m), *arrays)),
    ]

    def launch(kernel, grid, block, args):
        kernel(queue, grid, block, *args)
        queue.finish()

    for call in calls:
        launch(*call)
    return [lambda call=call: launch(*call) for call in calls]
