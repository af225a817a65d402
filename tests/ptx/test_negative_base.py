"""A 32-bit address register may be below the start of its space if the instruction's offset makes the sum
valid."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.driver import module_from_buffer

pytestmark = pytest.mark.usefixtures("primary_context")

# base is 4096 below the address of the lane's element of `cell`.
KERNEL = """.version 7.8
.target {target}
.address_size 64
.visible .entry run(.param .u64 out)
{{
.reg .u64 to;
.reg .b32 base, lane, place, r<4>;
.reg .b16 h;
.reg .b64 wide, state;
.reg .pred some;
.{space} .align 16 .b8 cell[2048];
ld.param.u64 to, [out];
mov.u32 lane, %tid.x;
mul.wide.u32 wide, lane, 4;
add.u64 to, to, wide;
mov.u32 base, cell;
mad.lo.u32 base, lane, 64, base;
{order}
sub.u32 base, base, 4096;
{body}
st.global.u32 [to], r0;
ret;
}}
"""
ORDERS = {
    "consecutive": "",
    "crossed": "xor.b32 r3, lane, 5; mov.u32 base, cell; mad.lo.u32 base, r3, 64, base;",
}
BODIES = {
    "word": "st.{0}.u32 [base+4096], lane; ld.{0}.u32 r0, [base+4096];",
    "half": "cvt.u16.u32 h, lane; st.{0}.u16 [base+4096], h; ld.{0}.u16 h, [base+4096]; cvt.u32.u16 r0, h;",
    "vector": "st.{0}.v4.u32 [base+4096], {{lane, lane, lane, lane}};"
    " ld.{0}.v4.u32 {{r1, r2, r3, r0}}, [base+4096];",
    "volatile": "st.volatile.{0}.u32 [base+4096], lane; ld.volatile.{0}.u32 r0, [base+4096];",
    "some lanes": "setp.gt.u32 some, lane, 7; mov.u32 r0, lane;"
    " @some st.{0}.u32 [base+4096], lane; @some ld.{0}.u32 r0, [base+4096];",
}
SHARED_ONLY = {
    "atomic": "st.shared.u32 [base+4096], 0; atom.shared.add.u32 r1, [base+4096], lane;"
    " ld.shared.u32 r0, [base+4096];",
    "converted": "st.shared.u32 [base+4096], lane; add.u32 r1, base, 4096;"
    " cvt.u64.u32 wide, r1; cvta.shared.u64 wide, wide; ld.u32 r0, [wide];",
    "tile": "st.shared.u32 [base+4096], lane; bar.warp.sync -1;"
    " ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{r1}}, [base+4096]; mov.u32 r0, lane;",
}
CASES = [(space, name, body) for space in ("shared", "local") for name, body in BODIES.items()]
CASES += [("shared", name, body) for name, body in SHARED_ONLY.items()]


def lanes(space, body, order, target="sm_75"):
    """What the 32 threads wrote."""
    text = KERNEL.format(space=space, order=ORDERS[order], body=body.format(space), target=target)
    out = drv.mem_alloc(128)
    module_from_buffer(text.encode()).get_function("run")(out, block=(32, 1, 1))
    got = np.empty(32, np.uint32)
    drv.memcpy_dtoh(got, out)
    return got.tolist()


def parameters():
    for space, name, body in CASES:
        refused = pytest.mark.cpu("ptxas of CUDA 13.0 refuses .volatile in .local")
        marks = [refused] if (space, name) == ("local", "volatile") else []
        yield pytest.param(space, name, body, id=f"{space} {name}", marks=marks)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("space, name, body", list(parameters()))
def test_offset_from_below_zero(space, name, body, order):
    assert lanes(space, body, order) == list(range(32))


def check_barrier():
    arrive = "mbarrier.arrive.shared.b64 state, [base+4096]; mov.u32 r0, lane;"
    body = "mbarrier.init.shared.b64 [base+4096], 1;" + arrive
    assert lanes("shared", body, "crossed", target="sm_80") == list(range(32))


def test_barrier_from_below_zero(at_capability):
    at_capability((8, 0), check_barrier)
