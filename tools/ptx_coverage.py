"""Prints which instructions of the PTX manual the CPU device executes, and the error when another is loaded.

Instructions with forms in tests/ptx are tried in every form; the others by one example each.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("PYCUDA_DEVICE", "cpu")
os.environ.setdefault("PYCUDA_CPU_COMPUTE_CAPABILITY", "9.0")
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "ptx"))

from limits_pages import MANUAL
from ptx_cases import runner, table

import pycuda.driver as drv

# An instruction for each opcode that has no forms in tests/ptx, with the registers that EXAMPLE declares.
EXAMPLES = {
    "multimem": "multimem.ld_reduce.relaxed.gpu.global.add.u32 r, [w];",
    "prefetchu": "prefetchu.L1 [w];",
    "applypriority": "applypriority.global.L2::evict_normal [w], 128;",
    "discard": "discard.global.L2 [w], 128;",
    "createpolicy": "createpolicy.fractional.L2::evict_last.b64 w, 1.0;",
    "mapa": "mapa.shared::cluster.u32 r, s, 0;",
    "getctarank": "getctarank.shared::cluster.u32 r, s;",
    "cp.async": "cp.async.ca.shared.global [s], [w], 16;",
    "cp.async.bulk": "cp.async.bulk.global.shared::cta.bulk_group [w], [s], 16;",
    "cp.reduce.async.bulk": "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [w], [s], 16;",
    "cp.async.bulk.tensor": "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [w, {r}], [s];",
    "cp.reduce.async.bulk.tensor": "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group"
    " [w, {r}], [s];",
    "tensormap": "tensormap.replace.tile.rank.global.b1024.b32 [w], 2;",
    "tex": "tex.1d.v4.f32.s32 {f, f1, f2, f3}, [w, {r}];",
    "tld4": "tld4.r.2d.v4.f32.f32 {f, f1, f2, f3}, [w, {f, f1}];",
    "txq": "txq.width.b32 r, [w];",
    "istypep": "istypep.texref p, w;",
    "suld": "suld.b.1d.b32.trap {r}, [w, {r}];",
    "sust": "sust.b.1d.b32.trap [w, {r}], {r};",
    "sured": "sured.b.add.1d.u32.trap [w, {r}], r;",
    "suq": "suq.width.b32 r, [w];",
    "ret": "ret;",
    "exit": "exit;",
    "trap": "@p trap;",
    "brkpt": "@p brkpt;",
    "bar.warp.sync": "bar.warp.sync 0xffffffff;",
    "barrier.cluster": "barrier.cluster.arrive;",
    "red.async": "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.add.u32 [s], r,"
    " [s];",
    "griddepcontrol": "griddepcontrol.wait;",
    "mbarrier": "mbarrier.init.shared.b64 [s], 1;",
    "clusterlaunchcontrol": "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [s],"
    " [s];",
    "wmma": "wmma.load.a.sync.aligned.row.m16n16k16.f16 {r, r, r, r, r, r, r, r}, [w];",
    "mma": "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f, f1, f2, f3}, {r, r}, {r}, {f, f1, f2, f3};",
    "mma.sp": "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f, f1, f2, f3}, {r, r}, {r, r},"
    " {f, f1, f2, f3}, r, 0;",
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [s];",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x1.shared.b16 [s], {r};",
    "movmatrix": "movmatrix.sync.aligned.m8n8.trans.b16 r, r;",
    "wgmma": "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f, f1, f2, f3}, w, w, p, 1, 1, 0, 0;",
    "tcgen05": "tcgen05.wait::ld.sync.aligned;",
    "stacksave": "stacksave.u64 w;",
    "stackrestore": "stackrestore.u64 w;",
    "alloca": "alloca.u64 w, 32, 16;",
    "setmaxnreg": "setmaxnreg.inc.sync.aligned.u32 64;",
}
EXAMPLE = """.version 8.5
.target sm_90a
.address_size 64
.visible .entry example()
{{
.reg .b32 r, s; .reg .b64 w; .reg .f32 f, f1, f2, f3; .reg .pred p;
mov.u32 r, 0; mov.u32 s, 0; mov.u64 w, 0; mov.f32 f, 0f00000000; mov.f32 f1, f; mov.f32 f2, f; mov.f32 f3, f;
setp.ne.u32 p, r, r;
{text}
ret;
}}
"""


def answer(text):
    """The error when a module with this instruction is loaded; empty if there is none."""
    try:
        drv.module_from_buffer(EXAMPLE.format(text=text).encode())
        return ""
    except drv.Error as error:
        lines = str(error).splitlines()
        return next((line for line in lines if "error:" in line), str(error)).split("error: ")[-1]


def tried_forms():
    """{opcode: [(form's name, error or empty)]} of the forms in tests/ptx."""
    tried = {}
    for forms in table.families().values():
        for form, function in zip(forms, runner.load(forms), strict=True):
            refused = str(function) if isinstance(function, runner.Refused) else ""
            name = "cvt.pack" if form.opcode == "cvt" and ".pack" in form.name else form.opcode
            tried.setdefault(name, []).append((form.name, refused.split("error: ")[-1].split("\n")[0]))
    return tried


def main():
    drv.init()
    drv.Device(0).retain_primary_context().push()
    tried, executed, refused = tried_forms(), 0, []
    for chapter, opcodes in MANUAL.items():
        print(f"\n{chapter}")
        for opcode in opcodes.split():
            forms = tried.get(opcode) or [(EXAMPLES[opcode], answer(EXAMPLES[opcode]))]
            loaded = sum(not message for _, message in forms)
            executed += loaded > 0
            state = "executed" if loaded == len(forms) else "in part" if loaded else "refused"
            count = f"{loaded} of {len(forms)} forms" if opcode in tried else "by an example"
            print(f"  {opcode:28} {state:9} {count}")
            refused += [(name, message) for name, message in forms if message][:1]
    total = sum(len(opcodes.split()) for opcodes in MANUAL.values())
    print(
        f"\n{executed} of {total} instructions are executed. What the first refused form of each other"
        f" answers:"
    )
    for name, message in refused:
        print(f"  {name[:60]:60} {message}")
    drv.Context.pop()


if __name__ == "__main__":
    main()
