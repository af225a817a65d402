"""Sources with texture<> and surface<> variables, in the forms that programs have."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda._compile import textures
from pycuda.compiler import SourceModule, compile_plain

VALUES = np.arange(1, 9, dtype=np.float32)
KERNEL = "__global__ void k(float *out) { out[threadIdx.x] = tex1D(tex, threadIdx.x + 0.5f); }"


def row(values):
    """A 1-D CUDA array of floats with these values."""
    descr = drv.ArrayDescriptor()
    descr.width, descr.num_channels, descr.format = len(values), 1, drv.array_format.FLOAT
    array = drv.Array(descr)
    drv.memcpy_htoa(array, 0, values)
    return array


def check(module, name="tex", kernel="k"):
    """Asserts that the kernel copies the texture reference's elements, which are VALUES."""
    texref = module.get_texref(name)
    texref.set_array(row(VALUES))
    out = np.zeros_like(VALUES)
    module.get_function(kernel)(drv.Out(out), block=(8, 1, 1), texrefs=[texref])
    assert (out == VALUES).all()


@pytest.mark.parametrize(
    "declaration",
    [
        "texture<float> tex;",
        "texture<float, 1, cudaReadModeElementType> tex;",
        "texture <float,\n    cudaTextureType1D> tex;",
        "static texture<float, 1> tex;",
        "texture<float> unused, tex;",
        "texture<float, 1> tex(0, cudaFilterModePoint, cudaAddressModeClamp);",
        "typedef texture<float, 1> line; line tex;",
        "using line = texture<float, 1>; line tex;",
        "#define TEXTURE(name) texture<float, 1> name;\nTEXTURE(tex)",
        "#define TEXTURE(name) texture<float, 1> name\nTEXTURE(tex);",
        "#define TEXTURE(a, b) texture<float, 1> a##b;\nTEXTURE(te, x)",
        "#define TYPE float\ntexture<TYPE, 1> tex;",
        "__device__ texture<float> tex;",
        "/* texture<int> tex; */ texture<float> tex; // texture<int> tex;",
        'namespace { const char *text = "texture<int> tex;"; } texture<float> tex;',
    ],
)
@pytest.mark.parametrize("extern_c", [True, False])
def test_declarations(declaration, extern_c):
    kernel = KERNEL if extern_c else f'extern "C" {KERNEL}'
    check(SourceModule(f"{declaration}\n{kernel}", no_extern_c=not extern_c))


def test_references_as_parameters():
    check(
        SourceModule("""
        texture<float, 1, cudaReadModeElementType> tex;
        static __inline__ __device__ float at(texture<float, 1> t, int i) { return tex1D(t, i + 0.5f); }
        __global__ void k(float *out) { out[threadIdx.x] = at(tex, threadIdx.x); }
        """)
    )
    check(
        SourceModule(
            """
        template <class T, enum cudaTextureReadMode mode>
        __device__ T at(const texture<T, 1, mode> &t, int i) { return tex1D(t, i + 0.5f); }
        texture<float, cudaTextureType1D> tex;
        extern "C" __global__ void k(float *out) { out[threadIdx.x] = at(tex, threadIdx.x); }
        """,
            no_extern_c=True,
        )
    )


def test_other_things_of_these_names():
    check(
        SourceModule("""
        texture<float> tex;
        struct Material { float texture, surface; };
        __global__ void k(float *texture)
        {
            Material m; int surface = threadIdx.x; const int b = 8;
            m.texture = tex1D(tex, threadIdx.x + 0.5f); m.surface = 0;
            if (surface < b && b > 0) texture[surface] = m.texture + m.surface;
        }
        """)
    )
    source = "__global__ void k(float *texture, int surface) { if (surface <3) texture[0] = surface; }"
    assert textures.annotate(source) is None
    SourceModule(source)


@pytest.mark.parametrize("extern_c", [True, False])
def test_references_in_a_header(tmp_path, extern_c):
    (tmp_path / "textures.cuh").write_text("#pragma once\ntexture<float, 1> tex;\n")
    (tmp_path / "kernels.cuh").write_text(
        '#include "textures.cuh"\n'
        "__device__ float at(texture<float, 1> t, int i) { return tex1D(t, i + 0.5f); }\n"
        'extern "C" __global__ void k(float *out) { out[threadIdx.x] = at(tex, threadIdx.x); }\n'
    )
    check(SourceModule('#include "kernels.cuh"', include_dirs=[tmp_path], no_extern_c=not extern_c))
    (tmp_path / "textures.cuh").write_text("#pragma once\ntexture<int, 1> tex;\n")  # the cache sees that
    with pytest.raises(drv.CompileError, match="texture<int, 1"):
        SourceModule('#include "kernels.cuh"', include_dirs=[tmp_path], no_extern_c=not extern_c)


def test_compile_plain():
    source = f'texture<float> tex; extern "C" {KERNEL}'
    arch = "compute_{}{}".format(*drv.Device(0).compute_capability())
    check(drv.module_from_buffer(compile_plain(source, ["-arch", arch], False, "nvcc", None, "ptx")))


def test_messages_have_the_lines_of_the_users_source():
    with pytest.raises(drv.CompileError, match=r"kernel\.cu\(3\): error") as caught:
        SourceModule("texture<float> tex;\ntexture<float, 2> other;\nnonsense;\n")
    assert "1 error" in caught.value.stderr and "pycuda-textures" not in caught.value.stderr


@pytest.mark.parametrize("element", ["double", "long long", "float3"])
def test_elements_that_textures_do_not_hold(element):
    with pytest.raises(drv.CompileError, match="textures hold integers of 8, 16 and 32 bits"):
        SourceModule(f"texture<{element}> tex; __global__ void k(int i) {{ tex1Dfetch(tex, i); }}")


def test_a_read_of_other_dimensions_does_not_compile():
    with pytest.raises(drv.CompileError, match="tex2D"):
        SourceModule("texture<float, 1> tex; __global__ void k(float *o) { o[0] = tex2D(tex, 0.f, 0.f); }")


@pytest.mark.usefixtures("nvcc")
def test_nvcc(tmp_path, monkeypatch):
    monkeypatch.setenv("PYCUDA_COMPILER", "nvcc")
    check(SourceModule(f"typedef texture<float, 1> line; line tex;\n{KERNEL}"))
    (tmp_path / "textures.cuh").write_text("texture<float, 1> tex;\n")
    check(SourceModule(f'#include "textures.cuh"\n{KERNEL}', include_dirs=[tmp_path]))
