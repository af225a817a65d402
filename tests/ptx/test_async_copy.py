"""cp.async: copies of every size, of part of an element and of nothing; and the ways to wait."""

import numpy as np
import pytest
from devices import on_cpu_device, words_are_ours

import pycuda.driver as drv

THREADS = 64
KERNEL = """.version 8.5
.target sm_80
.address_size 64
.visible .entry k(.param .u64 given, .param .u64 taken)
{{
.reg .b64 from, to, o, near64, w, bar64; .reg .b32 t, u, x, near, bytes, a; .reg .pred p, q;
.shared .align 16 .b8 room[2048]; .shared .align 8 .b64 bar;
ld.param.u64 from, [given]; ld.param.u64 to, [taken];
mov.u32 t, %tid.x; mul.wide.u32 o, t, 16; add.u64 from, from, o; add.u64 to, to, o;
mov.u32 near, room; shl.b32 u, t, 4; add.u32 near, near, u; cvt.u64.u32 near64, near;
st.shared.v4.b32 [near], {{-1, -1, -1, -1}};
createpolicy.fractional.L2::evict_first.b64 w;
and.b32 bytes, t, 15; and.b32 x, t, 1; setp.ne.u32 p, x, 0;
mov.u64 bar64, bar; setp.eq.u32 q, t, 0; @q mbarrier.init.shared.b64 [bar], {threads};
bar.sync 0;
{text}
bar.sync 0;
xor.b32 u, u, 1008; mov.u32 near, room; add.u32 near, near, u;
.reg .b32 b, c, d;
ld.shared.v4.b32 {{a, b, c, d}}, [near]; st.global.v4.b32 [to], {{a, b, c, d}};
ret;
}}
"""
FETCHES = ("", ".L2::64B", ".L2::128B", ".L2::256B")
NO_HINTS = pytest.mark.cpu(
    "with a policy the one GPU tried, of compute capability 9.0, met an illegal instruction"
)
GROUP = "cp.async.commit_group; cp.async.wait_group 0;"
WAITS = (
    GROUP,
    "cp.async.wait_all;",
    "cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1;",
    "cp.async.mbarrier.arrive.noinc.shared.b64 [bar]; "
    "again: mbarrier.test_wait.parity.shared.b64 q, [bar], 0; @!q bra again;",
    "mov.u32 a, bar; cp.async.mbarrier.arrive.noinc.b64 [a]; "  # as <cuda/ptx> writes it
    "again: mbarrier.test_wait.parity.shared.b64 q, [bar], 0; @!q bra again;",
    "cp.async.mbarrier.arrive.shared::cta.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar]; "
    "again: mbarrier.test_wait.parity.shared.b64 q, [bar], 0; @!q bra again;",
)


def partly(size, read):
    """A function from the source to the expected shared memory, if the first `read` bytes of `size` are
    copied and the others cleared."""

    def result(data):
        wanted = np.full_like(data, 255)
        wanted[:, :size] = 0
        for lane, count in enumerate(read):
            wanted[lane, :count] = data[lane, :count]
        return wanted

    return result


def cases():
    """{text: a function from the source to the expected result}"""
    found = {}
    lane = np.arange(THREADS)
    for cache, sizes in (("ca", (4, 8, 16)), ("cg", (16,))):
        for size in sizes:
            whole, odd = [size] * THREADS, np.where(lane & 1, 0, size)
            for start in (f"cp.async.{cache}.shared.global", f"cp.async.{cache}.shared::cta.global"):
                for fetch in FETCHES:
                    found[f"{start}{fetch} [near], [from], {size}; {GROUP}"] = partly(size, whole)
                found[f"{start} [near64], [from], {size}; {GROUP}"] = partly(size, whole)
                for read in range(0, size + 1):
                    found[f"{start} [near], [from], {size}, {read}; {GROUP}"] = partly(size, [read] * THREADS)
                clamp = f"min.u32 bytes, bytes, {size}; "
                minimum = np.minimum(lane & 15, size)
                found[f"{clamp}{start} [near], [from], {size}, bytes; {GROUP}"] = partly(size, minimum)
                found[f"{start} [near], [from], {size}, p; {GROUP}"] = partly(size, odd)
                found[f"{start} [near], [from], {size}, !p; {GROUP}"] = partly(size, size - odd)
                moved = (
                    f"sub.u32 near, near, 32; add.u64 from, from, 48; {start} [near+32], [from+-48], {size}; "
                )
                found[moved + GROUP] = partly(size, whole)
                for wait in WAITS:
                    found[f"{start} [near], [from], {size}; {wait}"] = partly(size, whole)
    return found


def hinted():
    """Like cases(), with a cache policy."""
    found = {}
    lane = np.arange(THREADS)
    for cache, sizes in (("ca", (4, 8, 16)), ("cg", (16,))):
        for size in sizes:
            start = f"cp.async.{cache}.shared.global.L2::cache_hint"
            for fetch in FETCHES:
                whole = partly(size, [size] * THREADS)
                found[f"{start}{fetch} [near], [from], {size}, w; {GROUP}"] = whole
            clamp = f"min.u32 bytes, bytes, {size}; "
            minimum = partly(size, np.minimum(lane & 15, size))
            found[f"{clamp}{start} [near], [from], {size}, bytes, w; {GROUP}"] = minimum
            odd = partly(size, np.where(lane & 1, 0, size))
            found[f"{start} [near], [from], {size}, p, w; {GROUP}"] = odd
    return found


def load(text):
    return drv.module_from_buffer(KERNEL.format(text=text, threads=THREADS).encode()).get_function("k")


def check_results(cases=cases):
    data = np.random.default_rng(1).integers(0, 255, (THREADS, 16), np.uint8)
    for text, result in cases().items():
        out = np.zeros_like(data)
        load(text)(drv.In(data), drv.Out(out), block=(THREADS, 1, 1))
        assert (out == result(data)[::-1]).all(), text


def check_hinted():
    check_results(hinted)


def check_guarded():
    """Lanes whose guard is false copy nothing."""
    data = np.random.default_rng(2).integers(0, 254, (THREADS, 16), np.uint8)
    out = np.zeros_like(data)
    load(f"@p cp.async.cg.shared.global [near], [from], 16; {GROUP}")(
        drv.In(data), drv.Out(out), block=(THREADS, 1, 1)
    )
    wanted = np.where(np.arange(THREADS)[:, None] & 1, data, 255)
    assert (out == wanted[::-1]).all()


REFUSED = {
    "cp.async.ca.shared.global [near], [from], 2;": "the size is 4, 8 or 16 bytes",
    "cp.async.cg.shared.global [near], [from], 8;": "the size is 16 bytes",
    "cp.async.ca.shared.global [near], [from], t;": "an integer constant",
    "cp.async.ca.global.global [near], [from], 4;": "they do not go together",
    "cp.async.ca.shared.global [near], [t], 4;": "an address of 64 bits",
    "cp.async.wait_group t;": "an integer constant",
    "cp.async.wait_group -1;": "must not be negative",
    "cp.async.ca.shared.global.L2::cache_hint [near], [from], 4;": "takes 4 to 5 operands",
}


def check_refused():
    for text, message in REFUSED.items():
        with pytest.raises(drv.Error) as found:
            load(text)
        assert message in str(found.value), text


def fault(text):
    """The message of the fault that ends the kernel, and its context."""
    data = drv.to_device(np.zeros((THREADS, 16), np.uint8))
    function = load(text)
    with pytest.raises(drv.Error) as found:
        function(data, data, block=(THREADS, 1, 1))
        drv.Context.synchronize()
    return str(found.value)


def check_fault(text, message):
    words = fault(text)
    if on_cpu_device():
        assert message in words, words


@pytest.mark.parametrize(
    "check",
    [
        check_results,
        pytest.param(check_hinted, marks=NO_HINTS),
        check_guarded,
        pytest.param(check_refused, marks=words_are_ours),
    ],
)
def test_copies_and_waits(at_capability, check):
    at_capability((8, 0), check)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "add.u32 near, near, 4; cp.async.ca.shared.global [near], [from], 16;",
            "misaligned write of 16 bytes",
        ),
        ("add.u64 from, from, 2; cp.async.ca.shared.global [near], [from], 4;", "misaligned read of 4 bytes"),
        (
            "add.u32 near, near, 16777216; cp.async.ca.shared.global [near], [from], 4;",
            "invalid write of 4 bytes",
        ),
        (
            "add.u64 from, from, 824633720832; cp.async.ca.shared.global [near], [from], 4;",
            "invalid read of 4 bytes",
        ),
    ],
)
def test_fault(at_capability, text, message):
    at_capability((8, 0), check_fault, text, message)
