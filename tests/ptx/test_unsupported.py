"""Instructions that the CPU device knows but does not execute: the error names them, and says why."""

import pytest
from devices import words_are_ours

import pycuda.driver as drv

MODULE = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry k()
{{
.reg .b32 r; .reg .b64 w;
{text}
ret;
}}
"""
TEXTS = {
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r], 32;": "CPU device: it needs compute",
    "multimem.ld_reduce.relaxed.gpu.global.add.u32 r, [w];": "CPU device: no device has multicast",
    "cvta.global.u32 r, r;": "CPU device: generic addresses have 64 bits",
    "tcgen06.wait;": "unknown instruction 'tcgen06.wait'",
}


def check(text, message):
    with pytest.raises(drv.Error) as found:
        drv.module_from_buffer(MODULE.format(text=text).encode())
    assert message in str(found.value) and text.split(" ")[0].rstrip(";") in str(found.value)


@words_are_ours
@pytest.mark.cpu("what the CPU device does not execute")
@pytest.mark.parametrize(("text", "message"), TEXTS.items())
def test_the_error_says_what_lacks(at_capability, text, message):
    at_capability((9, 0), check, text, message)
