"""cp.async.bulk: many bytes by one thread, to shared memory and back, with the bytes counted at a barrier."""

import numpy as np
import pytest

import pycuda.driver as drv

BYTES = 4096
KERNEL = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 given, .param .u64 taken)
{{
.reg .b64 from, to, w, at, o; .reg .b32 t, u, x, near, size; .reg .pred p, first;
.shared .align 128 .b8 room[8192]; .shared .align 8 .b64 bar;
ld.param.u64 from, [given]; ld.param.u64 to, [taken];
mov.u32 t, %tid.x; setp.eq.u32 first, t, 0; mov.u32 near, room; mov.u32 size, {bytes};
createpolicy.fractional.L2::evict_first.b64 w;
@first mbarrier.init.shared.b64 [bar], 1;
fence.proxy.async.shared::cta;
bar.sync 0;
{text}
ret;
}}
"""
EXPECT = "@first mbarrier.arrive.expect_tx.shared.b64 _, [bar], {};"
WAIT = "again: mbarrier.try_wait.parity.shared.b64 p, [bar], 0; @!p bra again;"
TAKE = """
mov.u32 u, t;
next: shl.b32 x, u, 2; cvt.u64.u32 o, x; add.u64 at, to, o; add.u32 x, x, near;
ld.shared.b32 x, [x]; st.global.b32 [at], x;
add.u32 u, u, 64; setp.lt.u32 p, u, 1024; @p bra next;
"""
PUT = """
mov.u32 u, t;
put: shl.b32 x, u, 2; cvt.u64.u32 o, x; add.u64 at, from, o; add.u32 x, x, near;
ld.global.b32 size, [at]; st.shared.b32 [x], size;
add.u32 u, u, 64; setp.lt.u32 p, u, 1024; @p bra put;
mov.u32 size, 4096; fence.proxy.async.shared::cta; bar.sync 0;
"""
LOADS = [
    "cp.async.bulk{c}.global.mbarrier::complete_tx::bytes [near], [from], size, [bar];",
    "cp.async.bulk{c}.global.mbarrier::complete_tx::bytes.L2::cache_hint [room], [from], 4096, [bar], w;",
    "cp.async.bulk{c}.global.mbarrier::complete_tx::bytes [near], [from], 16, [bar];"
    " cp.async.bulk{c}.global.mbarrier::complete_tx::bytes [near+16], [from+16], 4080, [bar];",
]
STORES = [
    "cp.async.bulk.global.shared::cta.bulk_group [to], [near], size;",
    "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [to], [room], 4096, w;",
    "cp.async.bulk.global.shared::cta.bulk_group [to+32], [near+32], 4064;"
    " cp.async.bulk.global.shared::cta.bulk_group [to], [near], 32;",
]
WITHIN = (
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [room+4096], [near], size, [bar];"
    f" {WAIT} cp.async.bulk.global.shared::cta.bulk_group [to], [near+4096], size;"
)
GROUPS = [
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;",
]


def load(text):
    return drv.module_from_buffer(KERNEL.format(text=text, bytes=BYTES).encode()).get_function("k")


def check_copies():
    """Loads and stores of every spelling copy all bytes."""
    data = np.random.default_rng(1).integers(0, 2**32, BYTES // 4, np.uint32)
    texts = [
        f"{EXPECT.format(4096)} @!first bra over; {copy.format(c=space)} over: {WAIT} {TAKE}"
        for copy in LOADS
        for space in (".shared::cluster",)
    ]
    texts += [
        f"{PUT} @!first bra over; {copy} {group} over: bar.sync 0;" for copy in STORES for group in GROUPS
    ]
    texts.append(
        f"cp.async.bulk.prefetch.L2.global [from], 4096; {EXPECT.format(4096)} @first "
        f"{LOADS[0].format(c='.shared::cluster')} {WAIT} {TAKE}"
    )
    for text in texts:
        out = np.zeros_like(data)
        load(text)(drv.In(data), drv.InOut(out), block=(64, 1, 1))
        assert (out == data).all(), text


def check_within():
    """Copies within shared memory, as if to another block."""
    data = np.random.default_rng(1).integers(0, 2**32, BYTES // 4, np.uint32)
    for group in GROUPS:
        out = np.zeros_like(data)
        text = f"{EXPECT.format(4096)} {PUT} @!first bra over; {WITHIN} {group} over: bar.sync 0;"
        load(text)(drv.In(data), drv.InOut(out), block=(64, 1, 1))
        assert (out == data).all(), text


def check_waits_for_bytes():
    """A phase does not end before all expected bytes have arrived: here 16 are missing, a deadlock."""
    data = drv.to_device(np.zeros(BYTES // 4, np.uint32))
    copy = LOADS[0].format(c=".shared::cluster")
    function = load(f"{EXPECT.format(4112)} @first {copy} {WAIT}")
    with pytest.raises(drv.Error) as found:
        function(data, data, block=(64, 1, 1))
        drv.Context.synchronize()
    assert "wait for the mbarrier at offset" in str(found.value)


TO_SHARED = "@first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
REFUSED = {
    "mbarrier.arrive.shared::cluster.b64 w, [bar];": "expected '_'",
    f"{TO_SHARED} [near], [from], size;": "takes 4 to 5 operands",
}


def check_refused():
    for text, message in REFUSED.items():
        with pytest.raises(drv.Error) as found:
            load(text)
        assert message in str(found.value), text


def test_copies(at_capability):
    at_capability((9, 0), check_copies)


@pytest.mark.parametrize("check", [check_waits_for_bytes, check_refused, check_within])
@pytest.mark.cpu("a GPU hangs, and copies to other blocks only in launches of clusters")
def test_checks_of_the_cpu_device(at_capability, check):
    at_capability((9, 0), check)


def check_fault(text, message):
    data = drv.to_device(np.zeros(BYTES // 4, np.uint32))
    function = load(text)
    with pytest.raises(drv.Error) as found:
        function(data, data, block=(64, 1, 1))
        drv.Context.synchronize()
    assert message in str(found.value), str(found.value)


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ("[near], [from], 24, [bar]", "a copy of 24 bytes, which is not a multiple of 16"),
        (
            "[near+8], [from], 32, [bar]",
            "misaligned write of 32 bytes of shared memory at offset 0x8, which is not a multiple of 16",
        ),
        ("[near], [from+4], 32, [bar]", "misaligned read of 32 bytes at 0x"),
        ("[near], [from], 1048576, [bar]", "invalid read of 1048576 bytes at 0x"),
        ("[near+8192], [from], 4096, [bar]", "invalid write of 4096 bytes of shared memory at offset 0x2"),
        ("[near], [from], 32, [near]", "was not initialized, or overwritten"),
    ],
)
@pytest.mark.cpu("a GPU does not say what was wrong")
def test_fault(at_capability, operands, message):
    at_capability((9, 0), check_fault, f"{TO_SHARED} {operands};", message)
