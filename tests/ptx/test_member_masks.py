"""Collectives by lanes that are not in their own member mask. If all lanes in a lane's mask are at other
instructions, the kernel ends with an error. If one of them is at the same instruction, the lane goes on; an
H200 ends the kernel in some such cases."""

import json

import pytest

HEAD = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b32 t, m, r; .reg .b64 a, o; .reg .pred low, q;
ld.param.u64 a, [p]; mov.u32 t, %%laneid; mul.wide.u32 o, t, 4; add.u64 a, a, o; mov.u32 r, 0;
setp.lt.u32 low, t, 16;
%s
st.global.u32 [a], r;
ret;
}
"""
PROGRAM = """
import numpy as np, pycuda.autoinit, pycuda.driver as drv
out = np.zeros(32, np.uint32)
try:
    drv.module_from_buffer({text!r}.encode()).get_function("k")(drv.InOut(out), block=(32, 1, 1))
    print(out.tolist())
except drv.Error as error:
    print(error)
"""
# The lower half runs a collective of the upper half, which is past it.
MISSED = {
    "barrier": "@!low bra L; bar.warp.sync 0xffff0000; L:",
    "shuffle": "@!low bra L; shfl.sync.idx.b32 r, t, 3, 31, 0xffff0000; L:",
    "vote": "@!low bra L; vote.sync.ballot.b32 r, low, 0xffff0000; L:",
}


@pytest.fixture
def run(run_python):
    """A function that runs a body in a new process, because a fault ends a GPU's context; it returns r of all
    lanes, or the error."""

    def run_body(body):
        output = run_python(PROGRAM.format(text=HEAD % body), check=True).stdout
        return json.loads(output) if output.startswith("[") else output

    return run_body


@pytest.mark.parametrize("name", MISSED)
def test_a_lane_whose_mask_has_only_lanes_elsewhere_ends_the_kernel(run, name):
    assert "an illegal instruction was encountered" in run(MISSED[name])


class TestLanesThatGoOn:
    @pytest.mark.cpu("an H200 ends the kernel: an illegal instruction")
    def test_with_a_lane_in_the_mask(self, run):
        """Lanes 0 to 15 run a collective of lane 0; the upper half does not run it."""
        body = "@!low bra L; shfl.sync.idx.b32 r, t, 3, 31, 1; bar.warp.sync 1; L:"
        assert run(body) == [3] * 16 + [0] * 16

    def test_in_a_whole_warp(self, run):
        assert run("shfl.sync.bfly.b32 r, t, 1, 31, 0xfffffffe;") == [lane ^ 1 for lane in range(32)]

    @pytest.mark.cpu("an H200 ends the kernel: an illegal instruction")
    def test_each_mask_has_all_other_lanes(self, run):
        body = "shl.b32 m, 1, t; not.b32 m, m; vote.sync.ballot.b32 r, low, m; bar.warp.sync m;"
        assert run(body) == [0xFFFF] * 32

    @pytest.mark.cpu("an H200 ends the kernel: an illegal instruction")
    def test_two_masks(self, run):
        """The masks of both halves have only lanes of the lower half."""
        assert run("mov.u32 m, 0xffff; bar.warp.sync m; mov.u32 r, 1;") == [1] * 32
        body = "selp.u32 m, 0xffff, 0xff, low; bar.warp.sync m; mov.u32 r, 1;"
        assert run(body) == [1] * 32

    def test_lanes_in_the_mask_have_exited(self, run):
        assert run("@!low exit; bar.warp.sync 0xffff0000; mov.u32 r, 1;") == [1] * 16 + [0] * 16
