"""mbarrier objects in shared memory: phases, counts of threads and bytes, waits, and deadlocks."""

import numpy as np
import pytest
from devices import words_are_ours

import pycuda.driver as drv

KERNEL = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 result)
{{
.reg .b64 out, o, s, s2, generic; .reg .b32 t, n, x, y, z, phase, at, count; .reg .pred p, q, first, one;
.shared .align 8 .b64 bars[4]; .shared .align 4 .b32 room[256];
ld.param.u64 out, [result]; mov.u32 t, %tid.x; mov.u32 n, %ntid.x;
mul.wide.u32 o, t, 4; add.u64 out, out, o;
mov.u64 generic, bars; cvta.shared.u64 generic, generic; mov.u32 at, bars;
setp.eq.u32 first, t, 0; mov.u32 phase, 0; mov.u32 z, 0;
@first mbarrier.init.shared.b64 [bars], n;
bar.sync 0;
{text}
st.global.b32 [out], z;
ret;
}}
"""
# In each of 5 rounds a thread gets the value of the next thread, between two phases of the barrier.
ROUND = """
mov.u32 x, t; shl.b32 y, t, 2; mov.u32 z, room; add.u32 y, y, z; mov.u32 count, 0;
next:
st.shared.u32 [y], x;
{arrive}
again: {wait} p, {operand};
@!p bra again;
.reg .b32 other; add.u32 other, t, 1; rem.u32 other, other, n;
shl.b32 other, other, 2; add.u32 other, other, z;
ld.shared.u32 x, [other];
xor.b32 phase, phase, 1;
{arrive}
second: {wait} p, {operand};
@!p bra second;
xor.b32 phase, phase, 1;
add.u32 count, count, 1; setp.lt.u32 p, count, 5;
@p bra next;
mov.u32 z, x;
"""
ARRIVALS = (
    "mbarrier.arrive.shared.b64 s, [bars];",
    "mbarrier.arrive.shared::cta.b64 s, [at], 1;",
    "mbarrier.arrive.b64 s, [generic];",
    "mbarrier.arrive.release.cta.shared::cta.b64 s, [bars];",
    "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 s, [bars], 16;"
    " mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bars], 16;",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [at], 7; mbarrier.arrive.shared.b64 s, [bars];"
    " mbarrier.complete_tx.shared::cta.b64 [bars], 7;",
)
WAITS = (
    ("mbarrier.test_wait.shared.b64", "[bars], s"),
    ("mbarrier.try_wait.shared::cta.b64", "[at], s"),
    ("mbarrier.try_wait.b64", "[generic], s, 100"),
    ("mbarrier.test_wait.parity.shared.b64", "[bars], phase"),
    ("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64", "[bars], phase"),
    ("mbarrier.try_wait.parity.b64", "[generic], phase, 1000"),
)


def load(text):
    return drv.module_from_buffer(KERNEL.format(text=text).encode()).get_function("k")


def run(text, threads):
    out = np.full(threads, 0xDEAD, np.uint32)
    load(text)(drv.InOut(out), block=(threads, 1, 1))
    return out


def check_rounds():
    for arrive in ARRIVALS:
        for wait, operand in WAITS:
            for threads in (1, 32, 256, 77):
                out = run(ROUND.format(arrive=arrive, wait=wait, operand=operand), threads)
                assert (out == (np.arange(threads) + 5) % threads).all(), (arrive, wait, threads)


ONE = "@!first bra done; mbarrier.init.shared.b64 [bars+8], {count}; {text} done:"
TEST = (
    "mbarrier.test_wait{parity}.shared.b64 p, [bars+8], {operand};"
    " selp.u32 x, 1, 0, p; shl.b32 z, z, 1; or.b32 z, z, x;"
)
ARRIVE = "mbarrier.arrive.shared.b64 s, [bars+8];"
STATE = TEST.format(parity="", operand="s")
EVEN, ODD = TEST.format(parity=".parity", operand="0"), TEST.format(parity=".parity", operand="1")
PENDING = "mbarrier.pending_count.b64 x, s; mad.lo.u32 z, z, 16, x;"
# One thread arrives for all: the expected z has a bit for each test, the first in the most significant one.
SOLO = {
    # a new barrier is in its even phase, and the odd phase before it counts as completed
    (1, EVEN + ODD): 0b01,
    (1, ARRIVE + STATE + EVEN + ODD): 0b110,
    (2, ARRIVE + STATE + EVEN + ODD): 0b001,
    (2, "mbarrier.arrive.shared.b64 s, [bars+8], 2;" + STATE + EVEN): 0b11,
    (1, ARRIVE + ARRIVE + STATE + EVEN + ODD): 0b101,
    # counts before the arrival
    (7, "mbarrier.arrive.noComplete.shared.b64 s, [bars+8], 2;" + PENDING
     + "mbarrier.arrive.noComplete.shared.b64 s, [bars+8], 4;" + PENDING
     + ARRIVE + PENDING): 0x751,
    # a thread that drops out is not waited for in later phases
    (3, "mbarrier.arrive_drop.shared.b64 s, [bars+8]; mbarrier.arrive.shared.b64 s, [bars+8], 2;" + STATE
     + "mbarrier.arrive.shared.b64 s, [bars+8], 2;" + STATE): 0b11,
    (3, "mbarrier.arrive_drop.noComplete.shared.b64 s, [bars+8], 2; mbarrier.arrive.shared.b64 _, [bars+8];"
     + ARRIVE + STATE): 1,
    (2, "mbarrier.arrive_drop.shared.b64 _, [bars+8], 1;"
     "mbarrier.arrive_drop.expect_tx.shared.b64 s, [bars+8], 8;"
     + STATE + "mbarrier.complete_tx.shared::cta.b64 [bars+8], 8;" + STATE): 0b01,
    # bytes: a phase waits for them, and they may come before they are expected
    (1, "mbarrier.arrive.expect_tx.shared.b64 s, [bars+8], 32;" + STATE
     + "mbarrier.complete_tx.shared::cta.b64 [bars+8], 12;" + STATE
     + "mbarrier.complete_tx.shared::cta.b64 [bars+8], 20;" + STATE): 0b001,
    (1, "mbarrier.complete_tx.shared::cta.b64 [bars+8], 24;" + EVEN
     + "mbarrier.arrive.expect_tx.shared.b64 s, [bars+8], 24;" + STATE): 0b01,
    (2, "mbarrier.expect_tx.shared::cta.b64 [bars+8], 5; mbarrier.arrive.shared.b64 _, [bars+8], 1;"
     "mbarrier.arrive.shared::cluster.b64 _, [bars+8];" + EVEN
     + "mbarrier.complete_tx.shared::cta.b64 [bars+8], 5;" + EVEN): 0b01,
    # the memory can be used again
    (5, "mbarrier.inval.shared.b64 [bars+8]; mbarrier.init.shared.b64 [bars+8], 1;"
     + ARRIVE + STATE): 1,
}  # fmt: skip


def check_solo():
    for (count, text), wanted in SOLO.items():
        z = run(ONE.format(count=count, text=text), 32)[0]
        assert z == wanted, (text, bin(z), bin(wanted))


# A warp produces ten values for each lane, and the others consume them: each side waits at the other's
# barrier.
EXCHANGE = """
.reg .pred producer; setp.lt.u32 producer, t, 32; sub.u32 count, n, 32;
@first mbarrier.init.shared.b64 [bars+8], 32; @first mbarrier.init.shared.b64 [bars+16], count;
bar.sync 0;
and.b32 x, t, 31; shl.b32 y, x, 2; mov.u32 at, room; add.u32 at, at, y; mov.u32 count, 0;
@producer bra produce;
consume:
full: mbarrier.try_wait.parity.shared.b64 p, [bars+8], phase; @!p bra full;
ld.shared.u32 y, [at]; add.u32 z, z, y;
mbarrier.arrive.shared.b64 _, [bars+16];
xor.b32 phase, phase, 1; add.u32 count, count, 1; setp.lt.u32 p, count, 10; @p bra consume;
bra done;
produce:
add.u32 y, count, t; st.shared.u32 [at], y;
mbarrier.arrive.shared.b64 _, [bars+8];
empty: mbarrier.try_wait.parity.shared.b64 p, [bars+16], phase; @!p bra empty;
xor.b32 phase, phase, 1; add.u32 count, count, 1; setp.lt.u32 p, count, 10; @p bra produce;
done:
"""


def check_exchange():
    for threads in (64, 160, 256):
        out = run(EXCHANGE, threads)
        lane = np.arange(threads)
        assert (out == np.where(lane < 32, 0, 45 + 10 * (lane % 32))).all(), threads


# A thread whose test fails continues, and only then does what the others wait for.
POLL = """
.reg .pred ready; @first bra polls;
waits: ld.volatile.shared.u32 y, [room]; setp.eq.u32 p, y, 0; @p bra waits;
mbarrier.arrive.shared.b64 s, [bars]; bra done;
polls: st.volatile.shared.u32 [room], 0; mbarrier.arrive.shared.b64 s, [bars];
again: mbarrier.{wait}.shared.b64 p, [bars], s; @p bra done;
add.u32 z, z, 1; setp.gt.u32 ready, z, 3; @ready st.volatile.shared.u32 [room], 1; bra again;
done: mov.u32 z, 1;
"""


def check_poll():
    for wait in ("test_wait", "try_wait"):
        for threads in (2, 32, 128):
            clear = "@first st.volatile.shared.u32 [room], 0; bar.sync 0;"
            assert (run(clear + POLL.format(wait=wait), threads) == 1).all()


def check_fault(text, message, threads=64):
    out = drv.to_device(np.zeros(threads, np.uint32))
    function = load(text)
    with pytest.raises(drv.Error) as found:
        function(out, block=(threads, 1, 1))
        drv.Context.synchronize()
    assert message in str(found.value), str(found.value)


REFUSED = {
    "mbarrier.init.shared.b64 [bars];": "takes 2 operands",
    "mbarrier.init.global.b64 [out], 1;": "'.global' is not a modifier of 'mbarrier'",
    "mbarrier.init.shared.b32 [bars], 1;": "'.b32' is not a modifier of 'mbarrier'",
    "mbarrier.arrive.noComplete.shared.b64 s, [bars];": "takes 3 operands",
    "mbarrier.arrive.expect_tx.shared.b64 _, [bars];": "takes 3 operands",
    "mbarrier.test_wait.shared.b64 p, [bars], t;": "a value of type .b64",
    "mbarrier.test_wait.parity.shared.b64 p, [bars], s;": "a value of type .u32",
    "mbarrier.test_wait.shared.b64 t, [bars], s;": "a value of type .pred",
    "mbarrier.pending_count.b64 s, s;": "a value of type .u32",
    "mbarrier.try_wait.test_wait.shared.b64 p, [bars], s;": "they do not go together",
}


def check_refused():
    for text, message in REFUSED.items():
        with pytest.raises(drv.Error) as found:
            load(text)
        assert message in str(found.value), text


@pytest.mark.parametrize(
    "check",
    [check_rounds, check_solo, check_exchange, check_poll, pytest.param(check_refused, marks=words_are_ours)],
)
def test_phases_and_counts(at_capability, check):
    at_capability((9, 0), check)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.cpu("only the CPU device has a random scheduler")
def test_lane_by_lane(at_capability, monkeypatch, seed):
    """The random scheduler runs every lane separately, in a random order."""
    monkeypatch.setenv("PYCUDA_CPU_SCHEDULE", f"random:{seed}")
    at_capability((9, 0), check_exchange)
    at_capability((9, 0), check_poll)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("st.shared.u64 [bars], 0; bar.sync 0; mbarrier.arrive.shared.b64 s, [bars];", "was not initialized"),
        ("mbarrier.init.shared.b64 [bars+4], 1;", "misaligned write of 8 bytes of shared memory"),
        ("mbarrier.init.shared.b64 [bars+65536], 1;", "invalid write of 8 bytes of shared memory"),
        ("mbarrier.arrive.b64 s, [out];", "of shared memory"),
        ("mbarrier.init.shared.b64 [bars], 0;", "0 threads at the mbarrier"),
        ("mbarrier.arrive.shared.b64 s, [bars], 65;", "65 threads at the mbarrier at offset 0x0"),
        ("mbarrier.arrive.noComplete.shared.b64 s, [bars], 64;", "where 1 to 63 are possible"),
        ("mbarrier.complete_tx.shared::cta.b64 [bars], 2000000;", "would wait for -2000000 bytes"),
        ("mbarrier.arrive.shared.b64 s, [bars], 1; mbarrier.inval.shared.b64 [bars]; "
         "mbarrier.test_wait.shared.b64 p, [bars], s;", "was not initialized"),
    ],
)  # fmt: skip
@pytest.mark.cpu("a GPU does not detect it, or does not say what was wrong")
def test_misuse(at_capability, text, message):
    at_capability((9, 0), check_fault, text, message)


@pytest.mark.parametrize("wait", ["test_wait", "try_wait"])
@pytest.mark.parametrize("sleep", ["", "nanosleep.u32 100;", "mov.u64 o, %globaltimer;"])
@pytest.mark.cpu("a GPU hangs")
def test_a_wait_that_would_never_end_is_an_error(at_capability, wait, sleep):
    """Half of the threads do not arrive: the loop of the others ends with an error that says where they
    wait."""
    text = (
        "setp.lt.u32 p, t, 32; @p bra done; mbarrier.arrive.shared.b64 s, [bars];\n"
        f"again: mbarrier.{wait}.shared.b64 p, [bars], s;\n{sleep} @!p bra again;\ndone: bar.sync 0;"
    )
    message = (
        "deadlock, its threads wait for each other; warp 0, lanes 0xffffffff wait at barrier 0, PTX line 17;"
        " warp 1, lanes 0xffffffff wait for the mbarrier at offset 0x0 of shared memory, PTX line 15"
    )
    at_capability((9, 0), check_fault, text, message)
