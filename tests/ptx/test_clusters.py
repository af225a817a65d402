"""Instructions of clusters: addresses of other blocks' shared memory, accesses to it, the barrier of a
cluster.

Blocks of 32 threads in clusters of four. `room` has 1000 * block + thread in the words of each block, `next`
is the rank of the next block in the cluster. The expected z of each thread follows from the PTX manual.
"""

import numpy as np
import pytest

import pycuda.driver as drv

THREADS, BLOCKS, SIZE = 32, 8, 4
KERNEL = """.version 8.6
.target sm_90
.address_size 64
.global .align 16 .b8 cells[4096];
.visible .entry k(.param .u64 given, .param .u64 taken) .reqntid 32 .reqnctapercluster 4
{{
.reg .b64 from, to, at, o, generic, far, s64, v; .reg .b32 t, b, x, y, z, near, rank, next, place, bar, own;
.reg .b16 mask; .reg .pred p, q, first;
.shared .align 128 .b8 room[512]; .shared .align 8 .b64 bars[4];
ld.param.u64 from, [given]; ld.param.u64 to, [taken];
mov.u32 t, %tid.x; mov.u32 b, %ctaid.x; setp.eq.u32 first, t, 0; mov.u32 near, room; mov.u32 own, bars;
mov.u32 rank, %cluster_ctarank; add.u32 next, rank, 1; and.b32 next, next, 3;
mad.lo.u32 z, t, 4, near; mad.lo.u32 x, b, 1000, t;
st.shared.u32 [z], x; st.shared.u32 [z+128], x; st.shared.u32 [z+256], x; st.shared.u32 [z+384], x;
@first mbarrier.init.shared.b64 [bars], 1; @first mbarrier.init.shared.b64 [bars+8], 32;
fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
mapa.shared::cluster.u32 place, z, next; mapa.shared::cluster.u32 bar, own, next;
cvta.shared.u64 generic, room; mul.wide.u32 o, t, 4; add.u64 generic, generic, o; mapa.u64 far, generic, next;
mov.u32 z, 0;
{text}
barrier.cluster.arrive; barrier.cluster.wait;
mad.lo.u32 x, b, 32, t; mul.wide.u32 o, x, 4; add.u64 at, to, o; st.global.u32 [at], z;
ret;
}}
"""
MEET = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"
WAIT = "again: mbarrier.try_wait.parity.shared.b64 p, [bars{}], 0; @!p bra again;"
EXPECT = "@first mbarrier.arrive.expect_tx.shared.b64 _, [bars], {};"
TAKE = "mad.lo.u32 x, t, 4, near; ld.shared.u32 z, [x];"
SUM = "mad.lo.u32 x, t, 4, near; ld.shared.u32 z, [x]; ld.shared.u32 y, [x+128]; add.u32 z, z, y;"

BLOCK, THREAD = np.divmod(np.arange(BLOCKS * THREADS), THREADS)
RANK = BLOCK % SIZE
NEXT = BLOCK - RANK + (RANK + 1) % SIZE  # the block that this one writes to
LAST = BLOCK - RANK + (RANK - 1) % SIZE  # the block that writes to this one
MINE, THEIRS, BEFORE = (1000 * block + THREAD for block in (BLOCK, NEXT, LAST))

CASES = {
    # Loads, by both kinds of addresses.
    "ld.shared::cluster.u32 z, [place];": THEIRS,
    "ld.volatile.shared::cluster.u32 z, [place+128];": THEIRS,
    "ld.relaxed.cluster.shared::cluster.u32 z, [place];": THEIRS,
    "ld.acquire.cluster.shared::cluster.u32 z, [place];": THEIRS,
    "ld.u32 z, [far];": THEIRS,
    "mapa.shared::cluster.u32 place, room, next; ld.shared::cluster.v4.u32 {x, y, z, x}, [place];":
        1000 * NEXT + 2,
    "cvt.u64.u32 o, place; ld.shared::cluster.u32 z, [o];": THEIRS,
    "mad.lo.u32 x, t, 4, near; cvt.u64.u32 o, x; mapa.shared::cluster.u64 o, o, next;"
    " ld.shared::cluster.u32 z, [o];": THEIRS,
    "mad.lo.u32 x, t, 4, near; ld.shared::cluster.u32 z, [x];": MINE,
    "mad.lo.u32 x, t, 4, near; mapa.shared::cluster.u32 x, x, rank; ld.shared::cluster.u32 z, [x];": MINE,
    "mapa.shared::cluster.u32 x, place, rank; ld.shared::cluster.u32 z, [x];": MINE,
    "and.b32 x, t, 3; mapa.shared::cluster.u32 x, near, x; ld.shared::cluster.u32 z, [x];":
        1000 * (BLOCK - RANK + THREAD % 4),
    "cvt.u64.u32 o, place; cvta.shared::cluster.u64 o, o; ld.u32 z, [o];":
        THEIRS,
    "cvta.to.shared::cluster.u64 o, far; ld.shared::cluster.u32 z, [o];": THEIRS,
    "cvta.to.shared::cluster.u64 o, generic; ld.shared::cluster.u32 z, [o];": MINE,
    # Ranks and spaces of addresses.
    "getctarank.shared::cluster.u32 z, place;": (RANK + 1) % SIZE,
    "getctarank.shared::cluster.u32 z, near;": RANK,
    "getctarank.shared::cluster.u32 z, room;": RANK,
    "cvt.u64.u32 o, place; getctarank.shared::cluster.u64 z, o;": (RANK + 1) % SIZE,
    "getctarank.u64 z, far;": (RANK + 1) % SIZE,
    "getctarank.u64 z, generic;": RANK,
    "isspacep.shared::cluster p, far; isspacep.shared::cta q, far; selp.u32 z, 2, 0, p; @q add.u32 z, z, 1;":
        0 * RANK + 2,
    "isspacep.shared::cluster p, generic; isspacep.shared q, generic; selp.u32 z, 2, 0, p;"
    " @q add.u32 z, z, 1;": 0 * RANK + 3,
    "isspacep.global p, far; isspacep.shared::cluster q, to; selp.u32 z, 2, 0, p; @q add.u32 z, z, 1;":
        0 * RANK,
    # Stores and atomics.
    f"st.shared::cluster.u32 [place+128], t; {MEET} mad.lo.u32 x, t, 4, near; ld.shared.u32 z, [x+128];":
        THREAD,
    f"add.u32 x, b, 7; st.release.cluster.shared::cluster.u32 [place], x; {MEET} {TAKE}": LAST + 7,
    f"st.u32 [far+256], b; {MEET} mad.lo.u32 x, t, 4, near; ld.shared.u32 z, [x+256];": LAST,
    "mapa.shared::cluster.u32 place, room, next; @first st.shared::cluster.v2.b32 [place], {rank, b};"
    f" {MEET}" " ld.shared.v2.u32 {x, y}, [room]; mad.lo.u32 z, x, 100, y;": 100 * ((RANK - 1) % SIZE) + LAST,
    f"red.relaxed.cluster.shared::cluster.add.u32 [place], 5; {MEET} {TAKE}": MINE + 5,
    f"red.shared::cluster.max.u32 [place], 7777777; {MEET} {TAKE}": 0 * RANK + 7777777,
    f"red.add.u32 [far], b; {MEET} {TAKE}": MINE + LAST,
    f"atom.shared::cluster.exch.b32 y, [place], t; {MEET} {TAKE} mad.lo.u32 z, z, 1, y;": THEIRS + THREAD,
    f"atom.acq_rel.cluster.shared::cluster.cas.b32 y, [place], 1003, 1; {MEET} {TAKE}":
        np.where(MINE == 1003, 1, MINE),
    f"mapa.shared::cluster.u32 x, room, 2; atom.shared::cluster.inc.u32 y, [x], 0xffffffff; {MEET}"
    " mapa.shared::cluster.u32 x, room, 2; ld.shared::cluster.u32 z, [x];": 1000 * (BLOCK - RANK + 2) + 128,
    # st.async, red.async: the bytes arrive at a barrier of the same block.
    f"{EXPECT.format(128)} {MEET} add.u32 x, b, t;"
    " st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [place], x, [bar];"
    f" {WAIT.format('')} {TAKE}": LAST + THREAD,
    f"{EXPECT.format(256)} {MEET} mapa.shared::cluster.u32 place, room, next; mad.lo.u32 place, t, 8, place;"
    " mov.b64 v, {t, b}; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [place], v, [bar];"
    f" {WAIT.format('')} mad.lo.u32 x, t, 8, near; ld.shared.v2.u32 {{z, y}}, [x]; mad.lo.u32 z, y, 100, z;":
        100 * LAST + THREAD,
    f"{EXPECT.format(512)} {MEET} mapa.shared::cluster.u32 place, room, next; mad.lo.u32 place, t, 16, place;"
    " st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [place], {t, b, t, b}, [bar];"
    f" {WAIT.format('')} mad.lo.u32 x, t, 16, near; ld.shared.v2.u32 {{z, y}}, [x+8];"
    " mad.lo.u32 z, y, 100, z;": 100 * LAST + THREAD,
    **{
        f"{EXPECT.format(128)} {MEET} red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
        f".{op} [place], 12, [bar]; {WAIT.format('')} {TAKE}": value
        for op, value in {
            "add.u32": MINE + 12, "add.s32": MINE + 12, "min.u32": np.minimum(MINE, 12),
            "max.s32": np.maximum(MINE, 12), "and.b32": MINE & 12, "or.b32": MINE | 12, "xor.b32": MINE ^ 12,
            "inc.u32": np.where(MINE >= 12, 0, MINE + 1),
            "dec.u32": np.where((MINE == 0) | (MINE > 12), 12, MINE - 1),
        }.items()
    },
    # Arrivals at another block's barrier.
    f"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [bar+8]; {WAIT.format('+8')} mov.u32 z, 1;":
        0 * RANK + 1,
    f"st.shared::cluster.u32 [place], t; mbarrier.arrive.shared::cluster.b64 _, [bar+8]; {WAIT.format('+8')}"
    f" {TAKE}": THREAD,
    "@first mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [bar], 16;"
    " @first mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 16;"
    f" {WAIT.format('')} mov.u32 z, 1;": 0 * RANK + 1,
    # Many bytes at once.
    f"{EXPECT.format(128)} {MEET} mapa.shared::cluster.u32 place, room, next; fence.proxy.async;"
    " @first cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [place+128], [room], 128,"
    f" [bar]; {WAIT.format('')} mad.lo.u32 x, t, 4, near; ld.shared.u32 z, [x+128];": BEFORE,
    f"{EXPECT.format(128)} {MEET} setp.eq.and.u32 p, rank, 1, first; mov.u16 mask, 15;"
    " @p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [room], [from],"
    f" 128, [bars], mask; {WAIT.format('')} {TAKE}": 3 * THREAD,
    f"{EXPECT.format(128)} {MEET} mapa.shared::cluster.u32 place, room, next; fence.proxy.async;"
    " @first cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32"
    f" [place+128], [room], 128, [bar]; {WAIT.format('')} mad.lo.u32 x, t, 4, near;"
    " ld.shared.u32 z, [x+128];":
        MINE + BEFORE,
    # The forms of the barrier, and code between arriving and waiting.
    "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned; mov.u32 z, 1;": 0 * RANK + 1,
    "barrier.cluster.arrive.relaxed; barrier.cluster.wait; fence.acq_rel.cluster; mov.u32 z, 1;":
        0 * RANK + 1,
    "setp.lt.u32 p, t, 16; @p bra low; barrier.cluster.arrive; mov.u32 z, 2; barrier.cluster.wait; bra done;"
    " low: barrier.cluster.arrive; mov.u32 z, 1; barrier.cluster.wait; done:": np.where(THREAD < 16, 1, 2),
    f"{MEET} {MEET} {MEET} mov.u32 z, %cluster_ctarank;": RANK,
    # Where a block is.
    "mov.u32 x, %clusterid.x; mov.u32 y, %nclusterid.x; mad.lo.u32 z, x, 10, y;": 10 * (BLOCK // SIZE) + 2,
    "mov.u32 x, %cluster_ctaid.x; mov.u32 y, %cluster_nctaid.x; mad.lo.u32 z, x, 10, y;": 10 * RANK + 4,
    "mov.u32 x, %cluster_ctaid.y; mov.u32 y, %cluster_nctaid.z; mad.lo.u32 z, x, 10, y;": 0 * RANK + 1,
    "mov.u32 z, %cluster_nctarank;": 0 * RANK + 4,
    "mov.pred p, %is_explicit_cluster; selp.u32 z, 1, 0, p;": 0 * RANK + 1,
    "griddepcontrol.launch_dependents; griddepcontrol.wait; fence.proxy.async.shared::cluster;"
    " elect.sync x|p, -1; vote.sync.ballot.b32 y, p, -1; popc.b32 z, y;": 0 * RANK + 1,
}  # fmt: skip


def load(text, head=KERNEL):
    return drv.module_from_buffer(head.format(text=text).encode()).get_function("k")


def check_cases():
    given = drv.to_device((3 * np.arange(1024)).astype(np.uint32))
    for text, expected in CASES.items():
        out = np.full(BLOCKS * THREADS, 12345, np.uint32)
        load(text)(given, drv.InOut(out), block=(THREADS, 1, 1), grid=(BLOCKS, 1))
        assert (out == expected).all(), (text, out.reshape(BLOCKS, -1)[:, :4])


# Reductions of many bytes to global memory: the type of elements and the operation.
REDUCTIONS = {
    "add.u32": (np.uint32, np.add),
    "add.s32": (np.int32, np.add),
    "add.u64": (np.uint64, np.add),
    "min.s32": (np.int32, np.minimum),
    "max.u32": (np.uint32, np.maximum),
    "min.u64": (np.uint64, np.minimum),
    "max.s64": (np.int64, np.maximum),
    "and.b32": (np.uint32, np.bitwise_and),
    "or.b64": (np.uint64, np.bitwise_or),
    "xor.b32": (np.uint32, np.bitwise_xor),
    "inc.u32": (np.uint32, lambda x, b: np.where(x >= b, 0, x + 1)),
    "dec.u32": (np.uint32, lambda x, b: np.where((x == 0) | (x > b), b, x - 1)),
    "add.f32": (np.float32, np.add),
    "add.f64": (np.float64, np.add),
    "add.noftz.f16": (np.float16, np.add),
    "min.f16": (np.float16, np.minimum),
    "max.f16": (np.float16, np.maximum),
}
REDUCE = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 given, .param .u64 taken)
{{
.reg .b64 from, to, at, o; .reg .b32 t, x, near, y; .reg .pred first;
.shared .align 128 .b8 room[512];
ld.param.u64 from, [given]; ld.param.u64 to, [taken]; mov.u32 near, room;
mov.u32 t, %tid.x; setp.eq.u32 first, t, 0; shl.b32 x, t, 2; cvt.u64.u32 o, x; add.u64 at, from, o;
ld.global.u32 y, [at]; add.u32 x, x, near; st.shared.u32 [x], y; fence.proxy.async; bar.sync 0;
@!first bra done;
cp.reduce.async.bulk.global.shared::cta.bulk_group.{text} [to], [room], 512;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
done: ret;
}}
"""


def check_reductions():
    """Reductions to global memory have NumPy's results, also for subnormal numbers."""
    random = np.random.default_rng(1)
    for name, (dtype, operation) in REDUCTIONS.items():
        real = np.issubdtype(dtype, np.floating)
        a, b = (
            (random.standard_normal(512) if real else random.integers(0, 100, 512)).astype(dtype)[
                : 512 // np.dtype(dtype).itemsize
            ]
            for _ in range(2)
        )
        if real:  # Subnormal numbers are kept: as operands and as sums.
            smallest_normal, tiny = np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal
            a[:4], b[:4] = (
                (0, 3 * tiny, smallest_normal, -smallest_normal),
                (3 * tiny, 0, -smallest_normal + tiny, tiny),
            )
        expected, out = operation(a, b).astype(dtype), a.copy()
        load(name, REDUCE)(drv.In(b), drv.InOut(out), block=(128, 1, 1))
        assert (out == expected).all(), name


def check_no_cluster():
    """A block that was launched without clusters is a cluster of one block."""
    text = "mapa.u64 at, generic, 0; ld.u32 x, [at]; getctarank.u64 y, generic; mad.lo.u32 z, y, 7, x;"
    text += "barrier.cluster.arrive; barrier.cluster.wait; mov.u32 x, %cluster_nctarank; add.u32 z, z, x;"
    text += (
        "mov.pred p, %is_explicit_cluster; @p add.u32 z, z, 100; mov.u32 x, %nclusterid.x; add.u32 z, z, x;"
    )
    head = KERNEL.replace(".reqnctapercluster 4", "").replace("and.b32 next, next, 3", "mov.u32 next, 0")
    out = np.zeros(BLOCKS * THREADS, np.uint32)
    load(text, head)(drv.mem_alloc(64), drv.InOut(out), block=(THREADS, 1, 1), grid=(BLOCKS, 1))
    assert (out == MINE + 1 + 8).all()


def check_all():
    check_cases()
    check_reductions()
    check_no_cluster()


def test_cluster_instructions(at_capability):
    at_capability((9, 0), check_all)


@pytest.mark.cpu("checks and a schedule that only the CPU device has")
def test_checked_lane_by_lane(at_capability, monkeypatch):
    monkeypatch.setenv("PYCUDA_CPU_CHECK", "racecheck, initcheck-shared, initcheck, synccheck")
    monkeypatch.setenv("PYCUDA_CPU_SCHEDULE", "random:11")
    at_capability((9, 0), check_all)
