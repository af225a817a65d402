"""wmma.load, .mma and .store in every shape, type and layout, against products in NumPy."""

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from devices import words_are_ours

sys.path.insert(0, str(Path(__file__).parent))

from ptx_cases import matrices

import pycuda.driver as drv

SQUARES = ["m16n16k16", "m8n32k16", "m32n8k16"]
# Shape, type of a and b, type of c and d, registers of a, b, c and d.
FORMS = (
    [(shape, "f16", sums, 8, 8, 4 if sums == "f16" else 8) for shape in SQUARES for sums in ("f16", "f32")]
    + [("m16n16k16", "bf16", "f32", 4, 4, 8), ("m8n32k16", "bf16", "f32", 2, 8, 8)]
    + [("m32n8k16", "bf16", "f32", 8, 2, 8), ("m16n16k8", "tf32", "f32", 4, 4, 8)]
    + [("m8n8k4", "f64", "f64", 1, 1, 2)]
    + [("m16n16k16", kind, "s32", 2, 2, 8) for kind in ("s8", "u8")]
    + [("m8n32k16", kind, "s32", 1, 4, 8) for kind in ("s8", "u8")]
    + [("m32n8k16", kind, "s32", 4, 1, 8) for kind in ("s8", "u8")]
    + [("m8n8k32", kind, "s32", 1, 1, 2) for kind in ("s4", "u4")]
    + [("m8n8k128", "b1", "s32", 1, 1, 2)]
)
KERNEL = """.version 8.5
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc)
{{
.reg .b64 d, a, b, c, at, end; .reg .b32 t, x, near; .reg .pred p;
.shared .align 32 .b8 room[16384];
{registers}
ld.param.u64 d, [pd]; ld.param.u64 a, [pa]; ld.param.u64 b, [pb]; ld.param.u64 c, [pc];
{text}
ret;
}}
"""


def stored(matrix, kind, columns, stride):
    """The array of a matrix in memory, with its lines (rows, or columns) `stride` elements apart."""
    lines = np.asarray(matrix).T if columns else np.asarray(matrix)
    wide = np.zeros((len(lines), stride), lines.dtype)
    wide[:, : lines.shape[1]] = lines
    bits = matrices.as_bits(wide, kind).ravel()
    size = matrices.BITS[kind]
    if size >= 8:
        return bits.astype(f"u{size // 8}")
    packed = bits.reshape(-1, 32 // size) << (np.arange(32 // size, dtype=np.uint64) * np.uint64(size))
    return np.bitwise_or.reduce(packed, 1).astype(np.uint32)


def taken(memory, kind, shape, columns, stride):
    """The matrix of this shape from an array in the layout of stored(); columns: its lines are columns."""
    lines = matrices.from_bits(memory.astype(np.uint64), kind).reshape(-1, stride)
    lines = lines[:, : shape[0] if columns else shape[1]]
    return lines.T if columns else lines


def registers(form):
    """Declarations of the registers of a form: (shape, type of a and b, type of c and d, numbers of registers
    of a, b, and of c as of d)."""
    _, kind, sums, a, b, c = form
    of = {"f64": "f64", "f32": "f32"}
    return " ".join(
        f".reg .{of.get(which, 'b32')} {', '.join(matrices.names(role, count))};"
        for role, count, which in (("ra", a, kind), ("rb", b, kind), ("rc", c, sums), ("rd", c, sums))
    )


def mnemonic(form, layouts, words=""):
    """The mnemonic of the product; layouts: "row" or "col" for a, b, c and d; words: the operation on
    bits."""
    shape, kind, sums, *_ = form
    kinds = f"{sums}.{sums}" if kind == "f16" else f"{sums}.{kind}.{kind}.{sums}"
    combine = f"{words}.popc" if kind == "b1" else ""
    return f"wmma.mma{combine}.sync.aligned.{layouts[0]}.{layouts[1]}.{shape}.{kinds}"


def whole(form, layouts, strides=("", "", "", ""), space=".global", at="abcd", words="", last=""):
    """The kernel's text: loads, the product, the store.

    strides: ", stride" of a, b, c and d, or "" for dense ones; at: their addresses; last: modifiers at the
    end of the product's mnemonic."""
    shape, kind, sums, a, b, c = form
    of = {role: matrices.vector(f"r{role}", count) for role, count in zip("abcd", (a, b, c, c), strict=True)}
    load = "wmma.load.{}.sync.aligned.{}.{}{}.{} {}, [{}]{};"
    return "\n".join(
        [
            load.format("a", layouts[0], shape, space, kind, of["a"], at[0], strides[0]),
            load.format("b", layouts[1], shape, space, kind, of["b"], at[1], strides[1]),
            load.format("c", layouts[2], shape, space, sums, of["c"], at[2], strides[2]),
            f"{mnemonic(form, layouts, words)}{last} {of['d']}, {of['a']}, {of['b']}, {of['c']};",
            f"wmma.store.d.sync.aligned.{layouts[3]}.{shape}{space}.{sums} [{at[3]}], {of['d']}{strides[3]};",
        ]
    )


def load(text, form):
    return drv.module_from_buffer(KERNEL.format(text=text, registers=registers(form)).encode()).get_function(
        "k"
    )


def run(form, matrices_of, layouts, extra=0, text=None, **options):
    """The result d for matrices a, b and c; extra: elements between the lines in memory."""
    shape, kind, sums, *_ = form
    m, n, k = matrices.size_of(shape)
    lengths = [(m if layouts[0] == "col" else k), (k if layouts[1] == "col" else n)]
    lengths += [m if layout == "col" else n for layout in layouts[2:]]
    strides = [length + extra for length in lengths]
    words = [f", {stride}" if extra else "" for stride in strides]
    given = [
        stored(x, which, layout == "col", stride)
        for x, which, layout, stride in zip(matrices_of, (kind, kind, sums), layouts, strides, strict=False)
    ]
    lines = n if layouts[3] == "col" else m
    out = np.zeros(lines * strides[3], f"u{matrices.BITS[sums] // 8}")
    source = text or whole(form, layouts, words, **options)
    load(source, form)(drv.InOut(out), *map(drv.In, given), block=(32, 1, 1))
    return taken(out, sums, (m, n), layouts[3] == "col", strides[3])


def small(random, form):
    """Matrices of whole numbers whose product no rounding changes."""
    shape, kind, *_ = form
    m, n, k = matrices.size_of(shape)
    low, high = {"b1": (0, 2), "u4": (0, 16), "s4": (-8, 8), "u8": (0, 256), "s8": (-128, 128)}.get(
        kind, (-8, 9)
    )
    real = matrices.BITS[kind] >= 16
    a, b = random.integers(low, high, (m, k)), random.integers(low, high, (k, n))
    c = random.integers(-500, 500, (m, n))
    return [x.astype(float) if real else x for x in (a, b, c)]


def layouts_of(kind):
    if kind in ("s4", "u4", "b1"):
        return [("row", "col", *rest) for rest in product(("row", "col"), repeat=2)]
    return list(product(("row", "col"), repeat=4))


def exact_product(form, a, b, c, words=""):
    if form[1] == "b1" and words == ".xor":
        return (a[:, :, None] != b[None]).sum(1) + c
    return a @ b + c


def check_exact():
    """Exact products in every form and layout, with and without gaps between lines."""
    random = np.random.default_rng(1)
    for form in FORMS:
        extra = 128 if form[1] == "b1" else 32
        words = ".xor" if form[1] == "b1" else ""
        for layouts in layouts_of(form[1]):
            given = small(random, form)
            for more in (0, extra):
                found = run(form, given, layouts, more, words=words)
                assert (found == exact_product(form, *given, words)).all(), (form, layouts, more)
        given = small(random, form)
        layouts = ("row", "col", "row", "row")
        assert (
            run(form, given, layouts, space="", words=words) == exact_product(form, *given, words)
        ).all(), form
    assert (run(FORMS[-1], given, layouts, words=".and") == exact_product(FORMS[-1], *given, ".and")).all()


def check_saturated():
    form = ("m16n16k16", "s8", "s32", 2, 2, 8)
    a = np.full((16, 16), 127)
    c = np.where(np.arange(16) % 2, 2**31 - 5, 7)[None] + np.zeros((16, 1), int)
    found = run(form, (a, a, c), ("row", "col", "row", "row"), last=".satfinite")
    assert (found == np.minimum(a @ a + c, 2**31 - 1)).all()


def check_rounded():
    """Products of random floats are within the error bound."""
    random = np.random.default_rng(2)
    for form in FORMS:
        shape, kind, sums, *_ = form
        if sums not in ("f16", "f32"):
            continue
        m, n, k = matrices.size_of(shape)
        drop = {"f16": 13, "bf16": 16, "tf32": 13}[kind]

        def numbers(rows, columns, drop=drop):
            """Numbers without the last `drop` bits of their fractions, which the type does not hold."""
            x = random.normal(size=(rows, columns)).astype(np.float32)
            return (
                (x.view(np.uint32) >> drop << drop)
                .view(np.float32)
                .astype(np.float16 if drop == 13 else np.float32)
            )

        a, b = numbers(m, k).astype(float), numbers(k, n).astype(float)
        c = random.normal(size=(m, n)).astype(np.float16).astype(float)
        off = np.abs(run(form, (a, b, c), ("row", "col", "col", "row")).astype(float) - (a @ b + c))
        assert (off <= matrices.bound(a, b, c, sums)).all(), (form, off.max())


def check_elements():
    """Fragments of sums in floats and in halves have their elements in the same order, so that one can be
    converted to the other element by element."""
    form = ("m16n16k16", "f16", "f32", 8, 8, 8)
    narrow = "\n".join(
        f"{{ .reg .b16 lo, hi; cvt.rn.f16.f32 lo, rc{2 * k}; cvt.rn.f16.f32 hi, rc{2 * k + 1};"
        f" mov.b32 rb{k}, {{lo, hi}}; }}"
        for k in range(4)
    )
    text = (
        f"wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {matrices.vector('rc', 8)}, [c];\n{narrow}\n"
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [d], {rb0, rb1, rb2, rb3};"
    )
    c = np.arange(256.0).reshape(16, 16)
    out = np.zeros((16, 16), np.float16)
    nothing = np.zeros(16, np.uint32)
    load(text, form)(
        drv.InOut(out), drv.In(nothing), drv.In(nothing), drv.In(c.astype(np.float32)), block=(32, 1, 1)
    )
    assert (out == c).all()


def check_shared():
    """Loads from shared memory, by 32-bit addresses with offsets."""
    form = ("m16n16k16", "f16", "f32", 8, 8, 8)
    words = "{w0, w1, w2, w3}"
    product_text = whole(form, ("row", "col", "row", "row")).replace(".global.f16", ".shared.f16")
    text = f"""
        mov.u32 t, %tid.x; shl.b32 x, t, 4; cvt.u64.u32 at, x; mov.u32 near, room; add.u32 x, x, near;
        .reg .b32 w0, w1, w2, w3;
        add.u64 end, a, at; ld.global.v4.b32 {words}, [end]; st.shared.v4.b32 [x], {words};
        add.u64 end, b, at; ld.global.v4.b32 {words}, [end]; st.shared.v4.b32 [x+512], {words};
        bar.warp.sync -1;
        {product_text.replace("[a]", "[room]").replace("[b]", "[near+512]")}
    """
    given = small(np.random.default_rng(3), form)
    assert (run(form, given, ("row", "col", "row", "row"), text=text) == given[0] @ given[1] + given[2]).all()


EIGHT = matrices.vector("ra", 8)
FOUR = f"{EIGHT}, {EIGHT}, {EIGHT}, {EIGHT}"
FIT, SIXTEEN = "a matrix of this shape, layout and type", "wmma.load.a.sync.aligned.row.m16n16k16"
REFUSED = {
    f"wmma.load.a.sync.aligned.row.m16n16k8.global.f16 {EIGHT}, [a];": FIT,
    "wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {ra0}, [a];": FIT,
    f"{SIXTEEN}.global.f16 {{ra0, ra1}}, [a];": "8 registers are expected here, found 2",
    f"{SIXTEEN}.local.f16 {EIGHT}, [a];": "'.local' is not a modifier of 'wmma'",
    f"wmma.load.a.sync.aligned.m16n16k16.global.f16 {EIGHT}, [a];": "they do not go together",
    f"{SIXTEEN}.global.f16 {EIGHT}, [t];": "an address of 64 bits",
    f"wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [d], {EIGHT};": "4 registers are expected here",
    f"wmma.mma.sync.aligned.row.col.m16n16k16.f32.s8.s8.f32 {FOUR};": "these types",
    f"wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16.satfinite {FOUR};": "from PTX 6.5 on",
    "wmma.mma.sync.aligned.row.row.m8n8k32.s32.s4.s4.s32 {rc0, rc1}, {ra0}, {ra1}, {rc0, rc1};": ".row.col",
}


def check_refused():
    for text, message in REFUSED.items():
        with pytest.raises(drv.Error) as found:
            load(text, FORMS[0])
        assert message in str(found.value), text


def old_ptx(text, form, version):
    """A kernel of a version before 6.3, where wmma has no .aligned, or before 6.5."""
    source = KERNEL.format(text=text, registers=registers(form) + " .reg .b32 h<4>;")
    source = source.replace(".version 8.5", f".version {version}").replace("sm_80", "sm_70")
    if version < "6.3":
        source = source.replace(".sync.aligned", ".sync")
    return drv.module_from_buffer(source.encode()).get_function("k")


def check_old_ptx():
    """Before PTX 6.5, sums in floats may be stored as halves: with .satfinite they are truncated, so that
    finite sums stay finite. For other sums .satfinite does nothing on sm_90."""
    form, layouts = FORMS[1], ("row", "col", "row", "row")
    a = np.full((16, 16), 100.0)
    c = np.linspace(-160001, -90001, 256).reshape(16, 16).astype(np.float32)
    sums = a @ a + c
    for version in ("6.2", "6.4"):
        for last in ("", ".satfinite"):
            text = whole(form, layouts, last=last)
            text = text.replace(
                f".f32.f32{last} {matrices.vector('rd', 8)}", f".f16.f32{last} {{h0, h1, h2, h3}}"
            )
            text = text.replace(f".f32 [d], {matrices.vector('rd', 8)}", ".f16 [d], {h0, h1, h2, h3}")
            out = np.zeros((16, 16), np.float16)
            given = [
                stored(x, kind, col, 16) for x, kind, col in ((a, "f16", 0), (a, "f16", 1), (c, "f32", 0))
            ]
            old_ptx(text, form, version)(drv.InOut(out), *map(drv.In, given), block=(32, 1, 1))
            with np.errstate(over="ignore"):
                wanted = sums.astype(np.float16)
            if last:
                further = np.abs(wanted.astype(float)) > np.abs(sums)
                wanted = np.where(further, np.nextafter(wanted, np.float16(0)), wanted)
            assert (out == wanted).all(), (version, last)
    for last in ("", ".satfinite"):
        form = FORMS[0]
        given = [stored(np.full((16, 16), x), "f16", column, 16) for x, column in ((64, 0), (64, 1), (0, 0))]
        out = np.zeros((16, 16), np.float16)
        old_ptx(whole(form, layouts, last=last), form, "6.4")(
            drv.InOut(out), *map(drv.In, given), block=(32, 1, 1)
        )
        assert np.isposinf(out).all(), last
    with pytest.raises(drv.Error):
        old_ptx(whole(form, layouts).replace(".sync.aligned", ".sync"), form, "6.3")


CHECKS = [
    check_exact,
    check_old_ptx,
    check_saturated,
    check_rounded,
    check_elements,
    check_shared,
    pytest.param(check_refused, marks=words_are_ours),
]


@pytest.mark.parametrize("check", CHECKS)
def test_all(at_capability, check):
    at_capability((8, 0), check)


def check_fault(text, message):
    form = ("m16n16k16", "f16", "f32", 8, 8, 8)
    memory = drv.to_device(np.zeros(256, np.uint16))
    function = load(text, form)
    with pytest.raises(drv.Error) as found:
        function(memory, memory, memory, memory, block=(32, 1, 1))
        drv.Context.synchronize()
    assert message in str(found.value), str(found.value)


LOAD = f"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {EIGHT}, [a]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{LOAD}, 64;", "invalid read of 2 bytes"),
        (f"add.u64 a, a, 1; {LOAD};", "misaligned read of 2 bytes"),
        (
            f"mov.u32 t, %laneid; mul.wide.u32 at, t, 2; add.u64 a, a, at; {LOAD};",
            "different addresses or strides",
        ),
        (f"mov.u32 t, %laneid; setp.lt.u32 p, t, 8; @p {LOAD};", "wmma_load is for all 32 threads of a warp"),
    ],
)
@pytest.mark.cpu("a GPU does not detect it, or does not say what was wrong")
def test_fault(at_capability, text, message):
    at_capability((8, 0), check_fault, text, message)
