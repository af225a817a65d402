"""The text of a fault that ends a launch names the kernel's arguments and the lane's registers."""

import re

import pytest

pytestmark = pytest.mark.cpu("a GPU's driver says neither")

# Thread 7 of each block reads at address 16; its registers have values that are known.
ASTRAY = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry astray(
    .param .u64 out, .param .s32 less, .param .f32 half, .param .f64 more, .param .u64 large,
    .param .align 8 .b8 pair[16], .param .u8 small, .param .u64 count)
{
    .reg .pred %p<4>;
    .reg .b16 %rs<3>;
    .reg .b32 %r<9>;
    .reg .f32 %f<3>;
    .reg .f64 %fd<3>;
    .reg .b64 %rd<5>;
    .reg .s32 lonely;
    .reg .b32 unused;
    ld.param.u64 %rd1, [out];
    ld.param.f32 %f1, [half];
    ld.param.f64 %fd1, [more];
    mov.u32 %r1, %tid.x;
    mad.lo.s32 %r2, %r1, -3, 1;
    mul.lo.u32 %r3, %r1, %r1;
    cvt.u16.u32 %rs1, %r3;
    add.s16 %rs2, %rs1, -50;
    cvt.rn.f32.u32 %f2, %r3;
    mul.f32 %f2, %f2, %f1;
    add.f64 %fd2, %fd1, %fd1;
    setp.eq.u32 %p1, %r1, 7;
    setp.ne.u32 %p2, %r3, 49;
    xor.b32 lonely, %r3, 1;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    selp.b64 %rd3, 16, %rd2, %p1;
    DO
    ld.global.u32 %r4, [%rd3];
    add.u32 %r5, %r4, %r2;
    cvt.u32.u16 %r6, %rs2;
    add.u32 %r5, %r5, %r6;
    cvt.rzi.u32.f32 %r7, %f2;
    add.u32 %r5, %r5, %r7;
    cvt.rzi.u32.f64 %r8, %fd2;
    add.u32 %r5, %r5, %r8;
    add.u32 %r5, %r5, lonely;
    add.u32 %r5, %r5, %r3;
    @%p2 add.u32 %r5, %r5, 1;
    @%p1 add.u32 %r5, %r5, 1;
    st.global.u32 [%rd2], %r5;
    ret;
}
"""

PROGRAM = """
import sys
import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import gpuarray

module = drv.module_from_buffer({code!r})
out = gpuarray.zeros(32, np.uint32)
pair = np.zeros((), np.dtype([("a", np.int64), ("b", np.int64)]))[()]
try:
    module.get_function("astray")(
        out, np.int32(-3), np.float32(0.5), np.float64(1.25), np.uint64(2**40), pair, np.uint8(200),
        np.uint64(out.ptr + 100), block=({threads}, 1, 1), grid=(2, 1))
    drv.Context.synchronize()
except drv.KernelError as problem:
    print(hex(out.ptr), problem)
"""


def fault(run_python, code, threads=32, **env):
    """(address of the array, text of the fault) of a program."""
    done = run_python(PROGRAM.format(code=code.encode(), threads=threads), env=env, check=True)
    address, _, text = done.stdout.rstrip("\n").partition(" ")
    return address, text


def registers(text):
    """{name: text of the value} of the registers that a fault names."""
    listed = re.search(r"; registers: (.*?)(?: \(launched by .*)?$", text)
    assert listed, text
    return dict(each.split(" = ") for each in listed[1].split(", "))


EXPECTED = {
    "%r2": "-20",
    "%r3": "49",
    "%rs2": "-1",
    "%f2": "24.5",
    "%fd2": "2.5",
    "%p1": "true",
    "%p2": "false",
    "lonely": "48",
    "%rd3": "0x10",
}


@pytest.mark.parametrize("threads", [8, 32, 96])
@pytest.mark.parametrize("env", [{}, {"PYCUDA_CPU_CHECK": "racecheck,initcheck"}], ids=["plain", "checked"])
def test_arguments_and_registers(run_python, threads, env):
    address, text = fault(run_python, ASTRAY.replace("DO", ""), threads, **env)
    assert "thread (7,0,0)" in text and "invalid read of 4 bytes at 0x10" in text
    arguments = re.search(r"; arguments: (.*); registers: ", text)[1].split(", ")
    assert arguments[:5] == [f"{address} (128 bytes of device memory)", "-3", "0.5", "1.25", hex(2**40)]
    assert arguments[5] == "a structure of 16 bytes" and arguments[6] == "200"
    assert arguments[7] == f"{int(address, 16) + 100:#x} (28 bytes of device memory)"
    found = registers(text)
    assert {name: found.get(name) for name in EXPECTED} == EXPECTED
    assert found["%rd2"] == hex(int(address, 16) + 28)
    assert not {"unused", "%r4", "%r5"} & found.keys()
    assert re.search(r" \(launched by \S*program\.py, line \d+\)$", text)


def test_registers_of_a_lane_after_a_divergence(run_python):
    """Lane 7 alone runs what is between the branch and its target."""
    branch = "@!%p1 bra SKIP; add.u32 %r3, %r3, 1000; SKIP:"
    _, text = fault(run_python, ASTRAY.replace("DO", branch))
    found = registers(text)
    assert (found["%r3"], found["%rd3"], found["%r2"]) == ("1049", "0x10", "-20")


def test_registers_of_a_called_function(run_python):
    """A function has a frame of its own: the registers are those of the function that faults."""
    called = """
.func (.reg .u32 result) step(.reg .u64 place, .reg .u32 number)
{
    .reg .b32 %inner<3>;
    mul.lo.u32 %inner1, number, 5;
    ld.global.u32 %inner2, [place];
    add.u32 result, %inner1, %inner2;
    ret;
}
"""
    code = ASTRAY.replace("DO", "call (%r4), step, (%rd3, %r3);").replace(".visible", called + ".visible")
    _, text = fault(run_python, code)
    assert "in step" in text
    found = registers(text)
    assert found["%inner1"] == "245" and "%r2" not in found


def test_faults_that_a_launch_survives_are_as_short_as_before(run_python):
    program = PROGRAM.format(code=ASTRAY.replace("DO", "").encode(), threads=32)
    done = run_python(program, env={"PYCUDA_CPU_FAULTS": "report"}, check=True)
    assert "thread (7,0,0)" in done.stderr and "registers" not in done.stderr


def test_many_arguments_and_registers_end(run_python):
    """At most 16 of each are named."""
    count = 40
    parameters = ", ".join(f".param .u32 p{k}" for k in range(count))
    body = "".join(f"ld.param.u32 %r{k}, [p{k}]; add.u32 %q{k}, %r{k}, %t1;" for k in range(count))
    uses = "".join(f"xor.b32 %s1, %s1, %q{k};" for k in range(count))
    code = f"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry wide({parameters})
{{
    .reg .b32 %r<{count}>, %q<{count}>, %s<3>, %t<2>;
    .reg .b64 %rd<2>;
    mov.u32 %t1, %tid.x;
    {body}
    cvt.u64.u32 %rd1, %q0;
    ld.global.u32 %s1, [%rd1];
    {uses}
    st.global.u32 [%rd1], %s1;
    ret;
}}
"""
    done = run_python(
        f"""
import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv

kernel = drv.module_from_buffer({code.encode()!r}).get_function("wide")
try:
    kernel(*np.arange(16, 16 + {count}, dtype=np.uint32), block=(32, 1, 1))
    drv.Context.synchronize()
except drv.KernelError as problem:
    print(problem)
""",
        check=True,
    )
    listed = re.search(r"; arguments: (.*) and (\d+) more; registers: ", done.stdout)
    assert listed[1].split(", ") == [str(16 + k) for k in range(16)] and listed[2] == "24"
    assert len(registers(done.stdout.rstrip("\n"))) == 16
