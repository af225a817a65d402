"""A picture turned, enlarged and sharpened: textures interpolate, and mirror the picture outside of it."""

import numpy as np

try:
    from matplotlib.image import imsave
except ImportError:
    imsave = None  # nothing is drawn

import pycuda.driver as drv
from pycuda.compiler import SourceModule

SIZE = 192

turn = SourceModule("""
texture<unsigned char, 2, cudaReadModeNormalizedFloat> image;

__global__ void turn(unsigned char *out, int size, float angle, float zoom, float sharp)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y;
    float x = (px + 0.5f) / size - 0.5f, y = (py + 0.5f) / size - 0.5f;
    float s = sinf(angle) / zoom, c = cosf(angle) / zoom;
    float u = c * x - s * y + 0.5f, v = s * x + c * y + 0.5f, d = 1.0f / size;
    float here = tex2D(image, u, v);
    float sides = tex2D(image, u - d, v) + tex2D(image, u + d, v);
    float above = tex2D(image, u, v - d) + tex2D(image, u, v + d);
    out[py * size + px] = 255 * __saturatef(here + sharp * (here - (sides + above) / 4));
}
""")
y, x = np.mgrid[-1 : 1 : SIZE * 1j, -1 : 1 : SIZE * 1j]
rings = 0.5 + 0.5 * np.cos(25 * (x * x + y * y))
picture = (255 * rings * ((np.floor(6 * x) + np.floor(6 * y)) % 2 * 0.5 + 0.5)).astype(np.uint8)

texref = turn.get_texref("image")
texref.set_array(drv.matrix_to_array(picture, "C"))
texref.set_filter_mode(drv.filter_mode.LINEAR)
texref.set_address_mode(0, drv.address_mode.MIRROR)
texref.set_address_mode(1, drv.address_mode.MIRROR)
texref.set_flags(drv.TRSF_NORMALIZED_COORDINATES)

out = np.empty_like(picture)
kernel = turn.get_function("turn")


def run(angle, zoom, sharp):
    """The picture turned by an angle, enlarged `zoom` times and sharpened, as a new array."""
    numbers = (np.float32(number) for number in (angle, zoom, sharp))
    kernel(
        drv.Out(out), np.int32(SIZE), *numbers,
        block=(64, 1, 1), grid=(SIZE // 64, SIZE), texrefs=[texref],
    )  # fmt: skip
    return out.copy()


assert np.abs(run(0, 1, 0).astype(int) - picture).max() <= 1  # unchanged, except for rounding
difference = np.abs(run(np.pi / 2, 1, 0).astype(int) - np.rot90(picture)).max()
print(f"a quarter turn differs from numpy.rot90 by {difference} of 255")
assert difference <= 2
if imsave:
    imsave("image-filter.png", np.hstack([picture, run(0.5, 0.8, 1)]), cmap="gray")
