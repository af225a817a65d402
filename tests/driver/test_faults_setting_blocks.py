"""PYCUDA_CPU_FAULTS=report where an instruction accesses more than a thread's own word: freed memory, copies
in bulk, tensors, matrices, texts of printf, other blocks of a cluster, barriers; and the driver's log.
"""

import re
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu("PYCUDA_CPU_FAULTS")
PTX = str(Path(__file__).parents[1] / "ptx")

START = f"""
import sys
sys.path.insert(0, {PTX!r})
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

def freed(size):
    '''The address of that many bytes of device memory, which is no longer there.'''
    memory = drv.mem_alloc(size)
    address = int(memory)
    memory.free()
    return address
"""


@pytest.fixture
def run(run_python):
    """Runs source in a process of its own; (the lines of its standard output, the faults, which each have a
    line on standard error, the counts of further faults)."""

    def call(source, **env):
        env = {"PYCUDA_CPU_FAULTS": "report", "PYCUDA_CPU_LOG": None, "PYCUDA_CPU_REPORT": None, **env}
        done = run_python(START + textwrap.dedent(source), env=env, check=True)
        lines = done.stderr.splitlines()
        faults = [line for line in lines if "more such faults" not in line]
        assert all(line.startswith("CPU device: ") for line in lines), done.stderr
        return done.stdout.splitlines(), faults, [line for line in lines if line not in faults]

    return call


# --- freed memory ---


def test_freed_memory_reads_as_zeros_and_is_not_written(run):
    """Also when the address is in use again: a later allocation keeps its bytes."""
    _, faults, counts = run("""
        address = freed(4096)
        kernel = SourceModule("__global__ void k(int *p, int *out)"
            "{ out[threadIdx.x] = p[threadIdx.x] + 1;\\n p[threadIdx.x] = 7; }").get_function("k")
        out = np.zeros(64, np.int32)
        kernel(np.uint64(address), drv.Out(out), block=(64, 1, 1))
        assert (out == 1).all(), out
        """)
    assert len(faults) == 2 and all("freed device memory" in fault for fault in faults)
    assert [line.rsplit(": ", 1)[1] for line in counts] == ["63 more such faults"] * 2


# --- copies in bulk ---

# name: (text, the words of shared memory afterwards, the fault). Before it the 4096 bytes `near` have the
# words of `from`, 0 ... 1023. A copy from memory that is not there copies zeros; bytes count at the barrier.
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
BULK = {
    "from past an array": ("[near], [from+1048576], 4096, [bar]", "0 * i", "invalid read"),
    "from its last half": ("[near], [from+2048], 4096, [bar]", "0 * i", "2048 of its bytes"),
    "misaligned": ("[near], [from+8], 4080, [bar]", "i * (i >= 1020)", "misaligned read"),
    "to past shared memory": ("[near+8192], [from], 4096, [bar]", "i", "invalid write"),
    "both": ("[near+8192], [from+1048576], 4096, [bar]", "i", "invalid read"),
}
STORES = {
    "to past an array": ("cp.async.bulk.global.shared::cta.bulk_group [to+1048576], [near], 4096", "write"),
    "from past shared memory": (
        "cp.async.bulk.global.shared::cta.bulk_group [to], [near+8192], 4096",
        "read",
    ),
    "a sum": ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [to+4080], [near], 4096", "write"),
}


@pytest.mark.parametrize("name", BULK)
@pytest.mark.parametrize("checks", [None, "initcheck,initcheck-shared,racecheck"])
def test_bulk_loads(run, name, checks):
    copy, wanted, fault = BULK[name]
    size = copy.split(", ")[-2]
    _, faults, counts = run(
        f"""
        from test_bulk_copy import EXPECT, PUT, TAKE, WAIT, load
        i = np.arange(1024, dtype=np.uint32)
        text = (f"{{PUT}} {{EXPECT.format({size})}} @first "
                "{LOAD}{copy}; {{WAIT}} bar.sync 0; {{TAKE}}")
        out = np.full(1024, 9, np.uint32)
        load(text.replace("{{WAIT}}", WAIT).replace("{{TAKE}}", TAKE))(
            drv.In(i), drv.Out(out), block=(64, 1, 1))
        assert (out == {wanted}).all(), out
        """,
        PYCUDA_CPU_CHECK=checks,
    )
    assert len(faults) == 1 and fault in faults[0] and "thread (0,0,0)" in faults[0]
    assert [line.rsplit(": ", 1)[1] for line in counts] == ["1 more such faults"] * (name == "both")


@pytest.mark.parametrize("name", STORES)
def test_bulk_stores(run, name):
    copy, fault = STORES[name]
    _, faults, _ = run(f"""
        from test_bulk_copy import GROUPS, PUT, load
        out, i = np.full(1024, 9, np.uint32), np.arange(1024, dtype=np.uint32)
        text = PUT + " @!first bra over; {copy}; " + GROUPS[0] + " over: bar.sync 0;"
        load(text)(drv.In(i), drv.InOut(out), block=(64, 1, 1))
        assert (out == {0 if fault == "read" else 9}).all(), out
        """)
    assert len(faults) == 1 and fault in faults[0]


# --- tensors ---


@pytest.mark.parametrize("swizzle", [0, 3])
def test_a_tensor_of_freed_memory_loads_as_zeros(run, swizzle):
    _, faults, counts = run(f"""
        from tensor_maps import ROOM, encode, load_text, run
        tensor = encode(freed(64 * 32 * 4), "u4", (64, 32), (8, 32), swizzle={swizzle})
        found = run(load_text(2), tensor, np.full(ROOM, 3, np.uint8), (4, 0), 8 * 32 * 4)
        assert (found[:1024] == 0).all() and (found[1024:] == 3).all()
        """)
    assert len(faults) == 1 and "invalid read of a row of the tensor" in faults[0], faults
    assert [line.rsplit(": ", 1)[1] for line in counts] == ["7 more such faults"]


def test_a_tensor_with_a_row_past_its_memory_loads_the_other_rows(run):
    _, faults, counts = run("""
        from tensor_maps import ROOM, encode, load_text, numbers, run
        data = numbers((8, 32), "u4")
        tensor = encode(drv.to_device(data[:6]), "u4", (8, 32), (8, 32))
        held = drv.to_device(data[:6])
        tensor = encode(held, "u4", (8, 32), (8, 32))
        found = run(load_text(2), tensor, np.full(ROOM, 3, np.uint8), (0, 0), 1024).view(np.uint32)
        assert (found[:192] == data[:6].ravel()).all() and (found[192:256] == 0).all()
        """)
    assert len(faults) == 1 and [line.rsplit(": ", 1)[1] for line in counts] == ["1 more such faults"]


@pytest.mark.parametrize("swizzle", [0, 1, 2, 3])
@pytest.mark.parametrize("place", ["near+16", "near+144", "near+16368", "near+1048576"])
def test_a_box_that_is_misplaced_is_dropped(run, swizzle, place):
    """Whatever its swizzle mode does with addresses; the bytes count at the barrier all the same."""
    width = {0: 32, 1: 8, 2: 16, 3: 32}[swizzle]
    _, faults, _ = run(f"""
        from tensor_maps import ROOM, encode, load_text, numbers, run
        held = drv.to_device(numbers((8, 32), "u4"))
        tensor = encode(held, "u4", (8, 32), (8, {width}), swizzle={swizzle})
        text = load_text(2).replace("[room], [m", "[{place}], [m")
        before = np.arange(ROOM, dtype=np.uint8)
        found = run(text, tensor, before, (0, 0), 8 * {width} * 4)
        assert (found == before).all(), np.flatnonzero(found != before)
        """)
    assert len(faults) == 1 and "a box of" in faults[0]


@pytest.mark.parametrize("swizzle", [0, 3])
@pytest.mark.parametrize(("name", "words"), [("cp.async", ""), ("cp.reduce.async", ".add")])
def test_a_store_to_a_tensor_of_freed_memory_is_dropped(run, swizzle, name, words):
    _, faults, _ = run(f"""
        from tensor_maps import ROOM, encode, run, store_text
        tensor = encode(freed(8 * 32 * 4), "u4", (8, 32), (8, 32), swizzle={swizzle})
        text = store_text(2, "{name}.bulk.tensor", "{words}.tile.bulk_group")
        run(text, tensor, np.full(ROOM, 3, np.uint8), (0, 0))
        """)
    assert len(faults) == 1 and "write of a row of the tensor" in faults[0]


# --- matrices ---

# d = 7, plus products of which a factor is not there: they are zero.
WGMMA = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
.reg .f32 f<4>; .reg .b64 a, b, o, v; .reg .b32 t, r<4>; .reg .pred p;
.shared .align 128 .b8 room[16384];
ld.param.u64 v, [out]; mov.u32 t, %tid.x; mul.wide.u32 o, t, 16; add.u64 v, v, o;
mov.f32 f0, 7.0; mov.f32 f1, f0; mov.f32 f2, f0; mov.f32 f3, f0;
setp.eq.u32 p, t, t; mov.u64 a, 0x3f00; mov.u64 b, 0x3e00; mov.b32 r0, 0x3c003c00; mov.b32 r1, r0;
mov.b32 r2, r0; mov.b32 r3, r0;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0, f1, f2, f3}, OPERAND, b, p, 1, 1, TAIL;
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
st.global.v4.f32 [v], {f0, f1, f2, f3};
ret; }
"""
MATRICES = {"both in shared memory": ("a", "0, 0"), "a in registers": ("{r0, r1, r2, r3}", "0")}


@pytest.mark.parametrize("form", MATRICES)
def test_wgmma_of_matrices_past_shared_memory(run, form):
    operand, tail = MATRICES[form]
    _, faults, _ = run(f"""
        source = {WGMMA!r}.replace("OPERAND", {operand!r}).replace("TAIL", {tail!r})
        out = np.zeros((128, 4), np.float32)
        drv.module_from_buffer(source.encode()).get_function("k")(drv.Out(out), block=(128, 1, 1))
        assert (out == 7).all(), out
        """)
    assert len(faults) == 1 and "invalid read of 16 bytes of shared memory" in faults[0]


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [o];", "read"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [o], {t}; mov.b32 r, 0;", "write"),
    ],
)
def test_tiles_of_matrices_past_shared_memory(run, statement, fault):
    _, faults, _ = run(f"""
        source = '''.version 8.0
        .target sm_90
        .address_size 64
        .visible .entry k(.param .u64 out) {{
        .reg .b64 v, w; .reg .b32 t, r, o; .shared .align 128 .b8 room[512];
        ld.param.u64 v, [out]; mov.u32 t, %tid.x; mul.wide.u32 w, t, 4; add.u64 v, v, w;
        mov.u32 r, 9; mov.u32 o, room; add.u32 o, o, 65536; {statement}
        st.global.u32 [v], r; ret; }}'''
        out = np.full(32, 5, np.uint32)
        drv.module_from_buffer(source.encode()).get_function("k")(drv.Out(out), block=(32, 1, 1))
        assert (out == 0).all(), out
        """)
    assert len(faults) == 1 and fault in faults[0]


# --- printf ---


def test_a_text_of_printf_that_is_not_there_is_empty(run):
    """A pointer past the end, a freed one, and a text whose end is missing."""
    out, faults, counts = run("""
        memory = drv.to_device(np.frombuffer(b"abcd", np.uint8))
        kernel = SourceModule(r'''#include <cstdio>
        __global__ void k(const char *text, const char *gone)
        {
            printf("[%s] %d\\n", text + 1048576, 5);
            printf("[%s] %d\\n", gone, 6);
            printf("[%s] %d\\n", text, 7);
            printf("[%s] %d\\n", (const char *)0, 8);
        }''').get_function("k")
        kernel(memory, np.uint64(freed(4)), block=(2, 1, 1))
        drv.Context.synchronize()
        """)
    assert out == ["[] 5"] * 2 + ["[] 6"] * 2 + ["[abcd] 7"] * 2 + ["[(null)] 8"] * 2
    assert len(faults) == 3 and all("invalid read of 1 bytes" in fault for fault in faults)
    assert [line.rsplit(": ", 1)[1] for line in counts] == ["1 more such faults"] * 3


# --- clusters ---

# text: (z of each thread). Threads 16 and up have a place past the shared memory of the next block.
FAR = "setp.ge.u32 q, t, 16; @q add.u32 place, place, 65536;"
CLUSTER = {
    "mov.u32 z, 5; ld.shared::cluster.u32 z, [place];": "np.where(bad, 0, THEIRS)",
    "atom.shared::cluster.add.u32 z, [place], 1;": "np.where(bad, 0, THEIRS)",
    "cvt.u64.u32 o, place; cvta.shared::cluster.u64 o, o; ld.u32 z, [o];": "np.where(bad, 0, THEIRS)",
    "st.shared::cluster.u32 [place], 3; {MEET} {TAKE}": "np.where(bad, MINE, 3)",
    "red.shared::cluster.add.u32 [place], 3; {MEET} {TAKE}": "np.where(bad, MINE, MINE + 3)",
    "{EXPECT} {MEET} st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [place], 3, [bar];"
    " {WAIT} {TAKE}": "np.where(bad, MINE, 3)",
    "{EXPECT} {MEET} red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [place],"
    " 3, [bar]; {WAIT} {TAKE}": "np.where(bad, MINE, MINE + 3)",
}  # fmt: skip


@pytest.mark.parametrize("text", CLUSTER)
def test_shared_memory_of_other_blocks(run, text):
    """Valid threads get at the next block's word; bytes that are not written count at its barrier."""
    _, faults, counts = run(f"""
        from test_clusters import BEFORE, BLOCKS, EXPECT, KERNEL, MEET, MINE, TAKE, THEIRS, THREADS, WAIT
        text = {FAR!r} + {text!r}.replace("{{EXPECT}}", EXPECT.format(128)).replace("{{MEET}}", MEET)
        text = text.replace("{{WAIT}}", WAIT.format("")).replace("{{TAKE}}", TAKE)
        bad = np.arange(BLOCKS * THREADS) % THREADS >= 16
        out = np.full(BLOCKS * THREADS, 9, np.uint32)
        kernel = drv.module_from_buffer(KERNEL.format(text=text).encode()).get_function("k")
        kernel(drv.In(out), drv.InOut(out), block=(THREADS, 1, 1), grid=(BLOCKS, 1))
        assert (out == {CLUSTER[text]}).all(), out
        """)
    assert len(faults) == 1 and "thread (16,0,0)" in faults[0]
    assert [line.rsplit(": ", 1)[1] for line in counts] == ["127 more such faults"]


# --- findings of synccheck ---


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ("if (threadIdx.x < 40) __syncthreads();", "divergent"),
        ("if (threadIdx.x < 48) __syncthreads(); else __syncthreads();", "divergent"),
        ("if (threadIdx.x < 4) out[4] = __shfl_sync(2, x, 1);", "mask"),
    ],
)
def test_findings_of_synccheck(run, body, finding):
    """The kernel goes on after them."""
    _, faults, _ = run(
        f"""
        kernel = SourceModule("__global__ void k(int *out, int x) {{\\n {body}\\n"
                              "out[threadIdx.x] = 5 + 0 * x; }}").get_function("k")
        out = np.zeros(64, np.int32)
        kernel(drv.Out(out), np.int32(1), block=(64, 1, 1))
        assert (out == 5).all(), out
        """,
        PYCUDA_CPU_CHECK="synccheck",
    )
    assert len(faults) == 1 and finding in faults[0], faults


# --- the driver's log ---


def test_the_log_of_the_driver_has_each_place_once(run):
    out, faults, _ = run("""
        import ctypes
        from tensor_maps import library
        driver, start = library(), ctypes.c_uint()
        assert driver.cuLogsCurrent(ctypes.byref(start), 0) == 0
        kernel = SourceModule("__global__ void k(int *p) { p[threadIdx.x + 64] = p[threadIdx.x + 80] + 1; }")
        memory = drv.to_device(np.zeros(64, np.int32))
        for _ in range(3):
            kernel.get_function("k")(memory, block=(64, 1, 1))
        drv.Context.synchronize()
        size = ctypes.c_size_t(8192)
        text = ctypes.create_string_buffer(size.value)
        assert driver.cuLogsDumpToMemory(ctypes.byref(start), text, ctypes.byref(size), 0) == 0
        print(text.value.decode(), end="")
        """)
    assert len(faults) == 2
    assert ["CPU device: " + re.sub(r"^\\[.*?\\] ", "", line) for line in out] == faults


# --- what a kernel cannot go on after ---

# name: (the body of a kernel of 64 threads, a part of the fault)
ENDS = {
    "assert": ("assert(*p == 12345);", "Assertion"),
    "deadlock": ('asm volatile("bar.sync %0, 64;" :: "r"(1 + threadIdx.x / 32));', "deadlock"),
    "stack": ("*p = deep(100000000 + *p);", "stack"),
    "mbarrier": ('asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" :: "r"(1048576));',
                 "mbarrier"),
    "texture": ("*p = tex1Dfetch<int>((cudaTextureObject_t)64, 0);", "texture"),
    "free": ("free(p);", "free"),
    "barrier": ('asm volatile("bar.sync 1, %0;" :: "r"(33 + *p));', "thread count"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_what_cannot_go_on_stops(run_python, name):
    body, fault = ENDS[name]
    source = f"""
    kernel = SourceModule(r'''#include <cassert>
    __device__ __noinline__ int deep(int n) {{ volatile int a[64]; a[n & 63] = n;
        return n ? deep(n - 1) + a[(n + 1) & 63] : 0; }}
    __global__ void k(int *p) {{ {body} }}''').get_function("k")
    zero = drv.to_device(np.zeros(1, np.int32))
    try:
        kernel(zero, block=(64, 1, 1))
        drv.Context.synchronize()
    except drv.Error as error:
        print("raised", error)
    """
    env = {"PYCUDA_CPU_FAULTS": "report", "PYCUDA_CPU_LOG": None, "PYCUDA_CPU_CHECK": "synccheck"}
    done = run_python(START + textwrap.dedent(source), env=env, check=True)
    assert done.stdout.startswith("raised") and fault in done.stdout, done.stdout + done.stderr
