"""SurfaceReference: what kernels read and write through surface<> variables."""

import gc

import numpy as np
import pytest
from texture_model import array_of, contents

import pycuda.autoinit  # noqa: F401
import pycuda.driver as drv
from pycuda.compiler import SourceModule

SURFACE, LAYERED = drv.array3d_flags.SURFACE_LDST, drv.array3d_flags.LAYERED
CUBEMAP = drv.array3d_flags.CUBEMAP

# next_NAME replaces each element (a, b) of the array that surface NAME is bound to by (a + 1, b - 1).
SOURCE = """
surface<void, cudaSurfaceType1D> s1;
surface<void, 2> s2;
surface<void, cudaSurfaceType3D> s3;
surface<void, cudaSurfaceType1DLayered> l1;
surface<void, cudaSurfaceType2DLayered> l2;
surface<void, cudaSurfaceTypeCubemap> cube;
surface<void, cudaSurfaceTypeCubemapLayered> cubes;
texture<float2, 2> seen;
#define X (threadIdx.x * (int)sizeof(float2))
#define Y (int)threadIdx.y
#define Z (int)threadIdx.z
__device__ float2 next(float2 a) { return make_float2(a.x + 1, a.y - 1); }
__global__ void next_s1() { surf1Dwrite(next(surf1Dread<float2>(s1, X)), s1, X); }
__global__ void next_s2() { float2 a; surf2Dread(&a, s2, X, Y); surf2Dwrite(next(a), s2, X, Y); }
__global__ void next_s3() { surf3Dwrite(next(surf3Dread<float2>(s3, X, Y, Z)), s3, X, Y, Z); }
__global__ void next_l1() { surf1DLayeredwrite(next(surf1DLayeredread<float2>(l1, X, Z)), l1, X, Z); }
__global__ void next_l2() { surf2DLayeredwrite(next(surf2DLayeredread<float2>(l2, X, Y, Z)), l2, X, Y, Z); }
__global__ void next_cube() { surfCubemapwrite(next(surfCubemapread<float2>(cube, X, Y, Z)), cube, X, Y, Z); }
__global__ void next_cubes()
{
    surfCubemapLayeredwrite(next(surfCubemapLayeredread<float2>(cubes, X, Y, Z)), cubes, X, Y, Z);
}
__global__ void both(float2 *out) { out[Y * blockDim.x + threadIdx.x] = tex2D(seen, threadIdx.x, Y); }
"""


@pytest.fixture
def module():
    return SourceModule(SOURCE)


@pytest.mark.parametrize(
    ("name", "shape", "dimensions", "flags"),
    [
        ("s1", (1, 1, 16), 1, 0),
        ("s2", (1, 4, 8), 2, 0),
        ("s3", (3, 4, 8), 3, 0),
        ("l1", (3, 1, 16), 1, LAYERED),
        ("l2", (3, 4, 8), 2, LAYERED),
        ("cube", (6, 8, 8), 2, CUBEMAP),
        ("cubes", (12, 4, 4), 2, CUBEMAP | LAYERED),
    ],
)
def test_every_dimension(module, name, shape, dimensions, flags):
    """Kernels read and write arrays through surface references of each dimension."""
    data = np.random.default_rng(0).integers(0, 100, (*shape, 2)).astype(np.float32)
    array = array_of(data, dimensions, flags | SURFACE)
    surfref = module.get_surfref(name)
    assert isinstance(surfref, drv.SurfaceReference)
    surfref.set_array(array)
    assert surfref.get_array() == array
    for _ in range(2):
        module.get_function(f"next_{name}")(block=shape[::-1])
    assert (contents(array, data.shape, "f4") == data + [2, -2]).all()


def test_another_array_at_each_launch(module):
    """Array k is bound for k launches; none waits for the one before."""
    data = np.zeros((1, 4, 8, 2), np.float32)
    arrays = [array_of(data, 2, SURFACE) for _ in range(4)]
    surfref, step = module.get_surfref("s2"), module.get_function("next_s2")
    for k, array in enumerate(arrays):
        for _ in range(k):
            surfref.set_array(array)
            step(block=(8, 4, 1))
    for k, array in enumerate(arrays):
        assert (contents(array, data.shape, "f4") == np.array([k, -k])).all()
    drv.Context.synchronize()


def test_a_surface_and_a_texture_over_one_array(module):
    data = np.arange(64, dtype=np.float32).reshape(1, 4, 8, 2)
    array = array_of(data, 2, SURFACE)
    module.get_surfref("s2").set_array(array)
    seen = module.get_texref("seen")
    seen.set_array(array)
    out = np.zeros((4, 8, 2), np.float32)
    for turn in range(1, 3):
        module.get_function("next_s2")(block=(8, 4, 1))
        module.get_function("both")(drv.Out(out), block=(8, 4, 1), texrefs=[seen])
        assert (out == data[0] + [turn, -turn]).all()


# Swaps the two rows of a 2-d array and the two layers of a 3-d array of TYPE, by the functions of
# pycuda-helpers.hpp.
HELPERS = """
#include <pycuda-helpers.hpp>
surface<void, cudaSurfaceType2DLayered> flat;
surface<void, cudaSurfaceType3D> deep;
#define I threadIdx.x
template <class T> __device__ void swap_rows(T a, T b)
{
    fp_surf2DLayeredread(&a, flat, I, 0, 0, cudaBoundaryModeTrap);
    fp_surf2DLayeredread(&b, flat, I, 1, 0, cudaBoundaryModeTrap);
    fp_surf2DLayeredwrite(a, flat, I, 1, 0, cudaBoundaryModeTrap);
    fp_surf2DLayeredwrite(b, flat, I, 0, 0, cudaBoundaryModeTrap);
    fp_surf3Dread(&a, deep, I, 0, 0, cudaBoundaryModeClamp);
    fp_surf3Dread(&b, deep, I, 0, 1, cudaBoundaryModeZero);
    fp_surf3Dwrite(a, deep, I, 0, 1, cudaBoundaryModeTrap);
    fp_surf3Dwrite(b, deep, I, 0, 0, cudaBoundaryModeTrap);
}
extern "C" __global__ void swap() { swap_rows(TYPE(), TYPE()); }
"""


@pytest.mark.parametrize(
    ("code", "c_type"),
    [
        ("f4", "float"),
        ("f8", "double"),
        ("c8", "pycuda::complex<float>"),
        ("c16", "pycuda::complex<double>"),
        ("i1", "char"),
        ("u2", "ushort"),
        ("i4", "int"),
        ("u4", "unsigned"),
    ],
)
def test_the_fp_surf_functions(code, c_type):
    module = SourceModule(HELPERS, options=[f"-DTYPE={c_type}"], no_extern_c=True)
    rows = np.random.default_rng(5).integers(0, 100, (2, 8)).astype(code)
    if code[0] == "c":
        rows = (rows + 1j * rows[::-1]).astype(code)
    flat = drv.np_to_array(rows, "C", allowSurfaceBind=True)
    deep = drv.np_to_array(rows[:, None], "C", allowSurfaceBind=True)
    module.get_surfref("flat").set_array(flat)
    module.get_surfref("deep").set_array(deep)
    module.get_function("swap")(block=(8, 1, 1))
    assert (contents(flat, (1, 2, 8, 1), code).reshape(2, 8) == rows[::-1]).all()
    assert (contents(deep, (2, 1, 8, 1), code).reshape(2, 8) == rows[::-1]).all()


def test_wrong_arrays_and_names(module):
    surfref = module.get_surfref("s2")
    data = np.zeros((1, 4, 8, 2), np.float32)
    with pytest.raises(drv.LogicError, match=r"^cuSurfRefGetArray failed: .*'s2' is not bound to an Array"):
        surfref.get_array()
    with pytest.raises(drv.LogicError, match=r"^cuSurfRefSetArray failed: .*SURFACE_LDST"):
        surfref.set_array(array_of(data, 2))
    with pytest.raises(drv.LogicError, match="surface 's2' was declared as 2D, the Array is 3D"):
        surfref.set_array(array_of(data, 3, SURFACE))
    with pytest.raises(drv.LogicError, match="flags is 1"):
        surfref.set_array(array_of(data, 2, SURFACE), 1)
    with pytest.raises(TypeError, match="array must be an Array, not str"):
        surfref.set_array("array")
    with pytest.raises(TypeError):
        drv.SurfaceReference()
    with pytest.raises(drv.LogicError, match=r"^cuModuleGetSurfRef failed: .*surface reference 'none'"):
        module.get_surfref("none")
    with pytest.raises(drv.LogicError, match="variable 'seen' is not a surface reference"):
        module.get_surfref("seen")


def test_the_reference_keeps_its_array(module):
    data = np.zeros((1, 4, 8, 2), np.float32)
    module.get_surfref("s2").set_array(array_of(data, 2, SURFACE))
    gc.collect()
    module.get_function("next_s2")(block=(8, 4, 1))
    array = module.get_surfref("s2").get_array()
    assert (contents(array, data.shape, "f4") == [1, -1]).all()
