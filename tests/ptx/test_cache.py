"""Cache hints are accepted wherever the manual has them and do not change results; the bits of policies."""

import numpy as np
import pytest
from devices import words_are_ours

import pycuda.driver as drv

KERNEL = """.version 8.5
.target sm_80
.address_size 64
.visible .entry k(.param .u64 values)
{{
.reg .b64 v, o, w; .reg .b32 t, x, y, z, u; .reg .f32 f; .reg .pred p;
.shared .align 16 .b8 near[512];
ld.param.u64 v, [values]; mov.u32 t, %tid.x; mul.wide.u32 o, t, 16; add.u64 v, v, o;
createpolicy.fractional.L2::evict_first.b64 w;
{text}
ret;
}}
"""


def policies():
    """{kernel: the policy that it makes}"""
    cases = {}
    priorities = {"evict_unchanged": 0, "evict_first": 1, "evict_last": 2, "evict_normal": 3}
    for primary, bits in priorities.items():
        for secondary in ("", ".L2::evict_unchanged", ".L2::evict_first"):
            both = bits << 57 | secondary.endswith("first") << 56
            for text, sixteenths in (("", 15), (", 1.0", 15), (", 0.5", 7), (", 0f3D000000", 0)):
                cases[f"createpolicy.fractional.L2::{primary}{secondary}.b64 w{text}; st.b64 [v], w;"] = (
                    2 << 59 | both | sixteenths << 52
                )
            cases[
                "mov.b64 w, 0x12345678; "
                f"createpolicy.range.global.L2::{primary}{secondary}.b64 w, [w+8], 0x100000, 0x200000; "
                "st.b64 [v], w;"
            ] = 3 << 59 | both | 2 << 52 | (0x12345680 >> 14 & 127) << 44 | 65 << 37
    cases["mov.b64 w, 0x14F0000000000000; createpolicy.cvt.L2.b64 w, w; st.b64 [v], w;"] = 0x14F << 52
    return cases


def spelled():
    """{kernel: the number that it adds to the first of each lane's four words}"""
    first = (
        ".L1::evict_normal",
        ".L1::evict_unchanged",
        ".L1::evict_first",
        ".L1::evict_last",
        ".L1::no_allocate",
    )
    fetch = ("", ".L2::64B", ".L2::128B", ".L2::256B")
    cases = {}
    for space in ("", ".global"):
        add = f"add.u32 x, x, 5; st{space}.b32 [v], x;"
        for size in fetch:
            cases[f"ld{space}.L2::cache_hint{size}.b32 x, [v], w; {add}"] = 5
            cases[f"ld.volatile{space}{size}.b32 x, [v]; {add}"] = 5
            cases[f"ld.relaxed.gpu{space}.L1::evict_last.L2::cache_hint{size}.b32 x, [v], w; {add}"] = 5
            cases[f"ld.global.nc.L1::no_allocate.L2::cache_hint{size}.b32 x, [v], w; {add}"] = 5
            for a in first:
                cases[f"ld{space}{a}{size}.b32 x, [v]; {add}"] = 5
        for a in first:
            cases[f"ld{space}.b32 x, [v]; add.u32 x, x, 6; st{space}{a}.b32 [v], x;"] = 6
            cases[
                f"ld{space}{a}.L2::cache_hint.v2.b32 {{x, y}}, [v], w; add.u32 x, x, 1; "
                f"st{space}{a}.L2::cache_hint.v2.b32 [v], {{x, y}}, w;"
            ] = 1
        cases[
            f"ld{space}.b32 x, [v]; add.u32 x, x, 7; st.release.gpu{space}.L2::cache_hint.b32 [v], x, w;"
        ] = 7
        cases[f"atom{space}.add.L2::cache_hint.u32 x, [v], 3, w;"] = 3
        cases[f"red{space}.add.L2::cache_hint.u32 [v], 4, w;"] = 4
        cases[f"ld{space}.b32 x, [v]; add.u32 x, x, 9; atom{space}.exch.L2::cache_hint.b32 y, [v], x, w;"] = 9
    cases[
        "prefetch.global.L1 [v]; prefetch.L2 [v]; prefetch.global.L2::evict_last [v]; prefetchu.L1 [v];"
    ] = 0
    cases["prefetch.global.L2::evict_normal [v]; applypriority.global.L2::evict_normal [v], 128;"] = 0
    cases["ld.global.b32 x, [v].unified; add.u32 x, x, 8; st.global.b32 [v], x;"] = 8
    cases["ld.L2::cache_hint.b32 x, [v+4].unified, w; sub.u32 x, x, 1; st.global.b32 [v], x;"] = 0
    cases["applypriority.L2::evict_normal [v], 128; .local .b32 own; prefetch.local.L1 [own];"] = 0
    return cases


def load(text):
    return drv.module_from_buffer(KERNEL.format(text=text).encode())


def check_policies():
    for text, wanted in policies().items():
        values = np.zeros((32, 2), np.uint64)
        load(text).get_function("k")(drv.InOut(values), block=(32, 1, 1))
        assert (values[:, 0] == wanted).all(), (text, hex(values[0, 0]), hex(wanted))


def check_hints():
    for text, added in spelled().items():
        values = np.arange(128, dtype=np.uint32).reshape(32, 4)
        wanted = values + np.uint32([added, 0, 0, 0])
        load(text).get_function("k")(drv.InOut(values), block=(32, 1, 1))
        assert (values == wanted).all(), text


REFUSED = {
    "discard.global.L2 [v], 64;": "the size is 128 bytes",
    "applypriority.global.L2::evict_normal [v], 32;": "the size is 128 bytes",
    "applypriority.global.L2::evict_last [v], 128;": "'.L2::evict_last' is not a modifier of 'applypriority'",
    "createpolicy.fractional.L2::evict_last.b64 w, 1.5;": "the fraction must be above 0 and at most 1",
    "createpolicy.fractional.L2::evict_last.b64 w, 0.0;": "the fraction must be above 0 and at most 1",
    "createpolicy.range.L2::evict_last.b64 w, v, 1, 2;": "an address",
    "createpolicy.fractional.L2::evict_last.L2::evict_last.b64 w;": "they do not go together",
    "ld.global.L2::cache_hint.b32 x, [v];": "takes 3 operands",
    "atom.global.cas.L2::cache_hint.b32 x, [v], x, y, w;": "they do not go together",
    "st.global.b32 [v].unified, x;": "an address without '.unified'",
}


def check_refused():
    for text, message in REFUSED.items():
        with pytest.raises(drv.Error) as found:
            load(text)
        assert message in str(found.value)


@pytest.mark.parametrize(
    "check", [check_policies, check_hints, pytest.param(check_refused, marks=words_are_ours)]
)
def test_hints_and_policies(at_capability, check):
    at_capability((8, 0), check)
