"""Matrix multiplication: a kernel made from a template, compiled, launched, timed, and compared with
NumPy.
"""

import numpy as np

import pycuda.autoinit
import pycuda.driver as cuda
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

kernel_template = """
// C = A * B for square row-major matrices: a block of threads makes one tile of C, a thread one element.
__global__ void mm(double *A, double *B, double *C)
{
    const uint tx = threadIdx.x, ty = threadIdx.y;
    const uint row = %(BLOCK_SIZE)s * blockIdx.y + ty;
    const uint column = %(BLOCK_SIZE)s * blockIdx.x + tx;

    __shared__ double As[%(BLOCK_SIZE)s][%(BLOCK_SIZE)s];
    __shared__ double Bs[%(BLOCK_SIZE)s][%(BLOCK_SIZE)s];

    double sum = 0;
    for (uint tile = 0; tile < %(N)s; tile += %(BLOCK_SIZE)s) {
        // The block brings a tile of each matrix into shared memory, an element of each to a thread.
        As[ty][tx] = A[%(N)s * row + tile + tx];
        Bs[ty][tx] = B[%(N)s * (tile + ty) + column];
        __syncthreads();

        for (int k = 0; k < %(BLOCK_SIZE)s; ++k)
            sum += As[ty][k] * Bs[k][tx];

        // No thread overwrites a tile that others still read.
        __syncthreads();
    }
    C[%(N)s * row + column] = sum;
}
"""

device = pycuda.autoinit.device
on_cpu = device.name().startswith("CPU device")
N, BLOCK_SIZE, repeats = (256, 16, 3) if on_cpu else (2048, 32, 20)

module = SourceModule(kernel_template % {"N": N, "BLOCK_SIZE": BLOCK_SIZE})
mm = module.get_function("mm").prepare([np.intp, np.intp, np.intp])
grid, block = (N // BLOCK_SIZE, N // BLOCK_SIZE, 1), (BLOCK_SIZE, BLOCK_SIZE, 1)

generator = np.random.default_rng(0)
a = generator.random((N, N))
b = generator.random((N, N))
a_gpu, b_gpu = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
c_gpu = gpuarray.zeros((N, N), np.float64)

# The first launch, which also brings the code to the device, is not timed.
mm.prepared_call(grid, block, a_gpu.gpudata, b_gpu.gpudata, c_gpu.gpudata)

start, end = cuda.Event(), cuda.Event()
start.record()
for _ in range(repeats):
    mm.prepared_call(grid, block, a_gpu.gpudata, b_gpu.gpudata, c_gpu.gpudata)
end.record()
end.synchronize()
milliseconds = start.time_till(end) / repeats

expected = a @ b
error = np.abs(c_gpu.get() - expected).max()

print(f"device:       {device.name()}")
print(f"product:      {N} x {N} double, blocks of {BLOCK_SIZE} x {BLOCK_SIZE} threads")
print(f"kernel time:  {milliseconds:.3f} ms ({2 * N**3 / milliseconds / 1e6:.2f} GFLOP/s)")
print(f"max error:    {error:.2e} against NumPy, {error / expected.max():.1e} of the largest element")
if not error <= 1e-12 * expected.max() * np.sqrt(N):
    raise SystemExit("the product is wrong")
