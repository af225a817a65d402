"""TextureObject and SurfaceObject: what kernels read and write through them, compared with a model in
NumPy."""

import gc

import numpy as np
import pytest
from texture_model import (
    BORDER,
    CLAMP,
    LINEAR,
    MIRROR,
    POINT,
    WRAP,
    array_of,
    contents,
    format_of,
    points,
    sample,
)

import pycuda.autoinit  # noqa: F401
import pycuda.driver as drv
from pycuda.compiler import SourceModule

NORMALIZED, INTEGER = drv.TRSF_NORMALIZED_COORDINATES, drv.TRSF_READ_AS_INTEGER
LAYERED, CUBEMAP = drv.array3d_flags.LAYERED, drv.array3d_flags.CUBEMAP

SOURCE = """
#define AT const float *x, const float *y, const float *z
#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void sample1(float4 *out, cudaTextureObject_t t, AT) { out[I] = tex1D<float4>(t, x[I]); }
__global__ void sample2(float4 *out, cudaTextureObject_t t, AT) { out[I] = tex2D<float4>(t, x[I], y[I]); }
__global__ void sample3(float4 *out, cudaTextureObject_t t, AT)
    { out[I] = tex3D<float4>(t, x[I], y[I], z[I]); }
__global__ void layers1(float4 *out, cudaTextureObject_t t, AT)
    { out[I] = tex1DLayered<float4>(t, x[I], (int)z[I]); }
__global__ void layers2(float4 *out, cudaTextureObject_t t, AT)
    { out[I] = tex2DLayered<float4>(t, x[I], y[I], (int)z[I]); }
__global__ void cube(float4 *out, cudaTextureObject_t t, AT)
    { out[I] = texCubemap<float4>(t, x[I], y[I], z[I]); }
__global__ void gather(float4 *out, cudaTextureObject_t t, AT)
    { out[I] = tex2Dgather<float4>(t, x[I], y[I], (int)z[I]); }
__global__ void fetch(float4 *out, cudaTextureObject_t t, AT) { out[I] = tex1Dfetch<float4>(t, (int)x[I]); }
__global__ void integers(int4 *out, cudaTextureObject_t t, AT) { out[I] = tex2D<int4>(t, x[I], y[I]); }
__global__ void unsigneds(uint4 *out, cudaTextureObject_t t, AT) { out[I] = tex2D<uint4>(t, x[I], y[I]); }
"""


@pytest.fixture
def read():
    """A function that reads texels by a kernel."""
    module = SourceModule(SOURCE)

    def read(name, texture, *coordinates, dtype=np.float32):
        """(points, 4) numbers: what the kernel of that name reads; missing coordinates are 0."""
        count = len(coordinates[0])
        out = np.zeros((count, 4), dtype)
        given = [np.asarray(at, np.float32) for at in coordinates]
        given += [np.zeros(count, np.float32)] * (3 - len(given))
        block = 128 if count % 128 == 0 else count
        module.get_function(name)(
            drv.Out(out), texture, *map(drv.In, given), block=(block, 1, 1), grid=(count // block, 1)
        )
        return out

    return read


def integers(*shape, seed=0, maximum=1000):
    """Random integers below the maximum, as floats."""
    return np.random.default_rng(seed).integers(0, maximum, shape).astype(np.float32)


# Sizes of textures, and points for each texel of an axis: products of the three fractions are multiples of
# 1/256.
SIZES, STEPS = [16, 8, 4], [16, 4, 4]


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("filtering", [POINT, LINEAR])
@pytest.mark.parametrize("mode", [WRAP, CLAMP, MIRROR, BORDER])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_every_mode(read, dimensions, mode, filtering, normalized):
    """Samples in every combination of modes equal those of the model, to the bit."""
    data = integers(*([1] * (3 - dimensions)), *SIZES[:dimensions][::-1], 1)
    modes = [mode] * dimensions + [CLAMP] * (3 - dimensions)
    texture = drv.TextureObject(
        array_of(data, dimensions),
        address_mode=modes,
        filter_mode=filtering,
        flags=NORMALIZED if normalized else 0,
    )
    at = points(dimensions, SIZES[:dimensions], STEPS, normalized)
    expected = sample(
        data.reshape(*SIZES[:dimensions][::-1], 1),
        at,
        modes=modes,
        linear=filtering == LINEAR,
        normalized=normalized,
    )
    assert (read(f"sample{dimensions}", texture, *at)[:, :1] == expected).all()


def test_modes_of_each_axis(read):
    data = integers(*SIZES[::-1], 1)
    modes = [MIRROR, BORDER, WRAP]
    texture = drv.TextureObject(array_of(data, 3), address_mode=modes, filter_mode=LINEAR, flags=NORMALIZED)
    at = points(7, SIZES, STEPS, True)
    assert (
        read("sample3", texture, *at)[:, :1] == sample(data, at, modes=modes, linear=True, normalized=True)
    ).all()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_fractions_of_any_position_have_8_bits(read, dimensions):
    """At arbitrary positions the result is the model's except for the rounding of weights."""
    shape = (*([1] * (3 - dimensions)), *SIZES[:dimensions][::-1], 1)
    data = integers(*shape, maximum=256)
    texture = drv.TextureObject(array_of(data, dimensions), filter_mode=LINEAR)
    random = np.random.default_rng(3)
    at = [random.uniform(-1, size + 1, 512).astype(np.float32) for size in SIZES[:dimensions]]
    expected = sample(data.reshape(shape[3 - dimensions :]), at, linear=True)
    result = read(f"sample{dimensions}", texture, *at)[:, :1]
    # A weight is a product of fractions that the device rounds to 8 bits at each step.
    assert np.abs(result - expected).max() <= 255 * dimensions / 256
    assert np.abs(result - expected).mean() < 0.5


def test_a_fraction_is_rounded_to_the_nearest_256th(read):
    data = np.array([0, 256], np.float32).reshape(1, 1, 2, 1)
    texture = drv.TextureObject(array_of(data, 1), filter_mode=LINEAR)
    offsets = np.arange(0, 256, 1 / 4, dtype=np.float64)[1:-1]
    result = read("sample1", texture, (offsets / 256 + 0.5).astype(np.float32))[:, 0]
    assert (result == np.floor(offsets + 0.5)).all()


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("code", ["u1", "u2", "u4", "i1", "i2", "i4"])
def test_integers_as_integers(read, code, channels):
    limits = np.iinfo(code)
    data = np.random.default_rng(1).integers(
        limits.min, limits.max, (1, 8, 16, channels), code, endpoint=True
    )
    texture = drv.TextureObject(array_of(data, 2), flags=INTEGER)
    y, x = np.divmod(np.arange(128), 16)
    dtype = np.int32 if code[0] == "i" else np.uint32
    result = read("integers" if code[0] == "i" else "unsigneds", texture, x, y, dtype=dtype)
    assert (result[:, :channels] == data.reshape(-1, channels)).all()
    assert (result[:, channels:] == 0).all()


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("code", ["u1", "u2", "i1", "i2", "f2", "f4"])
@pytest.mark.parametrize("filtering", [POINT, LINEAR])
def test_numbers_as_floats(read, code, channels, filtering):
    """Integers become numbers in [0, 1] or [-1, 1]; those below -1 are clamped after the filter."""
    random = np.random.default_rng(2)
    if code[0] == "f":
        data, scale = random.integers(-100, 100, (1, 8, 16, channels)).astype(code), 1
    else:
        limits = np.iinfo(code)
        data = random.integers(limits.min, limits.max, (1, 8, 16, channels), code, endpoint=True)
        data[0, 0, 0, 0], scale = limits.min, limits.max
    texture = drv.TextureObject(array_of(data, 2), filter_mode=filtering)
    at = points(5, [16, 8], [16, 16], False)
    result = read("sample2", texture, *at)[:, :channels]
    expected = sample(data[0].astype(np.float64) / scale, at, linear=filtering == LINEAR)
    expected = np.maximum(expected, -1 if code[0] == "i" else -np.inf)
    if code == "f4":
        assert (result == expected).all()
    elif code == "f2":
        # The result is rounded to half precision again.
        assert (np.abs(result - expected) <= np.spacing(np.abs(expected).astype(np.float16)) / 2).all()
    elif filtering == POINT:
        assert (result == expected.astype(np.float32)).all()
    else:
        assert np.abs(result - expected).max() <= 1.5 / 32767  # the filter has numbers of 16 bits


def test_srgb(read):
    data = np.arange(256, dtype=np.uint8).reshape(1, 1, 64, 4)
    texture = drv.TextureObject(array_of(data, 2), flags=drv.TRSF_SRGB)
    result = read("sample2", texture, np.arange(64), np.zeros(64))
    value = data.reshape(-1, 4) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    linear[:, 3] = value[:, 3]  # the fourth channel is alpha, which is linear
    assert np.abs(result - linear).max() < 1 / 256
    assert result[0, 0] == 0 and result[63, 3] == 1 and result[32, 0] < 0.3


def test_border_color(read):
    data = integers(1, 4, 4, 4)
    color = (0.5, -2.0, 3.0, 0.25)
    texture = drv.TextureObject(array_of(data, 2), address_mode=BORDER, border_color=color)
    result = read("sample2", texture, [-0.5, 4.0, 1.5], [1.5, 1.5, 1.5])
    assert (result[:2] == color).all() and (result[2] == data[0, 1, 1]).all()


def test_layers(read):
    """Each layer of 1D and 2D textures is sampled separately."""
    data = integers(3, 8, 16, 2)
    flat = data[:, :1]
    layer = np.arange(512) % 3
    at = points(11, [16, 8], [16, 16], True)
    texture = drv.TextureObject(
        array_of(flat, 1, LAYERED), address_mode=(WRAP,), filter_mode=LINEAR, flags=NORMALIZED
    )
    result = read("layers1", texture, at[0], at[1], layer)
    for k in range(3):
        expected = sample(flat[k, 0], at[:1], modes=[WRAP], linear=True, normalized=True)
        assert (result[layer == k, :2] == expected[layer == k]).all()
    texture = drv.TextureObject(
        array_of(data, 2, LAYERED), address_mode=MIRROR, filter_mode=LINEAR, flags=NORMALIZED
    )
    result = read("layers2", texture, *at, layer)
    for k in range(3):
        expected = sample(data[k], at, modes=[MIRROR] * 2, linear=True, normalized=True)
        assert (result[layer == k, :2] == expected[layer == k]).all()


def directions(size):
    """One through each texel of each face, in the order of the faces +x -x +y -y +z -z."""
    s = (2 * np.arange(size) + 1) / size - 1
    t, s = (grid.ravel() for grid in np.meshgrid(s, s, indexing="ij"))
    one = np.ones(size * size)
    faces = [(one, -t, -s), (-one, -t, s), (s, one, t), (s, -one, -t), (s, -t, one), (-s, -t, -one)]
    return [np.concatenate(parts) for parts in zip(*faces, strict=True)]


def test_cubemap(read):
    data = integers(6, 4, 4, 4)
    texture = drv.TextureObject(array_of(data, 2, CUBEMAP), flags=NORMALIZED)
    assert (read("cube", texture, *directions(4)) == data.reshape(-1, 4)).all()


def test_gather(read):
    """One component of the four texels around a point, counterclockwise from the lower left."""
    data = integers(1, 8, 16, 4)
    texture = drv.TextureObject(array_of(data, 2, drv.array3d_flags.TEXTURE_GATHER))
    y, x = (grid.ravel() for grid in np.meshgrid(np.arange(1, 8), np.arange(1, 16), indexing="ij"))
    channel = (x + y) % 4
    result = read("gather", texture, x, y, channel)
    corners = [(y, x - 1), (y, x), (y - 1, x), (y - 1, x - 1)]
    assert (result == np.stack([data[0, v, u, channel] for v, u in corners], axis=1)).all()


def test_linear_memory(read):
    data = integers(37, 4)
    memory = drv.to_device(data)
    descr = drv.ArrayDescriptor()
    descr.width, descr.format, descr.num_channels = 37, drv.array_format.FLOAT, 4
    texture = drv.TextureObject(memory, descr)
    result = read("fetch", texture, np.arange(-3, 40))
    assert (result[3:40] == data).all()
    assert (result[:3, :3] == 0).all() and (result[40:, :3] == 0).all()  # texels outside are 0


@pytest.mark.parametrize("code", ["u1", "i2", "f4"])
def test_rows_of_memory(read, code):
    """A texture of pitched memory is sampled like an array."""
    data = np.arange(8 * 13).reshape(8, 13, 1).astype(code)
    memory, pitch = drv.mem_alloc_pitch(13 * data.itemsize, 8, 4)
    copy = drv.Memcpy2D()
    copy.set_src_host(data)
    copy.set_dst_device(memory)
    copy.src_pitch = copy.width_in_bytes = 13 * data.itemsize
    copy.dst_pitch, copy.height = pitch, 8
    copy()
    descr = drv.ArrayDescriptor()
    descr.width, descr.height, descr.format, descr.num_channels = 13, 8, format_of(data), 1
    texture = drv.TextureObject(memory, descr, pitch, filter_mode=LINEAR)
    at = points(9, [13, 8], [16, 16], False)
    scale = {"u1": 255, "i2": 32767, "f4": 1}[code]
    result = read("sample2", texture, *at)[:, :1]
    error = np.abs(result - sample(data.astype(np.float64) / scale, at, linear=True)).max()
    assert error == 0 if code == "f4" else error <= 1.5 / 32767


SURFACES = """
#define I threadIdx.x
__global__ void turn1(cudaSurfaceObject_t s, int n)
{
    int a = surf1Dread<int>(s, 4 * I), b = surf1Dread<int>(s, 4 * (n - 1 - I));
    __syncthreads();
    surf1Dwrite(b - a, s, 4 * I);
}
__global__ void add2(cudaSurfaceObject_t from, cudaSurfaceObject_t to)
{
    short2 a = surf2Dread<short2>(from, 4 * I, threadIdx.y);
    surf2Dwrite(make_short2(a.x + 1, a.y - 1), to, 4 * I, threadIdx.y);
}
__global__ void add3(cudaSurfaceObject_t s)
{
    int y = threadIdx.y, z = threadIdx.z;
    surf3Dwrite(surf3Dread<float>(s, 4 * I, y, z) + 1, s, 4 * I, y, z);
}
__global__ void layer(cudaSurfaceObject_t s)
{
    surf2DLayeredwrite((float)threadIdx.z, s, 4 * I, threadIdx.y, threadIdx.z);
}
__global__ void outside(cudaSurfaceObject_t s, int *out)
{
    out[0] = surf2Dread<int>(s, -4, 0, cudaBoundaryModeZero);
    out[1] = surf2Dread<int>(s, -4, 0, cudaBoundaryModeClamp);
    surf2Dwrite(99, s, 0, 77, cudaBoundaryModeZero);
}
"""
SURFACE = drv.array3d_flags.SURFACE_LDST


def test_surfaces_of_each_dimension():
    module = SourceModule(SURFACES)
    data = np.arange(16, dtype=np.int32).reshape(1, 1, 16, 1)
    array = array_of(data, 1, SURFACE)
    module.get_function("turn1")(drv.SurfaceObject(array), np.int32(16), block=(16, 1, 1))
    assert (contents(array, data.shape, "i4") == data[:, :, ::-1] - data).all()

    data = np.arange(64, dtype=np.int16).reshape(1, 4, 8, 2)
    array, target = array_of(data, 2, SURFACE), array_of(data, 2, SURFACE)
    module.get_function("add2")(drv.SurfaceObject(array), drv.SurfaceObject(target), block=(8, 4, 1))
    assert (contents(target, data.shape, "i2") == data + np.array([1, -1])).all()
    assert (contents(array, data.shape, "i2") == data).all()

    data = integers(4, 4, 8, 1)
    array = array_of(data, 3, SURFACE)
    module.get_function("add3")(drv.SurfaceObject(array), block=(8, 4, 4))
    assert (contents(array, data.shape, "f4") == data + 1).all()

    array = array_of(data, 2, SURFACE | LAYERED)
    module.get_function("layer")(drv.SurfaceObject(array), block=(8, 4, 4))
    assert (contents(array, data.shape, "f4") == np.arange(4).reshape(4, 1, 1, 1)).all()


def test_outside_of_a_surface():
    """Reads with cudaBoundaryModeZero and Clamp, and a write with Zero, which is discarded."""
    data = np.arange(7, 23, dtype=np.int32).reshape(1, 2, 8, 1)
    array, out = array_of(data, 2, SURFACE), np.full(2, -1, np.int32)
    SourceModule(SURFACES).get_function("outside")(drv.SurfaceObject(array), drv.Out(out), block=(1, 1, 1))
    assert (out == [0, 7]).all() and (contents(array, data.shape, "i4") == data).all()


def test_a_surface_is_read_as_a_texture(read):
    data = integers(4, 8, 16, 1)
    array = array_of(data, 3, SURFACE)
    SourceModule(SURFACES).get_function("add3")(drv.SurfaceObject(array), block=(8, 4, 4))
    data[:4, :4, :8] += 1
    z, y, x = (grid.ravel() for grid in np.meshgrid(*map(np.arange, (4, 8, 16)), indexing="ij"))
    assert (read("sample3", drv.TextureObject(array), x, y, z)[:, 0] == data.ravel()).all()


def test_wrong_arguments():
    flat = array_of(np.zeros((1, 4, 4, 1), np.int32), 2)
    with pytest.raises(drv.LogicError, match=r"the texture: linear filtering is not supported .* integers"):
        drv.TextureObject(flat, filter_mode=LINEAR, flags=INTEGER)
    with pytest.raises(drv.LogicError, match=r"must be made with array3d_flags.SURFACE_LDST"):
        drv.SurfaceObject(flat)
    descr = drv.ArrayDescriptor()
    descr.width, descr.format, descr.num_channels = 8, drv.array_format.FLOAT, 1
    memory = drv.mem_alloc(1024)
    with pytest.raises(drv.LogicError, match=r"^cuTexObjectCreate failed: .*TEXTURE_ALIGNMENT"):
        drv.TextureObject(int(memory) + 4, descr)
    with pytest.raises(TypeError, match="linear memory needs an ArrayDescriptor"):
        drv.TextureObject(memory)
    with pytest.raises(ValueError, match="at most 3 dimensions"):
        drv.TextureObject(flat, address_mode=[CLAMP] * 4)
    with pytest.raises(TypeError, match="array must be an Array"):
        drv.SurfaceObject(memory)


def test_lifetimes(read):
    """A texture keeps its array alive; a freed object cannot be used, and free() may be repeated."""
    data = integers(1, 4, 4, 1)
    texture = drv.TextureObject(array_of(data, 2))
    gc.collect()
    assert read("sample2", texture, [1.5], [2.5])[0, 0] == data[0, 2, 1, 0]  # the texture keeps the array
    texture.free()
    texture.free()
    with pytest.raises(drv.LogicError, match="the TextureObject was freed"):
        read("sample2", texture, [1.5], [2.5])
    surface = drv.SurfaceObject(array_of(data, 2, SURFACE))
    surface.free()
    with pytest.raises(drv.LogicError, match="the SurfaceObject was freed"):
        int(surface)
