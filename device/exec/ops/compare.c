/* Comparisons into predicates, tests, and the boolean steps of setp and set. */
#include "exec/numbers/half.h"

/* For integers: equality is the same with and without sign, order is not. */
#define EQUALITY(T, bits) \
    LANES_TEST_2(setp_eq_##T, bits, T, a == b) \
    LANES_TEST_2(setp_ne_##T, bits, T, a != b)
EQUALITY(b16, 32)
EQUALITY(b32, 32)
EQUALITY(b64, 64)

#define ORDER(T, bits) \
    LANES_TEST_2(setp_lt_##T, bits, T, a < b) \
    LANES_TEST_2(setp_le_##T, bits, T, a <= b) \
    LANES_TEST_2(setp_gt_##T, bits, T, a > b) \
    LANES_TEST_2(setp_ge_##T, bits, T, a >= b)
ORDER(s16, 32)
ORDER(u16, 32)
ORDER(s32, 32)
ORDER(u32, 32)
ORDER(s64, 64)
ORDER(u64, 64)

/* The fourteen comparisons of floats x and y, each as ROW_OF(PTX's name, type, bits of the intermediate row,
 * condition). The unordered ones (equ and so on) are true if one is NaN. */
#define FLOAT_COMPARISONS(ROW_OF, type, bits) \
    ROW_OF(eq, type, bits, x == y) \
    ROW_OF(ne, type, bits, x < y || x > y) \
    ROW_OF(lt, type, bits, x < y) \
    ROW_OF(le, type, bits, x <= y) \
    ROW_OF(gt, type, bits, x > y) \
    ROW_OF(ge, type, bits, x >= y) \
    ROW_OF(equ, type, bits, !(x < y || x > y)) \
    ROW_OF(neu, type, bits, x != y) \
    ROW_OF(ltu, type, bits, !(x >= y)) \
    ROW_OF(leu, type, bits, !(x > y)) \
    ROW_OF(gtu, type, bits, !(x <= y)) \
    ROW_OF(geu, type, bits, !(x < y)) \
    ROW_OF(num, type, bits, x == x && y == y) \
    ROW_OF(nan, type, bits, x != x || y != y)

#define DEFINE(m, type, bits, condition) \
    LANE_FN bool is_##m##_##type(type x, type y) { (void)x; (void)y; return condition; }
FLOAT_COMPARISONS(DEFINE, f32, 32)
FLOAT_COMPARISONS(DEFINE, f64, 64)

#define SETP(m, type, bits, condition) LANES_TEST_2(setp_##m##_##type, bits, type, is_##m##_##type(a, b))
#define SETP_FTZ(m, type, bits, condition) \
    LANES_TEST_2(setp_##m##_ftz_f32, 32, f32, is_##m##_f32(flush(a), flush(b)))
#define SETP_HALF(m, type, bits, condition) \
    LANES_TEST_2(setp_##m##_##type, 32, b16, is_##m##_f32(type##_to_f32(a), type##_to_f32(b)))
FLOAT_COMPARISONS(SETP, f32, 32)
FLOAT_COMPARISONS(SETP, f64, 64)
FLOAT_COMPARISONS(SETP_FTZ, f32, 32)
FLOAT_COMPARISONS(SETP_HALF, f16, 32)
FLOAT_COMPARISONS(SETP_HALF, bf16, 32)

/* Pairs of halves make two predicates. */
#define SETP_PAIR(m, type, bits, condition) \
    LANE_FN const Insn *pair_##m##_##type(Warp *w, const Insn *i) \
    { \
        const b32 *a = ROW(const b32, w, i->a), *b = ROW(const b32, w, i->b); \
        _Alignas(64) int32_t low[WARP_LANES], high[WARP_LANES]; \
        LANES_LOOP { \
            low[l] = is_##m##_f32(type##_to_f32(a[l] & 0xffff), type##_to_f32(b[l] & 0xffff)) ? -1 : 0; \
            high[l] = is_##m##_f32(type##_to_f32(a[l] >> 16), type##_to_f32(b[l] >> 16)) ? -1 : 0; \
        } \
        pred_store(w, i->d, word_of_32(low)); \
        pred_store(w, i->e, word_of_32(high)); \
        return i + 1; \
    } \
    HANDLER(setp_##m##_##type##x2, full) { return pair_##m##_##type(w, i); } \
    HANDLER(setp_##m##_##type##x2, part) { return pair_##m##_##type(w, i); }
FLOAT_COMPARISONS(SETP_PAIR, f16, 32)
FLOAT_COMPARISONS(SETP_PAIR, bf16, 32)

/* Stores the two destinations of setp, as predicate words: with the result of the comparison and with its
 * negation. Either may be absent. */
LANE_FN const Insn *store_both(Warp *w, const Insn *i, uint32_t d, uint32_t e)
{
    if (i->d >> REF_BASE_SHIFT != REF_NONE) pred_store(w, i->d, d);
    if (i->e >> REF_BASE_SHIFT != REF_NONE) pred_store(w, i->e, e);
    return i + 1;
}
/* The predicate c, negated if the instruction says so. */
LANE_FN uint32_t combined(Warp *w, const Insn *i)
{
    return PRED(w, i->c) ^ (i->mods & MODS_NEGATE ? ~0u : 0);
}

/* A boolean step of setp: a is the result of the comparison, c the predicate that it is combined with. */
#define SETP_BOOL(name, d, e) \
    LANE_FN const Insn *bool_##name(Warp *w, const Insn *i) \
    { \
        const uint32_t a = PRED(w, i->a), c = combined(w, i); \
        return store_both(w, i, d, e); \
    } \
    HANDLER(name, full) { return bool_##name(w, i); } \
    HANDLER(name, part) { return bool_##name(w, i); }
SETP_BOOL(setp_and, a & c, ~a & c)
SETP_BOOL(setp_or, a | c, ~a | c)
SETP_BOOL(setp_xor, a ^ c, ~a ^ c)
HANDLER(setp_both, full) { const uint32_t a = PRED(w, i->a); return store_both(w, i, a, ~a); }
HANDLER(setp_both, part) { const uint32_t a = PRED(w, i->a); return store_both(w, i, a, ~a); }

LANE_FN const Insn *set_x2(Warp *w, const Insn *i)
{
    b32 *d = ROW(b32, w, i->d);
    const uint32_t low = PRED(w, i->a), high = PRED(w, i->b);
    LANES_LOOP {
        b32 r = (low & lane_bit[l] ? 0xffffu : 0) | (high & lane_bit[l] ? 0xffff0000u : 0);
        d[l] = LANE_BLEND(b32, w->lanes[l], r, d[l]);
    }
    return i + 1;
}
HANDLER(set_x2, full) { return set_x2(w, i); }
HANDLER(set_x2, part) { return set_x2(w, i); }

/* testp, on the bits without the sign. Zero counts as normal. */
#define TESTP(T, bits, B, magnitude, infinity, min_normal) \
    LANES_TEST_1(testp_finite_##T, bits, B, (a & magnitude) < infinity) \
    LANES_TEST_1(testp_infinite_##T, bits, B, (a & magnitude) == infinity) \
    LANES_TEST_1(testp_number_##T, bits, B, (a & magnitude) <= infinity) \
    LANES_TEST_1(testp_notanumber_##T, bits, B, (a & magnitude) > infinity) \
    LANES_TEST_1(testp_normal_##T, bits, B, (a & magnitude) - 1 >= min_normal - 1 && \
        (a & magnitude) < infinity) \
    LANES_TEST_1(testp_subnormal_##T, bits, B, (a & magnitude) < min_normal && (a & magnitude) != 0)
TESTP(f32, 32, b32, ~F32_SIGN, F32_INF, F32_MIN_NORMAL)
TESTP(f64, 64, b64, ~F64_SIGN, F64_INF, F64_MIN_NORMAL)
