/* The lane loop, written once.
 *
 * LANES_n(name, D, A.., value) makes the two handlers of an op with n sources: op_<name>_full runs all 32
 * lanes, op_<name>_part keeps the destination of the lanes that do not execute. D, A, B, C, E are the types
 * of an element of the destination and of the sources. Both handlers are plain loops which the compiler
 * turns into vector code; the value is one expression in a, b, c, e (the sources), imm and mods (of the
 * instruction). The destination may be the row of a source, if their elements have one size. Then each lane
 * reads and writes its own element alone: LANES_LOOP asserts to the compiler that no lane depends on
 * another.
 *
 * The files that include this are compiled once for each instruction set, -DEXEC_ISA names it.
 */
#ifndef DEVICE_EXEC_NUMBERS_LANES_H
#define DEVICE_EXEC_NUMBERS_LANES_H

#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "exec/code/handlers.h"
#include "exec/state/warp.h"

/* Types as PTX writes them. */
typedef uint8_t u8;
typedef uint16_t b16, u16;
typedef uint32_t b32, u32;
typedef uint64_t b64, u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef float f32;
typedef double f64;

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* some loops have no vector form: 64-bit quotients */
#define LANES_LOOP _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < WARP_LANES; l++)
#else
#define LANES_LOOP _Pragma("GCC ivdep") for (int l = 0; l < WARP_LANES; l++)
#endif

/* A function that lane loops call: it must be inlined for the loop to become vector code. */
#define LANE_FN static inline __attribute__((always_inline, unused))

/* The bit of each lane in a predicate word: a row, because vector code loads it faster than it shifts. */
static const _Alignas(64) uint32_t lane_bit[WARP_LANES] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31,
};

/* The bits of a float and back. */
LANE_FN b32 f32_bits(f32 x) { b32 r; memcpy(&r, &x, 4); return r; }
LANE_FN f32 f32_from(b32 x) { f32 r; memcpy(&r, &x, 4); return r; }
LANE_FN b64 f64_bits(f64 x) { b64 r; memcpy(&r, &x, 8); return r; }
LANE_FN f64 f64_from(b64 x) { f64 r; memcpy(&r, &x, 8); return r; }

/* r where m is -1, old where it is 0. (16 bits by masking: gcc 12 fails on the conditional.) */
LANE_FN b16 blend_b16(s32 m, b16 r, b16 old) { return (b16)((r & m) | (old & ~m)); }
#define BLEND_OF(T) LANE_FN T blend_##T(s32 m, T r, T old) { return m ? r : old; }
BLEND_OF(s32)
BLEND_OF(u32)
BLEND_OF(s64)
BLEND_OF(u64)
BLEND_OF(f32)
BLEND_OF(f64)
#define LANE_BLEND(D, m, r, old) \
    _Generic((D)0, s16: blend_b16, u16: blend_b16, s32: blend_s32, u32: blend_u32, s64: blend_s64, \
             u64: blend_u64, f32: blend_f32, f64: blend_f64)(m, r, old)

/* The head of a handler; form: full or part. LANE_STORE_<form> stores lane l's value by it. */
#define HANDLER(name, form) const Insn *EXEC_NAME(op_##name##_##form)(Warp *w, const Insn *i)
#define LANE_STORE_full(D, value) d[l] = (D)(value)
#define LANE_STORE_part(D, value) d[l] = LANE_BLEND(D, w->lanes[l], (D)(value), d[l])

/* What an expression may use of the instruction. It is read before the loop, since the compiler cannot rule
 * out that the loop's stores change it. */
#define LANES_CONSTANTS \
    const int64_t imm = i->imm; \
    const unsigned mods = i->mods; \
    (void)imm; \
    (void)mods;

#define LANES_FORM_1(form, name, D, A, value) \
    HANDLER(name, form) \
    { \
        LANES_CONSTANTS \
        D *d = ROW(D, w, i->d); \
        const A *a_ = ROW(const A, w, i->a); \
        LANES_LOOP { const A a = a_[l]; LANE_STORE_##form(D, value); } \
        return i + 1; \
    }
#define LANES_FORM_2(form, name, D, A, B, value) \
    HANDLER(name, form) \
    { \
        LANES_CONSTANTS \
        D *d = ROW(D, w, i->d); \
        const A *a_ = ROW(const A, w, i->a); \
        const B *b_ = ROW(const B, w, i->b); \
        LANES_LOOP { const A a = a_[l]; const B b = b_[l]; LANE_STORE_##form(D, value); } \
        return i + 1; \
    }
#define LANES_FORM_3(form, name, D, A, B, C, value) \
    HANDLER(name, form) \
    { \
        LANES_CONSTANTS \
        D *d = ROW(D, w, i->d); \
        const A *a_ = ROW(const A, w, i->a); \
        const B *b_ = ROW(const B, w, i->b); \
        const C *c_ = ROW(const C, w, i->c); \
        LANES_LOOP { const A a = a_[l]; const B b = b_[l]; const C c = c_[l]; LANE_STORE_##form(D, value); } \
        return i + 1; \
    }
#define LANES_FORM_4(form, name, D, A, B, C, E, value) \
    HANDLER(name, form) \
    { \
        LANES_CONSTANTS \
        D *d = ROW(D, w, i->d); \
        const A *a_ = ROW(const A, w, i->a); \
        const B *b_ = ROW(const B, w, i->b); \
        const C *c_ = ROW(const C, w, i->c); \
        const E *e_ = ROW(const E, w, i->e); \
        LANES_LOOP { \
            const A a = a_[l]; const B b = b_[l]; const C c = c_[l]; const E e = e_[l]; \
            LANE_STORE_##form(D, value); \
        } \
        return i + 1; \
    }

#define LANES_1(name, D, A, value) LANES_FORM_1(full, name, D, A, value) LANES_FORM_1(part, name, D, A, value)
#define LANES_2(name, D, A, B, value) \
    LANES_FORM_2(full, name, D, A, B, value) LANES_FORM_2(part, name, D, A, B, value)
#define LANES_3(name, D, A, B, C, value) \
    LANES_FORM_3(full, name, D, A, B, C, value) LANES_FORM_3(part, name, D, A, B, C, value)
#define LANES_4(name, D, A, B, C, E, value) \
    LANES_FORM_4(full, name, D, A, B, C, E, value) LANES_FORM_4(part, name, D, A, B, C, E, value)

/* All operands of one type. */
#define UNARY(name, T, value) LANES_1(name, T, T, value)
#define BINARY(name, T, value) LANES_2(name, T, T, T, value)
#define TERNARY(name, T, value) LANES_3(name, T, T, T, T, value)

/* The same operation on `count` elements in memory (wide.h); as in LANES_LOOP, none depends on another. */
#ifdef __clang__
#define WIDE_LOOP _Pragma("clang loop vectorize(assume_safety)") for (size_t k = 0; k < count; k++)
#else
#define WIDE_LOOP _Pragma("GCC ivdep") for (size_t k = 0; k < count; k++)
#endif
#define WIDE_OP(name, T, value) \
    void EXEC_NAME(wide_##name)(void *to, const void *first, const void *second, const void *third, \
                                size_t count) \
    { \
        T *d = to; \
        const T *a_ = first, *b_ = second, *c_ = third; \
        WIDE_LOOP \
        { \
            const T a = a_[k], b = b_[k], c = c_[k]; \
            (void)a, (void)b, (void)c; \
            d[k] = (T)(value); \
        } \
    }

/* Stores a predicate word for the executing lanes only. */
LANE_FN void pred_store(Warp *w, Ref d, uint32_t word)
{
    uint32_t *p = &PRED(w, d);
    *p = (*p & ~w->mask) | (word & w->mask);
}

/* A row of -1 and 0 as a predicate word: bit l is set where m[l] is -1. */
#if defined(__AVX512DQ__)
LANE_FN uint32_t word_of_32(const int32_t *m)
{
    return (uint32_t)_mm512_movepi32_mask(_mm512_load_si512(m)) |
           (uint32_t)_mm512_movepi32_mask(_mm512_load_si512(m + 16)) << 16;
}
LANE_FN uint32_t word_of_64(const int64_t *m)
{
    uint32_t word = 0;
    for (int k = 0; k < 4; k++) {
        word |= (uint32_t)_mm512_movepi64_mask(_mm512_load_si512(m + 8 * k)) << 8 * k;
    }
    return word;
}
#elif defined(__AVX2__)
LANE_FN uint32_t word_of_32(const int32_t *m)
{
    uint32_t word = 0;
    for (int k = 0; k < 4; k++) {
        word |= (uint32_t)_mm256_movemask_ps(_mm256_load_ps((const float *)m + 8 * k)) << 8 * k;
    }
    return word;
}
LANE_FN uint32_t word_of_64(const int64_t *m)
{
    uint32_t word = 0;
    for (int k = 0; k < 8; k++) {
        word |= (uint32_t)_mm256_movemask_pd(_mm256_load_pd((const double *)m + 4 * k)) << 4 * k;
    }
    return word;
}
#elif defined(__SSE2__)
LANE_FN uint32_t word_of_32(const int32_t *m)
{
    uint32_t word = 0;
    for (int k = 0; k < 8; k++) {
        word |= (uint32_t)_mm_movemask_ps(_mm_load_ps((const float *)m + 4 * k)) << 4 * k;
    }
    return word;
}
LANE_FN uint32_t word_of_64(const int64_t *m)
{
    uint32_t word = 0;
    for (int k = 0; k < 16; k++) {
        word |= (uint32_t)_mm_movemask_pd(_mm_load_pd((const double *)m + 2 * k)) << 2 * k;
    }
    return word;
}
#else
LANE_FN uint32_t word_of_32(const int32_t *m)
{
    uint32_t word = 0;
    LANES_LOOP word |= m[l] ? lane_bit[l] : 0;
    return word;
}
LANE_FN uint32_t word_of_64(const int64_t *m)
{
    uint32_t word = 0;
    LANES_LOOP word |= m[l] ? lane_bit[l] : 0;
    return word;
}
#endif

/* An op whose destination is a predicate, from a condition in each lane's a (and b) of type A. bits: 64 for
 * operands of 64 bits, else 32: the size of the intermediate row of -1 and 0. */
#define LANES_TEST_1(name, bits, A, condition) \
    LANE_FN uint32_t test_##name(Warp *w, const Insn *i) \
    { \
        const A *a_ = ROW(const A, w, i->a); \
        _Alignas(64) int##bits##_t m[WARP_LANES]; \
        LANES_LOOP { const A a = a_[l]; m[l] = (condition) ? -1 : 0; } \
        return word_of_##bits(m); \
    } \
    LANES_TEST_FORMS(name)
#define LANES_TEST_2(name, bits, A, condition) \
    LANE_FN uint32_t test_##name(Warp *w, const Insn *i) \
    { \
        const A *a_ = ROW(const A, w, i->a); \
        const A *b_ = ROW(const A, w, i->b); \
        _Alignas(64) int##bits##_t m[WARP_LANES]; \
        LANES_LOOP { const A a = a_[l], b = b_[l]; m[l] = (condition) ? -1 : 0; } \
        return word_of_##bits(m); \
    } \
    LANES_TEST_FORMS(name)
#define LANES_TEST_FORMS(name) \
    HANDLER(name, full) { PRED(w, i->d) = test_##name(w, i); return i + 1; } \
    HANDLER(name, part) { pred_store(w, i->d, test_##name(w, i)); return i + 1; }

#endif
