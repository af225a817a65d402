/* f16 and bf16 values to and from float, in vectorizable steps. A half is its 16 bits in the low end of a
 * word. */
#ifndef DEVICE_EXEC_NUMBERS_HALF_H
#define DEVICE_EXEC_NUMBERS_HALF_H

#include "exec/numbers/float.h"

#define HALF_NAN 0x7fffu /* of every f16 and bf16 result */
/* Copies of tensors fill with a NaN of its own what is out of bounds, as an H100 does; in fma.oob a product
 * with it is 0 (of the negative one that was seen on an H200). */
#define HALF_OUT_OF_BOUNDS 0x7ff7u
#define HALF_IS_OUT_OF_BOUNDS(bits) (((bits) & 0x7fffu) == HALF_OUT_OF_BOUNDS)

LANE_FN f32 bf16_to_f32(b32 h) { return f32_from(h << 16); }

/* The exponent is moved by a product with 2^112, which is exact and makes subnormals normal. */
LANE_FN f32 f16_to_f32(b32 h)
{
    b32 magnitude = (h & 0x7fff) << 13;
    b32 scaled = f32_bits(f32_from(magnitude) * 0x1p112f);
    b32 special = magnitude | F32_INF;
    return f32_from((h & 0x8000) << 16 | (magnitude >= 0x0f800000 ? special : scaled));
}

/* To nearest even: subnormal results by an addition that leaves their last bit as the sum's last. */
LANE_FN b32 f32_to_f16(f32 f)
{
    b32 bits = f32_bits(f), x = bits & ~F32_SIGN;
    b32 normal = (x - 0x38000000 + 0xfff + ((x >> 13) & 1)) >> 13;
    b32 tiny = f32_bits(f32_from(x) + 0.5f) - 0x3f000000;
    b32 r = x < 0x38800000 ? tiny : x >= 0x47800000 ? 0x7c00 : normal;
    return x > F32_INF ? HALF_NAN : r | (bits >> 16 & 0x8000);
}

LANE_FN b32 f32_to_bf16(f32 f)
{
    b32 bits = f32_bits(f);
    return (bits & ~F32_SIGN) > F32_INF ? HALF_NAN : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* Directed rounding: the value truncated (inexact when rest is not 0), then a step away from zero where mods
 * asks. */
LANE_FN b32 step_away(b32 cut, b32 rest, b32 odd_above_half, b32 negative, unsigned mods)
{
    const unsigned mode = mods & MODS_ROUND;
    const b32 when_negative = mode == MODS_RM, when_positive = mode == MODS_RP, to_nearest = mode == MODS_RN;
    b32 away = (negative ? when_negative : when_positive) | (to_nearest & odd_above_half);
    return cut + (rest != 0 ? away : 0);
}

LANE_FN b32 f32_to_f16_round(f32 f, unsigned mods)
{
    b32 bits = f32_bits(f), x = bits & ~F32_SIGN, sign = bits >> 16 & 0x8000;
    b32 shift = x < 0x38800000 ? 126 - (x >> 23) : 13;
    b32 mantissa = x < 0x38800000 ? (x & 0x7fffff) | (x >> 23 ? 0x800000 : 0) : x - 0x38000000;
    shift = shift > 31 ? 31 : shift;
    b32 rest = mantissa & ((1u << shift) - 1), cut = mantissa >> shift, half = 1u << (shift - 1);
    const bool too_large = x >= 0x47800000;
    cut = too_large ? 0x7bff : cut;
    rest = too_large ? half + 1 : rest;
    b32 nearest = rest + (cut & 1) > half;
    b32 r = x >= F32_INF ? 0x7c00 : step_away(cut, rest, nearest, sign, mods);
    return x > F32_INF ? HALF_NAN : r | sign;
}

LANE_FN b32 f32_to_bf16_round(f32 f, unsigned mods)
{
    b32 bits = f32_bits(f), sign = bits >> 16 & 0x8000, x = bits & ~F32_SIGN;
    b32 rest = x & 0xffff, cut = x >> 16;
    b32 nearest = rest + (cut & 1) > 0x8000;
    return x > F32_INF ? HALF_NAN : step_away(cut, rest, nearest, sign, mods) | sign;
}

/* The exact a * b + c of f16 values (their product is exact in float), rounded to odd. */
LANE_FN f32 fma_odd_f16(f32 a, f32 b, f32 c)
{
    f32 p = a * b, s = p + c, rest = s - p;
    return make_odd_f32(s, (p - (s - rest)) + (c - rest));
}

/* a * b + c rounded once. */
LANE_FN b32 fma_to_f16(f32 a, f32 b, f32 c) { return f32_to_f16(fma_odd_f16(a, b, c)); }
LANE_FN b32 fma_to_bf16(f32 a, f32 b, f32 c) { return f32_to_bf16(f32_odd(fma_odd(a, b, c))); }

#endif
