"""The game of life: a kernel plays it in a texture of OpenGL, which OpenGL then draws enlarged.

Writes a PNG: python examples/opengl/life.py [FOLDER]
"""

import ctypes
import sys
import tempfile
from pathlib import Path

import julia
import numpy as np
import offscreen_gl

SIDE, ROUNDS = 128, 100

SOURCE = """
__global__ void live(const unsigned char *now, unsigned char *next, cudaSurfaceObject_t image, int side)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, around = 0;
    if (x >= side) return;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            around += (dx || dy) && now[(y + dy + side) % side * side + (x + dx + side) % side];
    bool here = now[y * side + x], lives = around == 3 || (here && around == 2);
    next[y * side + x] = lives;
    uchar4 color = make_uchar4(12, 12, 30, 255);
    if (lives) color = here ? make_uchar4(250, 200, 60, 255) : make_uchar4(240, 110, 30, 255); // born now
    surf2Dwrite(color, image, 4 * x, y);
}
"""


def play(drv, cuda_gl, image, world):
    """Plays all rounds, each of which maps the texture, writes it and unmaps it. Returns the last world."""
    import pycuda.gpuarray as gpuarray
    from pycuda.compiler import SourceModule

    live = SourceModule(SOURCE).get_function("live")
    now, following = gpuarray.to_gpu(world), gpuarray.empty(world.shape, np.uint8)
    pixels = cuda_gl.RegisteredImage(image, julia.TEXTURE_2D, cuda_gl.graphics_register_flags.SURFACE_LDST)
    for _ in range(ROUNDS):
        mapping = pixels.map()
        surface = drv.SurfaceObject(mapping.array(0, 0))
        live(now, following, surface, np.int32(SIDE), block=(128, 1, 1), grid=(SIDE // 128, SIDE))
        mapping.unmap()
        now, following = following, now
    return now.get()


def texture(gl, side):
    """The name of a new texture of side x side pixels."""
    name = julia.texture(gl)
    gl.glTexImage2D(julia.TEXTURE_2D, 0, julia.RGBA8, side, side, 0, julia.RGBA, julia.UNSIGNED_BYTE, None)
    return name


def draw(gl, image, size):
    """Draws the texture on a square that fills the picture of size x size pixels, which are returned."""
    target = texture(gl, size)
    gl.glBindFramebuffer(julia.FRAMEBUFFER, gl.make("Framebuffers"))
    gl.glFramebufferTexture2D(julia.FRAMEBUFFER, julia.COLOR_ATTACHMENT0, julia.TEXTURE_2D, target, 0)
    gl.glViewport(0, 0, size, size)
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float32)
    places = (corners + 1) / 2
    gl.glEnable(julia.TEXTURE_2D)
    gl.glBindTexture(julia.TEXTURE_2D, image)
    gl.glBindBuffer(julia.ARRAY_BUFFER, 0)
    gl.glEnableClientState(julia.VERTEX_ARRAY)
    gl.glVertexPointer(2, julia.FLOAT, 0, corners.ctypes.data_as(ctypes.c_void_p))
    gl.glEnableClientState(julia.TEXTURE_COORD_ARRAY)
    gl.glTexCoordPointer(2, julia.FLOAT, 0, places.ctypes.data_as(ctypes.c_void_p))
    gl.glDrawArrays(julia.QUADS, 0, 4)
    pixels = np.empty((size, size, 4), np.uint8)
    gl.glReadPixels(0, 0, size, size, julia.RGBA, julia.UNSIGNED_BYTE, pixels.ctypes.data_as(ctypes.c_void_p))
    return pixels[..., :3]


def by_numpy(world):
    """The world after all rounds, computed by NumPy."""
    for _ in range(ROUNDS):
        around = sum(np.roll(world, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - world
        world = ((around == 3) | ((world == 1) & (around == 2))).astype(np.uint8)
    return world


def main():
    gl = offscreen_gl.Context()
    import pycuda.driver as drv
    import pycuda.gl as cuda_gl
    import pycuda.gl.autoinit  # noqa: F401

    world = (np.random.default_rng(7).random((SIDE, SIDE)) < 0.3).astype(np.uint8)
    image = texture(gl, SIDE)
    last = play(drv, cuda_gl, image, world)
    assert (last == by_numpy(world)).all()
    pixels = draw(gl, image, 3 * SIDE)
    assert ((pixels[1::3, 1::3, 0] > 100) == last).all()  # OpenGL drew the cells that live, 3 pixels wide
    print(f"{ROUNDS} rounds, {last.sum()} cells live, as computed by NumPy")
    path = Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp()) / "life.png"
    path.write_bytes(julia.png(pixels))
    print(path)


if __name__ == "__main__":
    try:
        main()
    except offscreen_gl.NoOpenGL as error:
        print(f"OpenGL cannot draw without a window on this machine: {error}")
