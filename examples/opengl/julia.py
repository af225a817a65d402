"""A picture that kernels compute and OpenGL draws: a Julia set on a textured square, a circle of points.

Writes a PNG: python examples/opengl/julia.py [FILE]
"""

import ctypes
import struct
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import offscreen_gl

SIZE, POINTS = 512, 400
# OpenGL's constants, by their names without GL_. (GL_POINTS is DRAW_POINTS.)
TEXTURE_2D, ARRAY_BUFFER, FRAMEBUFFER, RGBA, RGBA8 = 0x0DE1, 0x8892, 0x8D40, 0x1908, 0x8058
UNSIGNED_BYTE, FLOAT, QUADS, DRAW_POINTS = 0x1401, 0x1406, 7, 0
TEXTURE_MAG_FILTER, TEXTURE_MIN_FILTER, NEAREST, COLOR_ATTACHMENT0 = 0x2800, 0x2801, 0x2600, 0x8CE0
VERTEX_ARRAY, TEXTURE_COORD_ARRAY, STATIC_DRAW = 0x8074, 0x8078, 0x88E4

SOURCE = """
__global__ void julia(cudaSurfaceObject_t image, int size, float re, float im)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y;
    if (px >= size) return;
    float x = 3.0f * px / size - 1.5f, y = 3.0f * py / size - 1.5f;
    int n = 0;
    for (; n < 255 && x * x + y * y < 4; n++) {
        float next = x * x - y * y + re;
        y = 2 * x * y + im;
        x = next;
    }
    surf2Dwrite(make_uchar4(n, 4 * n, 16 * n, 255), image, 4 * px, py);
}
__global__ void circle(float2 *points, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) points[i] = make_float2(0.9f * cospif(2.0f * i / n), 0.9f * sinpif(2.0f * i / n));
}
"""


def chunk(kind, data):
    """A chunk of a PNG file: length, kind, data, checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(pixels):
    """The bytes of a PNG of an array (height, width, 3) of uint8."""
    height, width = pixels.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def texture(gl):
    """The name of a new texture of SIZE x SIZE pixels, which is bound."""
    name = gl.make("Textures")
    gl.glBindTexture(TEXTURE_2D, name)
    for what in TEXTURE_MAG_FILTER, TEXTURE_MIN_FILTER:  # the default of the latter needs mipmaps
        gl.glTexParameteri(TEXTURE_2D, what, NEAREST)
    gl.glTexImage2D(TEXTURE_2D, 0, RGBA8, SIZE, SIZE, 0, RGBA, UNSIGNED_BYTE, None)
    return name


def compute(drv, cuda_gl, image, points):
    """Runs both kernels, which write the texture `image` and the buffer `points` of OpenGL."""
    from pycuda.compiler import SourceModule

    module = SourceModule(SOURCE)
    flags = cuda_gl.graphics_register_flags
    pixels = cuda_gl.RegisteredImage(image, TEXTURE_2D, flags.SURFACE_LDST)
    mapping = pixels.map()
    surface = drv.SurfaceObject(mapping.array(0, 0))
    constant = np.float32(-0.8), np.float32(0.156)
    module.get_function("julia")(
        surface, np.int32(SIZE), *constant, block=(256, 1, 1), grid=(SIZE // 256, SIZE)
    )
    mapping.unmap()
    vertices = cuda_gl.RegisteredBuffer(points, flags.WRITE_DISCARD)
    mapping = vertices.map()
    address, _ = mapping.device_ptr_and_size()
    module.get_function("circle")(np.uintp(address), np.int32(POINTS), block=(128, 1, 1), grid=(4, 1))
    mapping.unmap()


def draw(gl, image, points):
    """Draws the square with the texture, then the points in white. Returns the pixels, the top row first."""
    target = texture(gl)
    gl.glBindFramebuffer(FRAMEBUFFER, gl.make("Framebuffers"))
    gl.glFramebufferTexture2D(FRAMEBUFFER, COLOR_ATTACHMENT0, TEXTURE_2D, target, 0)
    gl.glViewport(0, 0, SIZE, SIZE)
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float32)
    places = (corners + 1) / 2
    gl.glEnable(TEXTURE_2D)
    gl.glBindTexture(TEXTURE_2D, image)
    gl.glBindBuffer(ARRAY_BUFFER, 0)
    for array, pointer, host in (
        (VERTEX_ARRAY, gl.glVertexPointer, corners),
        (TEXTURE_COORD_ARRAY, gl.glTexCoordPointer, places),
    ):
        gl.glEnableClientState(array)
        pointer(2, FLOAT, 0, host.ctypes.data_as(ctypes.c_void_p))
    gl.glDrawArrays(QUADS, 0, 4)
    gl.glDisable(TEXTURE_2D)
    gl.glDisableClientState(TEXTURE_COORD_ARRAY)
    gl.glBindBuffer(ARRAY_BUFFER, points)
    gl.glVertexPointer(2, FLOAT, 0, None)
    gl.glDrawArrays(DRAW_POINTS, 0, POINTS)
    pixels = np.empty((SIZE, SIZE, 4), np.uint8)
    gl.glReadPixels(0, 0, SIZE, SIZE, RGBA, UNSIGNED_BYTE, pixels.ctypes.data_as(ctypes.c_void_p))
    return pixels[::-1, :, :3]


def main():
    gl = offscreen_gl.Context()
    import pycuda.driver as drv
    import pycuda.gl as cuda_gl
    import pycuda.gl.autoinit  # noqa: F401

    image, points = texture(gl), gl.make("Buffers")
    gl.glBindBuffer(ARRAY_BUFFER, points)
    gl.glBufferData(ARRAY_BUFFER, ctypes.c_ssize_t(8 * POINTS), None, STATIC_DRAW)
    compute(drv, cuda_gl, image, points)
    path = Path(sys.argv[1] if sys.argv[1:] else Path(tempfile.mkdtemp()) / "julia.png")
    path.write_bytes(png(draw(gl, image, points)))
    print(path)


if __name__ == "__main__":
    try:
        main()
    except offscreen_gl.NoOpenGL as error:
        print(f"OpenGL cannot draw without a window on this machine: {error}")
