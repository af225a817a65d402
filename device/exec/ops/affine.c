/* Arithmetic and comparison of affine rows. affine_<name> computes only the three values of an Affine, if
 * those of the sources are valid and the result is affine too; else it runs the operation <name> on the
 * rows.
 *
 * Numbers of 32-bit rows are kept as the row has them: bases unsigned, the stride signed.
 */
#include "exec/ops/affine_rows.h"

#ifndef __clang__
#pragma GCC optimize("no-tree-slp-vectorize") /* three values are no vector */
#endif

#define NOINLINE static __attribute__((noinline))

/* --- results: false, and *r undefined, where they are not affine --------------------------------------- */

enum { HALF_END = WARP_LANES / 2 - 1 }; /* the last lane of a half, counted from its first */

LANE_FN bool affine_copy(const Affine *a, Affine *r)
{
    r->low = a->low;
    r->high = a->high;
    r->stride = a->stride;
    return true;
}

LANE_FN bool affine_add(const Affine *a, const Affine *b, Affine *r)
{
    r->low = (s64)((u64)a->low + (u64)b->low);
    r->high = (s64)((u64)a->high + (u64)b->high);
    r->stride = (s64)((u64)a->stride + (u64)b->stride);
    return true;
}

LANE_FN bool affine_sub(const Affine *a, const Affine *b, Affine *r)
{
    r->low = (s64)((u64)a->low - (u64)b->low);
    r->high = (s64)((u64)a->high - (u64)b->high);
    r->stride = (s64)((u64)a->stride - (u64)b->stride);
    return true;
}

LANE_FN bool affine_scale(const Affine *a, s64 factor, Affine *r)
{
    r->low = (s64)((u64)a->low * (u64)factor);
    r->high = (s64)((u64)a->high * (u64)factor);
    r->stride = (s64)((u64)a->stride * (u64)factor);
    return true;
}

LANE_FN bool is_uniform(const Affine *a) { return a->stride == 0 && a->low == a->high; }

LANE_FN bool affine_mul(const Affine *a, const Affine *b, Affine *r)
{
    if (is_uniform(b)) return affine_scale(a, b->low, r);
    if (is_uniform(a)) return affine_scale(b, a->low, r);
    if (a->stride != 0 || b->stride != 0) return false;
    r->low = (s64)((u64)a->low * (u64)b->low);
    r->high = (s64)((u64)a->high * (u64)b->high);
    r->stride = 0;
    return true;
}

LANE_FN bool affine_mad(const Affine *a, const Affine *b, const Affine *c, Affine *r)
{
    Affine product;
    return affine_mul(a, b, &product) && affine_add(&product, c, r);
}

LANE_FN bool affine_shift_left(const Affine *a, const Affine *b, unsigned bits, Affine *r)
{
    const u32 by = (u32)b->low;
    return is_uniform(b) && affine_scale(a, by < bits ? (s64)((u64)1 << by) : 0, r);
}

/* widen: a row of 32 bits as one of 64, where T says how it is extended; false if a half leaves T's
 * range. wide_mul, wide_mad: a product of such rows, and its sum with a row of 64 bits. */
#define WIDEN_FN(T) \
    LANE_FN bool widen_##T(const Affine *a, Affine *r) \
    { \
        r->low = (T)a->low; \
        r->high = (T)a->high; \
        r->stride = a->stride; \
        const s64 rise = HALF_END * a->stride, low = r->low + rise, high = r->high + rise; \
        return low == (T)low && high == (T)high; \
    } \
    LANE_FN bool wide_mul_##T(const Affine *a, const Affine *b, Affine *r) \
    { \
        Affine x; \
        if (is_uniform(b)) return widen_##T(a, &x) && affine_scale(&x, (T)b->low, r); \
        return is_uniform(a) && widen_##T(b, &x) && affine_scale(&x, (T)a->low, r); \
    } \
    LANE_FN bool wide_mad_##T(const Affine *a, const Affine *b, const Affine *c, Affine *r) \
    { \
        Affine product; \
        return wide_mul_##T(a, b, &product) && affine_add(&product, c, r); \
    }
WIDEN_FN(s32)
WIDEN_FN(u32)

/* The value of the last lane of a half; false if the half leaves T's range. */
#define LAST_FN(T) \
    LANE_FN bool last_##T(s64 start, s64 stride, T *last) \
    { \
        const s64 end = (s64)(T)start + HALF_END * stride; \
        *last = (T)end; \
        return end == (T)end; \
    }
LAST_FN(s32)
LAST_FN(u32)
LANE_FN bool last_s64(s64 start, s64 stride, s64 *last)
{
    s64 rise;
    return !__builtin_mul_overflow(stride, HALF_END, &rise) && !__builtin_add_overflow(start, rise, last);
}
LANE_FN bool last_u64(s64 start, s64 stride, u64 *last)
{
    s64 end = 0;
    bool fits = stride == 0 || (start >= 0 && last_s64(start, stride, &end) && end >= 0);
    *last = stride == 0 ? (u64)start : (u64)end;
    return fits;
}

/* All values of a half are between its first and its last one: bits above those in which these two differ
 * are the same in all lanes. keep_low: the bits of `mask` are affine, if the first and the last value
 * differ in them alone. keep_high: the bits from `by` on are uniform, if those two agree in them. */
LANE_FN bool keep_low(s64 start, s64 stride, u32 mask, s64 *kept)
{
    u32 last;
    *kept = (u32)start & mask;
    return last_u32(start, stride, &last) && (((u32)start ^ last) & ~mask) == 0;
}
LANE_FN bool keep_high(s64 start, s64 stride, unsigned by, u32 *kept)
{
    u32 last;
    *kept = (u32)start >> by;
    return last_u32(start, stride, &last) && *kept == last >> by;
}

/* Only masks of the lowest bits keep a row affine. */
LANE_FN bool affine_mask(const Affine *a, u32 mask, Affine *r)
{
    r->stride = a->stride;
    return (mask & (mask + 1)) == 0 && keep_low(a->low, a->stride, mask, &r->low)
           && keep_low(a->high, a->stride, mask, &r->high);
}

LANE_FN bool affine_and(const Affine *a, const Affine *b, Affine *r)
{
    if (is_uniform(b) && affine_mask(a, (u32)b->low, r)) return true;
    if (is_uniform(a) && affine_mask(b, (u32)a->low, r)) return true;
    r->low = (u32)a->low & (u32)b->low;
    r->high = (u32)a->high & (u32)b->high;
    r->stride = 0;
    return (a->stride | b->stride) == 0;
}

LANE_FN bool affine_shift_right(const Affine *a, const Affine *b, Affine *r)
{
    u32 low = 0, high = 0;
    const u32 by = (u32)b->low;
    if (!is_uniform(b)) return false;
    const bool even = by > 31
                      || (keep_high(a->low, a->stride, by & 31, &low)
                          && keep_high(a->high, a->stride, by & 31, &high));
    r->low = low;
    r->high = high;
    r->stride = 0;
    return even;
}

/* The result of an operation x(a, b) on rows that are uniform in each half. UNIFORM is for 32 bits;
 * UNIFORM_64 chooses a where `a operator b`, else b. */
#define UNIFORM(x) \
    (a->stride | b->stride \
         ? false \
         : (r->low = UNIFORM_OF(x, low), r->high = UNIFORM_OF(x, high), r->stride = 0, true))
#define UNIFORM_OF(x, at) x((u32)a->at, (u32)b->at)
#define OR(x, y) ((x) | (y))
#define SHR_S(x, y) (u32)((s32)(x) >> ((y) > 31 ? 31 : (y)))
#define LESSER(T, x, y) (u32)((T)(x) < (T)(y) ? (x) : (y))
#define GREATER(T, x, y) (u32)((T)(x) > (T)(y) ? (x) : (y))
#define UNIFORM_64(T, operator) \
    (a->stride | b->stride ? false \
                           : (r->low = CHOICE_64(T, operator, low), r->high = CHOICE_64(T, operator, high), \
                              r->stride = 0, true))
#define CHOICE_64(T, operator, at) ((T)a->at operator (T)b->at ? a->at : b->at)
#define MIN_S(x, y) LESSER(s32, x, y)
#define MAX_S(x, y) GREATER(s32, x, y)
#define MIN_U(x, y) LESSER(u32, x, y)
#define MAX_U(x, y) GREATER(u32, x, y)

/* --- handlers ------------------------------------------------------------------------------------------ */

#define STORE_32(d, r) ((d)->low = (u32)(r).low, (d)->high = (u32)(r).high, (d)->stride = (s32)(r).stride)
#define STORE_64(d, r) ((d)->low = (r).low, (d)->high = (r).high, (d)->stride = (r).stride)
#define SOURCE_0(ref) a
#define SOURCE_32(ref) AFFINE_AT(w, ref)
#define SOURCE_64(ref) AFFINE_AT(w, ref)

/* The widths in bits of the rows d, a, b and c: wd, wa, wb, wc; 0: the operation has no such row.
 * rows_<name>() runs the operation on rows, into which valid Affines of the sources are expanded first. */
#define ON_ROWS(name, wd, wa, wb, wc) \
    NOINLINE const Insn *rows_##name(Warp *w, const Insn *i) \
    { \
        spread_##wa(w, i->a); \
        spread_##wb(w, i->b); \
        spread_##wc(w, i->c); \
        if (w->full) { \
            EXEC_NAME(op_##name##_full)(w, i); \
        } else { \
            spread_##wd(w, i->d); \
            EXEC_NAME(op_##name##_part)(w, i); \
        } \
        AFFINE_AT(w, i->d)->valid = 0; \
        return i + 1; \
    }

/* result: an expression that sets *r from *a, *b and *c, and is false where it is not affine. The form
 * for some lanes may compute an Affine too if all live lanes execute: the values of the other lanes do
 * not matter. */
#define ON_AFFINE(name, wd, wa, wb, wc, result) \
    ON_ROWS(name, wd, wa, wb, wc) \
    LANE_FN bool compute_##name(Warp *w, const Insn *i) \
    { \
        const Affine *a = AFFINE_AT(w, i->a), *b = SOURCE_##wb(i->b), *c = SOURCE_##wc(i->c); \
        Affine *d = AFFINE_AT(w, i->d), computed, *r = &computed; \
        if (!(a->valid & b->valid & c->valid & 1) || !(result)) return false; \
        STORE_##wd(d, computed); \
        d->valid = 1; \
        d->spread = 0; \
        return true; \
    } \
    HANDLER(affine_##name, full) { return compute_##name(w, i) ? i + 1 : rows_##name(w, i); } \
    HANDLER(affine_##name, part) \
    { \
        return w->mask == w->live && compute_##name(w, i) ? i + 1 : rows_##name(w, i); \
    }

ON_AFFINE(mov_b32, 32, 32, 0, 0, affine_copy(a, r))
ON_AFFINE(mov_b64, 64, 64, 0, 0, affine_copy(a, r))
ON_AFFINE(add_b32, 32, 32, 32, 0, affine_add(a, b, r))
ON_AFFINE(add_b64, 64, 64, 64, 0, affine_add(a, b, r))
ON_AFFINE(sub_b32, 32, 32, 32, 0, affine_sub(a, b, r))
ON_AFFINE(sub_b64, 64, 64, 64, 0, affine_sub(a, b, r))
ON_AFFINE(cvt_s64_s32, 64, 32, 0, 0, widen_s32(a, r))
ON_AFFINE(cvt_u64_u32, 64, 32, 0, 0, widen_u32(a, r))
ON_AFFINE(cvt_b32_b64, 32, 64, 0, 0, affine_copy(a, r))
ON_AFFINE(mul_lo_b32, 32, 32, 32, 0, affine_mul(a, b, r))
ON_AFFINE(mul_lo_b64, 64, 64, 64, 0, affine_mul(a, b, r))
ON_AFFINE(mad_lo_b32, 32, 32, 32, 32, affine_mad(a, b, c, r))
ON_AFFINE(mad_lo_b64, 64, 64, 64, 64, affine_mad(a, b, c, r))
ON_AFFINE(mul_wide_s32, 64, 32, 32, 0, wide_mul_s32(a, b, r))
ON_AFFINE(mul_wide_u32, 64, 32, 32, 0, wide_mul_u32(a, b, r))
ON_AFFINE(mad_wide_s32, 64, 32, 32, 64, wide_mad_s32(a, b, c, r))
ON_AFFINE(mad_wide_u32, 64, 32, 32, 64, wide_mad_u32(a, b, c, r))
ON_AFFINE(shl_b32, 32, 32, 32, 0, affine_shift_left(a, b, 32, r))
ON_AFFINE(shl_b64, 64, 64, 32, 0, affine_shift_left(a, b, 64, r))
ON_AFFINE(and_b32, 32, 32, 32, 0, affine_and(a, b, r))
ON_AFFINE(or_b32, 32, 32, 32, 0, UNIFORM(OR))
ON_AFFINE(shr_s32, 32, 32, 32, 0, UNIFORM(SHR_S))
ON_AFFINE(shr_u32, 32, 32, 32, 0, affine_shift_right(a, b, r))
ON_AFFINE(min_s32, 32, 32, 32, 0, UNIFORM(MIN_S))
ON_AFFINE(max_s32, 32, 32, 32, 0, UNIFORM(MAX_S))
ON_AFFINE(min_u32, 32, 32, 32, 0, UNIFORM(MIN_U))
ON_AFFINE(max_u32, 32, 32, 32, 0, UNIFORM(MAX_U))
ON_AFFINE(min_s64, 64, 64, 64, 0, UNIFORM_64(s64, <))
ON_AFFINE(max_s64, 64, 64, 64, 0, UNIFORM_64(s64, >))
ON_AFFINE(min_u64, 64, 64, 64, 0, UNIFORM_64(u64, <))
ON_AFFINE(max_u64, 64, 64, 64, 0, UNIFORM_64(u64, >))

/* --- comparisons --------------------------------------------------------------------------------------- */

/* In each half the values of a rise or fall and b is uniform: an order that the first and the last lane
 * have, all lanes have. */
#define ORDERED(name, wa, T, operator) \
    LANE_FN bool order_##name(const Affine *a, const Affine *b, u32 *word) \
    { \
        T low, high; \
        if (b->stride != 0 || !last_##T(a->low, a->stride, &low) || !last_##T(a->high, a->stride, &high)) \
            return false; \
        const bool first = (T)a->low operator (T)b->low, second = (T)a->high operator (T)b->high; \
        *word = (first ? 0xffffu : 0) | (second ? 0xffff0000u : 0); \
        return first == (low operator (T)b->low) && second == (high operator (T)b->high); \
    } \
    COMPARISON(name, wa, order_##name(a, b, &word))
/* Whether a value is less or greater than all values of a half. Then none is equal to it. */
#define OUTSIDE_FN(T) \
    LANE_FN bool outside_##T(s64 start, s64 stride, s64 value) \
    { \
        T last; \
        if (!last_##T(start, stride, &last)) return false; \
        const T first = (T)start, min = first < last ? first : last, max = first < last ? last : first; \
        return (T)value < min || (T)value > max; \
    }
OUTSIDE_FN(u32)
OUTSIDE_FN(u64)
#define EQUAL(name, wa, operator) \
    LANE_FN bool equal_##name(const Affine *a, const Affine *b, u32 *word) \
    { \
        *word = (a->low operator b->low ? 0xffffu : 0) | (a->high operator b->high ? 0xffff0000u : 0); \
        if ((a->stride | b->stride) == 0) return true; \
        *word = 0 operator 1 ? FULL_MASK : 0; \
        return b->stride == 0 && outside_u##wa(a->low, a->stride, b->low) \
               && outside_u##wa(a->high, a->stride, b->high); \
    } \
    COMPARISON(name, wa, equal_##name(a, b, &word))
#define COMPARISON(name, wa, compared) \
    NOINLINE const Insn *compare_##name(Warp *w, const Insn *i) \
    { \
        spread_##wa(w, i->a); \
        spread_##wa(w, i->b); \
        return w->full ? EXEC_NAME(op_##name##_full)(w, i) : EXEC_NAME(op_##name##_part)(w, i); \
    } \
    HANDLER(affine_##name, full) \
    { \
        const Affine *a = AFFINE_AT(w, i->a), *b = AFFINE_AT(w, i->b); \
        u32 word; \
        if (!(a->valid & b->valid & 1) || !(compared)) return compare_##name(w, i); \
        PRED(w, i->d) = word; \
        return i + 1; \
    } \
    HANDLER(affine_##name, part) \
    { \
        const Affine *a = AFFINE_AT(w, i->a), *b = AFFINE_AT(w, i->b); \
        u32 word; \
        if (!(a->valid & b->valid & 1) || !(compared)) return compare_##name(w, i); \
        pred_store(w, i->d, word); \
        return i + 1; \
    }
#define ORDERS(wa, T) \
    ORDERED(setp_lt_##T, wa, T, <) \
    ORDERED(setp_le_##T, wa, T, <=) \
    ORDERED(setp_gt_##T, wa, T, >) \
    ORDERED(setp_ge_##T, wa, T, >=)
ORDERS(32, s32)
ORDERS(32, u32)
ORDERS(64, s64)
ORDERS(64, u64)
EQUAL(setp_eq_b32, 32, ==)
EQUAL(setp_ne_b32, 32, !=)
EQUAL(setp_eq_b64, 64, ==)
EQUAL(setp_ne_b64, 64, !=)

/* --- expansion ----------------------------------------------------------------------------------------- */

#define SPREAD_OP(bits) \
    HANDLER(spread_b##bits, full) { spread_##bits(w, i->a); return i + 1; } \
    HANDLER(spread_b##bits, part) { spread_##bits(w, i->a); return i + 1; }
SPREAD_OP(32)
SPREAD_OP(64)
