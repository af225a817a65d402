"""f32x2 instructions return the results of two f32 instructions, in every rounding, also where a product and
a sum become one fma."""

import numpy as np
import pytest

import pycuda.driver as drv

pytestmark = pytest.mark.cpu("needs compute capability 10.0")
LANES = 1024
ROUNDINGS = [".rn", ".rz", ".rm", ".rp"]
KERNEL = """.version 8.6
.target sm_100
.address_size 64
.visible .entry k(.param .u64 given, .param .u64 pairs, .param .u64 singles)
{{
.reg .b64 in, out, o, a, b, c, d, e; .reg .b32 i, t, n; .reg .f32 al, ah, bl, bh, cl, ch, dl, dh, el, eh;
mov.u32 i, %ctaid.x; mov.u32 n, %ntid.x; mov.u32 t, %tid.x; mad.lo.u32 i, i, n, t;
ld.param.u64 in, [given]; mul.wide.u32 o, i, 24; add.u64 in, in, o;
ld.global.b64 a, [in]; ld.global.b64 b, [in+8]; ld.global.b64 c, [in+16];
mov.b64 {{al, ah}}, a; mov.b64 {{bl, bh}}, b; mov.b64 {{cl, ch}}, c;
{pairs}
ld.param.u64 out, [pairs]; mul.wide.u32 o, i, 8; add.u64 out, out, o; st.global.b64 [out], d;
{singles}
mov.b64 d, {{dl, dh}};
ld.param.u64 out, [singles]; add.u64 out, out, o; st.global.b64 [out], d;
ret;
}}
"""


def inputs():
    """Random bits in a third of the lanes, numbers near each other in the second, tiny ones in the last."""
    random = np.random.default_rng(11)
    words = random.integers(0, 2**32, (LANES, 6), dtype=np.uint32)
    near = words & 0x807FFFFF | random.integers(120, 135, words.shape, dtype=np.uint32) << 23
    tiny = words & 0x807FFFFF | random.integers(0, 70, words.shape, dtype=np.uint32) << 23
    return np.where(
        np.arange(LANES)[:, None] % 3 == 0, words, np.where(np.arange(LANES)[:, None] % 3 == 1, near, tiny)
    )


def halves(text):
    """A statement on pairs as two on their halves."""
    lines = []
    for half in "lh":
        statements = []
        for statement in filter(None, text.split("; ")):
            mnemonic, operands = statement.split(" ", 1)
            names = ", ".join(name.strip() + half for name in operands.split(","))
            statements.append(f"{mnemonic.replace('f32x2', 'f32')} {names}")
        lines.append("; ".join(statements) + ";")
    return "\n".join(lines)


def check(texts):
    """Statements on pairs and the same on their halves have equal results."""
    given = inputs()
    for text in texts:
        source = KERNEL.format(pairs=text, singles=halves(text.rstrip(";")))
        pairs, singles = np.zeros((2, LANES), np.uint64)
        drv.module_from_buffer(source.encode()).get_function("k")(
            drv.In(given), drv.Out(pairs), drv.Out(singles), block=(128, 1, 1), grid=(LANES // 128, 1)
        )
        assert singles.any() and (pairs == singles).all(), text


def check_forms():
    flush = ["", ".ftz"]
    check(
        f"{op}{r}{f}.f32x2 d, a, b;" for op in ("add", "sub", "mul") for r in ["", *ROUNDINGS] for f in flush
    )
    check(f"fma{r}{f}.f32x2 d, a, b, c;" for r in ROUNDINGS for f in flush)


def check_contracted():
    check(
        f"mul{f}.f32x2 e, a, b; {op}{f}.f32x2 d, {operands};"
        for f in ("", ".ftz", ".rn")
        for op in ("add", "sub")
        for operands in ("e, c", "c, e")
    )


@pytest.mark.parametrize("one", [check_forms, check_contracted])
def test_like_f32(at_capability, one):
    at_capability((10, 0), one)
