"""suld, sust, suq, txq and tld4: elements and sizes of a surface and a texture, against the array's."""

import sys
from pathlib import Path

import numpy as np
import pytest

import pycuda.driver as drv

sys.path.insert(0, str(Path(__file__).parent))

from test_surface_reductions import array_of, moved

WIDTH, HEIGHT = 8, 4
THREADS = WIDTH * HEIGHT
KERNEL = """.version 8.5
.target sm_75
.address_size 64
.visible .entry k(.param .u64 handle, .param .u64 out)
{{
.reg .b64 h, v, o; .reg .b32 x, y, t, r; .reg .f32 fx, fy, f, f1, f2, f3; .reg .b32 r1, r2;
ld.param.u64 h, [handle]; ld.param.u64 v, [out];
mov.u32 t, %tid.x; mul.wide.u32 o, t, 16; add.u64 v, v, o;
and.b32 x, t, 7; shr.u32 y, t, 3; cvt.rn.f32.u32 fx, x; cvt.rn.f32.u32 fy, y;
{text}
ret;
}}
"""

pytestmark = pytest.mark.usefixtures("primary_context")


def launched(text, handle, dtype=np.uint32):
    """Four numbers of each thread, which the text stores to [v]."""
    function = drv.module_from_buffer(KERNEL.format(text=text).encode()).get_function("k")
    out = np.zeros((THREADS, 4), dtype)
    function(handle, drv.Out(out), block=(THREADS, 1, 1))
    return out


def numbers(dtype):
    return (np.arange(1, THREADS + 1) * 10).astype(dtype).reshape(1, HEIGHT, WIDTH)


def test_suld():
    data = numbers(np.uint32)
    surface = drv.SurfaceObject(array_of(data, 2))
    found = launched("shl.b32 x, x, 2; suld.b.2d.b32.trap {r}, [h, {x, y}]; st.global.u32 [v], r;", surface)
    assert (found[:, 0] == data.ravel()).all()


def test_suld_outside_gives_zero():
    surface = drv.SurfaceObject(array_of(numbers(np.uint32), 2))
    text = "shl.b32 x, x, 2; add.u32 y, y, 4; suld.b.2d.b32.zero {r}, [h, {x, y}]; st.global.u32 [v], r;"
    found = launched(text, surface)
    assert (found[:, 0] == 0).all()


def test_sust():
    data = numbers(np.uint32)
    array = array_of(data, 2)
    launched(
        "shl.b32 x, x, 2; add.u32 r, t, 7; sust.b.2d.b32.trap [h, {x, y}], {r};", drv.SurfaceObject(array)
    )
    assert (moved(array, np.empty_like(data), False).ravel() == np.arange(THREADS) + 7).all()


@pytest.mark.parametrize(("name", "of"), [("suq", drv.SurfaceObject), ("txq", drv.TextureObject)])
def test_sizes(name, of):
    text = f"{name}.width.b32 r, [h]; {name}.height.b32 r1, [h]; st.global.v2.u32 [v], {{r, r1}};"
    found = launched(text, of(array_of(numbers(np.float32), 2)))
    assert (found[:, :2] == (WIDTH, HEIGHT)).all()


def test_tld4():
    """The four texels around a corner, counter-clockwise from the lower left."""
    data = numbers(np.float32)
    texture = drv.TextureObject(array_of(data, 2, drv.array3d_flags.TEXTURE_GATHER), address_mode=1)
    text = "tld4.r.2d.v4.f32.f32 {f, f1, f2, f3}, [h, {fx, fy}]; st.global.v4.f32 [v], {f, f1, f2, f3};"
    found = launched(text, texture, np.float32)
    padded = np.pad(data[0], ((1, 0), (1, 0)), mode="edge")  # clamped: corner (x, y) has x - 1 and x
    x, y = np.arange(THREADS) % WIDTH, np.arange(THREADS) // WIDTH
    wanted = [padded[y + 1, x], padded[y + 1, x + 1], padded[y, x + 1], padded[y, x]]
    assert (found == np.stack(wanted, axis=1)).all()
