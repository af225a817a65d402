"""wgmma.mma_async in every type, dense and sparse: the bits that a GPU gave, descriptors of every swizzle
mode, what is refused, and what is a fault."""

import sys
from pathlib import Path

import numpy as np
import pytest
from devices import words_are_ours

sys.path.insert(0, str(Path(__file__).parent))

from ptx_cases import warpgroup

import pycuda.driver as drv

GROUPS = {
    "products of floats": ("num_f", "big", "scale"),
    "products of integers": ("num_s", "num_u", "num_b1"),
    "sparse products of floats": ("sp_num_f", "sel1_f", "sel1_t", "sel1_e"),
    "sparse products of integers": ("sp_num_s", "sp_num_u", "sel1_s"),
    "matrices in shared memory": ("lay",),
    "sparse products of matrices in shared memory": ("sp_lay",),
}


def check_results(starts):
    forms = [f for f in warpgroup.all_forms().values() if f.name.startswith(starts)]
    for f in forms:
        inputs, wanted = warpgroup.record()[f.name]
        arrays, out = warpgroup.run(f)
        assert warpgroup.input_digest(f, arrays) == inputs, f"{f.name}: the record is of other inputs"
        wrong = np.flatnonzero(warpgroup.digests(out) != wanted)
        assert not wrong.size, (f.name, f.statement(), "blocks", wrong)


@pytest.mark.parametrize("group", GROUPS)
def test_results_are_those_of_a_gpu(at_capability, group):
    at_capability((9, 0), check_results, GROUPS[group])


def test_every_form_is_in_a_group():
    starts = tuple(start for group in GROUPS.values() for start in group)
    assert all(name.startswith(starts) for name in warpgroup.all_forms())
    assert set(warpgroup.record()) == set(warpgroup.all_forms())


@pytest.mark.cpu("only the CPU device has a random scheduler")
def test_lane_by_lane(at_capability, monkeypatch):
    monkeypatch.setenv("PYCUDA_CPU_SCHEDULE", "random:3")
    at_capability((9, 0), check_results, ("num_f16_f16", "sp_lay_s8"))


# --- which statements there are: as ptxas 13.0 for sm_90a ---

MODULE = """.version {version}
.target {target}
.address_size 64
.visible .entry k()
{{
.reg .f32 f<130>; .reg .b32 r<130>; .reg .b64 w, v; .reg .f64 g; .reg .b16 h; .reg .pred p; .reg .b32 t;
mov.u64 w, 0; mov.u64 v, 0; mov.u32 t, %tid.x; setp.lt.u32 p, t, 64;
{text}
ret;
}}
"""
A = "{r0,r1,r2,r3}"
DEPTHS = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}


def statement(n=8, d="f32", a="f16", b=None, of_a="w", of_b="v", tail=None, meta=None, k=None, of_d=None):
    """A statement; meta: the operands of sparsity."""
    b = b or a
    k = k or DEPTHS[a] * (2 if meta else 1)
    tail = tail or ("p" if d == "s32" else "p, 1, 1, 0, 0" if DEPTHS[a] == 16 else "p, 1, 1")
    of_d = of_d or warpgroup.vector("f" if d == "f32" else "r", n * (16 if d == "f16" else 32) // 64)
    mnemonic = f"wgmma.mma_async{'.sp' * bool(meta)}.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}"
    operands = [of_d, of_a, of_b] + [meta] * bool(meta) + [tail]
    return f"{mnemonic}{'.and.popc' * (a == 'b1')} {', '.join(operands)};"


def answer(text, target="sm_90a", version="8.5"):
    """The error of a module with one instruction; empty if it is accepted."""
    try:
        drv.module_from_buffer(MODULE.format(text=text, target=target, version=version).encode())
        return ""
    except drv.Error as error:
        return str(error)


def check_columns():
    """n is a multiple of 8 up to 256; of integers and bits 8, 24 or a multiple of 16."""
    every = range(8, 265, 8)
    for kind in ("f16", "tf32", "e4m3"):
        taken = [n for n in every if not answer(statement(n, a=kind))]
        assert taken == list(range(8, 257, 8)), kind
    for kind, meta in (("s8", None), ("s8", "r0, 0"), ("b1", None)):
        taken = [n for n in every if not answer(statement(n, "s32", kind, meta=meta))]
        assert taken == [8, 16, 24, *range(32, 257, 16)], kind
    assert "unknown modifier '.m64n12k16'" in answer(statement().replace("n8k", "n12k"))


ACCEPTED = [
    *(statement(tail=f"{scale}, 1, 1, 0, 0") for scale in ("1", "0", "!p")),
    statement(tail="p, -1, -1, 1, 1"),
    statement(of_a=A, tail="p, 1, 1, 1"),
    statement(of_a="5", of_b="5"),
    statement(d="f16"),
    statement(a="bf16"),
    statement(a="tf32", of_a=A),
    statement(d="f16", a="e4m3", b="e5m2"),
    statement(d="s32", a="u8", b="s8", of_a=A),
    statement(d="s32", a="s8").replace(".s32", ".satfinite.s32"),
    statement(d="s32", a="b1", of_a=A),
    statement(of_d=A),
    statement().replace(".aligned", ""),
    statement(meta="f0, 1"),
    statement(meta="r0, 0", of_a=A, tail="p, 1, 1, 1"),
    statement(a="tf32", meta="r0, 1"),
    statement(d="f16", a="e5m2", meta="r0, 0"),
    "wgmma.fence.sync;",
    "wgmma.commit_group.sync.aligned;",
    "wgmma.wait_group.sync.aligned 8;",
]
REFUSED = {
    statement(tail="2, 1, 1, 0, 0"): "a number from 0 to 1",
    statement(tail="p, 0, 1, 0, 0"): "1 or -1 is expected here, found 0",
    statement(tail="p, 1, 1, 2, 0"): "0 or 1 is expected here, found 2",
    statement(tail="p, 1, 1, 0"): "operand 2",
    statement(tail="p, 1, 1"): "takes 7 to 8 operands, found 6",
    statement(of_a=A): "operand 2",
    statement(a="tf32", tail="p, 1, 1, 0, 0"): "takes 6 operands, found 8",
    statement(d="s32", a="s8", tail="p, 1, 1"): "takes 4 operands, found 6",
    statement(d="f16", a="bf16"): "they do not go together",
    statement(a="f16", b="bf16"): "they do not go together",
    statement(k=8): "they do not go together",
    statement(k=32): "they do not go together",
    statement(k=16, meta="r0, 0"): "they do not go together",
    statement().replace(".f32", ".satfinite.f32"): "they do not go together",
    statement(d="s32", a="b1").replace("and", "xor"): "'.xor' is not a modifier",
    statement(of_d="{f0,f1,f2}"): "4 registers are expected here, found 3",
    statement(of_d="{_,f1,f2,f3}"): "cannot be a part of d",
    statement(d="s32", a="s8", of_d="{f0,f1,f2,f3}"): "cannot be a part of d",
    statement(of_a="{r0,r1,r2}", tail="p, 1, 1, 0"): "4 registers are expected here, found 3",
    statement(of_a="{f0,f1,f2,f3}", tail="p, 1, 1, 0"): "operand 2",
    statement(of_a="r0"): "operand 2",
    statement(of_a="g"): "operand 2",
    statement(of_b=A): "operand 3",
    statement(meta="r0, 2"): "the sparsity selector of this shape and type is at most 1, found 2",
    statement(d="s32", a="s8", meta="r0, 1"): "is at most 0, found 1",
    statement(meta="5, 0"): "operand 4",
    statement(meta="h, 0"): "operand 4",
    statement(meta="r0, r1"): "operand 5",
    "wgmma.fence;": "a modifier or type is missing",
    "wgmma.wait_group.sync.aligned -1;": "the number of groups must not be negative",
    "wgmma.wait_group.sync.aligned r0;": "operand 1",
}  # fmt: skip
OLDER = {
    ("sm_90", "8.5", statement()): "needs .target sm_90a",
    ("sm_90", "8.5", "wgmma.fence.sync.aligned;"): "needs .target sm_90a",
    ("sm_80", "8.5", statement()): "sm_90",
    ("sm_90a", "8.0", statement(d="s32", a="s8", b="u8")): "8.4",
    ("sm_90a", "8.1", statement(meta="r0, 0")): "8.2",
}


def check_statements():
    check_columns()
    for text in ACCEPTED:
        assert not answer(text), (text, answer(text))
    for text, message in REFUSED.items():
        assert message in answer(text), (text, answer(text))
    for (target, version, text), message in OLDER.items():
        assert message in answer(text, target, version), (target, version, text)


@words_are_ours
def test_statements(at_capability):
    at_capability((9, 0), check_statements)


# --- faults ---

FAULTS = [
    (96, statement(), "wgmma is for four warps of a block"),
    (112, statement(), "wgmma is for all 32 threads of a warp"),
    (128, f"mov.u32 t, %laneid; setp.lt.u32 p, t, 4; @p {statement(tail='1, 1, 1, 0, 0')}",
     "wgmma is for all 32 threads of a warp"),
    (128, f"mov.u32 t, %laneid; cvt.u64.u32 w, t; {statement()}", "different descriptors of one matrix"),
    (128, f"mov.u32 t, %laneid; setp.lt.u32 p, t, 4; {statement()}", "different predicates for d"),
    (128, f"mov.u64 v, 0x3fff; {statement()}", "shared"),
]  # fmt: skip


def check_fault(threads, text, message):
    source = MODULE.format(text=text, target="sm_90a", version="8.5")
    source = source.replace("{\n.reg", "{\n.shared .align 1024 .b8 memory[4096];\n.reg", 1)
    function = drv.module_from_buffer(source.encode()).get_function("k")
    with pytest.raises(drv.Error) as found:
        function(block=(threads, 1, 1))
        drv.Context.synchronize()
    assert message in str(found.value)


@pytest.mark.parametrize(("threads", "text", "message"), FAULTS)
@pytest.mark.cpu("a GPU does not detect it")
def test_faults(at_capability, threads, text, message):
    at_capability((9, 0), check_fault, threads, text, message)
