"""Unused elements at the end or the start of a vector load may be outside the allocation, but the whole
vector must be aligned."""

import numpy as np
import pytest

import pycuda.driver as drv

KERNEL = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 out)
{{
.reg .b64 a, o; .reg .b32 x, y, z, w, n, m; .reg .pred q, again;
ld.param.u64 a, [p]; ld.param.u64 o, [out]; setp.ne.u64 q, a, 0; mov.u32 n, 0; mov.u32 w, 0;
{text}
ret;
}}
"""
LOAD = "ld.global.v4.u32 {x, y, z, w}, [a];"
SUM = "add.u32 x, x, y; add.u32 x, x, z; st.global.u32 [o], x;"


def run(text, size=12, offset=0):
    """The word at [out] after a kernel with the pointer to `size` bytes of 1, plus the offset."""
    given = drv.mem_alloc(size)
    drv.memset_d8(given, 1, size)
    out = np.zeros(1, np.uint32)
    function = drv.module_from_buffer(KERNEL.format(text=text).encode()).get_function("k")
    function(np.uint64(int(given) + offset), drv.InOut(out), block=(1, 1, 1))
    return out[0]


@pytest.mark.parametrize("load", [LOAD, LOAD.replace("w}", "_}"), f"@q {LOAD}"])
def test_last_element_is_dead(primary_context, load):
    assert run(load + SUM) == 3 * 0x01010101


DEAD = {
    "overwritten": LOAD + "mov.u32 w, 5;" + SUM + "add.u32 x, x, w; st.global.u32 [o], x;",
    "overwritten on every path": LOAD + SUM + "@q bra A; mov.u32 w, 1; bra B; A: mov.u32 w, 5; B:"
    "add.u32 x, x, w; st.global.u32 [o], x;",
    "only for a dead value": LOAD + "add.u32 n, w, 1; add.u32 n, n, 2;" + SUM,
    "only for itself in a loop": "L:" + LOAD + "add.u32 y, y, 0; add.u32 w, w, 1; add.u32 n, n, 1;"
    "setp.lt.u32 again, n, 3; @again bra L;" + SUM,
}


@pytest.mark.parametrize("case", DEAD)
def test_last_value_is_dead(primary_context, case):
    """The loaded value has no use; its register may be used with another value."""
    assert run(DEAD[case]) == 3 * 0x01010101 + (5 if "overwritten" in case else 0)


def test_a_vector_load_may_begin_before_memory_if_those_elements_are_not_used(primary_context):
    """The 16 bytes that end 4 bytes after the start of the memory."""
    given = drv.mem_alloc(16)
    assert int(given) % 16 == 0
    assert run(LOAD + "st.global.u32 [o], w;", size=16) == 0x01010101


FAULTS = {
    "read": (LOAD + SUM + "st.global.u32 [o], w;", 12, 0, "invalid read of 16 bytes"),
    "read after a branch": (LOAD + SUM + "@!q bra E; st.global.u32 [o], w; E:", 12, 0, "read of 16 bytes"),
    "read in the next iteration": (
        "L: add.u32 m, w, 0;" + LOAD + "add.u32 n, n, 1; setp.lt.u32 again, n, 2; @again bra L;"
        "st.global.u32 [o], m;",
        12,
        0,
        "read of 16 bytes",
    ),
    "overwritten in some lanes": (
        LOAD + SUM + "@!q mov.u32 w, 5; st.global.u32 [o], w;",
        12,
        0,
        "read of 16 bytes",
    ),
    "volatile": (LOAD.replace("ld.", "ld.volatile.") + SUM, 12, 0, "invalid read of 16 bytes"),
    "misaligned": (LOAD + SUM, 32, 4, "misaligned read of 16 bytes"),
    "too short for what is read": (LOAD + SUM, 8, 0, "invalid read of 16 bytes"),
}


def check_fault(text, size, offset, message):
    with pytest.raises(drv.Error) as found:
        run(text, size, offset)
        drv.Context.synchronize()
    assert message in str(found.value), str(found.value)


@pytest.mark.cpu("a GPU finds the end of an allocation by chance")
@pytest.mark.parametrize("case", FAULTS)
def test_faults(at_capability, case):
    at_capability((7, 5), check_fault, *FAULTS[case])
