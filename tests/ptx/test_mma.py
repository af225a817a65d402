"""mma.sync in every shape and type, on fragments laid out by the PTX manual, against products in NumPy."""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from devices import words_are_ours

sys.path.insert(0, str(Path(__file__).parent))

from ptx_cases import matrices

import pycuda.driver as drv

REALS = [("m16n8k8", "f16"), ("m16n8k16", "f16"), ("m16n8k8", "bf16"), ("m16n8k16", "bf16")]
REALS += [("m16n8k4", "tf32"), ("m16n8k8", "tf32")]
DOUBLES = ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"]
WHOLES = {"8": ["m8n8k16", "m16n8k16", "m16n8k32"], "4": ["m8n8k32", "m16n8k32", "m16n8k64"]}
BITS = ["m8n8k128", "m16n8k128", "m16n8k256"]


def product(shape, kinds, a, b, c, words=("", ""), sm=80, before=""):
    """The result of mma for matrices; kinds: of d, a, b, c; words: modifiers before and after these types."""
    given = {
        role: matrices.registers(x, shape, kind, role)
        for role, x, kind in zip("abc", (a, b, c), kinds[1:], strict=True)
    }
    counts = {role: x.shape[1] for role, x in given.items()}
    counts["d"] = matrices.lane_places(shape, matrices.BITS[kinds[0]], "c")[0].shape[1]
    operands = ", ".join(matrices.vector(role, counts[role]) for role in "dabc")
    mnemonic = f"mma.sync.aligned.{shape}.row.col{words[0]}.{'.'.join(kinds)}{words[1]}"
    text = f"{before}{mnemonic} {operands};"
    function = matrices.kernel(text, counts, dict(zip("dabc", kinds, strict=True)), sm)
    out = np.zeros((32, counts["d"]), np.uint64 if kinds[0] == "f64" else np.uint32)
    arrays = [drv.In(np.ascontiguousarray(given[role])) for role in "abc"]
    function(drv.InOut(out), *arrays, block=(32, 1, 1))
    return matrices.matrix_of(out, shape, kinds[0])


def random_reals(random, shape, kind, spread=0):
    """Random matrices a and b that the type holds exactly, with exponents over a range, and a function that
    returns c for a type."""
    m, n, k = matrices.size_of(shape)

    def numbers(rows, columns, of):
        x = random.normal(size=(rows, columns)) * 2.0 ** random.integers(-spread, spread + 1, (rows, columns))
        if of == "f16":
            return x.astype(np.float16).astype(float)
        drop = {"bf16": 16, "tf32": 13, "f32": 0, "f64": 0}[of]
        words = x.astype(np.float32).view(np.uint32)
        return x if of == "f64" else (words >> drop << drop).view(np.float32).astype(float)

    return numbers(m, k, kind), numbers(k, n, kind), lambda of: numbers(m, n, of)


def check_reals():
    """Products of random floats are within the error bound."""
    random = np.random.default_rng(1)
    for shape, kind in REALS:
        for sums in ("f32", "f16") if kind == "f16" else ("f32",):
            for spread in (0, 3, 6):
                a, b, sum_of = random_reals(random, shape, kind, spread)
                c = sum_of(sums)
                found = product(shape, (sums, kind, kind, sums), a, b, c).astype(float)
                off = np.abs(found - (a @ b + c))
                assert (off <= matrices.bound(a, b, c, sums)).all(), (shape, kind, sums, spread, off.max())


def check_exact_reals():
    """Small whole numbers, whose sums no rounding changes."""
    random = np.random.default_rng(2)
    for shape, kind in REALS:
        m, n, k = matrices.size_of(shape)
        for sums in ("f32", "f16") if kind == "f16" else ("f32",):
            a, b = (random.integers(-8, 9, size).astype(float) for size in ((m, k), (k, n)))
            c = random.integers(-512, 513, (m, n)).astype(float)
            assert (product(shape, (sums, kind, kind, sums), a, b, c) == a @ b + c).all(), (shape, kind, sums)


def check_special_reals():
    """NaNs and infinities propagate, infinities of both signs become NaN, and overflow is infinite."""
    for shape, kind in REALS:
        m, n, k = matrices.size_of(shape)
        a, b, c = np.ones((m, k)), np.ones((k, n)), np.zeros((m, n))
        a[0, 1], a[1, 0], a[2, 0], a[2, 1] = np.nan, np.inf, np.inf, -np.inf
        b[0, 3], c[3, 2], c[4, 5] = 0, -np.inf, np.nan
        with np.errstate(invalid="ignore"):
            wanted = a @ b + c
        found = product(shape, ("f32", kind, kind, "f32"), a, b, c)
        assert np.array_equal(found, wanted, equal_nan=True), (shape, kind)
    large = np.full((16, 8), 60000.0)
    assert (product("m16n8k8", ("f16", "f16", "f16", "f16"), large, large.T, large[:, :8]) == np.inf).all()
    tiny = np.full((16, 8), 2.0**-24)
    found = product("m16n8k8", ("f32", "f16", "f16", "f32"), tiny, tiny.T[:8, :8], np.zeros((16, 8)))
    assert (found == 8 * 2.0**-48).all()


def check_tf32_is_cut():
    """The last 13 bits of a tf32 are ignored."""
    a = np.full((16, 8), 1 + 2.0**-23, np.float32)
    found = product("m16n8k8", ("f32", "tf32", "tf32", "f32"), a, np.ones((8, 8)), np.zeros((16, 8)))
    assert (found == 8).all()


def check_doubles():
    """Products of doubles whose sums are exact."""
    random = np.random.default_rng(3)
    for shape in DOUBLES:
        m, n, k = matrices.size_of(shape)
        a, b = (
            random.integers(-(2**20), 2**20, (m, k)).astype(float),
            random.integers(-(2**20), 2**20, (k, n)).astype(float),
        )
        c = random.integers(-(2**40), 2**40, (m, n)).astype(float)
        sm = 80 if shape == "m8n8k4" else 90
        assert (product(shape, ("f64",) * 4, a, b, c, sm=sm) == a @ b + c).all(), shape
        assert (product(shape, ("f64",) * 4, a, b, c, ("", ".rn"), sm=sm) == a @ b + c).all(), shape


def rounded_sum(row, column, start, rounding):
    """Products added one after another, each sum rounded once."""
    total = Fraction(float(start))
    for x, y in zip(row, column, strict=True):
        exact = total + Fraction(float(x)) * Fraction(float(y))
        down = rounding == "rm" or (rounding == "rz" and exact > 0)
        total = Fraction(rounded_once(exact, "rn" if rounding == "rn" else "rm" if down else "rp"))
    return float(total)


def rounded_once(exact, rounding):
    """A fraction as a double, in the rounding "rn", "rm" or "rp"."""
    near = float(exact)
    if rounding == "rm" and Fraction(near) > exact:
        return float(np.nextafter(near, -np.inf))
    if rounding == "rp" and Fraction(near) < exact:
        return float(np.nextafter(near, np.inf))
    return near


def check_rounded_doubles():
    random = np.random.default_rng(8)
    for shape in DOUBLES:
        m, n, k = matrices.size_of(shape)
        a, b, c = (random.normal(size=size) for size in ((m, k), (k, n), (m, n)))
        for rounding in ("rn", "rz", "rm", "rp"):
            found = product(shape, ("f64",) * 4, a, b, c, ("", f".{rounding}"), sm=90)
            wanted = [[rounded_sum(a[i], b[:, j], c[i, j], rounding) for j in range(n)] for i in range(m)]
            assert (found == np.array(wanted)).all(), (shape, rounding)


def check_wholes():
    """Products of integers, which wrap or saturate."""
    random = np.random.default_rng(4)
    for bits, shapes in WHOLES.items():
        low, high = -(2 ** (int(bits) - 1)), 2 ** (int(bits) - 1)
        for shape in shapes:
            m, n, k = matrices.size_of(shape)
            for first in "su":
                for second in "su":
                    kinds = ("s32", first + bits, second + bits, "s32")
                    a = random.integers(low, high, (m, k)) + (high if first == "u" else 0)
                    b = random.integers(low, high, (k, n)) + (high if second == "u" else 0)
                    c = random.integers(-(2**31), 2**31, (m, n))
                    exact = a @ b + c
                    wrapped = exact.astype(np.uint64).astype(np.uint32).view(np.int32)
                    assert (product(shape, kinds, a, b, c) == wrapped).all(), (shape, kinds)
                    held = np.clip(exact, -(2**31), 2**31 - 1)
                    assert (product(shape, kinds, a, b, c, (".satfinite", "")) == held).all(), (shape, kinds)


def check_bits():
    """Products of bits, by exclusive or and by and."""
    random = np.random.default_rng(5)
    for shape in BITS:
        m, n, k = matrices.size_of(shape)
        a, b = random.integers(0, 2, (m, k)), random.integers(0, 2, (k, n))
        c = random.integers(-1000, 1000, (m, n))
        for word, differs in ((".xor.popc", True), (".and.popc", False)):
            wanted = (a[:, :, None] != b[None]).sum(1) if differs else a @ b
            assert (product(shape, ("s32", "b1", "b1", "s32"), a, b, c, ("", word)) == wanted + c).all(), (
                shape,
                word,
            )


def check_guard():
    """A guard that is true for all lanes, and one that is true for none."""
    ones = np.ones((16, 8))
    kinds = ("f32", "f16", "f16", "f32")
    before = "mov.b32 d0, 0; mov.b32 d1, 0; mov.b32 d2, 0; mov.b32 d3, 0; "
    for guard, wanted in (("@p ", 9), ("@!p ", 0)):
        assert (product("m16n8k8", kinds, ones, ones[:8], ones, before=before + guard) == wanted).all()


REFUSED = {
    "mma.sync.aligned.m16n8k8.col.row.f32.f16.f16.f32 {f0, f1, f2, f3}, {r0, r1}, {r2}, {f0, f1, f2, f3};":
        "a layout other than .row.col",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {f0, f1, f2, f3}, {r0, r1}, {r2}, {f0, f1, f2, f3};":
        "a product of this shape and these types",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f16 {f0, f1, f2, f3}, {r0, r1}, {r2}, {r0, r1};":
        "a product of this shape and these types",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f0, f1, f2}, {r0, r1}, {r2}, {f0, f1, f2, f3};":
        "4 registers are expected here, found 3",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {r0, w}, {r2}, {f0, f1, f2, f3};":
        "registers of one size",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {w, w}, {r2}, {f0, f1, f2, f3};":
        "registers of 32 bits are expected here",
    "mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32 "
    "{f0, f1, f2, f3}, {r0, r1, r0, r1}, {r2, r2}, {f0, f1, f2, f3};": "with these modifiers",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {r0, r1}, {r2};": "operands",
}  # fmt: skip
EMPTY = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k()
{{
.reg .f32 f0, f1, f2, f3; .reg .b32 r0, r1, r2; .reg .b64 w; .reg .f64 d0; .reg .pred p;
mov.u32 r0, %tid.x; setp.lt.u32 p, r0, 16;
{text}
ret;
}}
"""


def check_refused():
    for text, message in REFUSED.items():
        with pytest.raises(drv.Error) as found:
            drv.module_from_buffer(EMPTY.format(text=text).encode())
        assert message in str(found.value), text


CHECKS = [
    check_reals,
    check_exact_reals,
    check_special_reals,
    check_tf32_is_cut,
    check_wholes,
    check_bits,
    check_guard,
]


@pytest.mark.parametrize("check", CHECKS)
def test_products_of_compute_capability_8(at_capability, check):
    at_capability((8, 0), check)


@pytest.mark.parametrize(
    "check", [check_doubles, check_rounded_doubles, pytest.param(check_refused, marks=words_are_ours)]
)
def test_products_of_compute_capability_9(at_capability, check):
    at_capability((9, 0), check)


@pytest.mark.cpu("only the CPU device has a random scheduler")
def test_lane_by_lane(at_capability, monkeypatch):
    """The random scheduler runs lanes one by one, the last of which computes the product."""
    monkeypatch.setenv("PYCUDA_CPU_SCHEDULE", "random:3")
    at_capability((8, 0), check_exact_reals)
    at_capability((8, 0), check_guard)


def check_fault(threads, text, message):
    function = drv.module_from_buffer(EMPTY.format(text=text).encode()).get_function("k")
    with pytest.raises(drv.Error) as found:
        function(block=(threads, 1, 1))
        drv.Context.synchronize()
    assert message in str(found.value)


FORM = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {r0, r1}, {r2}, {f0, f1, f2, f3};"


@pytest.mark.parametrize(
    ("threads", "text"), [(16, FORM), (32, f"@p {FORM}"), (32, f"@p exit; {FORM}"), (33, FORM)]
)
@pytest.mark.cpu("a GPU does not detect it")
def test_needs_all_lanes(at_capability, threads, text):
    at_capability((9, 0), check_fault, threads, text, "mma is for all 32 threads of a warp")
