"""What kernels read through texture references: element types, dimensions, modes, doubles."""

import numpy as np
import pytest
from texture_model import BORDER, CLAMP, LINEAR, MIRROR, POINT, WRAP, array_of, format_of, points, sample

import pycuda.autoinit  # noqa: F401
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

NORMALIZED = drv.TRSF_NORMALIZED_COORDINATES
# {dtype: (scalar type in CUDA C, prefix of its vector types)}
C_TYPES = {
    "i1": ("signed char", "char"),
    "u1": ("unsigned char", "uchar"),
    "i2": ("short", "short"),
    "u2": ("unsigned short", "ushort"),
    "i4": ("int", "int"),
    "u4": ("unsigned int", "uint"),
    "f4": ("float", "float"),
}


def c_type(code, channels):
    """The type in CUDA C of an element with so many channels."""
    scalar, vector = C_TYPES[code]
    return scalar if channels == 1 else f"{vector}{channels}"


def elements_source():
    """A texture and a kernel of each element type, which copies elements of 2D textures."""
    for code in C_TYPES:
        for channels in (1, 2, 4):
            name, element = f"{code}_{channels}", c_type(code, channels)
            yield f"""
            texture<{element}, cudaTextureType2D, cudaReadModeElementType> {name};
            __global__ void copy_{name}({element} *out)
            {{
                int i = threadIdx.y * blockDim.x + threadIdx.x;
                out[i] = tex2D({name}, threadIdx.x, threadIdx.y);
            }}"""
            if code[1] == "4":
                continue
            real = c_type("f4", channels)
            yield f"""
            texture<{element}, 2, cudaReadModeNormalizedFloat> n{name};
            __global__ void copy_n{name}({real} *out)
            {{
                int i = threadIdx.y * blockDim.x + threadIdx.x;
                out[i] = tex2D(n{name}, threadIdx.x, threadIdx.y);
            }}"""


ELEMENTS = "".join(elements_source())


def any_numbers(code, *shape):
    """Random numbers of a dtype: of its whole range for integers, normally distributed for floats."""
    random = np.random.default_rng(1)
    if code[0] == "f":
        return random.standard_normal(shape).astype(code)
    limits = np.iinfo(code)
    return random.integers(limits.min, limits.max, shape, code, endpoint=True)


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("code", C_TYPES)
def test_elements(code, channels):
    """Kernels read every element type, with and without READ_AS_INTEGER."""
    module = SourceModule(ELEMENTS)
    data = any_numbers(code, 8, 16, channels)
    texref = module.get_texref(f"{code}_{channels}")
    assert texref.get_format() == (format_of(data), channels)
    texref.set_array(drv.make_multichannel_2d_array(data, "C"))
    out = np.zeros_like(data)
    copy = module.get_function(f"copy_{code}_{channels}")
    copy(drv.Out(out), block=(16, 8, 1), texrefs=[texref])
    assert (out == data).all()
    texref.set_flags(0)  # without READ_AS_INTEGER: the declaration decides how integers are read
    out[:] = 0
    copy(drv.Out(out), block=(16, 8, 1), texrefs=[texref])
    assert (out == data).all()
    drv.Context.synchronize()


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("code", ["i1", "u1", "i2", "u2"])
def test_elements_as_fractions(code, channels):
    module = SourceModule(ELEMENTS)
    data = any_numbers(code, 8, 16, channels)
    data[0, 0, 0] = np.iinfo(code).min
    texref = module.get_texref(f"n{code}_{channels}")
    texref.set_array(drv.make_multichannel_2d_array(data, "C"))
    expected = np.maximum(data / np.iinfo(code).max, -1).astype(np.float32)
    for flags in (0, drv.TRSF_READ_AS_INTEGER):
        texref.set_flags(flags)
        out = np.zeros(data.shape, np.float32)
        module.get_function(f"copy_n{code}_{channels}")(drv.Out(out), block=(16, 8, 1), texrefs=[texref])
        assert (out == expected).all()
    drv.Context.synchronize()


def test_halves():
    module = SourceModule(ELEMENTS)
    data = np.random.default_rng(4).standard_normal((1, 8, 16, 2)).astype(np.float16)
    texref = module.get_texref("f4_2")
    texref.set_array(array_of(data, 2))
    assert texref.get_format() == (drv.array_format.HALF, 2)
    out = np.zeros((8, 16, 2), np.float32)
    module.get_function("copy_f4_2")(drv.Out(out), block=(16, 8, 1), texrefs=[texref])
    assert (out == data[0]).all()


def test_srgb():
    """With SRGB, three channels are converted to linear numbers, and alpha is not."""
    module = SourceModule(ELEMENTS)
    data = np.arange(512, dtype=np.uint16).reshape(8, 16, 4).astype(np.uint8)
    texref = module.get_texref("nu1_4")
    texref.set_array(drv.make_multichannel_2d_array(data, "C"))
    texref.set_flags(drv.TRSF_SRGB)
    out = np.zeros(data.shape, np.float32)
    module.get_function("copy_nu1_4")(drv.Out(out), block=(16, 8, 1), texrefs=[texref])
    value = data / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    linear[..., 3] = value[..., 3]  # the fourth channel is alpha, which is linear
    assert np.abs(out - linear).max() < 1 / 256 and out[2, 0, 0] < 0.3


# ---- dimensions and modes

DIMENSIONS = """
texture<float, cudaTextureType1D> t1;
texture<float, cudaTextureType2D> t2;
texture<float, cudaTextureType3D> t3;
texture<float2, cudaTextureType1DLayered> l1;
texture<float2, cudaTextureType2DLayered> l2;
texture<float2, cudaTextureTypeCubemap> cube;
texture<float2, cudaTextureTypeCubemapLayered> cubes;
texture<uchar4, cudaTextureType2D> corners;
#define AT const float *x, const float *y, const float *z, const float *layer
#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void read_t1(float *out, AT) { out[I] = tex1D(t1, x[I]); }
__global__ void read_t2(float *out, AT) { out[I] = tex2D(t2, x[I], y[I]); }
__global__ void read_t3(float *out, AT) { out[I] = tex3D(t3, x[I], y[I], z[I]); }
__global__ void read_l1(float2 *out, AT) { out[I] = tex1DLayered(l1, x[I], (int)layer[I]); }
__global__ void read_l2(float2 *out, AT) { out[I] = tex2DLayered(l2, x[I], y[I], (int)layer[I]); }
__global__ void read_cube(float2 *out, AT) { out[I] = texCubemap(cube, x[I], y[I], z[I]); }
__global__ void read_cubes(float2 *out, AT)
    { out[I] = texCubemapLayered(cubes, x[I], y[I], z[I], (int)layer[I]); }
__global__ void read_corners(uchar4 *out, AT) { out[I] = tex2Dgather(corners, x[I], y[I], 2); }
__global__ void levels(float *out, AT)
{
    float2 none = make_float2(0, 0);
    out[I] = tex2DLod(t2, x[I], y[I], 0.0f) + tex2DGrad(t2, x[I], y[I], none, none);
    out[I] += tex2D<float>(t2, x[I], y[I]);
}
"""
LAYERED, CUBEMAP = drv.array3d_flags.LAYERED, drv.array3d_flags.CUBEMAP
# Sizes of textures, and points for each texel of an axis: products of the three fractions are multiples of
# 1/256.
SIZES, STEPS = [16, 8, 4], [16, 4, 4]


def read(module, name, coordinates, *, layer=None, kernel=None, dtype=np.float32, channels=1):
    """(points, channels): what a kernel (read_NAME, or another) reads at coordinates [x, y, ...] by the
    texture reference of that name."""
    count = len(coordinates[0])
    out = np.zeros((count, channels), dtype)
    given = [np.asarray(at, np.float32) for at in coordinates]
    given += [np.zeros(count, np.float32)] * (3 - len(given))
    given.append(np.zeros(count, np.float32) if layer is None else layer.astype(np.float32))
    block = 128 if count % 128 == 0 else count
    module.get_function(kernel or f"read_{name}")(
        drv.Out(out),
        *map(drv.In, given),
        block=(block, 1, 1),
        grid=(count // block, 1),
        texrefs=[module.get_texref(name)],
    )
    return out


def configure(texref, modes, filtering, normalized):
    """Sets the address mode of each axis, the filter mode and whether coordinates are normalized."""
    for dim, mode in enumerate(modes):
        texref.set_address_mode(dim, mode)
    texref.set_filter_mode(filtering)
    texref.set_flags(NORMALIZED if normalized else 0)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("filtering", [POINT, LINEAR])
@pytest.mark.parametrize("mode", [WRAP, CLAMP, MIRROR, BORDER])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_every_mode(dimensions, mode, filtering, normalized):
    """Samples in every combination of modes equal those of the model, to the bit."""
    module = SourceModule(DIMENSIONS)
    sizes = SIZES[:dimensions]
    data = np.random.default_rng(0).integers(0, 1000, (*sizes[::-1], 1)).astype(np.float32)
    texref = module.get_texref(f"t{dimensions}")
    configure(texref, [mode] * dimensions, filtering, normalized)
    texref.set_array(array_of(data.reshape([1] * (3 - dimensions) + [*data.shape]), dimensions))
    at = points(dimensions, sizes, STEPS, normalized)
    expected = sample(data, at, modes=[mode] * dimensions, linear=filtering == LINEAR, normalized=normalized)
    assert (read(module, f"t{dimensions}", at) == expected).all()


def test_layers():
    """Each layer of 1D and 2D textures is sampled separately."""
    module = SourceModule(DIMENSIONS)
    data = np.random.default_rng(1).integers(0, 1000, (3, 8, 16, 2)).astype(np.float32)
    layer = np.arange(512) % 3
    at = points(11, [16, 8], [16, 16], True)
    for name, dimensions, part in (("l1", 1, data[:, :1]), ("l2", 2, data)):
        texref = module.get_texref(name)
        texref.set_array(array_of(part, dimensions, LAYERED))
        configure(texref, [WRAP] * dimensions, LINEAR, True)
        result = read(module, name, at[:dimensions], layer=layer, channels=2)
        for k in range(3):
            plane = part[k, 0] if dimensions == 1 else part[k]
            expected = sample(plane, at, modes=[WRAP] * 2, linear=True, normalized=True)
            assert (result[layer == k] == expected[layer == k]).all()


def test_cubemaps():
    """Directions through the middle of each texel of each face, in the order +x, -x, +y, -y, +z, -z."""
    module = SourceModule(DIMENSIONS)
    data = np.random.default_rng(2).integers(0, 1000, (12, 4, 4, 2)).astype(np.float32)
    s = (2 * np.arange(4) + 1) / 4 - 1
    t, s = (grid.ravel() for grid in np.meshgrid(s, s, indexing="ij"))
    one = np.ones(16)
    faces = [(one, -t, -s), (-one, -t, s), (s, one, t), (s, -one, -t), (s, -t, one), (-s, -t, -one)]
    at = [np.concatenate(parts) for parts in zip(*faces, strict=True)]
    texref = module.get_texref("cube")
    texref.set_array(array_of(data[:6], 2, CUBEMAP))
    assert (read(module, "cube", at, channels=2) == data[:6].reshape(-1, 2)).all()
    texref = module.get_texref("cubes")
    texref.set_array(array_of(data, 2, CUBEMAP | LAYERED))
    layer = np.repeat([0, 1], 96)
    result = read(module, "cubes", [np.tile(part, 2) for part in at], layer=layer, channels=2)
    assert (result == data.reshape(-1, 2)).all()


def test_gather():
    """Component 2 of the four texels around a point, counterclockwise from the lower left."""
    module = SourceModule(DIMENSIONS)
    data = any_numbers("u1", 1, 8, 16, 4)
    module.get_texref("corners").set_array(array_of(data, 2, drv.array3d_flags.TEXTURE_GATHER))
    y, x = (grid.ravel() for grid in np.meshgrid(np.arange(1, 8), np.arange(1, 16), indexing="ij"))
    result = read(module, "corners", [x, y], dtype=np.uint8, channels=4)
    corners = [(y, x - 1), (y, x), (y - 1, x), (y - 1, x - 1)]
    assert (result == np.stack([data[0, v, u, 2] for v, u in corners], axis=1)).all()


def test_levels():
    """A texture of an Array has one level, which all functions with a level or gradients read."""
    module = SourceModule(DIMENSIONS)
    data = np.arange(128, dtype=np.float32).reshape(1, 8, 16, 1)
    module.get_texref("t2").set_array(array_of(data, 2))
    y, x = np.divmod(np.arange(128), 16)
    assert (read(module, "t2", [x, y], kernel="levels").ravel() == 3 * data.ravel()).all()


# ---- doubles and complex numbers

NUMBERS = """
#include <pycuda-helpers.hpp>
texture<fp_tex_double, 1> line;
texture<fp_tex_double, 2, cudaReadModeElementType> plane;
texture<fp_tex_double, cudaTextureType3D> volume;
texture<fp_tex_cfloat, 1> cline;
texture<fp_tex_cdouble, cudaTextureType3D> cvolume;
texture<fp_tex_cfloat, 2> cplane;
texture<fp_tex_float, 1> fline;
texture<fp_tex_double, cudaTextureType2DLayered> layers;
texture<int, 1> iline;
__global__ void lines(double *d, pycuda::complex<float> *c, float *f, int *n)
{
    int i = threadIdx.x;
    d[i] = fp_tex1Dfetch(line, i);
    c[i] = fp_tex1Dfetch(cline, i);
    f[i] = fp_tex1Dfetch(fline, i);
    n[i] = fp_tex1Dfetch(iline, i);
}
__global__ void planes(double *d, pycuda::complex<float> *c, double *l)
{
    int x = threadIdx.x, y = threadIdx.y, i = y * blockDim.x + x;
    d[i] = fp_tex2D(plane, x, y);
    c[i] = fp_tex2D(cplane, x, y);
    l[i] = fp_tex2DLayered(layers, x, y, 0);
}
__global__ void volumes(double *d, pycuda::complex<double> *c)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, i = (z * blockDim.y + y) * blockDim.x + x;
    d[i] = fp_tex3D(volume, x, y, z);
    c[i] = fp_tex3D(cvolume, x, y, z) * 2.0;
}
"""


def numbers(dtype, *shape):
    """Normally distributed numbers, of complex dtypes with imaginary parts."""
    random = np.random.default_rng(8)
    result = random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        result = result + 1j * random.standard_normal(shape)
    return result.astype(dtype)


def test_doubles_in_linear_memory():
    module = SourceModule(NUMBERS)
    arrays = {
        "line": numbers("f8", 50),
        "cline": numbers("c8", 50),
        "fline": numbers("f4", 50),
        "iline": np.arange(-25, 25, dtype=np.int32),
    }
    texrefs = []
    for name, data in arrays.items():
        texrefs.append(module.get_texref(name))
        memory = gpuarray.to_gpu(data)
        assert memory.bind_to_texref_ext(texrefs[-1], allow_double_hack=True, allow_complex_hack=True) == 0
    out = [np.zeros_like(data) for data in arrays.values()]
    module.get_function("lines")(*map(drv.Out, out), block=(50, 1, 1), texrefs=texrefs)
    for result, data in zip(out, arrays.values(), strict=True):
        assert (result == data).all()


def test_doubles_in_arrays():
    module = SourceModule(NUMBERS)
    plane, cplane = numbers("f8", 4, 8), numbers("c8", 4, 8)
    texrefs = [module.get_texref(name) for name in ("plane", "cplane", "layers")]
    texrefs[0].set_array(drv.matrix_to_array(plane, "C", allow_double_hack=True))
    texrefs[1].set_array(drv.np_to_array(cplane, "C"))
    texrefs[2].set_array(drv.np_to_array(plane, "C", allowSurfaceBind=True))
    out = [np.zeros_like(plane), np.zeros_like(cplane), np.zeros_like(plane)]
    module.get_function("planes")(*map(drv.Out, out), block=(8, 4, 1), texrefs=texrefs)
    assert (out[0] == plane).all() and (out[1] == cplane).all() and (out[2] == plane).all()


def test_doubles_in_volumes():
    module = SourceModule(NUMBERS)
    volume, cvolume = numbers("f8", 3, 4, 8), numbers("c16", 3, 4, 8)
    texrefs = [module.get_texref(name) for name in ("volume", "cvolume")]
    texrefs[0].set_array(drv.gpuarray_to_array(gpuarray.to_gpu(volume), "C"))
    texrefs[1].set_array(drv.np_to_array(cvolume, "C"))
    out = [np.zeros_like(volume), np.zeros_like(cvolume)]
    module.get_function("volumes")(*map(drv.Out, out), block=(8, 4, 3), texrefs=texrefs)
    assert (out[0] == volume).all() and (out[1] == cvolume * 2).all()
