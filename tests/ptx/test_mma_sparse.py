"""mma.sp in every shape and type, with random metadata in the lanes of each selector, against products of the
dense matrix: NumPy's if nothing is rounded, otherwise those of a model of tensor cores and of the dense mma.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
from devices import words_are_ours

sys.path.insert(0, str(Path(__file__).parent))

from ptx_cases import matrices
from ptx_cases.tensor_core import core_sum, decoded, emulated, same

import pycuda.driver as drv

VARIANTS = ("sp", "sp::ordered_metadata")
WORDS = {"f16": np.float16, "f32": np.float32}
# Shape, d and c, a, b.
REALS = [("m16n8k16", "f16"), ("m16n8k32", "f16"), ("m16n8k16", "bf16"), ("m16n8k32", "bf16")]
REALS += [("m16n8k8", "tf32"), ("m16n8k16", "tf32")]
FLOATS = [(shape, sums, kind, kind) for shape, kind in REALS for sums in ("f32", "f16")]
FLOATS = [form for form in FLOATS if form[1] == "f32" or form[2] == "f16"]
BYTES = [("m16n8k64", "f32", a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
WHOLES = [
    (shape, "s32", first + bits, second + bits)
    for shape, bits in (("m16n8k32", "8"), ("m16n8k64", "8"), ("m16n8k64", "4"), ("m16n8k128", "4"))
    for first in "su"
    for second in "su"
]
# From the figures of the PTX manual, for selector 0: (lane of four, first bit, row, first column) of
# metadata; row 8 is 8 rows below. Other selectors use the next lanes.
METADATA = {
    ("m16n8k16", 16): [(0, 0, 0, 0), (0, 16, 8, 0)],
    ("m16n8k32", 16): [(0, 0, 0, 0), (0, 16, 8, 0), (1, 0, 0, 16), (1, 16, 8, 16)],
    ("m16n8k8", 32): [(0, 0, 0, 0), (0, 16, 8, 0)],
    ("m16n8k16", 32): [(0, 0, 0, 0), (0, 16, 8, 0), (1, 0, 0, 8), (1, 16, 8, 8)],
    ("m16n8k32", 8): [(0, 0, 0, 0), (1, 0, 8, 0)],
    ("m16n8k64", 8): [(0, 0, 0, 0), (1, 0, 8, 0), (2, 0, 0, 32), (3, 0, 8, 32)],
    ("m16n8k64", 4): [(0, 0, 0, 0), (1, 0, 8, 0)],
    ("m16n8k128", 4): [(0, 0, 0, 0), (1, 0, 8, 0), (2, 0, 0, 64), (3, 0, 8, 64)],
}
CHUNK = {32: 2, 16: 4, 8: 4, 4: 8}  # columns for which there are four bits of metadata, by bits of an element


class Pattern:
    """Which columns of a sparse a are stored, at random, for a shape and a type of elements.

    Of every four columns two are stored (tf32: of every two, one), in any order unless `ordered`."""

    def __init__(self, random, shape, kind, ordered):
        self.shape, self.bits = shape, matrices.BITS[kind]
        self.rows, _, self.depth = matrices.size_of(shape)
        chunk = CHUNK[self.bits]
        places = self.rows, self.depth // chunk
        chosen = np.argsort(random.random((*places, 4)), axis=2)[..., :2]
        if ordered:
            chosen.sort(axis=2)
        if chunk == 2:
            chosen = random.integers(0, 2, (*places, 1)) * 2 + np.arange(2)
        # Metadata of each chunk of columns, and the columns that are stored, by row.
        self.nibbles = chosen[..., 0] | chosen[..., 1] << 2
        within = {2: chosen[..., :1] // 2, 4: chosen, 8: (2 * chosen[..., None] + [0, 1]).reshape(*places, 4)}
        columns = within[chunk] + chunk * np.arange(places[1])[None, :, None]
        self.columns = columns.reshape(self.rows, -1)

    def selectors(self):
        """The selectors that mma.sp may have: which of four lanes hold metadata."""
        return range(4 // (1 + max(lane for lane, *_ in METADATA[self.shape, self.bits])))

    def words(self, random, selector):
        """The metadata of each lane; lanes that the selector does not choose have random words."""
        table = METADATA[self.shape, self.bits]
        lanes, chunk = 1 + max(lane for lane, *_ in table), CHUNK[self.bits]
        chunks = 4 if self.bits >= 16 else 8
        words = random.integers(0, 2**32, 32, np.uint32)
        for group in range(8):
            words[4 * group + selector * lanes : 4 * group + (selector + 1) * lanes] = 0
            for lane, bit, below, column in table:
                for x in range(chunks):
                    nibble = int(self.nibbles[group + below, column // chunk + x])
                    words[4 * group + selector * lanes + lane] |= np.uint32(nibble << (bit + 4 * x))
        return words[:, None]

    def dense(self, a):
        """The dense matrix whose stored columns are `a`."""
        whole = np.zeros((self.rows, self.depth), a.dtype)
        np.put_along_axis(whole, self.columns, a, 1)
        return whole


def launched(text, kinds, given, shape, sm):
    """The matrix d after an instruction; kinds, given: types and registers by role (a, b, c, e for
    metadata)."""
    counts = {role: words.shape[1] for role, words in given.items()} | {"d": given["c"].shape[1]}
    operands = ", ".join(matrices.vector(role, counts[role]) for role in "dabc")
    function = matrices.kernel(text.format(operands), counts, kinds, sm, "8.7")
    out = np.zeros((32, counts["d"]), np.uint32)
    arrays = [drv.In(np.ascontiguousarray(given[role])) for role in "abce" if role in given]
    function(drv.InOut(out), *arrays, block=(32, 1, 1))
    return matrices.matrix_of(out, shape, kinds["d"])


def product(form, pattern, metadata, selector, a, b, c, variant="sp", word=""):
    """The result of mma.sp for the stored columns of a, b and c."""
    shape, sums, first, second = form
    m, n, k = matrices.size_of(shape)
    types = {"d": sums, "a": first, "b": second, "c": sums}
    types = {role: "u8" if kind[0] == "e" else kind for role, kind in types.items()}
    given = {
        "a": matrices.registers(a, f"m{m}n{n}k{k // 2}", types["a"], "a"),
        "b": matrices.registers(b, shape, types["b"], "b"),
        "c": matrices.registers(c, shape, sums, "c"),
        "e": metadata,
    }
    mnemonic = f"mma.{variant}.sync.aligned.{shape}.row.col{word}.{sums}.{first}.{second}.{sums}"
    text = f"{mnemonic} {{}}, e0, {selector};"
    return launched(text, types | {"e": "b32"}, given, shape, 89 if first[0] == "e" else 80)


def dense_product(form, a, b, c):
    """The result of the dense mma for a, b and c."""
    shape, sums, kind, _ = form
    types = {"d": sums, "a": kind, "b": kind, "c": sums}
    given = {
        role: matrices.registers(x, shape, types[role], role)
        for role, x in zip("abc", (a, b, c), strict=True)
    }
    text = f"mma.sync.aligned.{shape}.row.col.{sums}.{kind}.{kind}.{sums} {{}};"
    return launched(text, types, given, shape, 80)


def encoded(values, kind):
    """The bytes of these numbers."""
    every = decoded(np.arange(255), kind)
    return np.argmax(every[None, None, :] == values[:, :, None], 2)


def numbers(random, size, kind, most):
    """Whole numbers of a type, and as it stores them."""
    if kind[0] in "su":
        half = 1 << (int(kind[1:]) - 1)
        x = random.integers(-half, half, size) + (half if kind[0] == "u" else 0)
        return x, x
    x = random.integers(-most, most + 1, size).astype(float)
    return x, encoded(x, kind) if kind[0] == "e" else x


def each(random, forms):
    """Yields (form, variant of metadata, pattern, selector) for all of these."""
    for form in forms:
        for variant in VARIANTS:
            pattern = Pattern(random, form[0], form[2], variant != "sp")
            for selector in pattern.selectors():
                yield form, variant, pattern, selector


def check_exact():
    """Small whole numbers, whose sums no rounding changes; integers of all sizes."""
    random = np.random.default_rng(1)
    for form, variant, pattern, selector in each(random, FLOATS + BYTES + WHOLES):
        m, n, k = matrices.size_of(form[0])
        most = 4 if form[2][0] == "e" else 8
        a, a_stored = numbers(random, (m, k // 2), form[2], most)
        b, b_stored = numbers(random, (k, n), form[3], most)
        limit = 2**31 if form[1] == "s32" else 512
        c = random.integers(-limit, limit, (m, n))
        exact = pattern.dense(a) @ b + c
        metadata = pattern.words(random, selector)
        words = ("", ".satfinite") if form[1] == "s32" else ("",)
        for word in words:
            wanted = exact
            if form[1] == "s32":
                wrapped = exact.astype(np.uint64).astype(np.uint32).view(np.int32)
                wanted = np.clip(exact, -(2**31), 2**31 - 1) if word else wrapped
            found = product(form, pattern, metadata, selector, a_stored, b_stored, c, variant, word)
            assert (found == wanted).all(), (form, variant, selector, word)


def stored(random, size, kind, spread):
    """Numbers that a type holds, with exponents over a range."""
    x = (random.normal(size=size) * 2.0 ** random.integers(-spread, spread + 1, size)).astype(np.float32)
    if kind == "f16":
        return x.astype(np.float16).astype(float)
    drop = {"bf16": 16, "tf32": 13, "f32": 0}[kind]
    return (x.view(np.uint32) >> drop << drop).view(np.float32).astype(float)


def check_bits():
    """The products of stored elements and c are one sum of a tensor core; other elements change nothing."""
    random = np.random.default_rng(2)
    for form, variant, pattern, selector in each(random, FLOATS):
        if selector:
            continue
        shape, sums, kind, _ = form
        m, n, k = matrices.size_of(shape)
        a, b = stored(random, (m, k // 2), kind, 5), stored(random, (k, n), kind, 5)
        c = stored(random, (m, n), sums, 5).astype(WORDS[sums])
        found = product(form, pattern, pattern.words(random, 0), 0, a, b, c, variant)
        wanted = [
            [
                core_sum(c[i, j], list(zip(a[i], b[pattern.columns[i], j], strict=True)), sums)
                for j in range(n)
            ]
            for i in range(m)
        ]
        assert same(found, np.array(wanted)), (form, variant)
        if (shape, matrices.BITS[kind]) in matrices.A_REGISTERS and k * matrices.BITS[kind] <= 256:
            assert same(found, dense_product(form, pattern.dense(a), b, c)), form


def check_bytes():
    """Two sums of halves, of the first and of the last two of every four stored elements; c is added last."""
    random = np.random.default_rng(3)
    for form, variant, pattern, selector in each(random, BYTES):
        m, n, k = matrices.size_of(form[0])
        a, b = random.integers(0, 255, (m, k // 2)), random.integers(0, 255, (k, n))
        a, b = ((x & 0x87) | (x >> 3 & 15) % 7 + 4 << 3 for x in (a, b))
        c = stored(random, (m, n), "f32", 5).astype(np.float32)
        found = product(form, pattern, pattern.words(random, selector), selector, a, b, c, variant)
        x, y = decoded(a, form[2]), decoded(b, form[3])
        wanted = [emulated(x[i : i + 1], y[pattern.columns[i]], c[i : i + 1], "f32")[0] for i in range(m)]
        assert same(found, np.array(wanted)), (form, variant)


def check_special():
    """NaNs and infinities count only where they are selected."""
    random = np.random.default_rng(4)
    for form, variant, pattern, selector in each(random, FLOATS):
        m, n, k = matrices.size_of(form[0])
        a, b, c = np.ones((m, k // 2)), np.ones((k, n)), np.zeros((m, n))
        a[1, 0], b[0, 2], b[k - 1, 3], c[4, 5] = np.inf, np.inf, np.nan, -np.inf
        with np.errstate(invalid="ignore"):
            wanted = np.array([a[i] @ b[pattern.columns[i]] for i in range(m)]) + c
        found = product(form, pattern, pattern.words(random, selector), selector, a, b, c, variant)
        assert np.array_equal(found, wanted, equal_nan=True), (form, variant)
        assert np.isinf(found[:, 2]).any() and np.isfinite(found[:, 2]).any()


def check_values():
    check_exact()
    check_bits()
    check_bytes()
    check_special()


def test_products_are_those_of_the_dense_matrix(at_capability):
    at_capability((9, 0), check_values)


@pytest.mark.cpu("only the CPU device has a random scheduler")
def test_lane_by_lane(at_capability, monkeypatch):
    monkeypatch.setenv("PYCUDA_CPU_SCHEDULE", "random:3")
    at_capability((9, 0), check_special)


# --- what is refused: as by ptxas 13.0 for sm_80, sm_86, sm_89 and sm_90 ---

SHAPES = "m8n8k4 m8n8k16 m8n8k32 m16n8k4 m16n8k8 m16n8k16 m16n8k32 m16n8k64 m16n8k128 m16n8k256".split()
KINDS = "f16 bf16 tf32 f64 s8 u8 s4 u4 b1 e4m3 e5m2".split()
MODULE = """.version {version}
.target {target}
.address_size 64
.visible .entry k()
{{
.reg .f32 f<4>; .reg .f64 d<4>; .reg .b32 r<9>; .reg .b64 w; .reg .b16 h;
{text}
ret;
}}
"""


def answer(text, target="sm_90", version="9.0"):
    """The error of a module with one instruction; empty if it is accepted."""
    try:
        drv.module_from_buffer(MODULE.format(text=text, target=target, version=version).encode())
        return ""
    except drv.Error as error:
        return str(error)


def vector(kind, elements):
    """The registers of one lane for a matrix of so many elements."""
    size = matrices.BITS[kind]
    letter = {"f32": "f", "f64": "d"}.get(kind, "r")
    return (
        "{"
        + ", ".join(f"{letter}{r % 4}" for r in range(max(elements * size // (32 * max(size, 32)), 1)))
        + "}"
    )


def statement(shape, d, a, b, c, metadata="r8", selector=0, head="sp", layout="row.col", words=""):
    m, n, k = matrices.size_of(shape)
    operands = [vector(d, m * n), vector(a, m * k // 2), vector(b, k * n), vector(c, m * n)]
    mnemonic = f"mma.{head}.sync.aligned.{shape}.{layout}{words}.{d}.{a}.{b}.{c}"
    return f"{mnemonic} {', '.join(operands)}, {metadata}, {selector};"


def check_forms():
    """Exactly these shapes and types are accepted."""
    legal = {(shape, sums, a, b, sums) for shape, sums, a, b in FLOATS + BYTES + WHOLES}
    alike = [{"s8", "u8"}, {"s4", "u4"}, {"e4m3", "e5m2"}, {"f16", "bf16"}, {"s8", "s4"}]
    pairs = [(a, b) for a in KINDS for b in KINDS if a == b or {a, b} in alike]
    sums = [("f32", "f32"), ("f16", "f16"), ("s32", "s32"), ("f64", "f64"), ("f32", "f16"), ("f16", "f32")]
    for head in VARIANTS:
        taken = {
            (shape, d, a, b, c)
            for shape in SHAPES
            for a, b in pairs
            for d, c in sums
            if not answer(statement(shape, d, a, b, c, head=head))
        }
        assert taken == legal, (head, taken ^ legal)


HALVES = ("m16n8k16", "f32", "f16", "f16", "f32")
SMALL = ("m16n8k64", "s32", "s4", "u4", "s32")
BYTE = ("m16n8k64", "f32", "e4m3", "e5m2", "f32")
REFUSED = {
    statement(*HALVES, layout="row.row"): "a layout other than .row.col",
    statement(*HALVES, layout="col.col"): "a layout other than .row.col",
    statement(*SMALL, layout="col.row"): "a layout other than .row.col",
    statement(*HALVES, words=".satfinite"): "with these modifiers",
    statement(*HALVES, selector=4): "the sparsity selector of this shape and type is at most 3, found 4",
    statement(*HALVES, selector=-1): "the sparsity selector of this shape and type is at most 3, found -1",
    statement(*SMALL, selector=2): "the sparsity selector of this shape and type is at most 1, found 2",
    statement("m16n8k64", "s32", "s8", "s8", "s32", selector=1): "is at most 0, found 1",
    statement("m16n8k16", "f32", "tf32", "tf32", "f32", selector=2): "is at most 1, found 2",
    statement(*HALVES, selector="r0"): "operand 6",
    statement(*HALVES, metadata="5"): "operand 5",
    statement(*HALVES, metadata="w"): "operand 5",
    statement(*HALVES, metadata="h"): "operand 5",
    statement(*HALVES).replace(", r8, 0", ""): "operands",
    statement(*HALVES).replace("{r0, r1}", "{r0, r1, r2, r3}"): "registers are expected here",
    statement(*BYTE, head="sp::ordered_metadata", words=".kind::f8f6f4"): "sm_100",
    statement(*BYTE, words=".kind::f8f6f4"): "they do not go together",
}
OLDER = {
    ("sm_80", "7.0", HALVES, "sp"): "7.1",
    ("sm_80", "8.4", HALVES, "sp::ordered_metadata"): "8.5",
    ("sm_75", "8.5", HALVES, "sp"): "sm_80",
    ("sm_80", "8.5", BYTE, "sp"): "sm_89",
    ("sm_89", "8.3", BYTE, "sp"): "8.4",
    ("sm_90", "8.7", ("m16n8k64", "f16", "e4m3", "e5m2", "f16"), "sp::ordered_metadata"): "sm_120",
}


def check_messages():
    for text, message in REFUSED.items():
        assert message in answer(text), (text, answer(text))
    for (target, version, form, head), message in OLDER.items():
        complaint = answer(statement(*form, head=head), target, version)
        assert message in complaint, (target, version, form, head, complaint)
    for metadata in ("f1", "r1"):
        assert not answer(statement(*HALVES, metadata=metadata))


def check_refusals():
    check_forms()
    check_messages()


@words_are_ours
def test_refusals(at_capability):
    at_capability((9, 0), check_refusals)
