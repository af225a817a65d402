"""The carry flag between every two extended-precision instructions, against a model of the hardware.

There is one flag, CC.CF, and for all instructions it is the carry out of an adder. A difference a - b is the
sum a + ~b + 1, so that its flag means "no borrow", and the next instruction adds it: addc after sub.cc is a +
b + 1 if nothing was borrowed.
"""

import numpy as np
import pytest

import pycuda.driver as drv

WORDS = {"u32": 32, "s32": 32, "u64": 64, "s64": 64}
STARTS = ["add.cc", "sub.cc", "mad.lo.cc", "mad.hi.cc"]
LINKS = ["addc.cc", "subc.cc", "madc.lo.cc", "madc.hi.cc"]
ENDS = ["addc", "subc", "madc.lo", "madc.hi"]
VALUES = [
    0,
    1,
    2,
    4,
    5,
    7,
    9,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**63 - 1,
    2**63,
    2**64 - 1,
    0x123456789ABCDEF,
]
HEAD = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 given, .param .u64 taken)
{{
.reg .b32 i, a32, b32, c32, d32; .reg .b64 in, out, o, a64, b64, c64, d64;
mov.u32 i, %tid.x; ld.param.u64 in, [given]; ld.param.u64 out, [taken];
mul.wide.u32 o, i, 24; add.u64 in, in, o; mul.wide.u32 o, i, {bytes}; add.u64 out, out, o;
ld.global.b64 a64, [in]; ld.global.b64 b64, [in+8]; ld.global.b64 c64, [in+16];
cvt.u32.u64 a32, a64; cvt.u32.u64 b32, b64; cvt.u32.u64 c32, c64;
{text}
ret;
}}
"""


def operands():
    """Three values for each lane; the first two are all pairs of VALUES."""
    pairs = [(a, b) for a in VALUES for b in VALUES]
    return np.array([(a, b, VALUES[(7 * i + 3) % len(VALUES)]) for i, (a, b) in enumerate(pairs)], np.uint64)


def statement(operation, kind):
    """The instruction on registers a, b, c and d of a kind."""
    n = WORDS[kind]
    third = f", c{n}" if operation.startswith("mad") else ""
    return f"{operation}.{kind} d{n}, a{n}, b{n}{third};"


def model(chain, a, b, c):
    """The result of each instruction of a chain by the hardware's rules."""
    flag, results = 0, []
    for operation, kind in chain:
        bits = WORDS[kind]
        one = 1 << bits
        x, y, z = a % one, b % one, c % one
        if operation.startswith("mad"):
            signs = [v - one if kind[0] == "s" and v >> (bits - 1) else v for v in (x, y)]
            product = signs[0] * signs[1]
            x, y = (product >> bits) % one if ".hi" in operation else product % one, z
        elif operation.startswith("sub"):
            y = one - 1 - y
        into = flag if operation.split(".")[0] in ("addc", "subc", "madc") else int(operation == "sub.cc")
        total = x + y + into
        results.append(total % one)
        if operation.endswith(".cc"):
            flag = total >> bits
    return results


def launch(text, given, results):
    source = HEAD.format(bytes=8 * results, text=text)
    found = np.zeros((len(given), results), np.uint64)
    function = drv.module_from_buffer(source.encode()).get_function("k")
    function(drv.In(given), drv.Out(found), block=(len(given), 1, 1))
    return found


def check(chain):
    """Runs a chain of (operation, kind) and compares the result of each instruction with the model."""
    given, text = operands(), ""
    for n, (operation, kind) in enumerate(chain):
        widened = "" if WORDS[kind] == 64 else "cvt.u64.u32 d64, d32; "
        text += f"{statement(operation, kind)} {widened}st.global.b64 [out+{8 * n}], d64;\n"
    found = launch(text, given, len(chain))
    wanted = np.array([model(chain, *map(int, row)) for row in given], np.uint64)
    wrong = np.flatnonzero((found != wanted).any(1))
    assert not wrong.size, (chain, [hex(v) for v in given[wrong[0]]], found[wrong[0]], wanted[wrong[0]])


KINDS = [("u32", "u32"), ("s32", "s32"), ("u64", "u64"), ("s64", "s64"), ("u64", "u32"), ("u32", "u64")]


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
@pytest.mark.parametrize("start", STARTS)
def test_pairs(primary_context, start, kinds):
    for end in ENDS:
        check([(start, kinds[0]), (end, kinds[1])])


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("start", STARTS)
def test_chains(primary_context, start, kind):
    """A link reads the flag and writes it; the last instruction reads the flag of the link."""
    for link in LINKS:
        for end in ENDS:
            check([(start, kind), (link, kind), (end, kind)])


RECORDED = [
    ("sub.cc.u32 d32, 9, 4; madc.lo.u32 d32, 9, 4, 0;", 37),
    ("add.cc.u32 d32, 9, 4; subc.u32 d32, 9, 4;", 4),
    ("sub.cc.u32 d32, 5, 0; addc.u32 d32, 7, 0;", 8),
]


@pytest.mark.parametrize(("text", "wanted"), RECORDED)
def test_recorded(primary_context, text, wanted):
    """Results of an H200."""
    text += " cvt.u64.u32 d64, d32; st.global.b64 [out], d64;"
    assert launch(text, operands()[:1], 1) == wanted
