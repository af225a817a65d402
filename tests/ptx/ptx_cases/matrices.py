"""Matrices of mma in the layout over lanes and registers of the PTX manual; error bounds of products."""

import numpy as np

import pycuda.driver as drv

# Bits of an element of each type.
BITS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f32": 32,
    "f64": 64,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
    "s32": 32,
    "e4m3": 8,
    "e5m2": 8,
}
# The layouts of the PTX manual (9.7.14.5): which elements of a matrix a lane has in each of its registers, by
# (shape, bits of an element). For a, (row, column) of a register's first element, for b its row, counted from
# the lane's first element.
A_REGISTERS = {
    ("m16n8k8", 16): [(0, 0), (8, 0)],
    ("m16n8k16", 16): [(0, 0), (8, 0), (0, 8), (8, 8)],
    ("m16n8k4", 32): [(0, 0), (8, 0)],
    ("m16n8k8", 32): [(0, 0), (8, 0), (0, 4), (8, 4)],
    ("m8n8k4", 64): [(0, 0)],
    ("m16n8k4", 64): [(0, 0), (8, 0)],
    ("m16n8k8", 64): [(0, 0), (8, 0), (0, 4), (8, 4)],
    ("m16n8k16", 64): [(0, 0), (8, 0), (0, 4), (8, 4), (0, 8), (8, 8), (0, 12), (8, 12)],
    ("m8n8k16", 8): [(0, 0)],
    ("m16n8k16", 8): [(0, 0), (8, 0)],
    ("m16n8k32", 8): [(0, 0), (8, 0), (0, 16), (8, 16)],
    ("m8n8k32", 4): [(0, 0)],
    ("m16n8k32", 4): [(0, 0), (8, 0)],
    ("m16n8k64", 4): [(0, 0), (8, 0), (0, 32), (8, 32)],
    ("m8n8k128", 1): [(0, 0)],
    ("m16n8k128", 1): [(0, 0), (8, 0)],
    ("m16n8k256", 1): [(0, 0), (8, 0), (0, 128), (8, 128)],
}
B_REGISTERS = {
    ("m16n8k8", 16): [0],
    ("m16n8k16", 16): [0, 8],
    ("m16n8k4", 32): [0],
    ("m16n8k8", 32): [0, 4],
    ("m8n8k4", 64): [0],
    ("m16n8k4", 64): [0],
    ("m16n8k8", 64): [0, 4],
    ("m16n8k16", 64): [0, 4, 8, 12],
    ("m8n8k16", 8): [0],
    ("m16n8k16", 8): [0],
    ("m16n8k32", 8): [0, 16],
    ("m8n8k32", 4): [0],
    ("m16n8k32", 4): [0],
    ("m16n8k64", 4): [0, 32],
    ("m8n8k128", 1): [0],
    ("m16n8k128", 1): [0],
    ("m16n8k256", 1): [0, 128],
    # Only for sparse products.
    ("m16n8k32", 16): [0, 8, 16, 24],
    ("m16n8k16", 32): [0, 4, 8, 12],
    ("m16n8k64", 8): [0, 16, 32, 48],
    ("m16n8k128", 4): [0, 32, 64, 96],
}


def size_of(shape):
    """m, n, k"""
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def as_bits(values, kind):
    """Numbers as the bits they are stored in, one in each uint64."""
    if kind == "f64":
        return np.asarray(values, np.float64).view(np.uint64)
    if kind == "f16":
        return np.asarray(values, np.float16).view(np.uint16).astype(np.uint64)
    if kind in ("f32", "tf32", "bf16"):
        words = np.asarray(values, np.float32).view(np.uint32)
        return (words >> (16 if kind == "bf16" else 0)).astype(np.uint64)
    return np.asarray(values).astype(np.int64).view(np.uint64) & np.uint64((1 << BITS[kind]) - 1)


def from_bits(bits, kind):
    """The numbers with these bits; integers as int32."""
    if kind == "f64":
        return bits.view(np.float64)
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16)
    return bits.astype(np.uint32).view(np.float32 if kind == "f32" else np.int32)


def lane_places(shape, bits, role):
    """(rows, columns) of a lane's elements: arrays of (32, registers, elements in a register).

    role: "a", "b", or "c" for the matrix that is added to and the result."""
    packed = max(32 // bits, 1)
    lane = np.arange(32)[:, None, None]
    # The manual's groupID and threadID_in_group; e: elements of a register.
    group, within, e = lane // 4, lane % 4, np.arange(packed)[None, None, :]
    if role == "a":
        start = np.array(A_REGISTERS[shape, bits])[None, :, None, :]
        return group + start[..., 0] + 0 * e, within * packed + e + start[..., 1]
    if role == "b":
        start = np.array(B_REGISTERS[shape, bits])[None, :, None]
        return within * packed + e + start, group + 0 * e + 0 * start
    index = np.arange(4 if shape.startswith("m16") else 2).reshape(1, -1, packed)
    return group + index // 2 * 8, within * 2 + index % 2


def registers(matrix, shape, kind, role):
    """The words that each lane holds of a matrix: (32, registers)."""
    rows, columns = lane_places(shape, BITS[kind], role)
    bits = as_bits(matrix, kind)[rows, columns]
    shifts = np.arange(bits.shape[2], dtype=np.uint64) * np.uint64(BITS[kind])
    words = np.bitwise_or.reduce(bits << shifts, 2)
    return words if kind == "f64" else words.astype(np.uint32)


def matrix_of(words, shape, kind):
    """A matrix of results from the words of the lanes."""
    m, n, _ = size_of(shape)
    rows, columns = lane_places(shape, BITS[kind], "c")
    shifts = np.arange(rows.shape[2], dtype=np.uint64) * np.uint64(BITS[kind] % 64)
    mask = np.uint64((1 << BITS[kind]) - 1)
    values = words.astype(np.uint64)[..., None] >> shifts & mask
    result = np.zeros((m, n), np.uint64)
    result[rows, columns] = values
    return from_bits(result, kind)


KERNEL = """.version {version}
.target sm_{sm}
.address_size 64
.visible .entry k({parameters})
{{
.reg .b64 at, o, l; .reg .b32 t; .reg .pred p;
{declarations}
mov.u32 t, %laneid; cvt.u64.u32 l, t; setp.lt.u32 p, t, 64;
{loads}
{text}
{stores}
ret;
}}
"""


def names(role, count):
    return [f"{role}{r}" for r in range(count)]


def vector(role, count):
    return "{" + ", ".join(names(role, count)) + "}"


def moves(role, count, kind, to_registers):
    """PTX that loads the lane's registers of a matrix from its parameter, or stores them there."""
    width = 64 if kind == "f64" else 32
    text = f"ld.param.u64 at, [p{role}]; mul.lo.u64 o, l, {count * width // 8}; add.u64 at, at, o; "
    for r in range(count):
        reg, place = f"{role}{r}", f"[at+{r * width // 8}]"
        text += (
            f"ld.global.b{width} {reg}, {place}; " if to_registers else f"st.global.b{width} {place}, {reg}; "
        )
    return text


def kernel(text, counts, kinds, sm=80, version="8.5"):
    """A kernel that runs `text` on registers d0.., a0.., b0.., c0.., and e0 for metadata. Its parameters are
    arrays of the registers in this order; counts and kinds are by role."""
    roles = [role for role in "dabce" if role in counts]
    types = {"f64": "f64", "f32": "f32"}
    declared = " ".join(
        f".reg .{types.get(kinds[role], 'b32')} {', '.join(names(role, n))};" for role, n in counts.items()
    )
    source = KERNEL.format(
        sm=sm,
        version=version,
        declarations=declared,
        text=text,
        parameters=", ".join(f".param .u64 p{role}" for role in roles),
        loads="\n".join(moves(role, counts[role], kinds[role], True) for role in roles[1:]),
        stores=moves("d", counts["d"], kinds["d"], False),
    )
    return drv.module_from_buffer(source.encode()).get_function("k")


def bound(a, b, c, kind):
    """The error bound of a product of these: all terms are truncated to 24 bits of the largest one, the sum
    is truncated again, and then it may be rounded to a half."""
    products = np.abs(a[:, :, None] * b[None, :, :])
    largest = np.maximum(products.max(1), np.abs(c))
    exact = np.abs(a @ b + c)
    off = (a.shape[1] + 2) * 2.0**-24 * largest + exact * 2.0**-22
    return off + (exact * 2.0**-11 + 2.0**-25 if kind == "f16" else 0)
