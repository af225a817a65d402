/* f16, bf16 and their pairs: computed in float, or exactly, and rounded once.
 *
 * HALF_n(name, ...) makes the op for f16, bf16, f16x2, bf16x2 from one expression in floats a, b. Sums and
 * products of two halves may be rounded to float first without harm: float has more than twice their bits.
 */
#include "exec/numbers/half.h"
#include "exec/numbers/mufu_rows.h"

/* The ops on a row of halves and on a row of pairs, from name_of_F(), the function on the bits of one
 * half. F: f16 or bf16. */
#define HALF_ROWS_1(name, F) \
    LANES_1(name##_##F, b16, b16, name##_of_##F(a)) \
    LANES_1(name##_##F##x2, b32, b32, name##_of_##F(a & 0xffff) | name##_of_##F(a >> 16) << 16)
#define HALF_ROWS_2(name, F) \
    BINARY(name##_##F, b16, name##_of_##F(a, b)) \
    BINARY(name##_##F##x2, b32, name##_of_##F(a & 0xffff, b & 0xffff) | name##_of_##F(a >> 16, b >> 16) << 16)

#define HALF_1_OF(F, name, value) \
    LANE_FN b32 name##_of_##F(b32 ha) { const f32 a = F##_to_f32(ha); return f32_to_##F(value); } \
    HALF_ROWS_1(name, F)
#define HALF_2_OF(F, name, value) \
    LANE_FN b32 name##_of_##F(b32 ha, b32 hb) \
    { \
        const f32 a = F##_to_f32(ha), b = F##_to_f32(hb); \
        return f32_to_##F(value); \
    } \
    HALF_ROWS_2(name, F)
#define HALF_1(name, value) HALF_1_OF(f16, name, value) HALF_1_OF(bf16, name, value)
#define HALF_2(name, value) HALF_2_OF(f16, name, value) HALF_2_OF(bf16, name, value)

HALF_2(add, a + b)
HALF_2(sub, a - b)
HALF_2(mul, a * b)
HALF_2(min, min_f32(a, b))
HALF_2(max, max_f32(a, b))
HALF_2(min_nan, nan_wins(a, b, min_f32(a, b)))
HALF_2(max_nan, nan_wins(a, b, max_f32(a, b)))
HALF_2(min_xorsign_abs, xor_sign(a, b, min_f32(fabs_f32(a), fabs_f32(b))))
HALF_2(max_xorsign_abs, xor_sign(a, b, max_f32(fabs_f32(a), fabs_f32(b))))
HALF_2(min_nan_xorsign_abs, nan_wins(a, b, xor_sign(a, b, min_f32(fabs_f32(a), fabs_f32(b)))))
HALF_2(max_nan_xorsign_abs, nan_wins(a, b, xor_sign(a, b, max_f32(fabs_f32(a), fabs_f32(b)))))
HALF_1(relu, a > 0 ? a : a != a ? a : 0.0f)
HALF_1(sat, saturate(a))

/* Truncates to f16, as the special function unit does with its results, subnormal ones too: the bits
 * below the last one of the result are cleared before the conversion. For the numbers 95 and 113 see
 * f32_to_f16_round(). */
LANE_FN b32 cut_f16(f32 x)
{
    enum { ALL_BELOW = 95, NORMAL = 113 }; /* biased exponents: less than the last bit; the smallest normal */
    b32 exponent = f32_bits(x) >> 23 & 0xff;
    b32 cleared = exponent < ALL_BELOW ? 31 : exponent < NORMAL ? 126 - exponent : F16_SHIFT;
    return f32_to_f16(f32_from(f32_bits(x) & ~((1u << cleared) - 1)));
}
LANE_FN b32 cut_bf16(f32 x) { return f32_to_bf16(f32_from(f32_bits(x) & 0xffff0000u)); }

#define MUFU_ROW(name) \
    static void name##_row(f32 *x) \
    { \
        MufuRows r; \
        LANES_LOOP r.place[l] = mufu_##name##_place(x[l]); \
        mufu_look_up(&r, &mufu_##name##_table); \
        LANES_LOOP x[l] = mufu_##name##_of(x[l], mufu_row_value(&r, &mufu_##name##_table, l)); \
    }
#define MUFU_HALF(form, F, name) \
    HANDLER(name##_##F, form) \
    { \
        const b16 *a = ROW(const b16, w, i->a); \
        b16 *d = ROW(b16, w, i->d); \
        _Alignas(64) f32 x[WARP_LANES]; \
        LANES_LOOP x[l] = F##_to_f32(a[l]); \
        name##_row(x); \
        LANES_LOOP LANE_STORE_##form(b16, cut_##F(x[l])); \
        return i + 1; \
    } \
    HANDLER(name##_##F##x2, form) \
    { \
        const b32 *a = ROW(const b32, w, i->a); \
        b32 *d = ROW(b32, w, i->d); \
        _Alignas(64) f32 low[WARP_LANES], high[WARP_LANES]; \
        LANES_LOOP { low[l] = F##_to_f32(a[l] & 0xffff); high[l] = F##_to_f32(a[l] >> 16); } \
        name##_row(low); \
        name##_row(high); \
        LANES_LOOP LANE_STORE_##form(b32, cut_##F(low[l]) | cut_##F(high[l]) << 16); \
        return i + 1; \
    }
#define MUFU_HALVES(name) \
    MUFU_ROW(name) \
    MUFU_HALF(full, f16, name) MUFU_HALF(part, f16, name) \
    MUFU_HALF(full, bf16, name) MUFU_HALF(part, bf16, name)
MUFU_HALVES(tanh)
MUFU_HALVES(ex2)

/* Operations that need only the bits. infinity: the bits of an infinite number, which are also the mask
 * of the exponent. */
#define HALF_BITS(F, infinity) \
    LANE_FN b32 neg_of_##F(b32 h) { return (h & 0x7fff) > infinity ? HALF_NAN : h ^ 0x8000; } \
    LANE_FN b32 abs_of_##F(b32 h) { return (h & 0x7fff) > infinity ? HALF_NAN : h & 0x7fff; } \
    LANE_FN b32 ftz_of_##F(b32 h) \
    { \
        return (h & infinity) == 0 ? h & 0x8000 : (h & 0x7fff) > infinity ? HALF_NAN : h; \
    } \
    LANE_FN b32 flush_of_##F(b32 h) { return (h & infinity) == 0 ? h & 0x8000 : h; } \
    HALF_ROWS_1(neg, F) \
    HALF_ROWS_1(abs, F) \
    HALF_ROWS_1(ftz, F) \
    HALF_ROWS_1(flush, F)
HALF_BITS(f16, F16_INF)
HALF_BITS(bf16, BF16_INF)

#define HALF_FMA(F) \
    LANE_FN b32 fma_of_##F(b32 a, b32 b, b32 c) \
    { \
        return fma_to_##F(F##_to_f32(a), F##_to_f32(b), F##_to_f32(c)); \
    } \
    TERNARY(fma_##F, b16, fma_of_##F(a, b, c)) \
    TERNARY(fma_##F##x2, b32, fma_of_##F(a & 0xffff, b & 0xffff, c & 0xffff) | \
                                  fma_of_##F(a >> 16, b >> 16, c >> 16) << 16)
HALF_FMA(f16)
HALF_FMA(bf16)

#define HALF_FMA_OOB(F) \
    LANE_FN b32 fma_oob_of_##F(b32 a, b32 b, b32 c) \
    { \
        return HALF_IS_OUT_OF_BOUNDS(a) || HALF_IS_OUT_OF_BOUNDS(b) ? 0 : fma_of_##F(a, b, c); \
    } \
    TERNARY(fma_oob_##F, b16, fma_oob_of_##F(a, b, c)) \
    TERNARY(fma_oob_##F##x2, b32, fma_oob_of_##F(a & 0xffff, b & 0xffff, c & 0xffff) | \
                                      fma_oob_of_##F(a >> 16, b >> 16, c >> 16) << 16)
HALF_FMA_OOB(f16)
HALF_FMA_OOB(bf16)

/* Flushes a result before it is rounded to f16: what would be below the smallest normal number if it were
 * rounded to 11 bits with an exponent of any size. 0x1.ffep-15 is the middle of the two numbers at that
 * limit. */
LANE_FN f32 flush_half(f32 x)
{
    return __builtin_fabsf(x) < 0x1.ffep-15f ? f32_from(f32_bits(x) & F32_SIGN) : x;
}
LANE_FN f32 flushed_source(b32 h) { return f16_to_f32(flush_of_f16(h)); }
LANE_FN b32 mul_ftz_of_f16(b32 a, b32 b)
{
    return f32_to_f16(flush_half(flushed_source(a) * flushed_source(b)));
}
LANE_FN b32 fma_ftz_of_f16(b32 a, b32 b, b32 c)
{
    return f32_to_f16(flush_half(fma_odd_f16(flushed_source(a), flushed_source(b), flushed_source(c))));
}
HALF_ROWS_2(mul_ftz, f16)
TERNARY(fma_ftz_f16, b16, fma_ftz_of_f16(a, b, c))
TERNARY(fma_ftz_f16x2, b32, fma_ftz_of_f16(a & 0xffff, b & 0xffff, c & 0xffff) |
                                fma_ftz_of_f16(a >> 16, b >> 16, c >> 16) << 16)
