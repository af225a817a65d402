"""A mul and an add or sub without a rounding modifier become one fma in the same cases as on a GPU.

The manual does not define these; the model here was derived from the code of ptxas 13.0 for generated
programs.
"""

import random
from fractions import Fraction

import numpy as np
import pytest

import pycuda.driver as drv

pytestmark = pytest.mark.usefixtures("primary_context")

INPUTS = 6
PREAMBLE = ".version 8.5\n.target sm_75\n.address_size 64\n"
ENTRY = ".visible .entry k(.param .u64 memory)\n{\n"
NUMBERS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}


# --- programs: lists of (operation, d, a, b), and what is stored at the end -----------------------


def program(seed, length):
    """(steps, names of the values that are stored)"""
    draw = random.Random(seed)
    values, steps = [f"v{i}" for i in range(INPUTS)], []
    for _ in range(length):
        operation = draw.choices(["mul", "add", "sub", "neg"], [4, 4, 3, 1])[0]
        near = values if draw.random() < 0.5 else values[-5:]
        steps.append((operation, f"v{len(values)}", draw.choice(near), draw.choice(near)))
        values.append(steps[-1][1])
    read = {value for step in steps for value in sources(step)}
    stored = [step[1] for step in steps if step[1] not in read or draw.random() < 0.12]
    return steps, stored


def sources(step):
    """The names of a step's operands."""
    return step[2:3] if step[0] == "neg" else step[2:]


def text(steps, stored, kind, flush=""):
    """The program as PTX, in numbers of a kind (f32, f64, f16); flush: "" or ".ftz"."""
    size = int(kind[1:]) // 8
    move = "b16" if size == 2 else kind
    lines = [PREAMBLE + ENTRY, f".reg .{move} v<{INPUTS + len(steps)}>;"]
    lines.append(".reg .b64 o; ld.param.u64 o, [memory];")
    lines += [f"ld.global.{move} v{i}, [o+{size * i}];" for i in range(INPUTS)]
    for step in steps:
        ftz = "" if step[0] == "neg" else flush
        lines.append(f"{step[0]}{ftz}.{kind} {step[1]}, {', '.join(sources(step))};")
    lines += [f"st.global.{move} [o+{size * (INPUTS + i)}], {value};" for i, value in enumerate(stored)]
    return "\n".join([*lines, "ret;\n}"])


class Contracted:
    """Which product each sum is contracted with: takes[sum] is the number (0 or 1) of the operand whose
    product becomes part of the fma."""

    def __init__(self, steps, stored):
        self.steps, self.stored = {step[1]: step for step in steps}, stored
        self.readers = {step[1]: [] for step in steps}
        for step in steps:
            for value in sources(step):
                if value in self.readers:
                    self.readers[value].append(step[1])
        self.spoiled, self.takes = set(), {}  # spoiled: products that a sum reads and does not take
        self.sums = {value: self.sums_of(value) for value, step in self.steps.items() if step[0] == "mul"}
        # First the products that one sum reads, then those that several do.
        for single in (True, False):
            for value, step in self.steps.items():
                if step[0] in ("add", "sub") and value not in self.takes:
                    self.decide(value, step, single)

    def sums_of(self, value):
        """The sums that read a product, directly or negated; none if anything else reads it."""
        found = []
        for reader in self.readers[value]:
            operation = self.steps[reader][0]
            sums = [reader] if operation in ("add", "sub") else []
            if operation == "neg":
                sums = self.sums_of(reader)
            if not sums:
                return []
            found += sums
        return [] if value in self.stored or len(set(found)) < len(found) else found

    def product(self, value):
        """(the product below negations or None, whether its sign changes)"""
        negative = False
        while value in self.steps and self.steps[value][0] == "neg":
            value, negative = self.steps[value][2], not negative
        return (value if value in self.sums else None), negative

    def decide(self, value, step, single):
        """Chooses the product that a sum takes, if any: of two the one with fewer readers, else the first."""
        may = []
        for slot in (0, 1):
            product, _ = self.product(step[2 + slot])
            sums = [] if product in self.spoiled else self.sums.get(product, [])
            if len(sums) == 1 or (sums and not single):
                may.append((len(self.readers[product]), slot))
        if may:
            slot = self.takes[value] = min(may)[1]
            self.spoiled.add(self.product(step[3 - slot])[0])

    def run(self, given, number):
        """{name of a value: number}, each rounded once; given: the inputs, number: their type."""
        known = dict(zip([f"v{i}" for i in range(INPUTS)], given, strict=True))
        for value, step in self.steps.items():
            if step[0] == "neg":
                known[value] = -known[step[2]]
                continue
            a, b = (Fraction(float(known[source])) for source in step[2:])
            if value in self.takes:
                slot = self.takes[value]
                product, negative = self.product(step[2 + slot])
                x, y = (Fraction(float(known[source])) for source in self.steps[product][2:])
                exact = -x * y if negative else x * y
                a, b = (exact, b) if slot == 0 else (a, exact)
            exact = a * b if step[0] == "mul" else a + b if step[0] == "add" else a - b
            known[value] = number(float(exact))
        return known


def run(source, memory, **options):
    """Runs the kernel in one thread; returns the memory after it."""
    module = drv.module_from_buffer(source.encode(), **options)
    module.get_function("k")(drv.InOut(memory), block=(1, 1, 1))
    return memory


def check(steps, stored, kind, flush="", seed=0):
    """What the device stores is what the model computes, to the bit, for random inputs."""
    number = NUMBERS[kind]
    draw = np.random.default_rng(seed)
    given = (draw.uniform(0.5, 1.5, INPUTS) * draw.choice([-1, 1], INPUTS)).astype(number)
    known = Contracted(steps, stored).run(given, number)
    memory = np.concatenate([given, np.zeros(len(stored), number)])
    run(text(steps, stored, kind, flush), memory)
    assert memory[INPUTS:].tolist() == [known[value] for value in stored], text(steps, stored, kind, flush)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("kind", "flush"), [("f32", ""), ("f32", ".ftz"), ("f64", ""), ("f16", "")])
def test_generated_programs(kind, flush, seed):
    for number, length in enumerate((5, 8, 8, 11, 11) if kind == "f16" else (5, 8, 14, 14, 25)):
        steps, stored = program(100 * seed + number, length)
        check(steps, stored, kind, flush, seed)


# --- one by one ----------------------------------------------------------------------------------

A, B = np.float32(1 + 2**-12), np.float32(1 + 2**-13)
PRODUCT = np.float32(float(A) * float(B))
EXACT = np.float32(float(A) * float(B) - float(PRODUCT))  # the result of an fma for a * b - PRODUCT
# Whether the product and the sum in each body become an fma; c is PRODUCT.
BODIES = {
    "mul.f32 e, a, b; sub.f32 d, e, c;": True,
    "mul.f32 e, a, b; sub.rn.f32 d, e, c;": False,
    "mul.rn.f32 e, a, b; sub.f32 d, e, c;": False,
    "mul.ftz.f32 e, a, b; sub.f32 d, e, c;": False,
    "mul.f32 e, a, b; sub.f32 d, c, e; neg.f32 d, d;": True,
    "mul.f32 e, a, b; neg.f32 e, e; add.f32 d, e, c; neg.f32 d, d;": True,
    "mul.f32 e, a, b; mov.b32 x, e; mov.b32 f, x; sub.f32 d, f, c;": True,
    "mul.f32 e, a, b; sub.f32 d, e, c; st.global.f32 [o+12], e;": False,
    "mul.f32 e, a, b; sub.f32 d, e, c; mov.f32 e, a; st.global.f32 [o+12], e;": True,
    "mul.f32 e, a, b; mov.f32 a, c; mov.f32 b, a; sub.f32 d, e, c; st.global.f32 [o+12], b;": True,
    "mul.f32 e, a, b; setp.gt.f32 p, a, 0f00000000; @p sub.f32 d, e, c;": True,
    "mul.f32 e, a, b; setp.gt.f32 p, a, 0f00000000; selp.f32 e, e, b, p; sub.f32 d, e, c;": False,
    "setp.gt.f32 p, a, 0f00000000; mov.f32 e, c; @p mul.f32 e, a, b; sub.f32 d, e, c;": False,
    "mul.f32 e, a, b; setp.gt.f32 p, a, c; @p bra L; sub.f32 d, e, c; bar.sync 0; L:": False,
    "setp.gt.f32 p, a, c; @p bra L; mul.f32 e, a, b; sub.f32 d, e, c; bar.sync 0; L:": True,
    "mul.f32 e, a, b; L: sub.f32 d, e, c;": True,  # nothing goes to the label
    "L: mul.f32 e, a, b; sub.f32 d, e, c; setp.gt.f32 p, d, c; @p bra L;": True,
    "mul.f32 e, a, b; neg.f32 f, e; sub.f32 d, e, c; add.f32 f, f, c; st.global.f32 [o+12], f;": True,
    "mul.f32 e, a, b; add.f32 f, e, e; sub.f32 d, e, c; st.global.f32 [o+12], f;": False,
    "mul.f32 e, a, b; sub.f32 d, e, c; fma.rn.f32 f, e, a, b; st.global.f32 [o+12], f;": False,
    "mul.f32 e, a, b; sub.sat.f32 d, e, c;": True,
}


FRAME = """.reg .b64 o; .reg .f32 a, b, c, d, e, f; .reg .b32 x; .reg .pred p;
ld.param.u64 o, [memory]; ld.global.f32 a, [o]; ld.global.f32 b, [o+4]; ld.global.f32 c, [o+8];
mov.f32 d, 0f3F000000;
"""


def difference(body, **options):
    """The value of d after a body: EXACT if it ran one fma, 0 if it rounded twice."""
    source = f"{PREAMBLE}{ENTRY}{FRAME}{body}\nst.global.f32 [o+16], d;\nret;\n}}"
    return run(source, np.array([A, B, PRODUCT, 0, 0], np.float32), **options)[4]


@pytest.mark.parametrize("body", BODIES)
def test_a_product_and_a_sum_become_one_fma_where_ptxas_makes_one(body):
    assert EXACT > 0
    assert difference(body) == (EXACT if BODIES[body] else 0)


# Instructions between a product and its sum: whether the two still become one fma.
BETWEEN = {
    "div.rn.f32 f, b, a;": False,
    "div.approx.f32 f, b, a;": True,
    "div.full.f32 f, b, a;": True,
    "sqrt.rn.f32 f, a;": False,
    "sqrt.approx.f32 f, a;": True,
    "rcp.rn.f32 f, a;": False,
    "div.rn.f64 g, g, h;": False,
    "rsqrt.approx.f64 g, h;": False,
    "div.u32 y, x, 7;": True,
    "div.s32 y, x, 7;": False,
    "rem.u32 y, x, x;": True,
    "div.u16 w, w, 3;": False,
    "rem.u64 o, o, o;": False,
    "bfind.u64 y, o;": False,
    "bfind.u32 y, x;": True,
    "membar.cta;": False,
    "fence.acq_rel.gpu;": False,
    "bar.sync 0;": True,
    "atom.global.add.u32 y, [o+32], 1;": True,
    "shfl.sync.down.b32 y, x, 1, 31, 1;": True,
    "@p st.global.b32 [o+32], x;": False,
    "@p ld.global.b32 y, [o+32];": False,
    "@p red.global.add.u32 [o+32], 1;": False,
    "@p mov.b32 y, x;": True,
    "@p mul.lo.s32 y, x, x;": True,
    "@p exit;": False,
    "call (y), callee, (x);": False,
}
CALLEE = """.func (.reg .b32 r) callee(.reg .b32 q)
{
.reg .pred p; .reg .b32 t;
mov.b32 r, q; setp.gt.u32 p, q, 100; @!p bra L; sub.u32 t, q, 1; call (r), callee, (t); L: ret;
}
"""


@pytest.mark.parametrize("text", BETWEEN)
def test_instructions_between_the_product_and_the_sum(text):
    body = (
        ".reg .f64 g, h; .reg .b32 y; .reg .b16 w; .reg .b64 m; mov.b64 m, o; ld.global.b32 x, [o+20];"
        "ld.global.f64 g, [o+24]; ld.global.f64 h, [o+24]; cvt.u16.u32 w, x; mov.b32 y, x; mov.f32 f, a;"
        "setp.gt.u32 p, x, 5;"
        f"mul.f32 e, a, b; {text} sub.f32 d, e, c; mov.b64 o, m; st.global.f32 [o+16], d;"
        "st.global.f32 [o+40], f; st.global.b32 [o+44], y; st.global.f64 [o+48], g; st.global.b16 [o+56], w;"
    )
    source = f"{PREAMBLE}{CALLEE}{ENTRY}{FRAME}{body}\nret;\n}}"
    memory = np.zeros(16, np.float32)
    memory[:3] = A, B, PRODUCT
    assert run(source, memory)[4] == (EXACT if BETWEEN[text] else 0)


def test_not_at_optimization_level_0():
    level = drv.jit_option.OPTIMIZATION_LEVEL
    body = next(iter(BODIES))
    assert difference(body, options=[(level, 0)]) == 0
    assert difference(body, options=[(level, 1)]) == EXACT
