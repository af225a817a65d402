"""The operands of the lanes: special values first, in all pairs, then random bits and rounding boundaries.

A kind says which values an operand has (f32, shift, lane ...) and which register holds it. The values depend
only on kind, operand and lane, and come from a generator in this file, because recorded results depend on
them.
"""

from functools import cache

import numpy as np

LANES = 4096
ALL_16_BIT = 65536  # lanes of a form with one operand of 16 bits: each value once

# kind: bits of its register (1: a predicate)
WIDTH = {
    "pred": 1,
    **dict.fromkeys(["b8", "u8", "s8", "b16", "u16", "s16", "f16", "bf16", "fp8x2"], 16),
    **dict.fromkeys(["b32", "u32", "s32", "f32", "f16x2", "bf16x2", "u16x2", "s16x2", "tf32"], 32),
    **dict.fromkeys(["shift", "lane", "mode", "bit"], 32),
    **dict.fromkeys(["b64", "u64", "s64", "f64"], 64),
    "b128": 128,
}
# kind: exponent bits, fraction bits
FLOATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}

INTEGERS = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    63,
    64,
    0x7F,
    0x80,
    0xFF,
    0x100,
    0x7FFF,
    0x8000,
    0x8001,
    0xFFFF,
    0x10000,
    0x55555555,
    0x7FFFFFFF,
    0x80000000,
    0x80000001,
    0xFFFFFF80,
    0xFFFF8000,
    0xFFFF7FFF,
    0xFFFFFFFF,
    0x100000000,
    0x7FFFFFFFFFFFFFFF,
    0x8000000000000000,
    0x8000000000000001,
    0xFFFFFFFF00000000,
    0xFFFFFFFF7FFFFFFF,
    0xFFFFFFFF80000000,
    0xFFFFFFFFFFFF8000,
    0xFFFFFFFFFFFFFF80,
    0xFFFFFFFFFFFFFFF9,
    0xFFFFFFFFFFFFFFFE,
    0xFFFFFFFFFFFFFFFF,
]


def mix(x):
    """A good hash of 64 bits (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        x = (x + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def random_bits(salt, lanes):
    """64 random bits for each lane, which depend on the salt."""
    return mix(mix(np.arange(lanes, dtype=np.uint64)) ^ np.uint64(salt * 0x100000001))


def special_floats(kind):
    """Zeros, infinities, NaNs of several payloads, subnormals, extremes, ones and their neighbors, halves,
    and the bounds of the integer types and of the narrower float types with their neighbors."""
    exponent, fraction = FLOATS[kind]
    bias, top = (1 << exponent - 1) - 1, (1 << exponent) - 1
    one, infinity, sign = bias << fraction, top << fraction, 1 << exponent + fraction
    quiet = 1 << fraction - 1

    def power(n):
        return min(max(bias + n, 0), top - 1) << fraction

    values = [
        0,
        1,
        2,
        quiet,
        (1 << fraction) - 1,
        1 << fraction,
        (1 << fraction) + 1,
        one - 1,
        one,
        one + 1,
        one | quiet,
        power(-1),
        power(1),
        power(1) + quiet // 2,
        infinity - 1,
        infinity,
        infinity | quiet,
        infinity | quiet | 3,
        infinity | 1,
        (infinity | quiet) + quiet - 1,
        power(fraction),
        power(fraction + 1),
        power(fraction - 1) + 1,
    ]
    values += [
        power(7) - 1,
        power(8),
        power(15),
        power(16) - 1,
        power(31),
        power(31) - 1,
        power(32),
        power(63),
        power(64),
        power(-14) - 1,
        power(-25),
        power(-126),
        power(-149),
        power(-150) + 1,
    ]
    values = list(dict.fromkeys(values))
    negative = [
        0,
        1,
        (1 << fraction) - 1,
        1 << fraction,
        one,
        one + 1,
        power(-1),
        infinity - 1,
        infinity,
        infinity | quiet,
        infinity | 1,
        one | quiet,
        power(31),
        power(31) + 1,
        power(63),
        power(8),
    ]
    return values + [sign | v for v in dict.fromkeys(negative)]


def pick(table, operand, lane):
    """A value of the table for each lane. The first two operands (0 and 1) have all pairs of values in the
    first len(table) ** 2 lanes; other operands have random ones."""
    table, count = np.array(table, np.uint64), len(table)
    if operand == 0:
        return table[lane % count]
    if operand == 1:
        return table[lane // count % count]
    return table[mix(np.uint64(8) * lane.astype(np.uint64) + np.uint64(operand)) % np.uint64(count)]


def random_floats(kind, operand, lanes):
    """A mix of random bits, values near each other, and rounding boundaries at every bit."""
    exponent, fraction = FLOATS[kind]
    r, q = random_bits(operand, lanes), random_bits(operand + 16, lanes)  # r: digits, q: choices
    width = np.uint64(exponent + fraction + 1)
    bits = r & np.uint64((1 << int(width)) - 1)
    near = np.uint64((1 << exponent - 1) - 1 - 8) + (q >> np.uint64(8)) % np.uint64(17)
    low = np.uint64((1 << fraction) - 1)
    sign = (q >> np.uint64(40) & np.uint64(1)) << (width - np.uint64(1))
    close = sign | near << np.uint64(fraction) | (bits & low)
    # A tie at one bit of the fraction, or the value next to it.
    cut = np.uint64(1) << ((q >> np.uint64(16)) % np.uint64(fraction + 1))
    tie = (close & ~(cut * np.uint64(2) - np.uint64(1))) | cut
    with np.errstate(over="ignore"):
        tie = tie + (q >> np.uint64(32)) % np.uint64(3) - np.uint64(1)
    # Few bits of fraction: products and sums that hit ties exactly.
    short = close & ~np.uint64((1 << fraction - fraction // 3) - 1)
    # Ties over the range of exponents of a narrower type, for roundings to its fraction.
    spread = np.uint64((1 << exponent - 1) - 1) + (q >> np.uint64(8)) % np.uint64(80) - np.uint64(40)
    spread = np.minimum(spread, np.uint64((1 << exponent) - 1))
    wide = sign | (spread << np.uint64(fraction) & np.uint64(((1 << exponent) - 1) << fraction)) | (tie & low)
    choice = (q & np.uint64(7)).astype(int)
    return np.choose(choice, [bits, bits, close, close, tie, wide, short, wide])


def float_values(kind, operand, lanes):
    """Special values in the first lanes (at most three quarters of all, see pick()), then random ones."""
    special = special_floats(kind)
    lane = np.arange(lanes)
    values = random_floats(kind, operand, lanes)
    few = min(len(special) ** 2, lanes * 3 // 4)
    values[:few] = pick(special, operand, lane[:few])
    return values


def integer_values(bits, operand, lanes):
    """Like float_values() for integers; random ones have any magnitude, half of them few significant bits."""
    special = list(dict.fromkeys(v & (1 << bits) - 1 for v in INTEGERS))
    r, q = random_bits(operand + 32, lanes), random_bits(operand + 48, lanes)
    shift = q >> np.uint64(8) & np.uint64(63)
    signed = (r.view(np.int64) >> shift.view(np.int64)).view(np.uint64)
    values = np.choose((q & np.uint64(3)).astype(int), [signed, r >> shift, r, r])
    few = min(len(special) ** 2, lanes * 3 // 4)
    values[:few] = pick(special, operand, np.arange(few))
    return values


def shift_values(operand, lanes):
    """Counts below 80; in one lane of eight any 64 bits."""
    r, q = random_bits(operand + 64, lanes), random_bits(operand + 80, lanes)
    return np.where(q & np.uint64(7) == 0, r, r % np.uint64(80))


def words(kind, operand, lanes):
    """The operand's bits in each lane, in uint64; operand: 0 to 3 for a, b, c, e."""
    if kind in FLOATS:
        return float_values(kind, operand, lanes)
    if kind[:-2] in ("f16", "bf16") and kind.endswith("x2"):
        low = float_values(kind[:-2], operand, lanes)
        return low | np.roll(float_values(kind[:-2], operand, lanes), 1234 * (operand + 1)) << np.uint64(16)
    if kind in ("u16x2", "s16x2"):
        low = integer_values(16, operand, lanes) & np.uint64(0xFFFF)
        return low | np.roll(low, 1234 * (operand + 1)) << np.uint64(16)
    if kind == "tf32":
        return float_values("f32", operand, lanes)
    if kind == "shift":
        return shift_values(operand, lanes)
    if kind == "lane":
        return random_bits(operand + 96, lanes) % np.uint64(32)
    if kind == "mode":
        return random_bits(operand + 96, lanes) % np.uint64(4)
    if kind in ("pred", "bit"):
        return random_bits(operand + 112, lanes) & np.uint64(1)
    return integer_values(min(WIDTH[kind], 64), operand, lanes)


@cache
def values(kind, operand, lanes):
    """The operand of every lane, as the array that a kernel loads from."""
    if WIDTH[kind] == 16 and lanes == ALL_16_BIT and operand == 0:
        return np.arange(ALL_16_BIT, dtype=np.uint16)
    if kind == "b128":
        return np.stack([words("b64", operand, lanes), words("b64", operand + 4, lanes)], 1)
    return words(kind, operand, lanes).astype(
        {1: np.uint32, 16: np.uint16, 32: np.uint32, 64: np.uint64}[WIDTH[kind]]
    )


def product_canceled(kind, lanes):
    """The third operands for fma: in half of the lanes about minus the product of the other two."""
    a, b, c = (values(kind, operand, lanes) for operand in range(3))
    number = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind]
    with np.errstate(all="ignore"):
        product = (-(a.view(number) * b.view(number))).view(c.dtype)
    r = random_bits(7, lanes)
    product = product ^ (r >> np.uint64(8) & np.uint64(3)).astype(c.dtype)
    nan = np.isnan(product.view(number))
    return np.where((r & np.uint64(1) == 0) & ~nan, product, c)
