"""Heat spreads over a plate, from one array to another by turns; compared with a decay that is known."""

import numpy as np

try:
    from matplotlib.image import imsave
except ImportError:
    imsave = None  # nothing is drawn

import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

SIZE, STEPS, RATE = 192, 1200, 0.24

step = SourceModule("""
__global__ void step(const float *from, float *to, int size, float rate)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int i = y * size + x;
    if (x >= size || y >= size) return;
    to[i] = from[i];
    if (x == 0 || y == 0 || x == size - 1 || y == size - 1) return; // the edge keeps its temperature
    to[i] += rate * (from[i - 1] + from[i + 1] + from[i - size] + from[i + size] - 4 * from[i]);
}
""").get_function("step")
step.prepare("PPif")


def run(plate, steps):
    """The temperatures after so many steps."""
    here, there = gpuarray.to_gpu(plate), gpuarray.to_gpu(plate)
    grid = (-(-SIZE // 32), -(-SIZE // 8))
    for _ in range(steps):
        step.prepared_call(grid, (32, 8, 1), here.gpudata, there.gpudata, SIZE, RATE)
        here, there = there, here
    return here.get()


# Half a sine wave keeps its shape, and decays by the same factor at every step.
wave = np.sin(np.linspace(0, np.pi, SIZE))
plate = np.outer(wave, wave).astype(np.float32)
factor = 1 - 8 * RATE * np.sin(np.pi / 2 / (SIZE - 1)) ** 2
error = np.abs(run(plate, 200) - plate * factor**200).max()
print(f"error after 200 steps: {error:.1e}")
assert error < 1e-4

plate = np.zeros((SIZE, SIZE), np.float32)
plate[0], plate[SIZE // 3 : SIZE // 2, SIZE // 4 : SIZE // 3] = 1, 4
plate[-40:-20, -60:-20] = 3
plate = run(plate, STEPS)
print(f"warmest place after {STEPS} steps: {plate.max():.2f}")
if imsave:
    imsave("heat.png", plate, cmap="inferno")
