"""MipmappedArray and its textures: which level is read where, compared with a model in NumPy; lifetimes.

Where equality is required, weights are multiples of 1/256, as in test_texture_objects.py. What is not
documented (how levels of detail are rounded, how gradients are measured) is compared with results recorded on
an H200.
"""

import gc
import math
import weakref

import h200_gradients as recorded
import numpy as np
import pytest
from texture_model import (
    BORDER,
    CLAMP,
    LINEAR,
    MIRROR,
    POINT,
    WRAP,
    contents,
    descriptor_of,
    fill,
    mipmap_of,
    sample_levels,
)

import pycuda.autoinit  # noqa: F401
import pycuda.driver as drv
from pycuda.compiler import SourceModule

NORMALIZED, INTEGER = drv.TRSF_NORMALIZED_COORDINATES, drv.TRSF_READ_AS_INTEGER
LAYERED, CUBEMAP = drv.array3d_flags.LAYERED, drv.array3d_flags.CUBEMAP
SURFACE = drv.array3d_flags.SURFACE_LDST

# Each kernel reads a texture at coordinates x, y, z; a, b, c, d are the level of detail or the gradients.
SOURCE = """
#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define FROM cudaTextureObject_t t, const float *x, const float *y, const float *z, \\
    const float *a, const float *b, const float *c, const float *d
#define READ(name, call) extern "C" __global__ void name(float4 *out, FROM) { out[I] = call; }
READ(lod1, tex1DLod<float4>(t, x[I], a[I]))
READ(lod2, tex2DLod<float4>(t, x[I], y[I], a[I]))
READ(lod3, tex3DLod<float4>(t, x[I], y[I], z[I], a[I]))
READ(layers1, tex1DLayeredLod<float4>(t, x[I], (int)z[I], a[I]))
READ(layers2, tex2DLayeredLod<float4>(t, x[I], y[I], (int)z[I], a[I]))
READ(cube, texCubemapLod<float4>(t, x[I], y[I], z[I], a[I]))
READ(grad1, tex1DGrad<float4>(t, x[I], a[I], b[I]))
READ(grad2, tex2DGrad<float4>(t, x[I], y[I], make_float2(a[I], b[I]), make_float2(c[I], d[I])))
READ(grad3, tex3DGrad<float4>(t, x[I], y[I], z[I], make_float4(a[I], b[I], 0, 9), make_float4(0, 0, c[I], 9)))
#define STEP(x, y, z) make_float4(x[I], y[I], z[I], 9)
READ(both3, tex3DGrad<float4>(t, 0.5f, 0.5f, 0.5f, STEP(x, y, z), STEP(a, b, c)))
READ(gradlayer, tex2DLayeredGrad<float4>(t, x[I], y[I], 1, make_float2(a[I], b[I]), make_float2(c[I], d[I])))
READ(gradcube, texCubemapGrad<float4>(t, x[I], y[I], z[I], make_float4(a[I], b[I], c[I], 9), float4()))
extern "C" __global__ void bothcube(float4 *out, cudaTextureObject_t t, const float *v)
{
    v += 9 * I;
    out[I] = texCubemapGrad<float4>(t, v[0], v[1], v[2], make_float4(v[3], v[4], v[5], 9),
                                    make_float4(v[6], v[7], v[8], 9));
}
READ(plain, tex2D<float4>(t, x[I], y[I]))
extern "C" __global__ void numbers(int4 *out, FROM) { out[I] = tex2DLod<int4>(t, x[I], y[I], a[I]); }
extern "C" __global__ void sizes(int *out, cudaTextureObject_t t)
{
    asm("txq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(t));
    asm("txq.level.width.b32 %0, [%1], 1;" : "=r"(out[1]) : "l"(t));
    asm("txq.level.height.b32 %0, [%1], %2;" : "=r"(out[2]) : "l"(t), "r"(out[3]));
}
extern "C" __global__ void texels(float4 *out, cudaTextureObject_t t, int x, int y, int level)
{
    float4 v;
    asm("tex.level.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}], %7;"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(t), "r"(x), "r"(y), "r"(level));
    out[0] = v;
    asm("tex.base.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(t), "f"(0.0f), "f"(0.0f));
    out[1] = v;
}
extern "C" __global__ void halve(cudaSurfaceObject_t from, cudaSurfaceObject_t to)
{
    int x = threadIdx.x, y = threadIdx.y;
    float sum = surf2Dread<float>(from, 8 * x, 2 * y) + surf2Dread<float>(from, 8 * x + 4, 2 * y)
        + surf2Dread<float>(from, 8 * x, 2 * y + 1) + surf2Dread<float>(from, 8 * x + 4, 2 * y + 1);
    surf2Dwrite(sum / 4, to, 4 * x, y);
}
"""


@pytest.fixture(scope="module")
def module():
    return SourceModule(SOURCE, no_extern_c=True)


@pytest.fixture
def read(module):
    """A function that reads texels by a kernel of the module."""

    def read(name, texture, x, y=0, z=0, a=0, b=0, c=0, d=0, dtype=np.float32):
        """(points, 4) numbers: what the kernel of that name reads. x, y, z: coordinates; a to d: level or
        gradients; all are broadcast to one length, a multiple of 32."""
        given = [np.ascontiguousarray(v, np.float32) for v in np.broadcast_arrays(x, y, z, a, b, c, d)]
        out = np.zeros((given[0].size, 4), dtype)
        module.get_function(name)(
            drv.Out(out), texture, *map(drv.In, given), block=(32, 1, 1), grid=(given[0].size // 32, 1)
        )
        return out

    return read


def levels_of(sizes, dimensions, count, *, layers=1, channels=1):
    """`count` levels of random integers from 0 to 999, as arrays of (depth or layers, height, width,
    channels)."""
    random = np.random.default_rng(0)
    shapes = [[max(1, size >> k) for size in sizes] + [1] * (3 - len(sizes)) for k in range(count)]
    if dimensions < 3:
        shapes = [[width, height, layers] for width, height, _ in shapes]
    return [
        random.integers(0, 1000, (depth, height, width, channels)).astype(np.float32)
        for width, height, depth in shapes
    ]


def flat(count, width=32, height=32, depth=1):
    """`count` levels; level k is 256 * k everywhere, so that an interpolated texture reads as its level of
    detail in 256ths."""
    sizes = [[max(1, size >> k) for size in (height, width)] for k in range(count)]
    return [np.full((depth, *size, 1), 256 * k, np.float32) for k, size in enumerate(sizes)]


def texture_of(levels, dimensions=2, array_flags=0, flags=NORMALIZED, **options):
    """A TextureObject of a mipmapped array with these levels; options: TextureObject's."""
    return drv.TextureObject(mipmap_of(levels, dimensions, array_flags), flags=flags, **options)


# ---- the arrays


@pytest.mark.parametrize(
    ("dimensions", "flags", "shape", "last"),
    [
        (1, 0, (1, 1, 37), (1, 1, 1)),
        (2, 0, (1, 13, 40), (1, 1, 1)),
        (3, 0, (20, 5, 9), (1, 1, 1)),
        (1, LAYERED, (70, 1, 16), (70, 1, 1)),
        (2, LAYERED, (3, 16, 7), (3, 1, 1)),
        (2, CUBEMAP, (6, 8, 8), (6, 1, 1)),
    ],
)
def test_levels_are_arrays(dimensions, flags, shape, last):
    """Each level is an Array with half the sizes of the one before, layers and faces excepted, and has its
    own contents. last: the shape of the smallest level."""
    base = np.zeros((*shape, 2), np.int16)
    mipmap = drv.MipmappedArray(descriptor_of(base, dimensions, flags))
    halved = 1 if flags else 0  # the first axis that is halved: layers and faces are not
    assert mipmap.num_levels == 1 + int(math.log2(max(shape[halved:])))
    assert (mipmap.descriptor.width, mipmap.descriptor.flags) == (shape[2], flags)
    kept, random = [], np.random.default_rng(1)
    for k in range(mipmap.num_levels):
        size = tuple(n if axis < halved else max(1, n >> k) for axis, n in enumerate(shape))
        found = mipmap.get_level(k).get_descriptor_3d()
        assert (max(found.depth, 1), max(found.height, 1), found.width) == size
        assert (found.format, found.num_channels) == (drv.array_format.SIGNED_INT16, 2)
        kept.append(random.integers(-999, 999, (*size, 2)).astype(np.int16))
        fill(mipmap.get_level(k), kept[k])
    assert size == last
    for k, data in enumerate(kept):
        assert (contents(mipmap.get_level(k), data.shape, np.int16) == data).all()


def test_the_number_of_levels():
    descr = drv.ArrayDescriptor()
    descr.width, descr.height, descr.format, descr.num_channels = 20, 9, drv.array_format.FLOAT, 1
    assert drv.MipmappedArray(descr).num_levels == 5
    assert drv.MipmappedArray(descr, 2).num_levels == 2
    for wrong in 0, 6:
        with pytest.raises(ValueError, match=f"num_levels is {wrong}, .* has 1 to 5 levels"):
            drv.MipmappedArray(descr, wrong)
    with pytest.raises(TypeError, match="descriptor must be an ArrayDescriptor"):
        drv.MipmappedArray(drv.Array(descr))
    with pytest.raises(IndexError, match="level 2: the MipmappedArray has 2 levels"):
        drv.MipmappedArray(descr, num_levels=2).get_level(2)


# ---- reading


def test_the_nearest_level(read):
    texture = texture_of(flat(4))
    detail = np.linspace(-1, 5, 193)[:-1] + 1 / 100
    expected = 256 * np.clip(np.floor(detail + 0.5), 0, 3)
    assert (read("lod2", texture, 0.5, 0.5, a=detail)[:, 0] == expected).all()


@pytest.mark.parametrize("filtering", [POINT, LINEAR])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_between_levels(read, dimensions, filtering):
    """Interpolation between two levels, in each of 1 to 3 dimensions with another address mode."""
    sizes = [32, 16, 16][:dimensions]
    levels = levels_of(sizes, dimensions, 3, channels=2)
    modes = [WRAP, MIRROR, CLAMP]
    options = {"modes": modes, "linear": filtering == LINEAR, "between": True}
    texture = texture_of(
        levels, dimensions, filter_mode=filtering, mipmap_filter_mode=LINEAR, address_mode=modes
    )
    model = [level.reshape(*level.shape[3 - dimensions :]) for level in levels]
    random, steps = np.random.default_rng(2), (4 if dimensions < 3 else 2)
    for first in 0, 1:
        # Positions whose fractions in the texels of both levels are multiples of 1 / steps.
        at = [random.integers(-20, 60, 256) / (steps * (size >> first + 1)) for size in sizes]
        at = [position.astype(np.float32) for position in at]
        detail = first + random.integers(0, 4, 256) / 4
        found = read(f"lod{dimensions}", texture, *at, *([0] * (3 - dimensions)), a=detail)[:, :2]
        expected = sample_levels(model, at, detail, **options)
        if dimensions < 3:
            assert (found == expected).all()
        else:  # products of four fractions are rounded to 8 bits
            assert np.abs(found - expected).max() <= 1000 * 8 / 256


def test_a_level_of_detail_is_truncated_to_256ths(read):
    """Then it is interpolated, or rounded to the nearest level."""
    detail = np.arange(0, 512, 1 / 4) / 256
    whole = np.floor(detail * 256)
    found = read("lod2", texture_of(flat(3), mipmap_filter_mode=LINEAR), 0.5, 0.5, a=detail)[:, 0]
    assert (found == whole).all()
    found = read("lod2", texture_of(flat(3)), 0.5, 0.5, a=detail)[:, 0]
    assert (found == 256 * ((whole + 128) // 256)).all()


def test_between_levels_without_a_fraction(read):
    """A texture with interpolated levels has signed bytes as fractions of 16 bits even where one level has
    all the weight; without interpolation they are exact."""
    levels = [np.full((1, 8 >> k, 8 >> k, 1), -75, np.int8) for k in range(2)]
    at = [np.full(32, 0.5)] * 2
    assert set(read("lod2", texture_of(levels), *at)[:, 0]) == {np.float32(-75 / 127)}
    blended = texture_of(levels, mipmap_filter_mode=LINEAR)
    assert set(read("lod2", blended, *at)[:, 0]) == {np.float32(-19351 / 32767)}


def test_weights_of_the_two_slices_of_a_level(read):
    """Rounding of weights in 3-d: half of 189/256 is 94.5/256, of which the second slice gets 94."""
    for texel, weight in (0, 10), (4, 25):
        levels = [np.zeros((2, 2, 2, 1), np.float32), np.zeros((1, 1, 1, 1), np.float32)]
        levels[0].flat[texel] = 256
        texture = texture_of(levels, 3, filter_mode=LINEAR, mipmap_filter_mode=LINEAR)
        assert set(read("lod3", texture, np.full(32, 0.55), 0.41, 0.62, a=0.5)[:, 0]) == {weight}


def test_layers(read):
    """Levels of layered textures are sampled for each layer separately."""
    layer, detail = np.arange(64) % 3, np.arange(64) % 8 / 4
    for dimensions in 1, 2:
        levels = levels_of([16, 16][:dimensions], dimensions, 3, layers=3)
        texture = texture_of(levels, dimensions, LAYERED, mipmap_filter_mode=LINEAR)
        x, y = np.arange(64) / 64 + 1 / 128, np.arange(64) / 64 + 1 / 128
        found = read(f"layers{dimensions}", texture, x, y, layer, detail)[:, :1]
        for k in range(3):
            model = [level[k] if dimensions == 2 else level[k, 0] for level in levels]
            expected = sample_levels(model, [x, y][:dimensions], detail, between=True)
            assert (found[layer == k] == expected[layer == k]).all()


def test_a_cubemap(read):
    """Face f of level k is f + 8 k; directions to the middle of each face, and near it."""
    levels = [
        np.arange(6, dtype=np.float32).reshape(6, 1, 1, 1) + np.zeros((6, 8 >> k, 8 >> k, 1))
        for k in range(3)
    ]
    levels = [(level + 8 * k).astype(np.float32) for k, level in enumerate(levels)]
    texture = texture_of(levels, 2, CUBEMAP, mipmap_filter_mode=LINEAR)
    at = np.repeat(
        [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1], [3, 0, 1], [0, 1, -4]], 4, 0
    )
    face = np.repeat([0, 1, 2, 3, 4, 5, 0, 5], 4)
    detail = np.tile([0, 0.5, 1.25, 2], 8)
    assert (read("cube", texture, *at.T + 0.01, a=detail)[:, 0] == face + 8 * detail).all()


def test_bias_and_clamp_of_the_level(read):
    detail = np.arange(-64, 192) / 32 + 1 / 64
    levels = flat(5)
    for bias, minimum, maximum in (0.5, 0, 4), (-1.25, 0, 4), (0, 1.5, 3.25), (1, 0.75, 2), (0, 0, 99):
        texture = texture_of(
            levels,
            mipmap_filter_mode=LINEAR,
            mipmap_level_bias=bias,
            min_mipmap_level_clamp=minimum,
            max_mipmap_level_clamp=maximum,
        )
        expected = 256 * np.clip(np.clip(detail + bias, minimum, maximum), 0, 4)
        assert (read("lod2", texture, 0.5, 0.5, a=detail)[:, 0] == expected).all()


def test_bias_and_clamp_are_truncated_to_256ths(read):
    detail = np.array([-1, 0, 0.25, 1, 1.5, 2.7, 9, 9] * 4)
    whole = np.clip(np.floor(detail * 256), 0, 768)
    step = 1 / 512
    for bias, minimum, maximum, expected in (
        (step, 0, 9, whole),
        (-step, 0, 9, whole),
        (3 * step / 2, 0, 9, whole),
        (0, step, 9, whole),
        (0, 0, 1.3, np.minimum(whole, 332)),
        (20, 0, 9, np.full(32, 768)),
        (-20, 0, 9, np.zeros(32)),
        (0, 2.5, 1.5, np.full(32, 640)),  # the minimum is applied last
    ):
        options = {
            "min_mipmap_level_clamp": minimum,
            "max_mipmap_level_clamp": maximum,
            "mipmap_level_bias": bias,
        }
        texture = texture_of(flat(4), mipmap_filter_mode=LINEAR, **options)
        assert (read("lod2", texture, 0.5, 0.5, a=detail)[:, 0] == expected).all()
        # Without a level the minimum is read, whatever the bias.
        assert set(read("plain", texture, np.full(32, 0.5), 0.5)[:, 0]) == {np.floor(256 * minimum)}


def test_some_of_the_levels(read):
    """With first_mipmap_level and last_mipmap_level a texture has a part of the levels, numbered from 0."""
    detail = np.arange(-32, 96) / 16
    mipmap = mipmap_of(flat(5), 2)
    options = {"mipmap_filter_mode": LINEAR, "flags": NORMALIZED}
    some = drv.TextureObject(mipmap, first_mipmap_level=1, last_mipmap_level=3, **options)
    assert (read("lod2", some, 0.5, 0.5, a=detail)[:, 0] == 256 * (1 + np.clip(detail, 0, 2))).all()
    rest = drv.TextureObject(mipmap, first_mipmap_level=2, max_mipmap_level_clamp=1, **options)
    assert (read("lod2", rest, 0.5, 0.5, a=detail)[:, 0] == 256 * (2 + np.clip(detail, 0, 1))).all()
    # A gradient is measured in texels of the first level that is read.
    assert (read("grad2", some, np.full(32, 0.5), 0.5, a=1 / 8)[:, 0] == 256 * 2).all()
    for first, last in (3, 2), (0, 5), (5, None):
        with pytest.raises(ValueError, match=r"levels \d to \d: the MipmappedArray has levels 0 to 4"):
            drv.TextureObject(mipmap, first_mipmap_level=first, last_mipmap_level=last, flags=NORMALIZED)


@pytest.mark.parametrize("code", ["u1", "u2", "u4", "i1", "i2", "i4", "f2", "f4"])
def test_some_of_the_levels_of_every_format(read, code):
    whole = np.dtype(code).kind in "iu"
    for channels in 1, 2, 4:
        levels = [(level // 10).astype(code) for level in levels_of([16, 16], 2, 3, channels=channels)]
        flags = NORMALIZED | (INTEGER if whole else 0)
        texture = texture_of(levels, flags=flags, first_mipmap_level=1)
        at = [(np.arange(32) % 8 + 0.5) / 8, (np.arange(32) // 8 + 0.5) / 8]
        name, dtype = ("numbers", np.int32) if whole else ("lod2", np.float32)
        found = read(name, texture, *at, dtype=dtype)[:, :channels]
        assert (found == levels[1][0, :4].reshape(32, channels)).all()


def test_some_of_the_levels_of_every_shape(read):
    where = np.full(32, 0.5)
    for dimensions, flags, shape, name in (
        (1, 0, (1, 1, 16), "lod1"),
        (3, 0, (8, 8, 8), "lod3"),
        (1, LAYERED, (3, 1, 16), "layers1"),
        (2, LAYERED, (3, 16, 16), "layers2"),
        (2, CUBEMAP, (6, 8, 8), "cube"),
    ):
        halved = 1 if flags else 0
        shapes = [[n if axis < halved else max(1, n >> k) for axis, n in enumerate(shape)] for k in range(4)]
        levels = [np.full((*size, 1), 256 * k, np.float32) for k, size in enumerate(shapes)]
        texture = texture_of(levels, dimensions, flags, mipmap_filter_mode=LINEAR, first_mipmap_level=1)
        assert set(read(name, texture, where, 0.5, 0.5 if dimensions == 3 else 1, a=0.5)[:, 0]) == {384}


def test_without_a_level_the_first_one_is_read(read):
    levels = levels_of([32, 16], 2, 3)
    at = [(np.arange(32) + 0.5) / 32, np.full(32, 0.5)]
    for between in POINT, LINEAR:
        texture = texture_of(levels, mipmap_filter_mode=between)
        assert (read("plain", texture, *at)[:, :1] == sample_levels([levels[0][0]], at, np.zeros(32))).all()


def test_gradients_of_one_axis(read):
    """A step of 2**n texels along one axis, either way and in either gradient, reads level n."""
    power = np.tile(np.arange(-3, 5), 4).astype(np.float32)
    step = 2.0**power
    expected = 256 * np.clip(power, 0, 3)
    texture = texture_of(flat(4, 32, 8), mipmap_filter_mode=LINEAR)
    assert (read("grad2", texture, 0.5, 0.5, a=step / 32)[:, 0] == expected).all()
    assert (read("grad2", texture, 0.5, 0.5, b=-step / 8)[:, 0] == expected).all()
    assert (read("grad2", texture, 0.5, 0.5, d=step / 8, a=1 / 1024)[:, 0] == expected).all()
    assert (read("grad2", texture, np.full(32, 0.5), 0.5)[:, 0] == 0).all()
    line = texture_of(flat(4, 32, 1), 1, mipmap_filter_mode=LINEAR)
    assert (read("grad1", line, 0.5, a=step / 32)[:, 0] == expected).all()
    assert (read("grad1", line, 0.5, b=step / 32)[:, 0] == expected).all()
    layers = texture_of(flat(4, 32, 8, 2), 2, LAYERED, mipmap_filter_mode=LINEAR)
    assert (read("gradlayer", layers, 0.5, 0.5, c=step / 32)[:, 0] == expected).all()
    solid = [np.full((max(1, 16 >> k),) * 3 + (1,), 256 * k, np.float32) for k in range(4)]
    solid = texture_of(solid, 3, mipmap_filter_mode=LINEAR)
    assert (read("grad3", solid, 0.5, 0.5, 0.5, b=step / 16)[:, 0] == expected).all()
    assert (read("grad3", solid, 0.5, 0.5, 0.5, c=step / 16)[:, 0] == expected).all()
    # In the middle of a cube's face a step of 2 / size of the direction's length is a texel; depth does not
    # count.
    cube = texture_of(flat(4, 32, 32, 6), 2, CUBEMAP, mipmap_filter_mode=LINEAR)
    assert (read("gradcube", cube, 1, 0, 0, b=step / 16)[:, 0] == expected).all()
    assert (read("gradcube", cube, 0, 0, -2, a=step / 8)[:, 0] == expected).all()
    assert (read("gradcube", cube, 0, np.full(32, 1), 0, b=0.5)[:, 0] == 0).all()


def columns_of(rows, count):
    """The `count` columns of a table, whose rows are repeated up to a multiple of 32, the threads of a
    block."""
    return np.resize(np.float32(rows), (-(-len(rows) // 32) * 32, count)).T


def test_gradients_of_both_axes(read):
    """Arbitrary gradients, compared with an H200."""

    def agrees(found, recorded):
        """Whether they differ by at most 1/256 of a level."""
        return np.abs(found[: len(recorded), 0] - recorded).max() <= 1

    steps = columns_of(recorded.PLANE, 4)
    for (width, height), details in recorded.PLANE_DETAILS.items():
        count = int(math.log2(width)) + 1
        texture = texture_of(flat(count, width, height), mipmap_filter_mode=LINEAR)
        a, b, c, d = steps
        assert agrees(read("grad2", texture, 0.5, 0.5, a=a, b=b, c=c, d=d), details)
    line = texture_of(flat(7, 64, 1), 1, mipmap_filter_mode=LINEAR)
    lengths = np.linspace(0.9, 8.3, 32) / 64
    assert agrees(read("grad1", line, 0.5, a=lengths), recorded.LINE_DETAILS)
    solid = [np.full((32 >> k,) * 3 + (1,), 256 * k, np.float32) for k in range(6)]
    x, y, z, a, b, c = columns_of(recorded.SOLID, 6)
    found = read("both3", texture_of(solid, 3, mipmap_filter_mode=LINEAR), x, y, z, a, b, c)
    assert agrees(found, recorded.SOLID_DETAILS)


@pytest.mark.parametrize("maximum", [0, 1, 2, 3, 16, 17, 1000])
def test_max_anisotropy_has_no_effect_on_gradients_of_equal_length(read, maximum):
    step = 2.0 ** np.tile(np.arange(4, dtype=np.float32), 8)
    texture = texture_of(flat(7, 64, 64), mipmap_filter_mode=LINEAR, max_anisotropy=maximum)
    assert (read("grad2", texture, 0.5, 0.5, a=step / 64, d=step / 64)[:, 0] == 256 * np.log2(step)).all()


@pytest.mark.cpu("a GPU reads a finer level for the shorter axis")
def test_anisotropic_filtering_is_not_implemented(read):
    """The longer axis alone decides about the level."""
    texture = texture_of(flat(7, 64, 64), mipmap_filter_mode=LINEAR, max_anisotropy=16)
    assert (read("grad2", texture, 0.5, 0.5, a=np.full(32, 8 / 64), d=1 / 64)[:, 0] == 256 * 3).all()


def test_gradients_of_a_cube(module):
    """Arbitrary gradients, compared with an H200; some steps end on another face."""
    cube = texture_of(flat(6, 32, 32, 6), 2, CUBEMAP, mipmap_filter_mode=LINEAR)
    found, given = np.zeros((32, 4), np.float32), np.ascontiguousarray(columns_of(recorded.CUBE, 9).T)
    module.get_function("bothcube")(drv.Out(found), cube, drv.In(given), block=(32, 1, 1))
    assert np.abs(found[: len(recorded.CUBE), 0] - recorded.CUBE_DETAILS).max() <= 1


@pytest.mark.parametrize("code", ["u1", "u2", "i1", "i2", "f2"])
def test_numbers_as_floats(read, code):
    """Interpolated between texels and levels, integers are fractions of 16 bits, halves are rounded once."""
    scale = 1 if code == "f2" else np.iinfo(code).max
    levels = [np.floor(level / 8).astype(code) for level in levels_of([32, 32], 2, 3, channels=4)]
    texture = texture_of(levels, filter_mode=LINEAR, mipmap_filter_mode=LINEAR)
    random = np.random.default_rng(3)
    at = [random.integers(0, 64, 256) / 64 for _ in "xy"]
    detail = random.integers(0, 4, 256) / 4
    model = [level[0].astype(np.float64) / scale for level in levels]
    expected = sample_levels(model, at, detail, linear=True, between=True)
    error = np.abs(read("lod2", texture, *at, a=detail) - expected)
    assert (error <= (np.spacing(expected.astype(np.float16)) / 2 if code == "f2" else 1.5 / 32767)).all()


def test_integers_as_integers(read):
    levels = [level.astype(np.int32) - 500 for level in levels_of([32, 32], 2, 3, channels=2)]
    texture = texture_of(levels, flags=NORMALIZED | INTEGER, address_mode=BORDER)
    at = [(np.arange(32) + 0.5) / 32, np.full(32, 0.3)]
    for k in range(3):
        found = read("numbers", texture, *at, a=k + 0.25, dtype=np.int32)[:, :2]
        assert (found == sample_levels([level[0] for level in levels], at, np.full(32, k))).all()


def test_queries_of_sizes(module):
    """txq: the width of level 0, of level 1, and the height of a level in a register."""
    for options, sizes in ({}, [32, 16, 4]), ({"first_mipmap_level": 1}, [16, 8, 2]):
        texture, out = texture_of(levels_of([32, 8], 2, 3), **options), np.array([0, 0, 0, 1], np.int32)
        module.get_function("sizes")(drv.InOut(out), texture, block=(1, 1, 1))
        assert out.tolist()[:3] == sizes


@pytest.mark.cpu("a GPU's driver loads no kernel that asks for the number of levels, except for OptiX")
def test_a_query_of_the_number_of_levels():
    module = SourceModule("""
        __global__ void count(int *out, cudaTextureObject_t t)
        {
            asm("txq.num_mipmap_levels.b32 %0, [%1];" : "=r"(out[0]) : "l"(t));
        }
    """)
    out = np.zeros(1, np.int32)
    module.get_function("count")(drv.Out(out), texture_of(levels_of([32, 8], 2, 3)), block=(1, 1, 1))
    assert out == [3]


def test_texels_by_integer_coordinates(module):
    """tex.level with integers: coordinates are clamped to the first level and then to the one that is read; a
    level that does not exist reads as 0. The second result is the texel at 0, 0."""
    levels = levels_of([32, 8], 2, 3)
    texture, found = texture_of(levels), np.zeros((2, 4), np.float32)
    for x, y, level, expected in (
        (31, 7, 0, levels[0][0, 7, 31, 0]),
        (5, 1, 1, levels[1][0, 1, 5, 0]),
        (7, 1, 2, levels[2][0, 1, 7, 0]),
        (31, 7, 1, levels[1][0, 3, 15, 0]),  # inside of the first level, clamped to the second one
        (8, 0, 2, levels[2][0, 0, 7, 0]),
        (5, 1, 3, 0),  # no such level
        (5, 1, -1, 0),
    ):
        position = map(np.int32, (x, y, level))
        module.get_function("texels")(drv.Out(found), texture, *position, block=(1, 1, 1))
        assert found[:, 0].tolist() == [expected, levels[0][0, 0, 0, 0]]


def test_a_level_is_written_through_a_surface(module):
    """A kernel makes each level of the means of four texels of the one before."""
    data = np.random.default_rng(0).integers(0, 99, (1, 16, 32, 1)).astype(np.float32)
    mipmap = drv.MipmappedArray(descriptor_of(data, 2, SURFACE), 3)
    fill(mipmap.get_level(0), data)
    for k in range(2):
        surfaces = [drv.SurfaceObject(mipmap.get_level(k + more)) for more in (0, 1)]
        module.get_function("halve")(*surfaces, block=(16 >> k, 8 >> k, 1))
        data = data.reshape(1, data.shape[1] // 2, 2, data.shape[2] // 2, 2, 1).mean(axis=(2, 4))
        assert (contents(mipmap.get_level(k + 1), data.shape, np.float32) == data).all()


def test_texture_references():
    """A TextureReference bound to a MipmappedArray: settings, reads, errors; then bound to one level."""
    module = SourceModule("""
        texture<float, 2> image;
        __global__ void read(float2 *out, const float *x, const float *detail)
        {
            int i = threadIdx.x;
            out[i] = make_float2(tex2DLod(image, x[i], 0.5f, detail[i]), tex2D(image, x[i], 0.5f));
        }
    """)
    levels = levels_of([32, 16], 2, 3)
    mipmap, texref, found = mipmap_of(levels, 2), module.get_texref("image"), np.zeros((32, 2), np.float32)
    x, detail = (np.arange(32, dtype=np.float32) + 0.5) / 32, np.arange(32, dtype=np.float32) / 16

    def read():
        module.get_function("read")(
            drv.Out(found), drv.In(x), drv.In(detail), block=(32, 1, 1), texrefs=[texref]
        )

    assert texref.get_mipmap_level_clamp() == (0, math.inf)
    texref.set_mipmapped_array(mipmap)
    assert texref.get_mipmapped_array() is mipmap
    with pytest.raises(drv.LogicError, match=r"cuTexRefGetArray .*'image' is not bound to an Array"):
        texref.get_array()
    with pytest.raises(
        drv.LogicError, match="image: a MipmappedArray is read with TRSF_NORMALIZED_COORDINATES"
    ):
        read()
    texref.set_flags(NORMALIZED)
    texref.set_mipmap_filter_mode(LINEAR)
    model, at = [level[0] for level in levels], [x, np.full(32, 0.5)]
    for bias, minimum, maximum in (0, 0, math.inf), (0.25, 0.5, 1.5):
        texref.set_mipmap_level_bias(bias)
        texref.set_mipmap_level_clamp(minimum, maximum)
        assert texref.get_mipmap_filter_mode() == LINEAR and texref.get_mipmap_level_bias() == bias
        assert texref.get_mipmap_level_clamp() == (minimum, maximum)
        read()
        expected = sample_levels(model, at, np.clip(detail + bias, minimum, maximum), between=True)
        assert (found[:, :1] == expected).all()
    mipmap.free()
    with pytest.raises(drv.LogicError, match="bound to memory that was freed"):
        read()
    solid = mipmap_of(levels_of([8, 8, 8], 3, 2), 3)
    with pytest.raises(drv.LogicError, match=r"'image' was declared as 2D, the MipmappedArray is 3D"):
        texref.set_mipmapped_array(solid)
    with pytest.raises(TypeError, match="mipmapped_array must be a MipmappedArray, not .*Array"):
        texref.set_mipmapped_array(solid.get_level(0))
    level = mipmap_of(levels, 2).get_level(1)
    texref.set_array(level)  # the level keeps its MipmappedArray alive
    assert texref.get_array() is level
    del level
    texref.set_mipmap_level_clamp(0, 9)  # has no effect on an Array
    read()
    assert (found[::2, 1] == levels[1][0, 4, :, 0]).all()
    drv.Context.synchronize()  # releases the bindings of the launches before


# ---- errors and lifetimes


def test_wrong_arguments():
    mipmap = mipmap_of(flat(3), 2)
    with pytest.raises(drv.LogicError, match="a MipmappedArray is read with TRSF_NORMALIZED_COORDINATES"):
        drv.TextureObject(mipmap)
    with pytest.raises(TypeError, match="descr and pitch are for linear memory"):
        drv.TextureObject(mipmap, mipmap.descriptor, 32)
    with pytest.raises(TypeError, match="settings of mipmap levels need a MipmappedArray"):
        drv.TextureObject(mipmap.get_level(0), mipmap_filter_mode=LINEAR)
    words = mipmap_of([np.zeros((1, 4, 4, 1), np.int32)], 2)
    with pytest.raises(
        drv.LogicError, match="linear filtering is not supported for elements that are read as integers"
    ):
        drv.TextureObject(words, mipmap_filter_mode=LINEAR, flags=NORMALIZED | INTEGER)
    with pytest.raises(TypeError, match="array must be an Array, not pycuda.driver.MipmappedArray"):
        drv.SurfaceObject(mipmap)
    descr = descriptor_of(np.zeros((1, 4, 4, 1), np.int32), 2)
    descr.num_channels = 3
    with pytest.raises(drv.LogicError, match="cuMipmappedArrayCreate failed: .*3 channels, .*3 levels"):
        drv.MipmappedArray(descr)


def test_a_level_or_a_texture_keeps_the_mipmapped_array_alive(read):
    mipmap = mipmap_of(flat(3), 2)
    gc.collect()
    count = drv._driver._live_objects()["MipmappedArray"]
    reference, level = weakref.ref(mipmap), mipmap.get_level(1)
    texture = drv.TextureObject(mipmap, mipmap_filter_mode=LINEAR, flags=NORMALIZED)
    assert texture.source is mipmap and level == mipmap.get_level(1) != mipmap.get_level(0)
    del mipmap
    gc.collect()
    assert (read("lod2", texture, np.full(32, 0.5), 0.5, a=1.5)[:, 0] == 384).all()
    del texture
    assert reference() is not None and (contents(level, (1, 16, 16, 1), np.float32) == 256).all()
    one = drv.TextureObject(level, flags=NORMALIZED)
    del level
    assert (read("plain", one, np.full(32, 0.5), 0.5)[:, 0] == 256).all() and reference() is not None
    del one
    assert reference() is None and drv._driver._live_objects()["MipmappedArray"] == count - 1


def test_uses_after_free():
    """free() of a level makes that object unusable alone; free() of the MipmappedArray makes its levels so,
    too."""
    mipmap = mipmap_of(flat(3), 2)
    level = mipmap.get_level(1)
    level.free()
    with pytest.raises(drv.LogicError, match="the Array was freed"):
        level.get_descriptor()
    level = mipmap.get_level(1)
    mipmap.free()
    mipmap.free()
    with pytest.raises(drv.LogicError, match="the MipmappedArray that the Array is a level of was freed"):
        level.get_descriptor()
    with pytest.raises(drv.LogicError, match="get_level: the MipmappedArray was freed"):
        mipmap.get_level(0)
    with pytest.raises(drv.LogicError, match="source: the MipmappedArray was freed"):
        drv.TextureObject(mipmap, flags=NORMALIZED)


OUTLIVED = """
import pycuda.driver as drv

drv.init()
count = drv._driver._fault_count
shape = drv.ArrayDescriptor()
shape.width, shape.height, shape.num_channels, shape.format = 8, 8, 1, drv.array_format.SIGNED_INT32
other = drv.Device(0).make_context()
kept = drv.MipmappedArray(shape)
context = drv.Device(0).make_context()
freed, level, dropped = drv.MipmappedArray(shape), drv.MipmappedArray(shape).get_level(0), [None]
dropped[0] = drv.MipmappedArray(shape)
freed.free()
dropped.clear()
print(count("cuMipmappedArrayCreate"), count("cuMipmappedArrayDestroy"))
outlives = drv.MipmappedArray(shape)
drv.Context.pop()
context.detach()
print(count("cuMipmappedArrayDestroy"))
del level, outlives
print(count("cuMipmappedArrayDestroy"))
more = [drv.MipmappedArray(shape) for _ in range(8)]
del more, kept
other.pop()
print(count("cuMipmappedArrayCreate") - count("cuMipmappedArrayDestroy"))
"""


def test_mipmapped_arrays_are_destroyed_before_their_context(run_python):
    """NVIDIA's driver writes to freed memory when it creates one after it has destroyed a context that had
    one."""
    done = run_python(OUTLIVED, env={"PYCUDA_FAULT_CALL": "0"}, check=True)
    assert done.stdout == "4 2\n4\n4\n0\n"
