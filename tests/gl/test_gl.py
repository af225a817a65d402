"""Buffers and textures that kernels and OpenGL share: what one writes the other sees."""

import ctypes
import gc
import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gl as cuda_gl
from pycuda.compiler import SourceModule

# OpenGL's constants, by their names without GL_. (GL_POINTS is DRAW_POINTS.)
ARRAY_BUFFER, STATIC_DRAW, TEXTURE_2D, RGBA, UNSIGNED_BYTE = 0x8892, 0x88E4, 0x0DE1, 0x1908, 0x1401
RGBA8, R32F, RED, FLOAT = 0x8058, 0x822E, 0x1903, 0x1406
TEXTURE_MAG_FILTER, TEXTURE_MIN_FILTER, NEAREST = 0x2800, 0x2801, 0x2600
PACK_ALIGNMENT, UNPACK_ALIGNMENT, PROJECTION = 0x0D05, 0x0CF5, 0x1701
FRAMEBUFFER, COLOR_ATTACHMENT0, FRAMEBUFFER_COMPLETE = 0x8D40, 0x8CE0, 0x8CD5
COLOR_BUFFER_BIT, VERTEX_ARRAY, DRAW_POINTS = 0x4000, 0x8074, 0
# CUDA's errors, by their names without CUDA_ERROR_.
INVALID_VALUE, INVALID_HANDLE, NOT_MAPPED, NOT_MAPPED_AS_ARRAY = 1, 400, 211, 212
WRITE = cuda_gl.graphics_map_flags.WRITE_DISCARD
READ = cuda_gl.graphics_map_flags.READ_ONLY
STORE = cuda_gl.graphics_register_flags.SURFACE_LDST

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "opengl"

SOURCE = """
__global__ void add(float *a, int n, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += by;
}
__global__ void pixels(cudaSurfaceObject_t image, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height) surf2Dwrite(make_uchar4(x, y, x ^ y, 255), image, 4 * x, y);
}
"""


def pointer(array):
    """The address of a NumPy array for ctypes."""
    return array.ctypes.data_as(ctypes.c_void_p)


def make_buffer(gl, numbers):
    """The name of a new buffer with the elements of a NumPy array."""
    name = gl.make("Buffers")
    gl.glBindBuffer(ARRAY_BUFFER, name)
    gl.glBufferData(ARRAY_BUFFER, ctypes.c_ssize_t(numbers.nbytes), pointer(numbers), STATIC_DRAW)
    return name


def read_buffer(gl, name, like):
    """The contents of a buffer as a NumPy array like another."""
    out = np.empty_like(like)
    gl.glBindBuffer(ARRAY_BUFFER, name)
    gl.glGetBufferSubData(ARRAY_BUFFER, ctypes.c_ssize_t(0), ctypes.c_ssize_t(out.nbytes), pointer(out))
    return out


def make_texture(gl, internal, pixels, kind, host):
    """The name of a new texture with the format `internal` and the pixels of a NumPy array, whose format is
    `pixels` and whose type is `kind`.
    """
    name = gl.make("Textures")
    gl.glBindTexture(TEXTURE_2D, name)
    for what in TEXTURE_MAG_FILTER, TEXTURE_MIN_FILTER:  # the default of the latter needs mipmaps
        gl.glTexParameteri(TEXTURE_2D, what, NEAREST)
    gl.glTexImage2D(TEXTURE_2D, 0, internal, host.shape[1], host.shape[0], 0, pixels, kind, pointer(host))
    return name


def read_texture(gl, name, pixels, kind, like):
    """The pixels of a texture as a NumPy array like another; pixels, kind: their format and type."""
    out = np.empty_like(like)
    gl.glBindTexture(TEXTURE_2D, name)
    gl.glPixelStorei(PACK_ALIGNMENT, 1)
    gl.glGetTexImage(TEXTURE_2D, 0, pixels, kind, pointer(out))
    return out


@pytest.mark.parametrize("streamed", [False, True])
def test_a_kernel_changes_a_buffer(gl, cuda, streamed):
    numbers = np.arange(1000, dtype=np.float32)
    name = make_buffer(gl, numbers)
    add, stream = SourceModule(SOURCE).get_function("add"), drv.Stream() if streamed else None
    registered = cuda_gl.RegisteredBuffer(name)
    assert registered.gl_handle() == name
    for turn in 1, 2, 3:
        mapping = registered.map(stream)
        address, size = mapping.device_ptr_and_size()
        assert size == numbers.nbytes
        add(np.uintp(address), np.int32(1000), np.float32(2), block=(256, 1, 1), grid=(4, 1), stream=stream)
        mapping.unmap()
        assert (read_buffer(gl, name, numbers) == numbers + 2 * turn).all()
    registered.unregister()


def test_a_buffer_that_is_mapped_for_reading(gl, cuda):
    numbers = np.random.default_rng(1).normal(size=300).astype("f")
    mapping = cuda_gl.RegisteredBuffer(make_buffer(gl, numbers), READ).map()
    assert (drv.from_device(mapping.device_ptr_and_size()[0], 300, np.float32) == numbers).all()


def test_names_of_older_programs(gl, cuda):
    numbers = np.arange(64, dtype=np.float32)
    name = make_buffer(gl, numbers)
    with pytest.warns(DeprecationWarning, match="make_context"):
        cuda_gl.init()
    with pytest.warns(DeprecationWarning, match="RegisteredBuffer"):
        buffer = cuda_gl.BufferObject(name)
    mapping = buffer.map()
    assert buffer.handle() == name and mapping.size() == numbers.nbytes
    drv.memcpy_htod(mapping.device_ptr(), numbers[::-1].copy())
    mapping.unmap()
    buffer.unregister()
    assert (read_buffer(gl, name, numbers) == numbers[::-1]).all()


def test_a_kernel_writes_a_texture(gl, cuda):
    host = np.zeros((40, 70, 4), np.uint8)
    name = make_texture(gl, RGBA8, RGBA, UNSIGNED_BYTE, host)
    registered = cuda_gl.RegisteredImage(name, TEXTURE_2D, STORE)
    mapping = registered.map()
    array = mapping.array(0, 0)
    shape = array.get_descriptor()
    assert (shape.width, shape.height, shape.num_channels) == (70, 40, 4)
    surface = drv.SurfaceObject(array)
    SourceModule(SOURCE).get_function("pixels")(
        surface, np.int32(70), np.int32(40), block=(128, 1, 1), grid=(1, 40)
    )
    del surface
    mapping.unmap()
    y, x = np.indices((40, 70))
    expected = np.stack([x, y, x ^ y, np.full_like(x, 255)], axis=-1).astype(np.uint8)
    assert (read_texture(gl, name, RGBA, UNSIGNED_BYTE, host) == expected).all()


def test_a_texture_of_opengl_is_read(gl, cuda):
    host = np.random.default_rng(2).random((17, 33), np.float32)
    name = make_texture(gl, R32F, RED, FLOAT, host)
    mapping = cuda_gl.RegisteredImage(name, TEXTURE_2D, READ).map()
    out = np.zeros_like(host)
    copy = drv.Memcpy2D()
    copy.set_src_array(mapping.array(0, 0))
    copy.set_dst_host(out)
    copy.width_in_bytes = copy.dst_pitch = 33 * 4
    copy.height = 17
    copy(aligned=False)
    assert (out == host).all()


def level_shape(k):
    """The shape of level k of the texture `leveled`."""
    return 13 >> k, 6 >> k or 1


@pytest.fixture
def leveled(gl, cuda):
    """(the name of a texture with three levels, [the pixels of each])"""
    data = [np.random.default_rng(k).random(level_shape(k), np.float32) for k in range(3)]
    name = make_texture(gl, R32F, RED, FLOAT, data[0])
    gl.glPixelStorei(UNPACK_ALIGNMENT, 1)
    for k in 1, 2:
        rows, columns = data[k].shape
        gl.glTexImage2D(TEXTURE_2D, k, R32F, columns, rows, 0, RED, FLOAT, pointer(data[k]))
    return name, data


def copy_level(array, host, back=False):
    """Copies a CUDA array of one level into a NumPy array or, with `back`, the other way."""
    copy = drv.Memcpy2D()
    (copy.set_dst_array if back else copy.set_src_array)(array)
    (copy.set_src_host if back else copy.set_dst_host)(host)
    copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = host.shape[1] * host.itemsize
    copy.height = host.shape[0]
    copy(aligned=False)


def test_levels_of_a_texture(gl, leveled):
    name, data = leveled
    mapping = cuda_gl.RegisteredImage(name, TEXTURE_2D).map()
    for k, values in enumerate(data):
        found = np.zeros_like(values)
        copy_level(mapping.array(0, k), found)
        assert (found == values).all()
        copy_level(mapping.array(0, k), values + 1, back=True)
    with pytest.raises(drv.LogicError, match="level 3"):
        mapping.array(0, 3)
    mapping.unmap()
    for k, values in enumerate(data):
        out = np.empty_like(values)
        gl.glBindTexture(TEXTURE_2D, name)
        gl.glGetTexImage(TEXTURE_2D, k, RED, FLOAT, pointer(out))
        assert (out == values + 1).all()


def test_levels_as_one_mipmapped_array(leveled, driver_library):
    driver, handle, level = ctypes.CDLL(driver_library), ctypes.c_void_p(), ctypes.c_void_p()
    name, data = leveled
    resource, mipmap = (ctypes.c_void_p * 1)(), ctypes.c_void_p()
    assert not driver.cuGraphicsGLRegisterImage(resource, name, TEXTURE_2D, 0)
    find = driver.cuGraphicsResourceGetMappedMipmappedArray
    handle.value = resource[0]
    assert find(ctypes.byref(mipmap), handle) == NOT_MAPPED
    assert find(ctypes.byref(mipmap), None) == INVALID_HANDLE
    assert not driver.cuGraphicsMapResources(1, resource, None)
    assert not find(ctypes.byref(mipmap), handle)
    for k, values in enumerate(data):
        found = np.zeros_like(values)
        assert not driver.cuMipmappedArrayGetLevel(ctypes.byref(level), mipmap, k)
        # CUDA_MEMCPY2D from an array (memory type 3) to the host (1).
        words = [0, 0, 3, 0, 0, level.value, 0, 0, 0, 1, found.ctypes.data, 0, 0, found.strides[0]]
        assert not driver.cuMemcpy2D_v2((ctypes.c_size_t * 16)(*words, found.strides[0], len(found)))
        assert (found == values).all()
    assert driver.cuMipmappedArrayGetLevel(ctypes.byref(level), mipmap, 3) == INVALID_VALUE
    assert not driver.cuGraphicsUnmapResources(1, resource, None)
    assert find(ctypes.byref(mipmap), handle) == NOT_MAPPED
    assert not driver.cuGraphicsUnregisterResource(handle)


def test_a_buffer_has_no_levels(gl, cuda, driver_library):
    driver, resource, mipmap = ctypes.CDLL(driver_library), (ctypes.c_void_p * 1)(), ctypes.c_void_p()
    assert not driver.cuGraphicsGLRegisterBuffer(resource, make_buffer(gl, np.zeros(8, "f")), 0)
    assert not driver.cuGraphicsMapResources(1, resource, None)
    handle = ctypes.c_void_p(resource[0])
    found = driver.cuGraphicsResourceGetMappedMipmappedArray(ctypes.byref(mipmap), handle)
    assert found == NOT_MAPPED_AS_ARRAY
    assert not driver.cuGraphicsUnmapResources(1, resource, None)
    assert not driver.cuGraphicsUnregisterResource(handle)


def test_opengl_draws_points_that_a_kernel_moved(gl, cuda):
    """OpenGL draws them without a shader. Each point covers the pixel around it."""
    size, count = 64, 50
    places = np.random.default_rng(3).permutation(size * size // 2)[:count]
    points = np.stack([places % size, places // size], axis=1).astype("f") + np.float32(0.5)
    name = make_buffer(gl, points)
    picture = make_texture(gl, RGBA8, RGBA, UNSIGNED_BYTE, np.zeros((size, size, 4), np.uint8))
    frame = gl.make("Framebuffers")
    gl.glBindFramebuffer(FRAMEBUFFER, frame)
    gl.glFramebufferTexture2D(FRAMEBUFFER, COLOR_ATTACHMENT0, TEXTURE_2D, picture, 0)
    gl.glViewport(0, 0, size, size)
    gl.glMatrixMode(PROJECTION)
    gl.glOrtho(*map(ctypes.c_double, (0, size, 0, size, -1, 1)))
    mapping = cuda_gl.RegisteredBuffer(name).map()
    add = SourceModule(SOURCE).get_function("add")
    moved = np.uintp(mapping.device_ptr_and_size()[0])
    add(moved, np.int32(2 * count), np.float32(3), block=(128, 1, 1))
    mapping.unmap()
    gl.glClear(COLOR_BUFFER_BIT)
    gl.glBindBuffer(ARRAY_BUFFER, name)
    gl.glEnableClientState(VERTEX_ARRAY)
    gl.glVertexPointer(2, FLOAT, 0, None)
    gl.glDrawArrays(DRAW_POINTS, 0, count)
    assert gl.glCheckFramebufferStatus(FRAMEBUFFER) == FRAMEBUFFER_COMPLETE
    seen = np.zeros((size, size, 4), np.uint8)
    gl.glReadPixels(0, 0, size, size, RGBA, UNSIGNED_BYTE, pointer(seen))
    gl.glBindFramebuffer(FRAMEBUFFER, 0)
    assert not gl.glGetError()
    expected = sorted((y, x) for x, y in (points + 3).astype(int).tolist() if x < size)
    assert [tuple(place) for place in np.argwhere(seen[..., 0]).tolist()] == expected


def test_program_of_the_page(gl, run_python):
    """The program leaves a context current, so it runs in a process of its own."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "opengl.md").read_text()
    program = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(EXAMPLES)!r}]
import numpy as np
import offscreen_gl
from test_gl import make_buffer, read_buffer
gl = offscreen_gl.Context()
buffer = make_buffer(gl, np.zeros((1000, 2), np.float32))
exec({page.split("```py" + chr(10))[1].split("```")[0]!r})
points = read_buffer(gl, buffer, np.zeros((1000, 2), np.float32))
i = np.arange(1000)
assert np.allclose(points, np.stack([i / 500 - 1, np.sin(0.1 * i + 2) / 2], axis=1), atol=1e-5)
"""
    done = run_python(program)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_sessions_of_the_reference(gl, run_python):
    """docs/examples/opengl.pycon, with a buffer of 64 bytes and a texture of 8 x 4 pixels."""
    docs = Path(__file__).resolve().parents[2] / "docs"
    program = f"""
import doctest, sys
from pathlib import Path
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(EXAMPLES)!r}, {str(docs)!r}]
import numpy as np
import offscreen_gl
from test_gl import RGBA, RGBA8, UNSIGNED_BYTE, make_buffer, make_texture
gl = offscreen_gl.Context()
buffer = make_buffer(gl, np.zeros(16, np.float32))
texture = make_texture(gl, RGBA8, RGBA, UNSIGNED_BYTE, np.zeros((4, 8, 4), np.uint8))
import programs
runner = doctest.DocTestRunner()
for names, text in programs.examples_of(Path({str(docs / "examples" / "opengl.pycon")!r})):
    given = {{"buffer": buffer, "texture": texture}}
    runner.run(doctest.DocTestParser().get_doctest(text, given, names[0], None, 0))
assert runner.tries > 20 and not runner.failures
"""
    done = run_python(program)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr


def test_example(gl, tmp_path):
    """The example's picture: the corners have the dark color of points that diverge at once, the middle does
    not, and the white points of the circle are there.
    """
    path = tmp_path / "julia.png"
    environment = {**os.environ, "PYTHONSAFEPATH": ""}  # the example imports from its folder
    done = subprocess.run(
        [sys.executable, EXAMPLES / "julia.py", path], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG")
    rows = zlib.decompress(data[data.index(b"IDAT") + 4 : data.index(b"IEND") - 8])
    picture = np.frombuffer(rows, np.uint8).reshape(512, 1 + 3 * 512)[:, 1:].reshape(512, 512, 3)
    assert (picture[[0, 0, -1, -1], [0, -1, 0, -1]].max(axis=1) <= 48).all()
    assert picture[256, 256].max() > 48 and (picture == 255).all(axis=2).sum() > 300


# ---- errors


def test_unmap_and_unregister_once(gl, cuda):
    name = make_buffer(gl, np.zeros(8, "f"))
    registered = cuda_gl.RegisteredBuffer(name)
    mapping = registered.map()
    with pytest.raises(drv.LogicError):
        registered.map()
    with pytest.raises(drv.LogicError, match="is mapped"):
        registered.unregister()
    mapping.unmap()
    with pytest.raises(drv.LogicError, match="already unmapped"):
        mapping.unmap()
    with pytest.raises(drv.LogicError, match="no longer mapped"):
        mapping.device_ptr_and_size()
    registered.unregister()
    with pytest.raises(drv.LogicError, match="already unregistered"):
        registered.unregister()
    with pytest.raises(drv.LogicError, match="was unregistered"):
        registered.map()


def test_an_array_is_valid_until_it_is_unmapped(gl, cuda):
    name = make_texture(gl, RGBA8, RGBA, UNSIGNED_BYTE, np.zeros((4, 4, 4), np.uint8))
    mapping = cuda_gl.RegisteredImage(name, TEXTURE_2D).map()
    array = mapping.array(0, 0)
    with pytest.raises(drv.LogicError):
        mapping.device_ptr_and_size()
    mapping.unmap()
    with pytest.raises(drv.LogicError, match="valid until its graphics resource was unmapped"):
        array.get_descriptor()


def test_levels_and_faces_that_a_texture_lacks(gl, cuda):
    name = make_texture(gl, RGBA8, RGBA, UNSIGNED_BYTE, np.zeros((4, 4, 4), np.uint8))
    mapping = cuda_gl.RegisteredImage(name, TEXTURE_2D).map()
    with pytest.raises(drv.LogicError, match="index 0, level 1"):
        mapping.array(0, 1)
    with pytest.raises(drv.LogicError, match="index 2, level 0"):
        mapping.array(2, 0)
    assert mapping.array(0, 0).get_descriptor().width == 4
    mapping.unmap()


def test_the_last_reference_unmaps_and_unregisters(gl, cuda):
    name = make_buffer(gl, np.zeros(8, "f"))
    gc.collect()
    before = dict(drv._live_objects())
    mapping = cuda_gl.RegisteredBuffer(name).map()
    assert drv._live_objects()["RegisteredMapping"] == before.get("RegisteredMapping", 0) + 1
    del mapping
    gc.collect()
    assert dict(drv._live_objects()) == before
    cuda_gl.RegisteredBuffer(name).map().unmap()


def test_names_that_opengl_does_not_know(gl, cuda):
    with pytest.raises(drv.Error, match="cuGraphicsGLRegisterBuffer"):
        cuda_gl.RegisteredBuffer(12345)
    with pytest.raises(drv.Error, match="cuGraphicsGLRegisterImage"):
        cuda_gl.RegisteredImage(12345, TEXTURE_2D)
    for bad in (-1, 2**32, 1.5, "a"):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            cuda_gl.RegisteredBuffer(bad)


def test_without_a_context_of_opengl(primary_context):
    with pytest.raises(drv.Error, match="an OpenGL context must be current"):
        cuda_gl.make_context(drv.Device(0))
    with pytest.raises(drv.Error, match="context must be current"):
        cuda_gl.RegisteredBuffer(1)
    assert drv.have_gl_ext()


def test_autoinit_makes_a_context_for_opengl(gl, run_python):
    program = """
import sys
sys.path.insert(0, {folder!r})
import offscreen_gl
window = offscreen_gl.Context()
import pycuda.gl.autoinit as auto
import pycuda.driver as drv
assert drv.Context.get_current() == auto.context and auto.device == auto.context.get_device()
"""
    import offscreen_gl

    done = run_python(program.format(folder=offscreen_gl.__file__.rsplit("/", 1)[0]))
    assert done.returncode == 0 and not done.stdout, done.stderr
