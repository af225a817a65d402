"""Cases of wgmma: kernels for its forms, random matrices and descriptors, and what a GPU gave for them.

A form is run by many blocks of 128 threads, each with its own matrices. tests/ptx/expected/wgmma.npz has, for
each form, a digest of the inputs and one of each block's results.
"""

import hashlib
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import pycuda.driver as drv

RECORD = Path(__file__).parent.parent / "expected" / "wgmma.npz"
THREADS, ROWS, A_REGISTERS = 128, 64, 4
# Bits of the exponent, of the fraction, of an element, and below the fraction, which are ignored.
FLOATS = {
    "f16": (5, 10, 16, 0),
    "bf16": (8, 7, 16, 0),
    "tf32": (8, 10, 32, 13),
    "e4m3": (4, 3, 8, 0),
    "e5m2": (5, 2, 8, 0),
    "f32": (8, 23, 32, 0),
}
BITS = {name: bits for name, (_, _, bits, _) in FLOATS.items()} | {"s8": 8, "u8": 8, "b1": 1, "s32": 32}
A_ROW_BITS = 256  # stored bits of a row of a
# Metadata of four units: which two of them are stored. Of tf32 numbers one of two.
NIBBLES = {32: (0b1110, 0b0100)}
OTHER_NIBBLES = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110)
PROFILES = "near wide full special tiny mid ones all cancel sparse0 ladder huge".split()
C_PROFILES = "near wide full special tiny mid zero".split()

KERNEL = """.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 pi, .param .u64 pa, .param .u64 pd, .param .u64 pw, .param .u64 pe)
.maxntid 128, 1, 1
{{
.shared .align 1024 .b8 sm[{image}];
.reg .b32 a<4>; .reg .{type} d<{registers}>; .reg .b32 e, t, i, b, s, v, x; .reg .b64 w0, w1, w2, q, o, sb;
.reg .pred p, g;
mov.u32 t, %tid.x; mov.u32 b, %ctaid.x; mov.u32 s, sm; mul.lo.u32 i, t, 4;
ld.param.u64 q, [pi]; mul.wide.u32 o, b, {image}; add.u64 q, q, o;
COPY:
setp.ge.u32 g, i, {image}; @g bra COPIED;
cvt.u64.u32 o, i; add.u64 o, o, q; ld.global.b32 v, [o]; add.u32 x, s, i; st.shared.b32 [x], v;
add.u32 i, i, 512; bra COPY;
COPIED:
fence.proxy.async;
bar.sync 0;
mad.lo.u32 i, b, 128, t;
ld.param.u64 q, [pa]; mul.wide.u32 o, i, 16; add.u64 q, q, o; ld.global.v4.b32 {{a0,a1,a2,a3}}, [q];
ld.param.u64 q, [pe]; mul.wide.u32 o, i, 4; add.u64 q, q, o; ld.global.b32 e, [q];
ld.param.u64 q, [pw]; mul.wide.u32 o, b, 32; add.u64 q, q, o;
ld.global.b64 w0, [q]; ld.global.b64 w1, [q+8]; ld.global.b64 w2, [q+16]; setp.ne.u64 p, w2, 0;
cvt.u64.u32 sb, s; shr.u64 sb, sb, 4; add.u64 w0, w0, sb; add.u64 w1, w1, sb;
ld.param.u64 q, [pd]; mul.wide.u32 o, i, {bytes}; add.u64 q, q, o;
{loads}
wgmma.fence.sync.aligned;
{statement}
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{stores}
ret;
}}
"""


@dataclass(frozen=True)
class Form:
    """One form of wgmma.mma_async, and how its inputs are made."""

    name: str
    n: int
    d: str
    a: str
    b: str
    source: str = "r"  # a is in registers (r) or in shared memory (s)
    sparse: bool = False
    transposed: tuple = (0, 0)  # a, b
    signs: tuple = (1, 1)  # a, b
    saturated: bool = False
    selector: int = 0
    blocks: int = 36
    shared: int = 0  # bytes of shared memory with random elements, which descriptors point into; 0: just b

    @property
    def bits(self):
        return BITS[self.a]

    @property
    def stored(self):
        """Stored elements of a row of a."""
        return A_ROW_BITS // self.bits

    @property
    def k(self):
        return self.stored * (2 if self.sparse else 1)

    @property
    def registers(self):
        """Registers of d in a thread."""
        return self.n * BITS[self.d] // 64

    @property
    def image(self):
        """Bytes of shared memory."""
        return self.shared or self.k * self.bits // 8 * self.n

    def statement(self):
        words = ["wgmma.mma_async"] + ["sp"] * self.sparse + ["sync.aligned", f"m64n{self.n}k{self.k}"]
        words += ["satfinite"] * self.saturated + [self.d, self.a, self.b] + ["and.popc"] * (self.a == "b1")
        a = vector("a", A_REGISTERS) if self.source == "r" else "w0"
        operands = [vector("d", self.registers), a, "w1"]
        operands += ["e", self.selector] * self.sparse + ["p"]
        if self.d != "s32":
            operands += self.signs
        if self.bits == 16:
            operands += self.transposed[self.source == "r" :]
        return f"{'.'.join(words)} {', '.join(map(str, operands))};"

    def kernel(self):
        """The text of a kernel k(image, a, d, descriptors, metadata)."""
        kind = "f32" if self.d == "f32" else "b32"
        places = [(r, f"[q+{4 * r}]") for r in range(self.registers)]
        return KERNEL.format(
            image=self.image,
            type=kind,
            registers=self.registers,
            bytes=4 * self.registers,
            statement=self.statement(),
            loads="\n".join(f"ld.global.{kind} d{r}, {place};" for r, place in places),
            stores="\n".join(f"st.global.{kind} {place}, d{r};" for r, place in places),
        )


def vector(letter, count):
    return "{" + ",".join(f"{letter}{r}" for r in range(count)) + "}"


def descriptor(start, leading, stride, base=0, mode=0):
    """A matrix in shared memory: bytes; mode: 0 to 3 for no swizzling, 128, 64, 32 bytes."""
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | mode << 62


# --- random numbers, as the words that hold them ---


def encoded(kind, sign, exponent, fraction):
    e, m, _, shift = FLOATS[kind]
    return (((sign << e | exponent) << m | fraction) << shift).astype(np.uint32)


def exponents(random, profile, size, bias, top):
    spreads = {"near": (2, 3), "wide": (12, 13), "mid": (7, 8), "all": (9, 10)}
    if profile in spreads:
        low, high = spreads[profile]
        return bias + random.randint(-low, high, size)
    if profile == "tiny":
        return random.randint(0, 3, size)
    return top - random.randint(0, 3, size) if profile == "huge" else random.randint(0, top + 1, size)


def floats(random, kind, size, profile):
    e, m, bits, _ = FLOATS[kind]
    bias, top = 2 ** (e - 1) - 1, 2**e - (1 if kind == "e4m3" else 2)
    sign, fraction = random.randint(0, 2, size), random.randint(0, 2**m, size)
    if profile == "ones":
        exponent = bias + random.randint(-13, 14, size)
        fraction = fraction * (random.randint(0, 4, size) == 0)
    elif profile == "all":
        fraction = fraction | (2**m - 1) * random.randint(0, 2, size)
        exponent = exponents(random, profile, size, bias, top)
    else:
        exponent = exponents(random, profile, size, bias, top)
    exponent = np.clip(exponent, 0, top)
    if kind == "e4m3":
        fraction = np.where((exponent == 15) & (fraction == 7), 6, fraction)
    x = encoded(kind, sign, exponent, fraction)
    if profile != "special":
        return x
    # Infinity (twice), NaN, the largest number, zero and the smallest one, with both signs.
    parts = [(top + 1, 0), (top + 1, 0), (top + 1, 1), (top, 2**m - 1), (0, 0), (0, 1)]
    specials = [int(encoded(kind, np.array(s), np.array(p), np.array(q))) for s in (0, 1) for p, q in parts]
    if kind == "e4m3":
        specials = [0x7F, 0xFF, 0x7E, 0xFE, 0, 0x80, 1, 0x81]
    chosen = random.randint(0, 100, size) < 2
    return np.where(chosen, np.array(specials, np.uint32)[random.randint(0, len(specials), size)], x)


def whole_matrices(random, f):
    top = 2 if f.bits == 1 else 256
    a = random.randint(0, top, (ROWS, f.stored)).astype(np.uint32)
    b = random.randint(0, top, (f.k, f.n)).astype(np.uint32)
    if random.randint(0, 2):
        return a, b, random.randint(0, 2**32, (ROWS, f.n), np.uint32)
    return a, b, random.randint(0, 2, (ROWS, f.n)).astype(np.uint32) + np.uint32(0x7FFFFF00)


def with_cancellation(random, f, a, b):
    """Neighbors along k cancel each other, but for the last bit of some."""
    a[:, 1::2] = a[:, 0::2]
    changed = random.randint(0, 4, b[1::2].shape) == 0
    sign, last = np.uint32(1 << BITS[f.b] - 1), np.uint32(1 << FLOATS[f.b][3])
    b[1::2] = b[0::2] ^ sign ^ (last * changed).astype(np.uint32)


def with_ladder(random, f, a):
    """One element of a row is larger than the others."""
    e, m, _, shift = FLOATS[f.a]
    random.randint(0, 14, a.shape)
    exponent = a >> (m + shift) & (2**e - 1)
    less = np.minimum(exponent, random.randint(0, 14, a.shape)).astype(np.int64)
    large = np.arange(ROWS), random.randint(0, f.stored, ROWS)
    kept = a[large]
    a[:] = (a.astype(np.int64) - (less << (m + shift))).astype(np.uint32)
    a[large] = kept


def matrices(random, f, profile):
    """The words of the elements of a (as stored), b and c."""
    if f.d == "s32":
        return whole_matrices(random, f)
    like = {"cancel": "near", "sparse0": "mid", "ladder": "near"}.get(profile, profile)
    a, b = floats(random, f.a, (ROWS, f.stored), like), floats(random, f.b, (f.k, f.n), like)
    if profile == "cancel":
        with_cancellation(random, f, a, b)
    elif profile == "sparse0":
        a[random.randint(0, 8, a.shape) > 0] = 0
    elif profile == "ladder":
        with_ladder(random, f, a)
    of_c = C_PROFILES[random.randint(0, len(C_PROFILES))]
    if of_c == "zero":
        return a, b, np.zeros((ROWS, f.n), np.uint32)
    return a, b, floats(random, f.d, (ROWS, f.n), of_c)


def metadata(random, f):
    nibbles = np.array(NIBBLES.get(f.bits, OTHER_NIBBLES), np.uint32)
    chosen = nibbles[random.randint(0, len(nibbles), (THREADS, 8))]
    return np.bitwise_or.reduce(chosen << (4 * np.arange(8, dtype=np.uint32)), 1).astype(np.uint32)


# --- fragments (PTX manual, 9.7.15.5.1) ---


def packed(elements, bits):
    """The words of rows of elements, the first one in the low bits."""
    per = 32 // bits
    parts = elements.reshape(*elements.shape[:-1], -1, per).astype(np.uint32)
    return np.bitwise_or.reduce(parts << (np.arange(per, dtype=np.uint32) * np.uint32(bits)), -1)


def threads():
    """The first row of each thread and its place among four."""
    t = np.arange(THREADS)[:, None]
    return t // 32 * 16 + t % 32 // 4, t % 4


def registers_of_a(f, a):
    row, place = threads()
    r = np.arange(A_REGISTERS)[None]
    return packed(a, f.bits)[row + 8 * (r % 2), place + 4 * (r // 2)]


def registers_of_d(f, d):
    row, place = threads()
    i = np.arange(f.n // 2)[None]
    return packed(d[row + 8 * (i // 2 % 2), place * 2 + i % 2 + 8 * (i // 4)], BITS[f.d])


# --- inputs of a form ---


def small_wholes(random, f, size):
    """Words of random whole numbers, whose products are exact."""
    numbers = random.randint(-8, 9, size)
    if f.a == "f16":
        return numbers.astype(np.float16).view(np.uint16)
    words = numbers.astype(np.float32).view(np.uint32)
    return words if f.a == "tf32" else (words >> 16).astype(np.uint16)


def random_descriptor(random, block):
    """Of a matrix in the first 20 to 40 KiB, mostly in one of the layouts that programs use."""
    mode = block % 4 if block % 3 else random.randint(0, 4)
    layout = random.randint(0, 3)
    step = (8 * (16, 128, 64, 32)[mode], 128, 16)[layout]
    leading, stride = (step * random.randint(1, max(2, 1024 // step)) for _ in range(2))
    start = (lambda: random.randint(0, 4) * 1024, lambda: 128 * random.randint(0, 32), None)[layout]
    start = start() if start else 16 * random.randint(0, 256)
    base = random.randint(0, 8) if random.randint(0, 3) == 0 else 0
    return descriptor(start, leading, stride, base, mode)


def layout_block(random, f, block):
    """image, registers of a, descriptors of a and b"""
    if f.bits >= 16:
        image = small_wholes(random, f, f.image * 8 // f.bits).view(np.uint8)
    else:
        image = random.randint(0, 256, f.image).astype(np.uint8)
    pair = [random_descriptor(random, block) for _ in range(2)]
    a = small_wholes(random, f, (ROWS, f.stored)) if f.source == "r" else np.zeros((ROWS, f.stored))
    return image, registers_of_a(f, a.astype(np.uint32)), pair


def image_of_b(f, b):
    """b in shared memory, not swizzled: groups of eight columns, pieces of 16 bytes along k."""
    pieces = packed(np.ascontiguousarray(b.T), f.bits).reshape(f.n // 8, 8, -1, 4)
    return np.ascontiguousarray(pieces.transpose(0, 2, 1, 3)).view(np.uint8).ravel(), pieces.shape[2]


def inputs(f):
    """The kernel's arrays: image, a, d, descriptors (with the scale of d as the third word), metadata."""
    random = np.random.RandomState(zlib.crc32(f.name.encode()) & 0x7FFFFFFF)
    image, a = np.zeros((f.blocks, f.image), np.uint8), np.zeros((f.blocks, THREADS, 4), np.uint32)
    d, words = np.zeros((f.blocks, THREADS, f.registers), np.uint32), np.zeros((f.blocks, 4), np.uint64)
    chosen = np.zeros((f.blocks, THREADS), np.uint32)
    for x in range(f.blocks):
        chosen[x] = metadata(random, f)
        if f.shared:
            image[x], a[x], words[x, :2] = layout_block(random, f, x)
            continue
        of_a, of_b, of_c = matrices(random, f, PROFILES[x % len(PROFILES)])
        a[x], d[x] = registers_of_a(f, of_a), registers_of_d(f, of_c)
        image[x], pieces = image_of_b(f, of_b)
        words[x] = 0, descriptor(0, 128, 128 * pieces), random.randint(0, 6) != 0, 0
    return image, a, d, words, chosen


# --- the forms ---

HALVES = [("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32")]
BYTES = [(d, a, b) for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
WHOLES = [("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8")]
SHARED = 32768


@cache
def all_forms():
    """{name: form}"""
    forms = []
    for sparse in (False, True):
        start = "sp_" if sparse else ""
        forms += [Form(f"{start}num_{d}_{a}", 8, d, a, b, sparse=sparse) for d, a, b in HALVES]
        forms += [Form(f"{start}num_{d}_{a}_{b}", 8, d, a, b, sparse=sparse) for d, a, b in BYTES]
        forms += [
            Form(f"{start}num_{a}_{b}_{'sat' * sat}", 8, d, a, b, sparse=sparse, saturated=sat, blocks=12)
            for d, a, b in WHOLES
            for sat in (False, True)
        ]
    forms.append(Form("num_b1", 8, "s32", "b1", "b1", blocks=12))
    for signs in ((-1, 1), (1, -1), (-1, -1)):
        text = "_".join(map(str, signs))
        forms.append(Form(f"scale_{text}", 8, "f32", "f16", "f16", signs=signs, blocks=24))
        forms.append(Form(f"scale8_{text}", 8, "f16", "e5m2", "e4m3", signs=signs, blocks=24))
    for d, a in (("f32", "f16"), ("f32", "tf32"), ("s32", "s8"), ("f32", "e4m3")):
        forms.append(Form(f"sel1_{a}", 8, d, a, a, sparse=True, selector=int(BITS[a] != 8), blocks=24))
    return {f.name: f for f in forms + layout_forms() + large_forms()}


def layout_forms():
    forms = []
    for sparse in (False, True):
        start = "sp_" if sparse else ""
        for x, y in ((0, 0), (0, 1), (1, 0), (1, 1)):
            more = {"source": "s", "sparse": sparse, "transposed": (x, y)}
            name = f"sp_lay_f16_{x}{y}" if sparse else f"lay_f16_24_{x}{y}"
            forms.append(Form(name, 24, "f32", "f16", "f16", blocks=32, shared=SHARED, **more))
            if not sparse:
                name = f"lay_f16_256_{x}{y}"
                forms.append(Form(name, 256, "f32", "f16", "f16", blocks=6, shared=45056, **more))
        for d, a, b in (("s32", "s8", "u8"), ("f32", "tf32", "tf32"), ("s32", "b1", "b1")):
            if sparse and a == "b1":
                continue
            more = {"source": "s", "sparse": sparse, "blocks": 32, "shared": SHARED}
            forms.append(Form(f"{start}lay_{a}", 24, d, a, b, **more))
    for x in (0, 1):
        more = {"blocks": 24, "shared": SHARED, "transposed": (x, x)}
        forms.append(Form(f"lay_f16r_{x}", 16, "f32", "f16", "f16", **more))
        forms.append(Form(f"lay_bf16_{x}", 16, "f32", "bf16", "bf16", source="s", **more))
    return forms


def large_forms():
    return [
        Form("big_f16", 256, "f16", "f16", "f16", blocks=2),
        Form("big_e4m3", 128, "f32", "e4m3", "e4m3", blocks=2),
    ]


# --- the record ---


def digest(array):
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=8).digest()


def digests(arrays):
    """A digest for each array, as a row of numbers."""
    return np.frombuffer(b"".join(map(digest, arrays)), np.uint64)


@cache
def record():
    """{form's name: (digest of its inputs, digests of each block's results)}, recorded on an H200."""
    with np.load(RECORD) as file:
        return {name: (file[name][0], file[name][1:]) for name in file.files}


def input_digest(f, arrays):
    return digests([np.frombuffer(f.kernel().encode() + b"".join(map(digest, arrays)), np.uint8)])[0]


def run(f):
    """The arrays of inputs(), and what the kernel makes of d."""
    arrays = image, a, d, words, chosen = inputs(f)
    function = drv.module_from_buffer(f.kernel().encode()).get_function("k")
    out = d.copy()
    given = drv.In(image), drv.In(a), drv.InOut(out), drv.In(words), drv.In(chosen)
    function(*given, grid=(f.blocks, 1), block=(THREADS, 1, 1))
    return arrays, out


def make_record():
    """Replaces the record by what this device gives."""
    entries = {}
    for name, f in all_forms().items():
        arrays, out = run(f)
        entries[name] = np.append(input_digest(f, arrays), digests(out))
    np.savez_compressed(RECORD, **entries)
