/* Floating-point pieces of lane expressions: PTX's NaN, flushing, a fused multiply-add on every host,
 * rounding to odd. */
#ifndef DEVICE_EXEC_NUMBERS_FLOAT_H
#define DEVICE_EXEC_NUMBERS_FLOAT_H

#include "exec/numbers/lanes.h"

/* Bits of numbers. */
#define F32_NAN 0x7fffffffu /* the NaN of every f32 result */
#define F32_INF 0x7f800000u /* of the bits without sign, those above are NaNs; also the exponent's mask */
#define F32_SIGN 0x80000000u
#define F32_FRACTION 0x007fffffu
#define F32_MIN_NORMAL 0x00800000u
#define F32_ONE 0x3f800000u
#define F64_QUIET 0x0008000000000000u /* set in a NaN that is not signaling */
#define F64_INF 0x7ff0000000000000u
#define F64_SIGN 0x8000000000000000u
#define F64_MIN_NORMAL 0x0010000000000000u

#define ALL_IF(condition) (0u - (b32)(condition)) /* a mask: all bits set, or none */

/* x, where it is a NaN with the bits of F32_NAN. clang takes any NaN for as good as another, so that the
 * comparison would be optimized away: for clang the bits are compared. */
#ifdef __clang__
LANE_FN f32 canonical(f32 x)
{
    b32 bits = f32_bits(x);
    return f32_from((bits & ~F32_SIGN) > F32_INF ? F32_NAN : bits);
}
#else
LANE_FN f32 canonical(f32 x) { return x != x ? f32_from(F32_NAN) : x; }
#endif

/* True when some lane holds a NaN. */
LANE_FN bool row_has_nan(const f32 *r)
{
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(_mm512_load_ps(r), _mm512_load_ps(r + 16), _CMP_UNORD_Q) != 0;
#elif defined(__AVX2__)
    const __m256 x = _mm256_cmp_ps(_mm256_load_ps(r), _mm256_load_ps(r + 8), _CMP_UNORD_Q);
    const __m256 y = _mm256_cmp_ps(_mm256_load_ps(r + 16), _mm256_load_ps(r + 24), _CMP_UNORD_Q);
    return _mm256_movemask_ps(_mm256_or_ps(x, y)) != 0;
#elif defined(__SSE2__)
    __m128 nan = _mm_setzero_ps();
    for (int l = 0; l < WARP_LANES; l += 8)
        nan = _mm_or_ps(nan, _mm_cmpunord_ps(_mm_load_ps(r + l), _mm_load_ps(r + l + 4)));
    return _mm_movemask_ps(nan) != 0;
#else
    bool nan = false;
    for (int l = 0; l < WARP_LANES; l++) nan |= r[l] != r[l];
    return nan;
#endif
}

/* Makes the executing lanes' NaNs canonical, in place. */
static __attribute__((noinline, unused)) void canonical_row(f32 *d, const int32_t *lanes)
{
    LANES_LOOP d[l] = LANE_BLEND(f32, lanes[l], canonical(d[l]), d[l]);
}

/* Subnormal numbers become zeros of the same sign. */
LANE_FN f32 flush(f32 x)
{
    b32 bits = f32_bits(x);
    return f32_from((bits & F32_INF) == 0 ? bits & F32_SIGN : bits);
}

/* flush(r) for a rounded result r. It flushes the smallest normal number, too, when r was subnormal before it
 * was rounded. `scaled` shows that: the same result computed with a factor of 2^60, so that it is rounded as
 * a normal number. (Where the factor makes it overflow, r is not that small.) */
LANE_FN f32 flush_tiny(f32 r, f32 scaled)
{
    b32 bits = f32_bits(r), x = bits & ~F32_SIGN;
    bool tiny = x < F32_MIN_NORMAL || (x == F32_MIN_NORMAL && __builtin_fabsf(scaled) < 0x1p-66f);
    return f32_from(tiny ? bits & F32_SIGN : bits);
}

LANE_FN f32 saturate(f32 x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; } /* NaN and -0 give +0 */

/* Rounds the exact value x + error to odd, where x is that value rounded to nearest. The result is x if error
 * is 0 or NaN, else the number next to the exact value, below or above, whose last bit is 1. Rounding it once
 * more, to fewer bits, gives what rounding the exact value would. */
LANE_FN f64 make_odd(f64 x, f64 error)
{
    b64 bits = f64_bits(x);
    b64 toward = (error > 0) == (x > 0) ? bits + 1 : bits - 1;
    return f64_from((error > 0 || error < 0) && (bits & 1) == 0 ? toward : bits);
}

LANE_FN f32 make_odd_f32(f32 x, f32 error)
{
    b32 bits = f32_bits(x);
    b32 toward = (error > 0) == (x > 0) ? bits + 1 : bits - 1;
    return f32_from((error > 0 || error < 0) && (bits & 1) == 0 ? toward : bits);
}

/* The exact a * b + c of floats (the product of two floats is exact in double), rounded to odd. */
LANE_FN f64 fma_odd(f32 a, f32 b, f32 c)
{
    f64 p = (f64)a * b, s = p + c, rest = s - p;
    return make_odd(s, (p - (s - rest)) + (c - rest)); /* the error of the sum, as in sum_error() of fma.h */
}

#if defined(__FMA__) || defined(__aarch64__)
#define HAVE_FMA 1 /* where it is 0, fma.h computes rows */
LANE_FN f32 fma_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
#else
#define HAVE_FMA 0
LANE_FN f32 fma_f32(f32 a, f32 b, f32 c) { return (f32)fma_odd(a, b, c); }
#endif

/* Double to float rounded to odd. */
LANE_FN f32 f32_odd(f64 x)
{
    f32 r = (f32)x;
    b32 bits = f32_bits(r);
    b32 toward_zero = __builtin_fabs((f64)r) > __builtin_fabs(x) ? bits - 1 : bits;
    return f32_from((f64)r != x && x == x ? toward_zero | 1 : bits);
}

/* Minimum and maximum. Of a number and a NaN the number is the result (with nan_wins() the NaN), and -0
 * is less than +0: equal operands differ at most in their signs, which are combined by | or &. */
LANE_FN f32 min_f32(f32 a, f32 b)
{
    b32 r = f32_bits(a < b ? a : b) | (ALL_IF(a == b) & f32_bits(a));
    return canonical(b != b ? a : f32_from(r));
}
LANE_FN f32 max_f32(f32 a, f32 b)
{
    b32 r = f32_bits(a > b ? a : b) & (ALL_IF(a != b) | f32_bits(a));
    return canonical(b != b ? a : f32_from(r));
}
LANE_FN f32 nan_wins(f32 a, f32 b, f32 r) { return a != a || b != b ? f32_from(F32_NAN) : r; }
LANE_FN f32 fabs_f32(f32 x) { return f32_from(f32_bits(x) & ~F32_SIGN); }

/* .xorsign.abs: r, the minimum or maximum of the magnitudes, with the sign of the product a * b. */
LANE_FN f32 xor_sign(f32 a, f32 b, f32 r)
{
    return canonical(f32_from(f32_bits(r) | ((f32_bits(a) ^ f32_bits(b)) & F32_SIGN)));
}

#endif
