"""Forms that compilers do not write but people do, with the results that the PTX manual defines."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.driver import module_from_buffer

KERNEL = """.version {version}
.target {target}
.address_size 64
.global .u32 table[4] = {{11, 22, 33, 44}};
.global .f64 third = 1.0 / 3.0;
.global .f32 mixed[2] = {{2.5 * 3.0 - 1.0, -1.0 / 3.0}};
.visible .entry run(.param .u64 out, .param .u64 in)
{{
.reg .u64 to, from;
.reg .b16 h<8>;
.reg .b32 r<8>;
.reg .u32 u<8>;
.reg .f32 f<8>;
.reg .f64 d<8>;
.reg .pred p<4>;
ld.param.u64 to, [out];
ld.param.u64 from, [in];
{body}
ret;
}}
"""


def run(body, values=(), dtype=np.uint32, version="7.8", target="sm_75"):
    """What the body wrote to [to]: 16 words, read as dtype."""
    module = module_from_buffer(KERNEL.format(body=body, version=version, target=target).encode())
    out = drv.mem_alloc(64)
    drv.memset_d32(out, 0, 16)
    given = np.zeros(16, np.uint32)
    raw = np.asarray(values).view(np.uint32)
    given[: raw.size] = raw
    source = drv.to_device(given)
    module.get_function("run")(out, source, block=(1, 1, 1))
    got = np.empty(16, np.uint32)
    drv.memcpy_dtoh(got, out)
    return got.view(dtype)


pytestmark = pytest.mark.usefixtures("primary_context")


def test_element_of_an_array_is_an_address():
    got = run(
        "ld.global.u32 u0, table[2]; st.global.u32 [to], u0;"
        " mov.u32 u1, 77; st.global.u32 table[3], u1; ld.u32 u2, table[3]; st.global.u32 [to+4], u2;"
    )
    assert got[:2].tolist() == [33, 77]


def test_one_value_in_braces():
    got = run("ld.global.u32 {u0}, [from]; st.global.u32 [to+4], {u0};", np.array([123], np.uint32))
    assert got[:2].tolist() == [0, 123]


def test_decimal_expressions():
    got = run(
        "ld.global.f64 d0, [third]; st.global.f64 [to], d0; mov.f64 d1, 1.0 + 0.1 * 3.0;"
        " st.global.f64 [to+8], d1; ld.global.f32 f0, [mixed]; st.global.f32 [to+16], f0;"
        " ld.global.f32 f1, [mixed+4]; st.global.f32 [to+20], f1; mov.f32 f2, 1.0 / 3.0;"
        " st.global.f32 [to+24], f2;"
    )
    assert got.view(np.float64)[:2].tolist() == [1.0 / 3.0, 1.0 + 0.1 * 3.0]
    assert got.view(np.float32)[4:7].tolist() == [6.5, np.float32(-1.0 / 3.0), np.float32(1.0 / 3.0)]


SPECIALS = {"tid": (1, 2, 3, 0), "ntid": (2, 3, 4, 0), "ctaid": (1, 1, 0, 0), "nctaid": (2, 2, 1, 0)}


@pytest.mark.parametrize("name", SPECIALS)
def test_all_parts_of_a_special_register(name):
    body = f"""mov.v4.u32 {{u0, u1, u2, u3}}, %{name}; mov.v4.b16 {{h0, _, h2, h3}}, %{name};
    mov.b64 d0, {{%{name}.x, %{name}.y}}; cvt.u32.u16 u4, h0; cvt.u32.u16 u5, h2;
    mov.u32 r0, %tid.x; mov.u32 r1, %tid.y; mov.u32 r2, %tid.z; mov.u32 r3, %ctaid.x; mov.u32 r4, %ctaid.y;
    mad.lo.u32 r0, r1, 10, r0; mad.lo.u32 r0, r2, 100, r0; mad.lo.u32 r0, r3, 1000, r0;
    mad.lo.u32 r0, r4, 10000, r0; setp.eq.u32 p0, r0, 11321;
    @p0 st.global.v4.u32 [to], {{u0, u1, u2, u3}}; @p0 st.global.v2.u32 [to+16], {{u4, u5}};
    @p0 st.global.f64 [to+24], d0;"""
    text = KERNEL.format(body=body, version="7.8", target="sm_75")
    out = np.zeros(16, np.uint32)
    kernel = module_from_buffer(text.encode()).get_function("run")
    kernel(drv.InOut(out), np.uint64(0), block=(2, 3, 4), grid=(2, 2))
    x, y, z, w = SPECIALS[name]
    assert out[:8].tolist() == [x, y, z, w, x, z, x, y]


def test_warp_size_negated():
    assert run("mov.u32 u0, -WARP_SZ; st.global.u32 [to], u0;")[0] == 2**32 - 32


@pytest.mark.parametrize(("p", "q"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_a_predicate_is_negated_where_it_is_read(p, q):
    forms = ["and.pred p2, !p0, p1;", "or.pred p2, p0, !p1;", "xor.pred p2, !p0, !p1;", "not.pred p2, !p0;"]
    forms += ["mov.pred p2, !p1;", "@!p0 mov.pred p2, !p1;"]
    body = f"setp.ne.u32 p0, {p}, 0; setp.ne.u32 p1, {q}, 0;"
    for at, form in enumerate(forms):
        body += f"setp.eq.u32 p2, 0, 0; {form} selp.u32 u0, 1, 2, !p2; st.global.u32 [to+{4 * at}], u0;"
    results = [not p and q, p or not q, p != q, p, not q, p or not q]
    assert run(body)[: len(forms)].tolist() == [2 if result else 1 for result in results]


@pytest.mark.parametrize("kind", ["b16", "u16", "s16"])
def test_lower_half_of_a_special_register(kind):
    assert run(f".reg .{kind} x; mov.{kind} x, %ntid.x; st.global.{kind} [to], x;")[0] == 1


def test_f16x2_registers_hold_integers():
    got = run(
        ".reg .f16x2 x; mov.u32 u0, 5; add.u32 x, u0, 7; min.u32 u1, x, u0; st.global.u32 [to], u1;"
        " st.global.b32 [to+4], x;"
    )
    assert got[:2].tolist() == [5, 12]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("s32", np.array([-3, 5], np.int32)),
        ("u32", np.array([4000000000, 5], np.uint32)),
        ("u64", np.array([2**63, 5], np.uint64)),
        ("f32", np.array([-0.5, 2.0], np.float32)),
        ("f64", np.array([-0.5, 2.0])),
    ],
)
@pytest.mark.parametrize("compare", ["eq", "lt", "ge"])
def test_set_returns_a_half(kind, values, compare):
    size = values.itemsize
    body = (
        f".reg .{kind} a, b; ld.global.{kind} a, [from]; ld.global.{kind} b, [from+{size}];"
        f" set.{compare}.f16.{kind} h0, a, b; st.global.b16 [to], h0;"
        f" set.{compare}.f16.{kind} h1, b, a; st.global.b16 [to+2], h1;"
        f" set.{compare}.f16.{kind} h2, a, a; st.global.b16 [to+4], h2;"
    )
    got = run(body, values, np.float16)[:3].tolist()
    of = {"eq": np.equal, "lt": np.less, "ge": np.greater_equal}[compare]
    a, b = values
    assert got == [float(of(a, b)), float(of(b, a)), float(of(a, a))]


def set_gives_a_bfloat():
    body = (
        "ld.global.f32 f0, [from]; ld.global.f32 f1, [from+4]; set.lt.bf16.f32 h0, f0, f1;"
        " set.gt.bf16.f32 h1, f0, f1; set.lt.bf16.s32 h2, -1, 0; mov.b32 r0, {h0, h1};"
        " st.global.b32 [to], r0; st.global.b16 [to+4], h2;"
    )
    got = run(body, np.array([1, 2], np.float32), np.uint16, target="sm_90")
    assert got[:3].tolist() == [0x3F80, 0, 0x3F80]


def widened_bfloats():
    body = (
        "ld.global.b16 h0, [from]; cvt.rz.f32.bf16 f0, h0; st.global.f32 [to], f0;"
        " cvt.rp.f64.bf16 d0, h0; st.global.f64 [to+8], d0;"
    )
    got = run(body, np.array([0xC049], np.uint32), target="sm_90")
    assert got.view(np.float32)[0] == -3.140625 and got.view(np.float64)[1] == -3.140625


def halves_with_floats():
    """add, sub and fma of .f32 with sources of 16 bits: widened exactly, then one operation of .f32."""
    halves, single = np.array([1.5, -0.3], np.float16), np.float32(2.7)
    for kind, wide in (("f16", halves.astype(np.float32)), ("bf16", None)):
        bits = halves.view(np.uint16)
        if wide is None:
            wide = (bits.astype(np.uint32) << 16).view(np.float32)
        a, b = wide
        body = (
            f"ld.global.b16 h0, [from]; ld.global.b16 h1, [from+2]; ld.global.f32 f0, [from+4];"
            f" add.f32.{kind} f1, h0, f0; sub.rn.f32.{kind} f2, h1, f0; fma.rn.f32.{kind} f3, h0, h1, f0;"
            f" add.rn.sat.f32.{kind} f4, h0, f0;"
            " st.global.f32 [to], f1; st.global.f32 [to+4], f2; st.global.f32 [to+8], f3;"
            " st.global.f32 [to+12], f4;"
        )
        given = np.array([int(bits[0]) | int(bits[1]) << 16, single.view(np.uint32)], np.uint32)
        got = run(body, given, np.float32, version="9.0", target="sm_100")[:4]
        exact = np.float32(np.float64(a) * np.float64(b) + np.float64(single))
        assert got.tolist() == [a + single, b - single, exact, np.clip(a + single, 0, 1)]


def test_halves_with_floats(at_capability):
    at_capability((10, 0), halves_with_floats)


@pytest.mark.parametrize("check", [set_gives_a_bfloat, widened_bfloats], ids=lambda check: check.__name__)
def test_bfloats(at_capability, check):
    at_capability((9, 0), check)
