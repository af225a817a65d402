/* f16 and bf16 values to and from float, in vectorizable steps. A half is its 16 bits in the low end of a
 * word. */
#ifndef DEVICE_EXEC_NUMBERS_HALF_H
#define DEVICE_EXEC_NUMBERS_HALF_H

#include "exec/numbers/float.h"

#define HALF_NAN 0x7fffu /* the NaN of every f16 and bf16 result */
#define HALF_SIGN 0x8000u
#define F16_INF 0x7c00u
#define F16_MAX 0x7bffu /* the largest finite number */
#define BF16_INF 0x7f80u
/* Bits of a float, without its sign. */
#define F32_F16_MIN_NORMAL 0x38800000u /* 2^-14: f16 numbers below it are subnormal */
#define F32_F16_OVERFLOW 0x47800000u   /* 2^16: above every f16 number */
/* A float's normal number becomes one of f16 by a shift by F16_SHIFT, after its exponent has been rebased. */
enum { F16_SHIFT = 23 - 10 };
#define F32_F16_REBASE 0x38000000u /* the difference of the exponents' biases, 127 - 15, in a float's bits */
/* Tensor copies fill the elements that are out of bounds with a NaN that only they use, as an H100 does. In
 * fma.oob a product with that NaN is 0, whatever its sign (the negative one was seen on an H200). */
#define HALF_OUT_OF_BOUNDS 0x7ff7u
#define HALF_IS_OUT_OF_BOUNDS(bits) (((bits) & 0x7fffu) == HALF_OUT_OF_BOUNDS)

LANE_FN f32 bf16_to_f32(b32 h) { return f32_from(h << 16); }

/* The exponent is rebased by a product with 2^112, which is exact and makes subnormal numbers normal. */
LANE_FN f32 f16_to_f32(b32 h)
{
    b32 magnitude = (h & 0x7fff) << F16_SHIFT;
    b32 scaled = f32_bits(f32_from(magnitude) * 0x1p112f);
    b32 special = magnitude | F32_INF; /* infinity or a NaN */
    return f32_from((h & HALF_SIGN) << 16 | (magnitude >= F16_INF << F16_SHIFT ? special : scaled));
}

/* Rounds to nearest even. A subnormal result is rounded by adding 0.5: the last bit of a float from 0.5
 * to 1 is worth 2^-24, as is that of a subnormal f16 number. */
LANE_FN b32 f32_to_f16(f32 f)
{
    b32 bits = f32_bits(f), x = bits & ~F32_SIGN;
    b32 normal = (x - F32_F16_REBASE + 0xfff + ((x >> F16_SHIFT) & 1)) >> F16_SHIFT;
    b32 subnormal = f32_bits(f32_from(x) + 0.5f) - 0x3f000000; /* the bits of 0.5 */
    b32 r = x < F32_F16_MIN_NORMAL ? subnormal : x >= F32_F16_OVERFLOW ? F16_INF : normal;
    return x > F32_INF ? HALF_NAN : r | (bits >> 16 & HALF_SIGN);
}

/* Rounds to nearest even. */
LANE_FN b32 f32_to_bf16(f32 f)
{
    b32 bits = f32_bits(f);
    return (bits & ~F32_SIGN) > F32_INF ? HALF_NAN : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* The second step of a rounding whose first step cut the magnitude off: adds 1 to its last bit where the
 * rounding mode of `mods` (MODS_RN, RZ, RM or RP) goes away from zero. cut: the magnitude's bits that are
 * kept; rest: those that were cut off, 0 if the value is exact; nearest_is_away: whether the next
 * magnitude is nearer than cut, or as near and even; sign: not 0 for a negative value. */
LANE_FN b32 round_magnitude(b32 cut, b32 rest, b32 nearest_is_away, b32 sign, unsigned mods)
{
    const unsigned mode = mods & MODS_ROUND;
    const b32 when_negative = mode == MODS_RM, when_positive = mode == MODS_RP, to_nearest = mode == MODS_RN;
    b32 away = (sign ? when_negative : when_positive) | (to_nearest & nearest_is_away);
    return cut + (rest != 0 ? away : 0);
}

/* Rounds as MODS_ROUND of `mods` says. A result that is subnormal is the float's fraction, with its leading 1
 * unless the float is subnormal itself, shifted down to units of 2^-24. */
LANE_FN b32 f32_to_f16_round(f32 f, unsigned mods)
{
    b32 bits = f32_bits(f), x = bits & ~F32_SIGN, sign = bits >> 16 & HALF_SIGN, exponent = x >> 23;
    const bool subnormal = x < F32_F16_MIN_NORMAL;
    b32 shift = subnormal ? 126 - exponent : F16_SHIFT; /* 126 = 127 + 23 - 24: bias, fraction, unit */
    b32 mantissa = subnormal ? (x & F32_FRACTION) | (exponent ? F32_MIN_NORMAL : 0) : x - F32_F16_REBASE;
    shift = shift > 31 ? 31 : shift;
    b32 rest = mantissa & ((1u << shift) - 1), cut = mantissa >> shift, half = 1u << (shift - 1);
    const bool too_large = x >= F32_F16_OVERFLOW; /* then it is above F16_MAX by more than half a unit */
    cut = too_large ? F16_MAX : cut;
    rest = too_large ? half + 1 : rest;
    b32 nearest_is_away = rest + (cut & 1) > half;
    b32 r = x >= F32_INF ? F16_INF : round_magnitude(cut, rest, nearest_is_away, sign, mods);
    return x > F32_INF ? HALF_NAN : r | sign;
}

/* Rounds as MODS_ROUND of `mods` says. */
LANE_FN b32 f32_to_bf16_round(f32 f, unsigned mods)
{
    b32 bits = f32_bits(f), sign = bits >> 16 & HALF_SIGN, x = bits & ~F32_SIGN;
    b32 rest = x & 0xffff, cut = x >> 16;
    b32 nearest_is_away = rest + (cut & 1) > 0x8000; /* half of the last bit that is kept */
    return x > F32_INF ? HALF_NAN : round_magnitude(cut, rest, nearest_is_away, sign, mods) | sign;
}

/* The exact a * b + c of f16 values, rounded to odd. Their product is exact in float. */
LANE_FN f32 fma_odd_f16(f32 a, f32 b, f32 c)
{
    f32 p = a * b, s = p + c, rest = s - p;
    return make_odd_f32(s, (p - (s - rest)) + (c - rest));
}

/* a * b + c rounded once. */
LANE_FN b32 fma_to_f16(f32 a, f32 b, f32 c) { return f32_to_f16(fma_odd_f16(a, b, c)); }
LANE_FN b32 fma_to_bf16(f32 a, f32 b, f32 c) { return f32_to_bf16(f32_odd(fma_odd(a, b, c))); }

#endif
