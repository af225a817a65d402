"""Modules, declarations and bodies written by hand, one on each line: valid ones and similar invalid ones."""

# Before an empty kernel.
DECLARATIONS = r"""
.global .u32 a;
.global .align 8 .u32 a[4];
.global .align 2 .u32 a[4];
.shared .align 3 .b8 z[16];
.global .u32 a, b;
.global .u32 a = 1, b = 2;
.global .u32 a[2] = {1, 2};
.global .u32 a[2] = {1, 2, 3};
.global .u32 a[2] = {1, 2,};
.global .u32 a[2][2] = {{1, 2}, {3, 4}};
.global .u32 a[] = {1, 2};
.global .u32 a[][2] = {{1, 2}, {3, 4}};
.global .u32 a = {1};
.global .u32 a[1] = 1;
.global .u32 a = -1;
.global .u32 a = 1.0;
.global .f32 a = 1;
.global .f32 a = 1.0;
.global .f32 a = 1.0 / 3.0;
.global .f32 a = 0f3F800000;
.global .f64 a = 0f3F800000;
.global .b32 a = 1.0;
.global .b64 a = 1.0;
.global .u8 a = 300;
.global .u64 a = 18446744073709551615;
.global .b128 a = 5;
.global .f16 a;
.global .f16 a = 1.0;
.global .b16 a = 0x3C00;
.global .bf16 a;
.global .u16x2 a;
.global .v2 .f32 a;
.global .v4 .f32 a = {1.0, 2.0, 3.0, 4.0};
.global .v2 .f64 a;
.global .v4 .f64 a;
.global .v8 .f32 a;
.global .pred a;
.global .u32 a; .global .u64 b = a;
.global .u32 a; .global .u64 b = generic(a);
.global .u32 a[4]; .global .u64 b = generic(a)+4;
.global .u32 a[4]; .global .u64 b = generic(a+4);
.global .u32 a[4]; .global .u64 b[2] = {a, a+8};
.global .u32 a[4]; .global .u64 b = a-4;
.global .u8 a[4]; .global .u8 b[4] = {0xff(a), 0xff00(a), 0xff0000(a), 0xff000000(a)};
.shared .u32 a[4]; .global .u64 b = a;
.func f() { ret; } .global .u64 b = f;
.const .u32 a = 1;
.const .u32 a[];
.extern .const .u32 a[];
.extern .shared .align 16 .b8 a[];
.shared .u8 a[];
.shared .u32 a = 1;
.extern .global .u32 a = 1;
.visible .global .u32 a;
.weak .global .u32 a;
.common .global .u32 a;
.common .shared .u32 a;
.local .u32 a;
.param .u32 a;
.reg .u32 a;
.global .texref a;
.shared .texref a;
.global .u32 a; .global .u32 a;
.extern .global .u32 a; .global .u64 a;
.extern .global .u32 a; .visible .global .u32 a;
.global .u32 a[0];
.global .u32 a[-1];
.global .u32 a[WARP_SZ];
.global .u32 a[2+2];
.global .u32 %a;
.global .u32 $a;
.global .u32 1a;
.global .u32 a.b;
.global .u32 add;
.global .u32 %tid;
.global .attribute(.managed) .u32 a;
.shared .attribute(.managed) .u32 a;
.func f;
.func f() { }
.func f { ret; }
.func (.reg .u32 r) f (.reg .u32 a) { mov.u32 r, a; ret; }
.func (.param .u32 r) f (.param .u32 a) { .reg .u32 x; ld.param.u32 x, [a]; st.param.u32 [r], x; ret; }
.func f (.param .align 8 .b8 a[12], .param .align 4 .b8 b[]) { ret; }
.func f (.reg .u8 p) { ret; }
.func f (.reg .u32 _) { ret; }
.func (.param .u32 _) f (.param .u32 a);
.extern .func f();
.extern .func f() { ret; }
.common .func f() { ret; }
.func f() .noreturn { trap; }
.func f() { ret; } .func f() { ret; }
.func f(); .func f() { ret; }
.func f(.reg .u32 a); .func f() { ret; }
.func f(.reg .u32 a); .func f(.reg .u64 a) { ret; }
.func f(.param .b32 a); .func f(.param .u32 a) { ret; }
.func f(.param .b8 a[4]); .func f(.param .b8 b[4]) { ret; }
.func f(.param .b32 a); .func f(.reg .b32 a) { ret; }
.func f() { ret; } .global .u32 f;
.func f() { ret; } .entry f() { ret; }
.visible .func h(); .func f() { ret; } .alias h, f;
.func f() { ret; } .alias h, f;
.entry e;
.entry e();
.entry e(.param .u32 a, .param .u32 a) { ret; }
.entry e(.reg .u32 a) { ret; }
.entry e(.param .u32 _) { ret; }
.entry e(.param .align 16 .b8 a[16]) { ret; }
.entry e(.param .v4 .f32 a) { ret; }
.entry e(.param .u64 .ptr .global .align 16 a) { ret; }
.entry e(.param .u64 .ptr .align 16 a) { ret; }
.entry e(.param .f16 a) { ret; }
.entry e(.param .pred a) { ret; }
.entry e() .maxntid 32, 2, 2 { ret; }
.entry e() .maxntid 32, 2, 2, 2 { ret; }
.entry e() .maxntid 0 { ret; }
.entry e() .reqntid 32 .maxntid 32 { ret; }
.entry e() .maxntid 32 .minnctapersm 2 { ret; }
.entry e() .minnctapersm 0 { ret; }
.entry e() .maxnreg 32 { ret; }
.entry e() .maxnreg 0 { ret; }
.entry e() .reqnctapercluster 2 { ret; }
.entry e() .explicitcluster { ret; }
.entry e() .noreturn { ret; }
.entry e() .pragma "nounroll"; { ret; }
.func f() .maxntid 32 { ret; }
.pragma "nounroll";
.file 1 "a.cu"
.file 1 "a.cu", 123, 456
.section .debug_str { .b8 1,2,3 }
.section { }
.visible .visible .global .u32 a;
.global .visible .u32 a;
.global a;
.u32 a;
.global .u32 a
;
"""

# In the body of statements.PREAMBLE.
BODIES = r"""
ld.global.u32 u32_0, gv[1];
atom.global.add.u32 u32_0, gv[3], 1;
ld.param.u32 u32_0, pv[0];
ld.global.u32 u32_0, [b64_1-4];
ld.global.u32 u32_0, [b64_1+4*2];
mov.b64 b64_0, {b32_0, b32_1};
mov.b32 {b16_0, _}, b32_0;
mov.b64 {b32_0, f32_1}, b64_0;
mov.b64 b64_0, {b32_0, 2};
mov.b32 b32_0, {b8_0, b8_1, b8_2, b8_3};
mov.u32 u32_0, {b16_0, b16_1};
mov.u16 u16_0, %tid.x;
cvt.u64.u32 u64_0, %tid.x;
add.u32 u32_0, %tid.x, 1;
mov.u32 u32_0, %tid;
mov.v4.u32 {u32_0, u32_1, u32_2, u32_3}, %tid;
mov.v4.b32 {b32_0, u32_1, s32_2, b32_3}, %ctaid;
mov.v4.s32 {s32_0, _, s32_2, s32_3}, %ntid;
mov.v4.u16 {u16_0, u16_1, u16_2, u16_3}, %nctaid;
@pred_0 mov.v4.u32 {u32_0, u32_1, u32_2, u32_3}, %cluster_ctaid;
mov.v4.f32 {f32_0, f32_1, f32_2, f32_3}, %tid;
mov.v4.u64 {u64_0, u64_1, u64_2, u64_3}, %tid;
mov.v2.u32 {u32_0, u32_1}, %tid;
mov.v4.u32 {u32_0, u32_1, u32_2, u32_3}, {%tid, u32_1, u32_2, u32_3};
mov.v4.u32 {u32_0, u32_1, u32_2, u32_3}, {_, u32_1, u32_2, u32_3};
mov.b64 b64_0, {%tid.x, %ntid.x};
mov.b64 b64_0, {%tid.x, 5};
cvt.u32.u32 u32_0, %tid;
st.global.v4.u32 [b64_0], %tid;
mov.u32 u32_0, u32_1+1;
add.u64 u64_0, u64_1+-8, u64_2;
mov.u32 u32_0+1, u32_1;
mov.f32 f32_0, f32_1+1.0;
mov.v2.u32 {u32_0, u32_1}, {u32_2+1, u32_3};
mov.u32 u32_0, %tid.q;
mov.pred pred_0, 1;
mov.u64 u64_0, fn;
mov.u64 u64_0, end;
@pred_0 add.u32 u32_0, u32_1, 1;
@!pred_0 bra end;
@b32_0 bra end;
@pred_0 L5: add.u32 u32_0, u32_1, 1;
L7: L8: add.u32 u32_0, u32_1, 1;
{ .reg .u32 z; mov.u32 z, 1; } mov.u32 z, 1;
{ .reg .u64 b32_0; mov.u64 b32_0, 1; } mov.b32 b32_0, 1;
;
add.u32 u32_0, u32_1, 1;;
add . u32 u32_0, u32_1, 1;
add.u32 u32_0, u32_1, 0X1F;
add.u32 u32_0, u32_1, 0B101;
add.u32 u32_0, u32_1, 08;
add.u32 u32_0, u32_1, 1u;
add.u32 u32_0, u32_1, 4294967296;
add.u32 u32_0, u32_1, 'a';
add.f32 f32_0, f32_1, 0f3F80000;
add.f32 f32_0, f32_1, 0F3F800000;
add.f32 f32_0, f32_1, 0f3F8000000;
add.f32 f32_0, f32_1, .5;
add.f32 f32_0, f32_1, 5.;
add.f32 f32_0, f32_1, 1.5f;
add.f32 f32_0, f32_1, 1e3;
add.f32 f32_0, f32_1, 1.5+1.0;
add.f32 f32_0, f32_1, 2.0*3.0;
add.f32 f32_0, f32_1, 7.0 % 2.0;
add.f32 f32_0, f32_1, 1.0 + 2;
add.f32 f32_0, f32_1, 0f3F800000+0f3F800000;
add.f64 f64_0, f64_1, 0f3F800000;
add.f16 f16_0, f16_1, 1.0;
add.u32 u32_0, u32_1, (1<<4)|3;
add.u32 u32_0, u32_1, 7 / 0;
add.u32 u32_0, u32_1, 1 ? 2 : 3;
add.u32 u32_0, u32_1, (.u64)(-1) >> 60;
add.u32 u32_0, u32_1, (.u32) 3;
add.u32 u32_0, u32_1, - -3;
add.u32 u32_0, u32_1, -WARP_SZ;
bra 5;
bra nowhere;
ret 1;
call fn;
call (b32_0), fn, (1);
call (b32_0), fn, (b64_1);
call (b64_0), fn, (b32_1);
call (_), fn, (b32_1);
call (b32_0), nofn, (b32_1);
call (b32_0), k, (b32_1);
.reg .u32 u32_0; mov.u32 u32_0, 1;
.reg .v2 .f32 vv; mov.f32 vv.x, 1.0;
.reg .v4 .f32 vv; ld.global.v4.f32 vv, [b64_0];
.reg .v4 .f64 vv; mov.f64 vv.x, 1.0;
.reg .v8 .f32 vv; mov.f32 vv.x, 1.0;
.reg .v2 .pred vv;
.reg .bf16 vv;
.reg .s16x2 vv;
.reg .u32 a<3>, b, c<2>; mov.u32 a2, c1;
.reg .u32 a<3>; mov.u32 a3, 1;
.local .u32 z[4]; ld.local.u32 u32_0, [z];
.local .u32 z = 5;
.param .b32 z; st.param.b32 [z], b32_0;
.loc 1 2 3
T2: .branchtargets end, end; brx.idx u32_0, T2;
T3: .branchtargets end; brx.idx b64_0, T3;
P1: .callprototype (.reg .b32 _) _ (.reg .b32 _); call (b32_0), b64_0, (b32_1), P1;
P2: .callprototype _; call b64_0, P2;
C1: .calltargets fn; call (b32_0), b64_0, (b32_1), C1;
bar.sync 16;
bar.sync 0, 33;
bar.arrive 0;
shfl.idx.b32 b32_0, b32_1, b32_2, b32_3;
"""

# From .version to the end; "\n" is a new line.
MODULES = r"""
.version 9.0\n.target sm_90\n.entry k() { ret; }
.target sm_90\n.version 9.0\n.entry k() { ret; }
.version 9\n.target sm_90\n.entry k() { ret; }
.version 6.0\n.target sm_90\n.entry k() { ret; }
.version 7.8\n.target sm_90a\n.entry k() { ret; }
.version 8.5\n.target sm_100\n.entry k() { ret; }
.version 6.2\n.target sm_75\n.entry k() { ret; }
.version 6.3\n.target sm_75\n.entry k() { ret; }
.version 5.0\n.target sm_70\n.entry k() { ret; }
.version 9.0\n.target compute_80\n.address_size 64\n.entry k() { ret; }
.version 9.0\n.target sm_80, texmode_independent\n.address_size 64\n.entry k() { ret; }
.version 9.0\n.target sm_80, foo\n.address_size 64\n.entry k() { ret; }
.version 9.0\n.target debug\n.address_size 64\n.entry k() { ret; }
.version 9.0\n.target sm_80 sm_90\n.address_size 64\n.entry k() { ret; }
.version 9.0\n.target sm_80\n.address_size 64\n.version 9.0\n.entry k() { ret; }
.version 9.0\n.target sm_80\n.address_size 64\n
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { ret;
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { ret; } }
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { ret; } /* a
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { ret }
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { bra L; L: }
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { L: ret; L: ret; }
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { L: ret; { L: bra L; } bra L; }
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { { L: ret; } bra L; }
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { { bra L; } L: ret; }
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { mov.u32 a, 1; .reg .u32 a; ret; }
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .u32 a<3>; .reg .u32 a1; ret; }
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { call f; ret; } .func f() { ret; }
.version 9.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b64 a; mov.u64 a, g; ret; } .global .u32 g;
"""


def texts(preamble, ending):
    """Yields whole modules; `preamble` and `ending` go around the bodies."""
    head = ".version 9.0\n.target sm_90a\n.address_size 64\n"
    yield from (head + line + " .visible .entry k() { ret; }" for line in DECLARATIONS.strip().splitlines())
    yield from (preamble + line + ending for line in BODIES.strip().splitlines())
    yield from (line.replace(r"\n", "\n") for line in MODULES.strip().splitlines())
