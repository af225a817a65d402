"""alloca, stacksave and stackrestore; trap and brkpt; setmaxnreg."""

import numpy as np
import pytest

import pycuda.driver as drv

KERNEL = """.version {version}
.target {target}
.address_size 64
.visible .entry k(.param .u64 out) {directives}
{{
.reg .b64 v, o, a, b, s; .reg .b32 t, r, r1; .reg .pred p;
ld.param.u64 v, [out]; mov.u32 t, %tid.x; mul.wide.u32 o, t, 8; add.u64 v, v, o; mov.u32 r, t; mov.u32 r1, 1;
{text}
st.global.v2.u32 [v], {{r, r1}};
ret;
}}
"""


def launched(text, threads=64, version="7.8", target="sm_75", directives=""):
    """(r, r1) of each thread after the text."""
    source = KERNEL.format(text=text, version=version, target=target, directives=directives)
    out = np.full((threads, 2), 99, np.uint32)
    module = drv.module_from_buffer(source.encode())
    module.get_function("k")(drv.Out(out), block=(threads, 1, 1))
    return out.T.tolist()


@pytest.mark.usefixtures("primary_context")
def test_alloca_gives_each_thread_its_own_memory():
    """Of a size that is known at run time alone; two of them do not overlap."""
    text = """cvt.u64.u32 s, t; add.u64 s, s, 8; alloca.u64 a, s; alloca.u64 b, 8;
    st.local.u32 [a], t; st.local.u32 [b], 5; add.u32 r1, t, 1; st.local.u32 [a+4], r1;
    ld.local.u32 r, [a]; ld.local.u32 r1, [b];"""
    assert launched(text) == [list(range(64)), [5] * 64]


@pytest.mark.usefixtures("primary_context")
def test_memory_of_alloca_is_free_after_stackrestore():
    """The same memory is allocated again, in a loop that would otherwise need 512 KiB."""
    text = """mov.u32 r, 0;
    again: stacksave.u64 s; alloca.u64 a, 512; st.local.u32 [a+508], r; ld.local.u32 r1, [a+508];
    stackrestore.u64 s; add.u32 r, r, 1; setp.lt.u32 p, r, 1024; @p bra again;"""
    assert launched(text) == [[1024] * 64, [1023] * 64]


@pytest.mark.usefixtures("primary_context")
@pytest.mark.parametrize("name", ["trap", "brkpt"])
def test_one_that_no_thread_reaches_does_nothing(name):
    assert launched(f"setp.gt.u32 p, t, 1000; @p {name};") == [list(range(64)), [1] * 64]


def check_trap(name):
    with pytest.raises(drv.LaunchError):
        launched(f"setp.eq.u32 p, t, 33; @p {name};")


def test_trap_ends_the_kernel(at_capability):
    at_capability((7, 5), check_trap, "trap")


@pytest.mark.cpu("a GPU with a debugger attached stops there")
def test_brkpt_without_a_debugger_ends_the_kernel(at_capability):
    at_capability((7, 5), check_trap, "brkpt")


SETMAXNREG = "setmaxnreg.inc.sync.aligned.u32 64;"


def check_setmaxnreg():
    text = "setmaxnreg.dec.sync.aligned.u32 40; add.u32 r, r, 3; " + SETMAXNREG
    found = launched(text, 128, "8.0", "sm_90a", ".maxntid 128, 1, 1 .maxnreg 64")
    assert found == [list(range(3, 131)), [1] * 128]


def test_setmaxnreg_leaves_values_as_they_are(at_capability):
    at_capability((9, 0), check_setmaxnreg)


def check_targets():
    """As ptxas 13.0: a target without a suffix has it not."""
    for version, target in ("8.0", "sm_90a"), ("8.6", "sm_100a"), ("8.8", "sm_100f"), ("8.8", "sm_120f"):
        source = KERNEL.format(version=version, target=target, directives="", text=SETMAXNREG)
        drv.module_from_buffer(source.encode())
    for version, target in ("8.0", "sm_90"), ("8.6", "sm_100"), ("8.7", "sm_120"):
        source = KERNEL.format(version=version, target=target, directives="", text=SETMAXNREG)
        with pytest.raises(drv.Error, match=r"setmaxnreg.inc.sync.aligned.u32' needs a .target with"):
            drv.module_from_buffer(source.encode())


@pytest.mark.cpu("a GPU of one architecture loads no module of another")
def test_setmaxnreg_needs_a_target_with_a_suffix(at_capability):
    at_capability((12, 1), check_targets)
