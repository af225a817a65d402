"""PTX 1.0 to 2.3, as compilers up to CUDA 4 wrote it: what was written in another way, or meant something
else than now."""

import ctypes

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.driver import module_from_buffer

pytestmark = pytest.mark.usefixtures("primary_context")

FLOATS = np.array([0.75, -2.5, 1e-40, 3e38, np.inf, 30.0, 0.0, 1.0], np.float32)
DOUBLES = np.array([0.75, 2.5, 3.0, 1e-310], np.float64)


def run(text, given=(), name="k", size=32):
    """What the kernel wrote to its first parameter, 32-bit words; the second one is where the values are."""
    kernel = module_from_buffer(text.encode()).get_function(name)
    out, values = drv.mem_alloc(4 * size), np.asarray(given)
    drv.memset_d32(out, 0, size)
    kernel(out, *([drv.to_device(values)] if values.size else []), block=(4, 1, 1))
    got = np.empty(size, np.uint32)
    drv.memcpy_dtoh(got, out)
    return got


FIRST_COMPILER = """
	.version 1.0
	.target sm_10, map_f64_to_f32
	// of a compiler of 2007
	.reg .u32 %ra<17>;
	.reg .f32 %fv<5>;
	.file	1	"fill.cu"
@@DWARF	.section	.debug_info, "",@progbits
@@DWARF	.byte	0x01, 0x02

	.entry k
	{
	.reg .u16 $rh<4>;
	.reg .u32 $r1,$r2,$r3;
	.reg .u64 $rd1,$rd2;
	.param .u64 __parm_k_out;
	.loc	1	3	0
$LBB1_k:
	mov.u16 	$rh1, %ctaid.x;
	mov.u16 	$rh2, %ntid.x;
	mul.wide.u16 	$r1, $rh1, $rh2;
	cvt.u32.u16 	$r2, %tid.x;
	add.u32 	%ra1, $r2, $r1;
	mul24.lo.u32 	$r3, %ra1, 4;
	cvt.u64.u32 	$rd1, $r3;
	ld.param.u64 	$rd2, [__parm_k_out];
	add.u64 	$rd1, $rd1, $rd2;
	st.global.u32 	[$rd1+0], %ra1;
	exit;
$LDWend_k:
	}
"""


def test_a_kernel_of_the_first_compiler():
    assert run(FIRST_COMPILER)[:5].tolist() == [0, 1, 2, 3, 0]


def test_parameters_are_declared_where_they_are_used():
    """In their order, in a block of its own too."""
    got = run(
        """.version 1.3
        .target sm_13
        .entry k {
        .reg .u32 %r<3>; .reg .u64 %rd<3>;
        .param .u64 out;
        ld.param.u64 %rd1, [out];
        { .param .u64 from; ld.param.u64 %rd2, [from]; ld.global.u32 %r1, [%rd2+4]; }
        st.global.u32 [%rd1], %r1;
        exit;
        }""",
        np.array([7, 9], np.uint32),
    )
    assert got[0] == 9


def computed(version, operations, kind, values):
    """Applies one operation after the other to each value."""
    width, prefix = values.dtype.itemsize, {"f32": "%f", "f64": "%d"}[kind]
    body = []
    for v in range(values.size):
        body.append(f"ld.global.{kind} {prefix}1, [%rd2+{width * v}];")
        for i, operation in enumerate(operations):
            place = width * (v * len(operations) + i)
            body.append(f"{operation} st.global.{kind} [%rd1+{place}], {prefix}3;")
    header, inside = "(.param .u64 out, .param .u64 from)", ""
    if version == "1.3":
        header, inside = "", ".param .u64 out; .param .u64 from;"
    text = f""".version {version}
    .target sm_13
    .entry k {header} {{
    .reg .f32 %f<4>; .reg .f64 %d<4>; .reg .u64 %rd<3>; {inside}
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [from];
    mov.f32 %f2, 3.0; mov.f64 %d2, 3.0;
    {" ".join(body)}
    exit; }}"""
    return run(text, values, size=values.size * len(operations) * width // 4).view(values.dtype)


def test_approximate_functions_by_default():
    """Before PTX 1.4 they had no word for it, and flushed subnormal numbers, as they do for sm_1x since."""
    names = ["rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"]
    old = [f"{name}.f32 %f3, %f1;" for name in names] + ["div.f32 %f3, %f1, %f2;"]
    new = [f"{name}.approx.ftz.f32 %f3, %f1;" for name in names] + ["div.approx.ftz.f32 %f3, %f1, %f2;"]
    got, wanted = computed("1.3", old, "f32", FLOATS), computed("1.4", new, "f32", FLOATS)
    np.testing.assert_array_equal(got.view(np.uint32), wanted.view(np.uint32))
    assert np.isinf(got[2 * 8]) and got[0] == np.float32(4 / 3)  # 1 / 1e-40, 1 / 0.75


def test_doubles_are_rounded_to_nearest_by_default():
    operations = ["div.f64 %d3, %d1, %d2;", "sqrt.f64 %d3, %d1;", "mad.f64 %d3, %d1, %d1, %d2;"]
    got = computed("1.3", operations, "f64", DOUBLES).reshape(-1, 3)
    squares = DOUBLES * DOUBLES + 3.0  # exact, or rounded once in any case
    np.testing.assert_array_equal(got, np.stack([DOUBLES / 3.0, np.sqrt(DOUBLES), squares], axis=1))


LOCAL = """.version 2.0
.target sm_20
.local .u32 before;
.local .align 8 .b8 table[24];
.func fill (.reg .u32 %x)
{{
    .reg .u32 %r<3>; .reg .u64 %a; {in_function}
    st.local.u32 [table+8], %x;
    mov.u64 %a, table;
    ld.local.u32 %r2, [before];
    add.u32 %r1, %r1, %r2;
    st.local.u32 [%a+12], %r1;
    ret;
}}
.entry k (.param .u64 out)
{{
    .reg .u32 %r<6>; .reg .u64 %rd<5>; {in_kernel}
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 16;
    add.u64 %rd1, %rd1, %rd2;
    st.local.u32 [before], %r1;
    add.u32 %r2, %r1, 100;
    call fill, (%r2);
    mov.u64 %rd3, table;
    ld.local.v2.u32 {{%r3, %r4}}, [%rd3+8];
    {after}
    st.global.v2.u32 [%rd1], {{%r3, %r4}};
    st.global.u32 [%rd1+8], %r5;
    exit;
}}
"""


def assert_each_thread_has_its_own(text):
    threads = np.arange(4)
    wanted = np.stack([threads + 100, threads + 5, np.full(4, 1000), np.zeros(4, int)], axis=1)
    assert run(text)[:16].reshape(4, 4).tolist() == wanted.tolist()


def test_local_variables_that_functions_share():
    """Before PTX 3.0."""
    texts = {"in_function": "mov.u32 %r1, 5;", "in_kernel": "", "after": "mov.u32 %r5, 1000;"}
    assert_each_thread_has_its_own(LOCAL.format(**texts))


@pytest.mark.cpu("NVIDIA's assembler gives a kernel's own .local variable the place of a shared one")
def test_local_variables_of_all_and_of_one_function():
    texts = {
        "in_function": ".local .u32 own[8]; st.local.u32 [own+4], 5; ld.local.u32 %r1, [own+4];",
        "in_kernel": ".local .u32 mine[4]; st.local.u32 [mine], 1000;",
        "after": "ld.local.u32 %r5, [mine];",
    }
    assert_each_thread_has_its_own(LOCAL.format(**texts))


def test_registers_outside_of_functions_are_each_kernels_own():
    text = """.version 1.4
    .target sm_13
    .reg .u32 %r<9>; .reg .pred %p<2>;
    .reg .v2 .u32 pair;
    .func (.reg .u32 %r1) next (.reg .u32 %r2) { add.u32 %r1, %r2, 1; ret; }
    .entry other { mov.u32 %r3, 1; exit; }
    .entry k (.param .u64 out) {
    .reg .u64 %rd1; .reg .u32 %r<2>; // %r1 hides that of the module
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, 41; mov.u32 pair.y, 7; setp.eq.u32 %p1, %r1, 41;
    call (%r4), next, (%r1);
    @%p1 st.global.v2.u32 [%rd1], {%r4, %r1};
    st.global.u32 [%rd1+8], pair.y;
    exit; }"""
    assert run(text)[:3].tolist() == [42, 41, 7]


def test_banks_of_constants():
    text = """.version 1.4
    .target sm_10
    .const[0] .align 4 .b8 table[8] = {1, 0, 0, 0, 2, 1, 0, 0};
    .entry k (.param .u64 out) {
    .reg .u64 %rd1; .reg .u32 %r1;
    ld.param.u64 %rd1, [out];
    ld.const[0].u32 %r1, [table+4];
    st.global.u32 [%rd1], %r1;
    exit; }"""
    assert run(text)[0] == 0x102


@pytest.mark.parametrize("kind", ["u32", "u64"])
def test_textures_had_a_state_space(kind, driver_library):
    """.tex, before PTX 1.5; bound to memory by the driver's calls."""
    text = f""".version 1.4
    .target sm_10
    .tex .{kind} row;
    .entry k (.param .u64 out) {{
    .reg .f32 %f<5>; .reg .u64 %rd1; .reg .s32 %r<5>;
    ld.param.u64 %rd1, [out];
    mov.s32 %r1, 5; mov.s32 %r2, 0; mov.s32 %r3, 0; mov.s32 %r4, 0;
    tex.1d.v4.f32.s32 {{%f1,%f2,%f3,%f4}},[row,{{%r1,%r2,%r3,%r4}}];
    st.global.f32 [%rd1], %f1;
    exit; }}"""
    driver, floats = ctypes.CDLL(driver_library), 0x20
    module, reference, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuModuleLoadData(ctypes.byref(module), text.encode()) == 0
    assert driver.cuModuleGetTexRef(ctypes.byref(reference), module, b"row") == 0
    values, out = drv.to_device(np.arange(8, dtype=np.float32) / 4), drv.mem_alloc(4)
    address = ctypes.c_uint64(int(values))
    assert driver.cuTexRefSetFormat(reference, floats, 1) == 0
    assert driver.cuTexRefSetAddress_v2(None, reference, address, ctypes.c_size_t(32)) == 0
    assert driver.cuModuleGetFunction(ctypes.byref(function), module, b"k") == 0
    place = ctypes.c_uint64(int(out))
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(place))
    assert driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, parameters, None) == 0
    got = np.empty(1, np.float32)
    drv.memcpy_dtoh(got, out)
    assert got[0] == 1.25
    assert driver.cuModuleUnload(module) == 0


@pytest.mark.cpu("the words of the errors")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".version 0.9\n.target sm_10\n", "oldest known is 1.0"),
        (
            ".version 1.3\n.target sm_13\n.entry k { .reg .f32 %f; sin.approx.f32 %f, %f; }",
            "needs .version 1.4",
        ),
        (
            ".version 1.3\n.target sm_13\n.entry k { .reg .f32 %f; add.ftz.f32 %f, %f, %f; }",
            "needs .version 1.4",
        ),
        (
            ".version 1.3\n.target sm_13\n.entry k { .reg .f64 %d; rcp.f64 %d, %d; }",
            "a modifier or type is missing",
        ),
        (
            ".version 1.4\n.target sm_13\n.entry k { .reg .f32 %f; sin.f32 %f, %f; }",
            "a modifier or type is missing",
        ),
        (".version 1.3\n.target sm_13\n.entry k { membar.gl; }", "needs .version 1.4"),
        (".version 1.5\n.target sm_13\n.tex .u32 t;", ".tex is of PTX before 1.5"),
        (".version 1.4\n.target sm_13\n.tex .s32 t;", "a single .u32 or .u64"),
        (".version 1.4\n.target sm_13\n.entry k { .tex .u32 t; }", "outside of functions"),
        (".version 3.0\n.target sm_20\n.local .u32 x;", "no variable is declared in .local here"),
        (".version 3.0\n.target sm_20\n.reg .u32 x;", "expected a directive, a function or a variable"),
        (".version 2.0\n.target sm_20\n.local .u32 x = 1;", "no initial value"),
        (".version 2.0\n.target sm_20\n.reg .u32 x", "expected ';'"),
        (".version 2.0\n.target sm_20\n.reg .u32 x; .func f { mov.u32 x, 1; }", "'x' is not declared"),
        (
            ".version 2.1\n.target sm_20\n.extern .const[1] .b32 c[];\n"
            ".entry k { .reg .u32 r; ld.const[1].u32 r, [c]; }",
            "only bank 0",
        ),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(drv.Error, match="(?s).*" + words.replace(".", r"\.")):
        module_from_buffer(text.encode())
