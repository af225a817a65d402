"""Loading refuses operands of video instructions that have no meaning, or that a GPU's compiler refuses."""

import pytest
from devices import on_cpu_device

import pycuda.driver as drv

KERNEL = """.version 8.5
.target sm_75
.address_size 64
.visible .entry k()
{{
.reg .b32 d, a, b, c;
mov.u32 a, 1; mov.u32 b, 2; mov.u32 c, 3;
{text}
ret;
}}
"""


pytestmark = pytest.mark.usefixtures("primary_context")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vadd.u32.u32.u32 d, a.b4, b;", "'.b0' to '.b3', '.h0' or '.h1'"),
        ("vadd.u32.u32.u32 d, a, b.h2;", "'.b0' to '.b3', '.h0' or '.h1'"),
        ("vmad.u32.u32.u32 d, a.b10, b, c;", "'.b0' to '.b3', '.h0' or '.h1'"),
        ("vadd2.u32.u32.u32 d, a.b10, b, c;", "a selector of 2 parts, '.h'"),
        ("vadd4.u32.u32.u32 d, a.b10, b, c;", "a selector of 4 parts, '.b'"),
        ("vset4.u32.u32.lt d.b5, a, b, c;", "d has 4 parts"),
        ("vadd2.u32.u32.u32 d.h01, a, b, c;", "named once each, the highest first"),
        ("vset4.u32.u32.ne d.b211, a, b, c;", "named once each, the highest first"),
        ("vadd4.u32.u32.u32.sat.add d, a, b, c;", ".sat and .add exclude each other"),
        ("vadd.s32.s32.s32 d, -a, b;", "vmad alone negates operands"),
        ("vset.s32.s32.lt d, a, -b;", "vmad alone negates operands"),
        ("vmin.u32.u32.u32.add d.h1, a, b, c;", "a selector or a second operation"),
        ("vmad.u32.u32.u32 d.h1, a, b, c;", "vmad writes all of d"),
        ("vmad.s32.s32.s32 d, a, -b, -c;", "the product or c is negated, not both"),
        ("vmad.s32.s32.s32.po d, -a, b, c;", ".po and negated operands exclude each other"),
        ("vmad.s32.s32.s32.po d, a, b, -c;", ".po and negated operands exclude each other"),
        ("vset.u32.u32.lo d, a, b;", "'.lo' is not a modifier of 'vset'"),
    ],
)
def test_refused(text, message):
    with pytest.raises(drv.Error) as found:
        drv.module_from_buffer(KERNEL.format(text=text).encode())
    if on_cpu_device():
        assert message in str(found.value)


@pytest.mark.parametrize(
    "text",
    [
        "vadd.s32.s32.u32.sat d.h1, a.b0, b.h1, c;",
        "vset2.u32.u32.lt.add d.h1, a.h31, b.h02, c;",
        "vavrg4.u32.u32.u32.add d.b31, a, b, c;",
        "vmad.s32.s32.s32.po d, -a, -b, c;",
        "vmad.s32.s32.s32 d, -a, -b, -c;",
    ],
)
def test_accepted(text):
    drv.module_from_buffer(KERNEL.format(text=text).encode())
