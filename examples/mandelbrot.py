"""The Mandelbrot set, a series of pictures that zooms in: each picture is one launch."""

import numpy as np

try:
    from matplotlib.image import imsave
except ImportError:
    imsave = None  # nothing is drawn

import pycuda.driver as drv
from pycuda.compiler import SourceModule

SIZE, FRAMES, LIMIT = 256, 4, 300
CENTRE = -0.743643887, 0.131825904

mandelbrot = SourceModule("""
__global__ void mandelbrot(float *out, int size, double re, double im, double width, int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y;
    if (px >= size) return;
    double a = re + width * (px / (double)size - 0.5), b = im + width * (py / (double)size - 0.5);
    double x = 0, y = 0, x2 = 0, y2 = 0;
    int n = 0;
    for (; n < limit && x2 + y2 < 16; n++) {
        y = 2 * x * y + b;
        x = x2 - y2 + a;
        x2 = x * x;
        y2 = y * y;
    }
    // The fraction between two numbers of steps makes the colors smooth.
    out[py * size + px] = n == limit ? 0 : n + 1 - log2f(log2f((float)(x2 + y2)) / 2);
}
""").get_function("mandelbrot")

steps = drv.pagelocked_empty((SIZE, SIZE), np.float32)
for frame in range(FRAMES):
    width = 3.0 * 0.12**frame
    mandelbrot(
        drv.Out(steps), np.int32(SIZE), *map(np.float64, (*CENTRE, width)), np.int32(LIMIT),
        block=(128, 1, 1), grid=(SIZE // 128, SIZE),
    )  # fmt: skip
    print(f"width {width:.1e}: {(steps > 0).mean():.0%} of the points escape, {steps.mean():.0f} steps each")
    if imsave:
        imsave(f"mandelbrot-{frame}.png", steps**0.5, cmap="inferno")
