/* The approximate functions of f32, and the reciprocals of f64 that use high words. Subnormal numbers are
 * treated as PTX says, by the same scaling that the assembler puts around the special function unit's
 * instructions.
 */
#include "exec/numbers/fma.h"
#include "exec/numbers/mufu_rows.h"

/* An op on rows of T, by one function of the special function unit (mufu.h) and two expressions in a, b,
 * c: place_, the place where its table is looked up, and result, from the polynomial's `value` there.
 * second, third: the operands for b and c. */
#define MUFU_FORM(form, name, T, function, second, third, place_, result) \
    HANDLER(name, form) \
    { \
        const T *a_ = ROW(const T, w, i->a), *b_ = ROW(const T, w, second), *c_ = ROW(const T, w, third); \
        T *d = ROW(T, w, i->d); \
        MufuRows r; \
        LANES_LOOP \
        { \
            const T a = a_[l], b = b_[l]; \
            (void)a; \
            (void)b; \
            r.place[l] = place_; \
        } \
        mufu_look_up(&r, &mufu_##function##_table); \
        LANES_LOOP \
        { \
            const T a = a_[l], b = b_[l], c = c_[l]; \
            const f64 value = mufu_row_value(&r, &mufu_##function##_table, l); \
            (void)b; \
            (void)c; \
            LANE_STORE_##form(T, result); \
        } \
        return i + 1; \
    }
#define MUFU_OF(name, T, function, second, third, place_, result) \
    MUFU_FORM(full, name, T, function, second, third, place_, result) \
    MUFU_FORM(part, name, T, function, second, third, place_, result)
#define MUFU_1(name, T, function, place_, result) MUFU_OF(name, T, function, i->a, i->a, place_, result)
#define MUFU_2(name, T, function, place_, result) MUFU_OF(name, T, function, i->b, i->b, place_, result)
#define MUFU_3(name, T, function, place_, result) MUFU_OF(name, T, function, i->b, i->c, place_, result)

LANE_FN bool is_tiny(f32 x) { return (f32_bits(x) & F32_INF) == 0; }
LANE_FN bool is_huge(f32 x) { return fabs_f32(x) > 0x1p126f; }

/* Tiny and huge arguments are multiplied by a power of two before, and the results corrected after. */
LANE_FN f32 raised(f32 x) { return x * (is_tiny(x) ? 0x1p24f : 1.0f); }
LANE_FN f32 rcp_scale(f32 x) { return is_tiny(x) ? 0x1p24f : is_huge(x) ? 0.25f : 1.0f; }
LANE_FN f32 ex2_scaled(f32 x) { return x * (x < -126.0f ? 0.5f : 1.0f); }
LANE_FN f32 ex2_of(f32 x, f64 value)
{
    f32 r = mufu_ex2_of(ex2_scaled(x), value);
    return r * (x < -126.0f ? r : 1.0f);
}

MUFU_1(rcp_approx_f32, f32, rcp, mufu_rcp_place(a * rcp_scale(a)),
       mufu_rcp_of(a * rcp_scale(a), value) * rcp_scale(a))
MUFU_1(rcp_approx_ftz_f32, f32, rcp, mufu_rcp_place(a), mufu_rcp_of(a, value))
MUFU_1(sqrt_approx_f32, f32, sqrt, mufu_root_place(raised(a)),
       mufu_sqrt_of(raised(a), value) * (is_tiny(a) ? 0x1p-12f : 1.0f))
MUFU_1(sqrt_approx_ftz_f32, f32, sqrt, mufu_root_place(a), mufu_sqrt_of(a, value))
MUFU_1(rsqrt_f32, f32, rsqrt, mufu_root_place(raised(a)),
       mufu_rsqrt_of(raised(a), value) * (is_tiny(a) ? 0x1p12f : 1.0f))
MUFU_1(rsqrt_ftz_f32, f32, rsqrt, mufu_root_place(a), mufu_rsqrt_of(a, value))
MUFU_1(lg2_f32, f32, lg2, mufu_lg2_place(raised(a)),
       mufu_lg2_of(raised(a), value) - (is_tiny(a) ? 24.0f : 0.0f))
MUFU_1(lg2_ftz_f32, f32, lg2, mufu_lg2_place(a), mufu_lg2_of(a, value))
MUFU_1(ex2_f32, f32, ex2, mufu_ex2_place(ex2_scaled(a)), ex2_of(a, value))
MUFU_1(ex2_ftz_f32, f32, ex2, mufu_ex2_place(a), mufu_ex2_of(a, value))
MUFU_1(tanh_f32, f32, tanh, mufu_tanh_place(a), mufu_tanh_of(a, value))

/* These have the same results with and without .ftz. first: the quadrant that is added, see mufu_turns(). */
#define TURN(name, first) MUFU_1(name, f32, sin, mufu_sin_place(a, first), mufu_sin_of(a, first, value))
TURN(sin_f32, 0)
TURN(sin_ftz_f32, 0)
TURN(cos_f32, 1)
TURN(cos_ftz_f32, 1)

/* Scales of the divisor. Without scaling a quotient by a divisor beyond 2^126 is that by infinity; only
 * div.full scales such divisors. */
LANE_FN f32 div_scale(f32 b) { return is_tiny(b) ? 0x1p24f : 1.0f; }
LANE_FN f32 full_scale(f32 b) { return is_huge(b) ? 0.25f : 1.0f; }
LANE_FN f32 quotient(f32 a, f32 b, f32 scale, f64 value)
{
    return canonical(a * scale * mufu_rcp_of(b * scale, value));
}
LANE_FN f32 quotient_flushed(f32 a, f32 b, f32 scale, f64 value)
{
    f32 scaled = flush(a) * scale, r = mufu_rcp_of(b * scale, value);
    return flush_tiny(canonical(scaled * r), scaled * 0x1p60f * r);
}
/* A quotient that is added to c. Its last step is a product, which is fused with the sum. */
LANE_FN f32 quotient_sum(f32 a, f32 b, f32 c, f32 scale, f64 value)
{
    return canonical(fma_f32(a * scale, mufu_rcp_of(b * scale, value), c));
}
LANE_FN f32 quotient_sum_flushed(f32 a, f32 b, f32 c, f32 scale, f64 value)
{
    f32 scaled = flush(a) * scale, r = mufu_rcp_of(b * scale, value), sum = flush(c);
    return flush_tiny(canonical(fma_f32(scaled, r, sum)), fma_f32(scaled * 0x1p60f, r, sum * 0x1p60f));
}
#define QUOTIENT(name, scale, flushed) \
    MUFU_2(div_##name, f32, rcp, mufu_rcp_place(b *(scale)), quotient##flushed(a, b, scale, value)) \
    MUFU_3(div_add_##name, f32, rcp, mufu_rcp_place(b *(scale)), quotient_sum##flushed(a, b, c, scale, value))
QUOTIENT(approx_f32, div_scale(b), )
QUOTIENT(approx_ftz_f32, 1.0f, _flushed)
QUOTIENT(full_f32, div_scale(b) * full_scale(b), )
QUOTIENT(full_ftz_f32, full_scale(b), _flushed)

/* Of f64 only high words are used: the low word of the source is ignored, that of the result is zero. */
#define HIGH_INF 0x7ff00000u
#define HIGH_NAN 0x7fffffffu

LANE_FN b32 high_word(f64 x) { return (b32)(f64_bits(x) >> 32); }
LANE_FN s32 high_exponent(b32 x) { return (s32)(x >> 20 & 0x7ff) - 1023; }
/* The high word of value times 2^-n, for a value from 1/2 to 1. */
LANE_FN b32 high_scaled(f64 value, s32 n) { return high_word(value) - ((u32)n << 20); }

LANE_FN b32 rcp_place(b32 x) { return x << 4 & 0xffffff; }
LANE_FN f64 rcp_of(b32 x, f64 value)
{
    b32 sign = x & F32_SIGN, size = x ^ sign;
    b32 r = size > 0x7fd00000 ? 0 : high_scaled(value, high_exponent(x));
    r = size < 0x00100000 ? HIGH_INF : size == HIGH_INF ? 0 : r;
    return f64_from((b64)(size > HIGH_INF ? HIGH_NAN : r | sign) << 32);
}
MUFU_1(rcp_approx_ftz_f64, f64, rcp, rcp_place(high_word(a)), rcp_of(high_word(a), value))

LANE_FN b32 rsqrt_place(b32 x) { return x << 3 & 0xffffff; }
LANE_FN f64 rsqrt_of(b32 x, f64 value)
{
    b32 sign = x & F32_SIGN, size = x ^ sign;
    b32 r = high_scaled(mufu_rsqrt_value(rsqrt_place(x), value), high_exponent(x) >> 1);
    r = sign || size > HIGH_INF ? HIGH_NAN : size == HIGH_INF ? 0 : r;
    return f64_from((b64)(size < 0x00100000 ? HIGH_INF | sign : r) << 32);
}
MUFU_1(rsqrt_approx_ftz_f64, f64, rsqrt, rsqrt_place(high_word(a)), rsqrt_of(high_word(a), value))

/* rsqrt.f64: the approximate result, refined by one step of third order. Subnormal arguments are scaled,
 * and the root is scaled back; without an fma instruction, so are arguments far from 1, because
 * fma_plain() would overflow. */
LANE_FN f64 root_scale(f64 x)
{
    const f64 size = __builtin_fabs(x);
    const bool huge = !HAVE_FMA && size > 0x1p500;
    return size < (HAVE_FMA ? 0x1p-1022 : 0x1p-500) ? 0x1p300 : huge ? 0x1p-300 : 1.0;
}
LANE_FN f64 raised_f64(f64 x) { return x * (__builtin_fabs(x) < 0x1p-1022 ? 0x1p54 : 1.0); }
LANE_FN f64 rsqrt_refined(f64 x, f64 value)
{
    const f64 scale = root_scale(x), scaled = x * scale * scale, y = rsqrt_of(high_word(scaled), value);
    const f64 e = fma_plain(scaled, -(y * y), 1.0);
    const f64 r = fma_plain(fma_plain(0.375, e, 0.5), e * y, y) * scale;
    return x > 0 && x < __builtin_inf() ? r : 1.0 / __builtin_sqrt(x);
}
MUFU_1(rsqrt_f64, f64, rsqrt, rsqrt_place(high_word(raised_f64(a))), rsqrt_refined(a, value))
