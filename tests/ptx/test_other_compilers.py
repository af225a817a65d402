"""Forms that other compilers write, or older ones, and nvcc does not."""

import numpy as np
import pytest
from devices import words_are_ours

import pycuda.driver as drv

HEAD = """.version {version}
.target {target}
{address_size}
{top}
.visible .entry k(.param .u64 p)
{{
.reg .b32 r<16>; .reg .b16 h<8>; .reg .b64 q<8>, a, o; .reg .f32 f<8>; .reg .pred p<4>; .reg .b32 t;
.reg .v2 .b32 v, w; .reg .v4 .f32 x;
ld.param.u64 a, [p]; mov.u32 t, %tid.x; mul.wide.u32 o, t, 64; add.u64 a, a, o;
{body}
ret;
}}
"""
STORE = "st.global.u32 [a], r0; st.global.u32 [a+4], r1; st.global.u32 [a+8], r2; st.global.u32 [a+12], r3;"


def load(body, top="", version="7.0", target="sm_75"):
    size = ".address_size 64" if version >= "2.3" else ""
    text = HEAD.format(version=version, target=target, address_size=size, top=top, body=body)
    return drv.module_from_buffer(text.encode()).get_function("k")


def run(body, top="", threads=1, **options):
    """What each thread stored: 16 words."""
    out = np.zeros((threads, 16), np.uint32)
    load(body, top, **options)(drv.InOut(out), block=(threads, 1, 1))
    return out


@pytest.mark.parametrize("space", ["global", "const"])
def test_variables_of_bodies(primary_context, space):
    """Variables of one name in two scopes, in the module and in a function are separate."""
    body = f"""{{ .{space} .u32 g = 5; ld.{space}.u32 r0, [g]; }} {{ .{space} .u32 g = 7;
    ld.{space}.u32 r1, [g]; }}
    ld.global.u32 r2, [g]; call (r3), ff, (); {STORE}"""
    top = f""".global .u32 g = 6;
    .func (.reg .u32 o) ff() {{ .{space} .align 8 .u32 g[3] = {{1, 2, 3}}; ld.{space}.u32 o, [g+8]; ret; }}"""
    assert run(body, top)[0, :4].tolist() == [5, 7, 6, 3]


def test_variable_of_a_body_keeps_its_value(primary_context):
    function = load(".global .u32 g; atom.global.add.u32 r0, [g], 1; st.global.u32 [a], r0;")
    out = np.zeros(16, np.uint32)
    for _ in range(3):
        function(drv.InOut(out), block=(1, 1, 1))
    assert out[0] == 2


def test_grid_id_is_narrow(primary_context):
    body = "mov.u64 q0, %gridid; mov.u32 r0, %gridid; mov.u16 h0, %gridid; cvt.u32.u64 r1, q0; "
    body += "cvt.u32.u16 r2, h0;"
    found = run(f"{body} and.b32 r3, r1, 0xffff; {STORE}")[0]
    assert found[0] == found[1] and found[2] == found[3]


def test_moves_of_vectors(primary_context):
    body = """mov.v4.u32 {r4, r5, r6, r7}, {1, 2, 3, 4}; mov.v2.b32 {r4, r5}, {r5, r4};
    mov.v2.b32 v, {r4, r5};
    mov.v2.b32 w, v; mov.v2.u32 {r0, _}, w; mov.b32 r1, w.y; mov.v2.u32 {r2, r3}, {%ntid.x, r7};"""
    assert run(body + STORE)[0, :4].tolist() == [2, 1, 1, 4]


def test_number_added_to_a_register(primary_context):
    body = """mov.u32 r4, 10; mov.u64 q1, 20; mov.u16 h1, 65535; setp.eq.u32 p0, r4 + 1, 11;
    mov.u32 r0, r4+1; add.u32 r1, r4 +-4, 100; add.u64 q2, q1+8, q1; cvt.u32.u64 r2, q2;
    mov.u16 h2, h1+2; cvt.u32.u16 r3, h2; @p0 add.u32 r3, r3+(1+1), r4+3+4;"""
    assert run(body + STORE)[0, :4].tolist() == [11, 106, 48, 20]


def test_vectors_as_parameters(primary_context):
    top = """.func (.reg .v2 .b32 o) swap(.reg .b32 first, .reg .v2 .b32 i)
    { add.u32 o.x, i.y, first; mov.u32 o.y, i.x; ret; }
    .func (.reg .v4 .f32 o) twice(.reg .v4 .f32 i)
    { add.f32 o.x, i.x, i.x; add.f32 o.y, i.y, i.y; add.f32 o.z, i.z, i.z; add.f32 o.w, i.w, i.w; ret; }"""
    body = """mov.v2.b32 v, {t, 5}; call (w), swap, (100, v); mov.v2.b32 {r0, r1}, w;
    mov.v4.f32 x, {0f3f800000, 0f40000000, 0f40400000, 0f40800000}; call (x), twice, (x);
    cvt.rzi.u32.f32 r2, x.y;
    cvt.rzi.u32.f32 r3, x.w;"""
    found = run(body + STORE, top, threads=40)
    lanes = np.arange(40)
    assert (found[:, :4] == np.stack([lanes * 0 + 105, lanes, lanes * 0 + 4, lanes * 0 + 8], 1)).all()


@pytest.mark.cpu("ptxas takes the words but not the calls")
def test_predicates_as_parameters(primary_context):
    top = ".func (.reg .pred o) other(.reg .pred i, .reg .b32 n) { .reg .pred q; setp.lt.u32 q, n, 20;"
    top += "xor.pred o, i, q; ret; }"
    body = "setp.gt.u32 p0, t, 9; call (p1), other, (p0, t); selp.u32 r0, 1, 0, p1; st.global.u32 [a], r0;"
    lanes = np.arange(40)
    assert (run(body, top, threads=40)[:, 0] == ((lanes > 9) ^ (lanes < 20))).all()


def test_prototypes_without_semicolon(primary_context):
    top = ".extern .func never(.param .u32 i)\n.visible .func (.reg .u32 o) ff(.reg .u32 i)\n"
    top += ".global .u32 g = 4;"
    top += "\n.visible .func (.reg .u32 o) ff(.reg .u32 i) { add.u32 o, i, 1; ret; }"
    assert run(f"ld.global.u32 r4, [g]; call (r0), ff, (r4); {STORE}", top)[0, 0] == 5


@pytest.mark.parametrize("version", ["1.4", "2.0", "3.0", "3.1"])
@pytest.mark.parametrize("target", ["sm_10", "sm_13", "sm_20"])
def test_old_ptx(primary_context, version, target):
    """mad of floats without a rounding modifier is fused; sm_1x flushes subnormal numbers."""
    if target == "sm_20" and version == "1.4":
        pytest.skip("PTX 1.4 does not know sm_20")
    body = """mov.f32 f0, 0f3f800001; mov.f32 f1, 0fbf800000; mad.f32 f2, f0, f0, f1; mov.b32 r0, f2;
    mov.f32 f3, 0f00000001; add.f32 f3, f3, f3; mov.b32 r1, f3; mov.u16 h0, %tid.x;
    cvt.u32.u16 r2, %ntid.x;"""
    body += "st.global.u32 [a], r0; st.global.u32 [a+4], r1; st.global.u32 [a+8], r2;"
    text = HEAD.format(version=version, target=target, address_size="", top="", body=body)
    text = text.replace(".visible .entry", ".entry") if version < "2.0" else text
    out = np.zeros(16, np.uint32)
    function = drv.module_from_buffer(text.encode()).get_function("k")
    function(drv.InOut(out), block=(1, 1, 1))
    square = np.float64(np.array(0x3F800001, np.uint32).view(np.float32)) ** 2 - 1
    subnormal = 0 if target != "sm_20" else 2
    assert out[:3].tolist() == [np.float32(square).view(np.uint32), subnormal, 1]


def test_sized_externs_are_allocated(primary_context):
    """A module that is not linked allocates them: zeros in memory, static bytes in shared memory."""
    top = ".extern .global .u32 g[4]; .extern .const .u32 c; .extern .shared .align 16 .b8 near[260];"
    body = f"""mov.u32 r4, 9; st.shared.u32 [near+256], r4; ld.shared.u32 r0, [near+256];
    ld.global.u32 r1, [g+12];
    ld.const.u32 r2, [c]; mov.u32 r3, 1; {STORE}"""
    assert run(body, top)[0, :4].tolist() == [9, 0, 0, 1]
    assert load(body, top).shared_size_bytes == 260
    assert load(body.replace("near+256", "near"), top.replace("near[260]", "near[]")).shared_size_bytes == 0


USER = ".func ff() { .reg .u64 a; mov.u64 a, g; ret; }"
REFUSED = {
    f".extern .global .u32 g[]; {USER}": "unresolved variable 'g'",
    f".extern .const .u32 g[]; {USER}": "unresolved variable 'g'",
    ".extern .global .u32 g[]; .global .u64 h = generic(g);": "needs the address of 'g'",
    ".func ff() .abi_preserve 8 { ret; }": "'.abi_preserve' needs .version 9.0 or higher",
}


@pytest.mark.cpu("ptxas -c accepts them, but not for whole programs")
@pytest.mark.parametrize("space", ["global", "const"])
def test_unused_externs(primary_context, space):
    assert run(f"mov.u32 r0, 5; {STORE}", f".extern .{space} .u32 g[];")[0, 0] == 5


@pytest.mark.parametrize("top", REFUSED)
def test_refused(primary_context, top):
    with pytest.raises(drv.Error):
        load("", top)


@words_are_ours
@pytest.mark.parametrize(("top", "message"), REFUSED.items())
def test_refusals_say_why(primary_context, top, message):
    with pytest.raises(drv.Error, match=message):
        load("", top)


def test_member_mask_without_the_caller(primary_context):
    """Lanes that run together take part together, also those that are not in their mask."""
    body = "shfl.sync.bfly.b32 r0, t, 1, 31, 0xfffffffe; setp.eq.u32 p0, t, t; "
    body += "vote.sync.ballot.b32 r1, p0, 0xffff0000; bar.warp.sync 2; mov.u32 r2, 7; mov.u32 r3, 8;"
    found = run(body + STORE, threads=32)
    lanes = np.arange(32)
    assert (found[:, 0] == lanes ^ 1).all() and (found[:, 1] == 0xFFFFFFFF).all() and (found[:, 2] == 7).all()
