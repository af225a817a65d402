"""cvt to halves with .satfinite: larger numbers become the greatest finite one, NaN stays NaN."""

import numpy as np

import pycuda.driver as drv

KERNEL = """.version 8.5
.target sm_80
.address_size 64
.visible .entry k(.param .u64 given, .param .u64 taken)
{{
.reg .b64 at, to, o; .reg .b32 t, pair; .reg .b16 low, high; .reg .f32 x;
ld.param.u64 at, [given]; ld.param.u64 to, [taken]; mov.u32 t, %tid.x; mul.wide.u32 o, t, 4;
add.u64 at, at, o; add.u64 to, to, o; ld.global.f32 x, [at];
{text}
st.global.b32 [to], pair;
ret;
}}
"""
SINGLE = "cvt.{round}{relu}.satfinite.{kind}.f32 low, x; mov.b32 pair, {{low, low}};"
PACKED = "cvt.{round}{relu}.satfinite.{kind}x2.f32 pair, x, x;"
GREATEST = {"f16": 0x7BFF, "bf16": 0x7F7F}


def bits_of(x, kind, rounding):
    """The bits of a float rounded to a half, in the rounding "rn" or "rz", without saturation."""
    if kind == "bf16":
        words = x.view(np.uint32).astype(np.uint64)
        low = words >> 16 & 1
        return (words + (0 if rounding == "rz" else 0x7FFF + low) >> 16).astype(np.uint16)
    with np.errstate(over="ignore"):
        half = x.astype(np.float16)
    over = (np.abs(half.astype(np.float64)) > np.abs(x.astype(np.float64))) & (rounding == "rz")
    return half.view(np.uint16) - over.astype(np.uint16)


def check_all():
    """Random floats and the limits of both formats, in every rounding, single and packed."""
    random = np.random.default_rng(1)
    x = (random.normal(size=224) * 2.0 ** random.integers(-30, 30, 224)).astype(np.float32)
    edges = [
        np.inf,
        65504,
        65519.996,
        65520,
        1e9,
        3.3895314e38,
        3.3961776e38,
        3.4028235e38,
        1e-8,
        1e-40,
        0,
        1,
    ]
    x = np.concatenate([x, edges, -np.array(edges)]).astype(np.float32)
    x = np.concatenate([x, np.full(256 - len(x), np.nan, np.float32)])
    for kind, greatest in GREATEST.items():
        for rounding in ("rn", "rz"):
            for relu in ("", ".relu"):
                half = bits_of(x, kind, rounding)
                wanted = np.where((half & 0x7FFF) > greatest, half & 0x8000 | greatest, half)
                wanted = np.where((x <= 0) & bool(relu), 0, wanted)
                wanted = np.where(np.isnan(x), 0x7FFF, wanted)
                for text in (SINGLE, PACKED):
                    text = text.format(round=rounding, relu=relu, kind=kind)
                    out = np.zeros(256, np.uint32)
                    function = drv.module_from_buffer(KERNEL.format(text=text).encode()).get_function("k")
                    function(drv.In(x), drv.InOut(out), block=(256, 1, 1))
                    assert (out & 0xFFFF == wanted).all() and (out >> 16 == wanted).all(), text


def test_halves(at_capability):
    at_capability((9, 0), check_all)
