/* The approximate functions as the special function unit of a GPU computes them (MUFU in its assembly), equal
 * in every bit (compute capability 9.0).
 *
 * Each is a quadratic interpolation in fixed point, with a polynomial for each segment of its argument:
 * a + b x + c x^2, truncated, where the square lacks the partial products of its last columns. Doubles hold
 * all of that without rounding. So a function NAME consists of two here: mufu_NAME_place() makes a `place` of
 * the argument, which is the segment's number and 17 bits x, and mufu_NAME_of() makes the result of the
 * argument and the polynomial's value at that place. All but tanh take subnormal arguments for zeros and give
 * no subnormal results; what PTX prescribes for these is done by the callers.
 */
#ifndef DEVICE_EXEC_NUMBERS_MUFU_H
#define DEVICE_EXEC_NUMBERS_MUFU_H

#include "exec/numbers/float.h"
#include "exec/numbers/mufu_table.h"

enum { MUFU_X_BITS = 17 }; /* of a place: x in its low bits, the segment's number above */
#define MUFU_X ((1u << MUFU_X_BITS) - 1)

/* The sum of the products of bits p_i q_j with i + j <= 4, of two numbers of 4 bits whose highest are p_1 and
 * q_1. */
LANE_FN u16 mufu_corner(u16 p, u16 q)
{
    return (u16)((p >> 2) * (q >> 2) + (p >> 3 & q >> 1 & 1) + (p >> 1 & q >> 3 & 1));
}

/* x^2 of 16 bits, x_1 the highest, in units of 2^17: the sum of the products x_i x_j with i + j <= 16, each
 * pair once with twice its weight, and of x_i x_i with i < 8. These are all products within the first eight
 * bits except x_8 x_8, none within the last eight, and a corner of those of a first with a last bit. */
LANE_FN u16 mufu_square(u16 x)
{
    u16 a = x >> 8, b = x & 0xff, squared = (u16)(a * a);
    u16 between = (u16)((a >> 4) * (b >> 4));
    between = (u16)(between + mufu_corner(a >> 4, b & 15) + mufu_corner(a & 15, b >> 4));
    return (u16)((squared >> 1) + between);
}

/* The polynomial's value at a place, from the coefficients a, b, c of its segment and mufu_square() of x. */
LANE_FN f64 mufu_polynomial(const MufuTable *t, s32 a, s32 b, s32 c, b32 place, u16 square)
{
    return (a * t->a_unit + t->bias) + (b * t->b_unit * (s32)(place & MUFU_X) + c * t->c_unit * square);
}

/* Truncated to a float's 24 bits. */
LANE_FN f64 mufu_cut(f64 x) { return f64_from(f64_bits(x) & ~(b64)0x1fffffff); }

/* A positive value times 2^n, truncated; zero below the normal numbers, infinite above them. */
LANE_FN f32 mufu_scaled(f64 value, s32 n)
{
    b32 bits = f32_bits((f32)mufu_cut(value));
    s32 exponent = (s32)(bits >> 23) + n; /* biased: normal numbers have 1 to 254 */
    return f32_from(exponent < 1 ? 0 : exponent > 254 ? F32_INF : bits + ((b32)n << 23));
}

/* The exponent of a float with these bits: n of m 2^n, 1 <= m < 2. */
LANE_FN s32 mufu_exponent(b32 bits) { return (s32)(bits >> 23 & 0xff) - 127; }

LANE_FN b32 mufu_rcp_place(f32 x) { return f32_bits(x) << 1 & 0xffffff; }
LANE_FN f32 mufu_rcp_of(f32 x, f64 value)
{
    b32 bits = f32_bits(x), sign = bits & F32_SIGN, size = bits ^ sign;
    b32 r = f32_bits(mufu_scaled(value, -mufu_exponent(bits)));
    r = size < F32_MIN_NORMAL ? F32_INF : size == F32_INF ? 0 : r;
    return f32_from(size > F32_INF ? F32_NAN : r | sign);
}

/* The root and the reciprocal root of m 2^n are computed for m 2^(n mod 2), then multiplied by 2^k, where
 * k is half of what remains of n, negated for the reciprocal one. mufu_root() puts in the special
 * results: r is the result for a positive normal number, of_zero and of_infinity are bits of the results
 * for those arguments. Negative numbers give NaN; a negative zero gives of_zero with its sign. */
LANE_FN b32 mufu_root_place(f32 x) { return f32_bits(x) & 0xffffff; }
LANE_FN f32 mufu_root(f32 x, f32 r, b32 of_zero, b32 of_infinity)
{
    b32 bits = f32_bits(x);
    b32 special = bits == F32_INF ? of_infinity : F32_NAN;
    r = bits >= F32_INF ? f32_from(special) : r;
    return f32_from((bits & F32_INF) == 0 ? of_zero | (bits & F32_SIGN) : f32_bits(r));
}
LANE_FN f64 mufu_rsqrt_value(b32 place, f64 value)
{
    return place == 0x800000 ? 1.0 : value; /* x is a power of 4: the table gives a little less */
}
LANE_FN f32 mufu_rsqrt_of(f32 x, f64 value)
{
    value = mufu_rsqrt_value(mufu_root_place(x), value);
    return mufu_root(x, mufu_scaled(value, -(mufu_exponent(f32_bits(x)) >> 1)), F32_INF, 0);
}
LANE_FN f32 mufu_sqrt_of(f32 x, f64 value)
{
    return mufu_root(x, mufu_scaled(value, mufu_exponent(f32_bits(x)) >> 1), 0, F32_INF);
}

/* x in fixed point, with 23 bits after the point: 2^x = 2^n 2^f, n the integer part, f the bits after the
 * point. The magnitude of a negative x is complemented, not negated, unless it is an integer: so the unit
 * does. Beyond 255 all results are 0 or infinite. */
LANE_FN s32 mufu_ex2_fixed(f32 x)
{
    const b32 limit = f32_bits(255.0f), bits = f32_bits(x), size = bits & ~F32_SIGN;
    s32 t = (s32)(f32_from(size < limit ? size : limit) * 0x1p23f);
    s32 negative = (s32)bits >> 31, whole = (t & 0x7fffff) == 0;
    return (t ^ negative) + (whole & negative);
}
LANE_FN b32 mufu_ex2_place(f32 x) { return (b32)mufu_ex2_fixed(x) & 0x7fffff; }
LANE_FN f32 mufu_ex2_of(f32 x, f64 value)
{
    f32 r = mufu_scaled(value, mufu_ex2_fixed(x) >> 23);
    return x != x ? f32_from(F32_NAN) : r;
}

/* log2(m 2^n) = log2(m) + n: log2(m) has 36 bits after the point; a negative sum is complemented, not
 * negated. */
LANE_FN b32 mufu_lg2_place(f32 x) { return f32_bits(x) & F32_FRACTION; }
LANE_FN f32 mufu_lg2_of(f32 x, f64 value)
{
    b32 bits = f32_bits(x);
    s32 n = mufu_exponent(bits);
    /* The value has 38 bits after the point. Adding 1.5 2^16 rounds it to 36 bits; 3/8 of the last of
     * these is subtracted before, so that rounding to nearest truncates. */
    f64 sum = ((value - 0x1.8p-38) + 0x1.8p16) - 0x1.8p16 + n;
    f32 r = (f32)mufu_cut(sum + (n < 0 ? 0x1p-36 : 0.0));
    r = bits == F32_ONE ? 0.0f : bits == F32_INF ? x : r;
    r = bits > F32_INF ? f32_from(F32_NAN) : r;
    return (bits & F32_INF) == 0 ? -__builtin_inff() : r;
}

/* Sine and cosine, by turns x / (2 pi). The turns are truncated to a float, and only their first 25 bits
 * after the point are used: two for the quadrant, 23 for the position in it, which is complemented in
 * every second quadrant. first: added to the quadrant, 0 for the sine, 1 for the cosine. */
LANE_FN u32 mufu_turns(f32 x)
{
    f64 turns = mufu_cut(__builtin_fabs((f64)x) * (f64)0x1.45f306p-3f);
    turns -= __builtin_floor(turns);
    return (u32)(s32)((turns < 1 ? turns : 0.0) * 0x1p25); /* infinite ones and NaNs: some number */
}
LANE_FN b32 mufu_sin_place(f32 x, u32 first)
{
    u32 t = mufu_turns(x);
    return (t ^ ALL_IF(((t >> 23) + first) & 1)) & 0x7fffff;
}
LANE_FN f32 mufu_sin_of(f32 x, u32 first, f64 value)
{
    u32 t = mufu_turns(x), quadrant = (t >> 23) + first;
    b32 sign = (quadrant & 2) << 30 ^ (first ? 0 : f32_bits(x) & F32_SIGN);
    b32 r = f32_bits((f32)mufu_cut(value));
    r = (t & 0x7fffff) == 0 && (quadrant & 1) ? F32_ONE : r;
    return f32_from((f32_bits(x) & F32_INF) == F32_INF ? F32_NAN : r ^ sign);
}

/* The result is the argument where that is below 2^-8, and 1 from 8 on. The octaves between have different
 * numbers of segments (mufu_tanh_octave); n is the octave's index. */
LANE_FN b32 mufu_tanh_place(f32 x)
{
    s32 n = mufu_exponent(f32_bits(x)) + 8, octave = mufu_tanh_octave[n < 0 ? 0 : n > 10 ? 10 : n];
    b32 m = (f32_bits(x) & F32_FRACTION) << (octave & 15);
    return ((b32)octave >> 4 << MUFU_X_BITS) + (m >> 6);
}
LANE_FN f32 mufu_tanh_of(f32 x, f64 value)
{
    b32 bits = f32_bits(x), sign = bits & F32_SIGN, size = bits ^ sign;
    s32 n = mufu_exponent(bits) + 8;
    b32 r = f32_bits((f32)mufu_cut(value));
    r = n < 0 ? size : n > 10 ? F32_ONE : r;
    return f32_from(size > F32_INF ? F32_NAN : r | sign);
}

#endif
