/* f32 arithmetic, rounded to nearest even unless the name says otherwise. */
#include "exec/numbers/fma.h"

#define F32_OP_1(name, value) \
    LANE_FN f32 name##_of(f32 a) { return canonical(value); } \
    UNARY(name##_f32, f32, name##_of(a)) \
    UNARY(name##_ftz_f32, f32, flush(name##_of(flush(a))))

/* An op on three sources; the third one is the operand c_ref. Rows with a NaN are rare: one test a row finds
 * them, and their NaNs are made canonical afterwards, in place. */
#define ARITHMETIC_FORM(form, name, c_ref, value) \
    HANDLER(name, form) \
    { \
        f32 *d = ROW(f32, w, i->d); \
        const f32 *a_ = ROW(const f32, w, i->a), *b_ = ROW(const f32, w, i->b); \
        const f32 *c_ = ROW(const f32, w, c_ref); \
        LANES_LOOP { \
            const f32 a = a_[l], b = b_[l], c = c_[l]; \
            (void)c; \
            LANE_STORE_##form(f32, value); \
        } \
        if (__builtin_expect(row_has_nan(d), 0)) canonical_row(d, w->lanes); \
        return i + 1; \
    }
#define ARITHMETIC(name, c_ref, value) \
    ARITHMETIC_FORM(full, name, c_ref, value) \
    ARITHMETIC_FORM(part, name, c_ref, value)
#define F32_OP_2(name, value) \
    LANE_FN f32 name##_of(f32 a, f32 b) { return canonical(value); } \
    ARITHMETIC(name##_f32, i->b, value)

/* An op with .ftz whose result may be rounded up to the smallest normal number (flush_tiny()). Nearly all
 * rows lack that number: only for the others the second loop runs. scaled: the expression that
 * flush_tiny() takes. */
#define IS_MIN_NORMAL(x) ((f32_bits(x) & ~F32_SIGN) == F32_MIN_NORMAL)
#define FLUSHED_FORM(form, name, c_ref, value, scaled) \
    HANDLER(name, form) \
    { \
        f32 *d = ROW(f32, w, i->d); \
        const f32 *a_ = ROW(const f32, w, i->a), *b_ = ROW(const f32, w, i->b); \
        const f32 *c_ = ROW(const f32, w, c_ref); \
        _Alignas(64) f32 r[WARP_LANES]; \
        b32 edge = 0; \
        LANES_LOOP { \
            const f32 a = flush(a_[l]), b = flush(b_[l]), c = flush(c_[l]); \
            (void)c; \
            r[l] = flush(value); \
            edge |= IS_MIN_NORMAL(r[l]); \
        } \
        if (edge) LANES_LOOP { \
            const f32 a = flush(a_[l]), b = flush(b_[l]), c = flush(c_[l]); \
            (void)c; \
            r[l] = flush_tiny(r[l], scaled); \
        } \
        LANES_LOOP LANE_STORE_##form(f32, r[l]); \
        return i + 1; \
    }
#define FLUSHED(name, c_ref, value, scaled) \
    FLUSHED_FORM(full, name, c_ref, value, scaled) \
    FLUSHED_FORM(part, name, c_ref, value, scaled)

F32_OP_2(add, a + b)
F32_OP_2(sub, a - b)
F32_OP_2(mul, a * b)
F32_OP_2(div, a / b)
F32_OP_1(rcp, 1.0f / a)
F32_OP_1(sqrt, __builtin_sqrtf(a))

BINARY(add_ftz_f32, f32, flush(add_of(flush(a), flush(b)))) /* sums that are subnormal are exact */
BINARY(sub_ftz_f32, f32, flush(sub_of(flush(a), flush(b))))
FLUSHED(mul_ftz_f32, i->b, mul_of(a, b), a * 0x1p60f * b)
FLUSHED(div_ftz_f32, i->b, div_of(a, b), a * 0x1p60f / b)

LANE_FN f32 fma_of(f32 a, f32 b, f32 c) { return canonical(fma_f32(a, b, c)); }
LANE_FN f32 fma_scaled(f32 a, f32 b, f32 c) { return fma_f32(a * 0x1p60f, b, c * 0x1p60f); }
#if HAVE_FMA
ARITHMETIC(fma_f32, i->c, fma_of(a, b, c))
FLUSHED(fma_ftz_f32, i->c, fma_of(a, b, c), fma_scaled(a, b, c))
#else
#define FMA_FORM(form) \
    HANDLER(fma_f32, form) \
    { \
        f32 *d = ROW(f32, w, i->d); \
        _Alignas(64) f32 r[WARP_LANES]; \
        fma_row(r, ROW(const f32, w, i->a), ROW(const f32, w, i->b), ROW(const f32, w, i->c)); \
        LANES_LOOP LANE_STORE_##form(f32, r[l]); \
        if (__builtin_expect(row_has_nan(d), 0)) canonical_row(d, w->lanes); \
        return i + 1; \
    } \
    HANDLER(fma_ftz_f32, form) \
    { \
        f32 *d = ROW(f32, w, i->d); \
        const f32 *a_ = ROW(const f32, w, i->a), *b_ = ROW(const f32, w, i->b), \
                  *c_ = ROW(const f32, w, i->c); \
        _Alignas(64) f32 r[WARP_LANES], a[WARP_LANES], b[WARP_LANES], c[WARP_LANES]; \
        b32 edge = 0; \
        LANES_LOOP \
        { \
            a[l] = flush(a_[l]); \
            b[l] = flush(b_[l]); \
            c[l] = flush(c_[l]); \
        } \
        fma_row(r, a, b, c); \
        LANES_LOOP \
        { \
            r[l] = flush(canonical(r[l])); \
            edge |= IS_MIN_NORMAL(r[l]); \
        } \
        if (edge) LANES_LOOP r[l] = flush_tiny(r[l], fma_scaled(a[l], b[l], c[l])); \
        LANES_LOOP LANE_STORE_##form(f32, r[l]); \
        return i + 1; \
    }
FMA_FORM(full)
FMA_FORM(part)
#endif

UNARY(neg_f32, f32, canonical(f32_from(f32_bits(a) ^ F32_SIGN)))
UNARY(abs_f32, f32, canonical(fabs_f32(a)))
BINARY(copysign_f32, b32, (b & ~F32_SIGN) | (a & F32_SIGN))

/* The four kinds of minimum and maximum. */
#define MIN_MAX(m) \
    BINARY(m##_f32, f32, m##_f32(a, b)) \
    BINARY(m##_nan_f32, f32, nan_wins(a, b, m##_f32(a, b))) \
    BINARY(m##_xorsign_abs_f32, f32, xor_sign(a, b, m##_f32(fabs_f32(a), fabs_f32(b)))) \
    BINARY(m##_nan_xorsign_abs_f32, f32, nan_wins(a, b, xor_sign(a, b, m##_f32(fabs_f32(a), fabs_f32(b)))))
MIN_MAX(min)
MIN_MAX(max)

UNARY(ftz_f32, f32, canonical(flush(a)))
UNARY(flush_f32, f32, flush(a))
UNARY(sat_f32, f32, saturate(a))
UNARY(rint_f32, f32, canonical(__builtin_rintf(a)))
UNARY(trunc_f32, f32, canonical(__builtin_truncf(a)))
UNARY(floor_f32, f32, canonical(__builtin_floorf(a)))
UNARY(ceil_f32, f32, canonical(__builtin_ceilf(a)))

/* --- elements in memory -------------------------------------------------------------------------------- */

WIDE_OP(add_f32, f32, add_of(a, b))
WIDE_OP(sub_f32, f32, sub_of(a, b))
WIDE_OP(mul_f32, f32, mul_of(a, b))
WIDE_OP(div_f32, f32, div_of(a, b))
WIDE_OP(fma_f32, f32, fma_of(a, b, c))
WIDE_OP(sqrt_f32, f32, sqrt_of(a))
WIDE_OP(neg_f32, f32, canonical(f32_from(f32_bits(a) ^ F32_SIGN)))
WIDE_OP(abs_f32, f32, canonical(fabs_f32(a)))
WIDE_OP(min_f32, f32, min_f32(a, b))
WIDE_OP(max_f32, f32, max_f32(a, b))
