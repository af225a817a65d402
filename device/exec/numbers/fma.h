/* a * b + c rounded once, for processors without such an instruction.
 *
 * The product of two floats is exact in double. Its sum with a third, rounded to double and then to float,
 * is correct unless the first rounding makes a tie for the second one. Two signs show where that is
 * possible: the last 29 bits of the double are a one and zeros, or the float is subnormal, so that the tie
 * would be at another bit. So a row is computed by that simple way and tested as a whole for these signs; if
 * it has one, it is computed again, by rounding to odd.
 *
 * There is no type wider than double. The product and the sums of doubles are split into a rounded number
 * and its error, both doubles; the error of the last sum is kept by rounding to odd (Boldo and Melquiond,
 * Emulation of FMA and correctly rounded sums, 2008). Where that would overflow or underflow, the C
 * library's function is called.
 */
#ifndef DEVICE_EXEC_NUMBERS_FMA_H
#define DEVICE_EXEC_NUMBERS_FMA_H

#include "exec/numbers/float.h"

#if HAVE_FMA
#define HAVE_ROUNDING_CHECK 0
LANE_FN f64 fma_plain(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
#else
#include <fenv.h>

/* Computes the row r = a * b + c again, which may have been rounded twice. Where all sums are exact in
 * double, r was rounded once and stays as it is. */
static __attribute__((noinline, unused)) void fma_row_exact(f32 *r, const f32 *a, const f32 *b, const f32 *c)
{
    b64 inexact = 0;
    LANES_LOOP
    {
        const f64 p = (f64)a[l] * b[l], s = p + c[l];
        inexact |= (s - p != c[l] ? 1 : 0) | (s - c[l] != p ? 1 : 0);
    }
    if (inexact) LANES_LOOP r[l] = fma_f32(a[l], b[l], c[l]);
}

#if defined(__SSE4_1__)
#define HAVE_ROUNDING_CHECK 1

/* Collects, from all sums of a row, whether one may have been rounded twice. tie: the minimum of the
 * sums' last 29 bits, shifted left so that they begin at the sign bit: INT32_MIN if one of them is a one
 * and zeros. tiny: the minimum of the results' magnitudes less one, unsigned, so that zeros are the
 * largest; results up to 2^-125 count as tiny. */
typedef struct RoundingCheck {
    __m128i tie, tiny;
} RoundingCheck;
enum { DROPPED_BITS = 52 - 23 }; /* of a double's fraction, when it is rounded to a float */
enum { TINY_BITS = 25 }; /* in `tiny`, of magnitudes up to 2^-125: no higher bit is set */

LANE_FN RoundingCheck rounding_check_new(void)
{
    return (RoundingCheck){_mm_setzero_si128(), _mm_set1_epi32(-1)};
}

LANE_FN bool may_be_rounded_twice(const RoundingCheck *check)
{
    const __m128i ties = _mm_cmpeq_epi32(check->tie, _mm_set1_epi32(INT32_MIN));
    const __m128i tinies = _mm_cmpeq_epi32(_mm_srli_epi32(check->tiny, TINY_BITS), _mm_setzero_si128());
    const __m128i either = _mm_or_si128(ties, tinies);
    return __builtin_expect(!_mm_testz_si128(either, either), 0);
}

/* Two floats as doubles, in one instruction: gcc would use a separate one to load them. */
LANE_FN __m128d widened(const void *p)
{
    typedef struct __attribute__((packed, may_alias)) Two {
        f32 x[2];
    } Two;
    __m128d r;
    __asm__("cvtps2pd %1, %0" : "=x"(r) : "m"(*(const Two *)p));
    return r;
}

/* low, high: two sums each. */
LANE_FN void note_ties(RoundingCheck *check, __m128d low, __m128d high)
{
    const __m128 last = _mm_shuffle_ps(_mm_castpd_ps(low), _mm_castpd_ps(high), _MM_SHUFFLE(2, 0, 2, 0));
    check->tie = _mm_min_epi32(check->tie, _mm_slli_epi32(_mm_castps_si128(last), 32 - DROPPED_BITS));
}
/* r: four results. */
LANE_FN void note_tiny(RoundingCheck *check, __m128 r)
{
    const __m128i bits = _mm_castps_si128(r), size = _mm_add_epi32(bits, bits);
    check->tiny = _mm_min_epu32(check->tiny, _mm_add_epi32(size, _mm_set1_epi32(-1)));
}

/* Rounds four sums (low: the first two, high: the others) to r. Notes in `check` ties, and with checks_tiny
 * tiny results. */
LANE_FN void round_sums(f32 *r, __m128d low, __m128d high, bool checks_tiny, RoundingCheck *check)
{
    const __m128 x = _mm_cvtpd_ps(low), y = _mm_cvtpd_ps(high), both = _mm_movelh_ps(x, y);
    note_ties(check, low, high);
    if (checks_tiny) {
        note_tiny(check, both);
        _mm_store_ps(r, both);
    } else {
        _mm_storel_epi64((__m128i *)(void *)r, _mm_castps_si128(x));
        _mm_storel_epi64((__m128i *)(void *)(r + 2), _mm_castps_si128(y));
    }
}

/* r = a * b + c, a row of 32. r must not be one of the sources, which may be needed again. */
LANE_FN void fma_row(f32 *r, const f32 *a, const f32 *b, const f32 *c)
{
    RoundingCheck check = rounding_check_new();
    for (int l = 0; l < WARP_LANES; l += 4) {
        const __m128d p = _mm_mul_pd(widened(a + l), widened(b + l));
        const __m128d q = _mm_mul_pd(widened(a + l + 2), widened(b + l + 2));
        const __m128d s = _mm_add_pd(p, widened(c + l)), t = _mm_add_pd(q, widened(c + l + 2));
        round_sums(r + l, s, t, true, &check);
    }
    if (may_be_rounded_twice(&check)) fma_row_exact(r, a, b, c);
}
#else
#define HAVE_ROUNDING_CHECK 0
LANE_FN void fma_row(f32 *r, const f32 *a, const f32 *b, const f32 *c)
{
    LANES_LOOP r[l] = fma_f32(a[l], b[l], c[l]);
}
#endif

/* --- doubles ------------------------------------------------------------------------------------------- */

/* The error a + b - s of the rounded sum s = a + b, exactly. */
LANE_FN f64 sum_error(f64 a, f64 b, f64 s)
{
    const f64 rest = s - a;
    return (a - (s - rest)) + (b - rest);
}

/* The upper half of a double's fraction, rounded: the factor is 2^27 + 1 (Dekker's and Veltkamp's split). */
LANE_FN f64 upper_half(f64 x)
{
    const f64 scaled = x * 0x1.0000002p27;
    return scaled - (scaled - x);
}

/* The error a * b - p of the rounded product p = a * b, exactly. */
LANE_FN f64 product_error(f64 a, f64 b, f64 p)
{
    const f64 x = upper_half(a), y = upper_half(b), u = a - x, v = b - y;
    return u * v - (((p - x * y) - u * y) - x * v);
}

/* Whether fma_low() is exact: nothing overflows, and the product is zero or so large that its error is a
 * double. Such a * b + c are called plain here. */
LANE_FN bool fma_is_plain(f64 a, f64 b, f64 c)
{
    const f64 p = __builtin_fabs(a * b), max = __builtin_fabs(a) + __builtin_fabs(b) + __builtin_fabs(c) + p;
    return (max < 0x1p990) & ((p > 0x1p-960) | (a == 0) | (b == 0));
}

/* Returns low and sets *high so that high + low, rounded in any mode, is a * b + c rounded once. Only for
 * plain ones, in the rounding mode to nearest. */
LANE_FN f64 fma_low(f64 a, f64 b, f64 c, f64 *high)
{
    const f64 p = a * b, rest = product_error(a, b, p), sum = c + rest, s = p + sum;
    const f64 x = sum_error(c, rest, sum), y = sum_error(p, sum, s), low = x + y;
    *high = s;
    return make_odd(low, sum_error(x, y, low));
}

/* a * b + c of plain operands, if it is not zero (a zero might get the wrong sign). */
LANE_FN f64 fma_plain(f64 a, f64 b, f64 c)
{
    f64 high, low = fma_low(a, b, c, &high);
    return high + low;
}

/* A row of fma_low()'s results; plain: -1 where fma_is_plain(), else 0. */
typedef struct FmaParts {
    _Alignas(64) f64 high[WARP_LANES], low[WARP_LANES];
    _Alignas(64) s64 plain[WARP_LANES];
} FmaParts;

static __attribute__((noinline, unused)) void fma_part(FmaParts *parts, const f64 *a, const f64 *b,
                                                       const f64 *c)
{
    LANES_LOOP
    {
        parts->low[l] = fma_low(a[l], b[l], c[l], &parts->high[l]);
        parts->plain[l] = fma_is_plain(a[l], b[l], c[l]) ? -1 : 0;
    }
}

/* Adds the parts: the results are in parts->high. A zero gets the sign of the rounded product's sum with c;
 * executing lanes (`lanes`) that are not plain are computed by the C library. */
static __attribute__((noinline, unused)) void fma_join(FmaParts *parts, const f64 *a, const f64 *b,
                                                       const f64 *c, const int32_t *lanes)
{
    s64 plain = -1;
    LANES_LOOP
    {
        const f64 sum = parts->high[l] + parts->low[l];
        parts->high[l] = sum == 0 ? a[l] * b[l] + c[l] : sum;
        plain &= parts->plain[l] | ~(s64)lanes[l];
    }
    for (int l = 0; !plain && l < WARP_LANES; l++) {
        if (lanes[l] && !parts->plain[l]) parts->high[l] = __builtin_fma(a[l], b[l], c[l]);
    }
}

/* A row of a * b + c, rounded in the rounding mode that is set: the results are in parts->high.
 * fma_part() needs rounding to nearest. It and fma_join() are not inlined, so that the compiler moves no
 * arithmetic across the changes of mode. */
static __attribute__((noinline, unused)) void fma_row_f64(FmaParts *parts, const f64 *a, const f64 *b,
                                                          const f64 *c, const int32_t *lanes)
{
    const int mode = fegetround();
    if (mode != FE_TONEAREST) fesetround(FE_TONEAREST);
    fma_part(parts, a, b, c);
    if (mode != FE_TONEAREST) fesetround(mode);
    fma_join(parts, a, b, c, lanes);
}

#endif
#endif
