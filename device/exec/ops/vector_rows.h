/* Transposes vectors of 2 or 4 elements. In memory the vectors of 16 lanes (half a warp) are consecutive; in
 * registers each element has a row. `spread` copies from memory to rows, `collect` from rows to memory.
 * Included by files that are compiled for each instruction set.
 *
 * Of the plain loops compilers do not always make vector code, or make code that permutes whole registers
 * several times. So 32-bit elements, which most vectors have, are transposed by hand: the two halves of a
 * vector register are loaded one by one, and permuted within themselves.
 */
#ifndef DEVICE_EXEC_OPS_VECTOR_ROWS_H
#define DEVICE_EXEC_OPS_VECTOR_ROWS_H

#include "exec/ops/addresses.h"

/* The row of element e of the instruction's vector; NULL if the element is not read. part: 1 for the high
 * halves of 128-bit elements, else 0. */
LANE_FN uint8_t *element_row(Warp *w, const Insn *i, uint32_t e, uint32_t part)
{
    Ref ref = w->current->function->refs[i->more + e];
    return ref == REF_ABSENT ? NULL : (uint8_t *)ref_rows(w, ref) + part * 8 * WARP_LANES;
}

/* Sets rows[e] to the row of element e of the instruction's vector of `count` elements. False if count is
 * not 2 or 4, or if an element has no row because it is not read. Of 2 elements rows[2] and rows[3]
 * repeat them. */
LANE_FN bool vector_rows(Warp *w, const Insn *i, uint32_t count, void *rows[4])
{
    if (count != 2 && count != 4) return false;
    const Ref *refs = w->current->function->refs + i->more;
    const Ref third = count == 4 ? refs[2] : refs[0], fourth = count == 4 ? refs[3] : refs[1];
    rows[0] = ref_rows(w, refs[0]);
    rows[1] = ref_rows(w, refs[1]);
    rows[2] = ref_rows(w, third);
    rows[3] = ref_rows(w, fourth);
    return refs[0] != REF_ABSENT && refs[1] != REF_ABSENT && third != REF_ABSENT && fourth != REF_ABSENT;
}

#define ROW_AT(T, rows, e, first) ((T *)__builtin_assume_aligned(rows[e], 64) + (first))

/* first: the first lane of the half, 0 or 16. from, to: its vector in memory. */
#define HALF_WARP_FNS(T) \
    LANE_FN void spread_two_##T(void *const rows[4], int first, const T *from) \
    { \
        T *d0 = ROW_AT(T, rows, 0, first), *d1 = ROW_AT(T, rows, 1, first); \
        HALF_WARP_LOOP \
        { \
            d0[l] = from[2 * l]; \
            d1[l] = from[2 * l + 1]; \
        } \
    } \
    LANE_FN void spread_four_##T(void *const rows[4], int first, const T *from) \
    { \
        T *d0 = ROW_AT(T, rows, 0, first), *d1 = ROW_AT(T, rows, 1, first); \
        T *d2 = ROW_AT(T, rows, 2, first), *d3 = ROW_AT(T, rows, 3, first); \
        HALF_WARP_LOOP \
        { \
            d0[l] = from[4 * l]; \
            d1[l] = from[4 * l + 1]; \
            d2[l] = from[4 * l + 2]; \
            d3[l] = from[4 * l + 3]; \
        } \
    } \
    LANE_FN void collect_two_##T(void *const rows[4], int first, T *to) \
    { \
        const T *b0 = ROW_AT(T, rows, 0, first), *b1 = ROW_AT(T, rows, 1, first); \
        HALF_WARP_LOOP \
        { \
            to[2 * l] = b0[l]; \
            to[2 * l + 1] = b1[l]; \
        } \
    } \
    LANE_FN void collect_four_##T(void *const rows[4], int first, T *to) \
    { \
        const T *b0 = ROW_AT(T, rows, 0, first), *b1 = ROW_AT(T, rows, 1, first); \
        const T *b2 = ROW_AT(T, rows, 2, first), *b3 = ROW_AT(T, rows, 3, first); \
        HALF_WARP_LOOP \
        { \
            to[4 * l] = b0[l]; \
            to[4 * l + 1] = b1[l]; \
            to[4 * l + 2] = b2[l]; \
            to[4 * l + 3] = b3[l]; \
        } \
    }
HALF_WARP_FNS(u16)
HALF_WARP_FNS(u64)

#if defined(__AVX2__)
/* In the low half of the register the 16 bytes at p, in the high half those 64 bytes after p. */
LANE_FN __m256i load_apart(const u32 *p)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p)),
                                   _mm_loadu_si128((const __m128i *)(const void *)(p + 16)), 1);
}
#define STORE_ROW(e, v) _mm256_store_si256((__m256i *)(void *)(ROW_AT(u32, rows, e, first) + l), v)
#define LOAD_ROW(e) VECTOR_256(ROW_AT(u32, rows, e, first) + l)
#define STORE_BOTH(k, v) _mm256_storeu_si256((__m256i *)(void *)(to + (k)), v)
#define LOW_HALVES(x, y) _mm256_permute2x128_si256(x, y, 0x20)
#define HIGH_HALVES(x, y) _mm256_permute2x128_si256(x, y, 0x31)
#define EACH_EIGHT_LANES for (int l = 0; l < HALF_WARP; l += 8)

/* Transposes 4 by 4 elements in each half of the registers a to d, into r0 to r3. */
#define TRANSPOSE(a, b, c, d) \
    const __m256i low_ab = _mm256_unpacklo_epi32(a, b), high_ab = _mm256_unpackhi_epi32(a, b); \
    const __m256i low_cd = _mm256_unpacklo_epi32(c, d), high_cd = _mm256_unpackhi_epi32(c, d); \
    const __m256i r0 = _mm256_unpacklo_epi64(low_ab, low_cd), r1 = _mm256_unpackhi_epi64(low_ab, low_cd); \
    const __m256i r2 = _mm256_unpacklo_epi64(high_ab, high_cd), r3 = _mm256_unpackhi_epi64(high_ab, high_cd)

LANE_FN void spread_four_u32(void *const rows[4], int first, const u32 *from)
{
    EACH_EIGHT_LANES
    {
        const u32 *p = from + 4 * l;
        TRANSPOSE(load_apart(p), load_apart(p + 4), load_apart(p + 8), load_apart(p + 12));
        STORE_ROW(0, r0);
        STORE_ROW(1, r1);
        STORE_ROW(2, r2);
        STORE_ROW(3, r3);
    }
}
LANE_FN void collect_four_u32(void *const rows[4], int first, u32 *to)
{
    EACH_EIGHT_LANES
    {
        TRANSPOSE(LOAD_ROW(0), LOAD_ROW(1), LOAD_ROW(2), LOAD_ROW(3));
        STORE_BOTH(4 * l, LOW_HALVES(r0, r1));
        STORE_BOTH(4 * l + 8, LOW_HALVES(r2, r3));
        STORE_BOTH(4 * l + 16, HIGH_HALVES(r0, r1));
        STORE_BOTH(4 * l + 24, HIGH_HALVES(r2, r3));
    }
}
/* In the low half of the register the pairs of two lanes at p, in the high half those of the lanes that are
 * four further. */
LANE_FN __m256 load_pairs(const u32 *p)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((const float *)(const void *)p)),
                                _mm_loadu_ps((const float *)(const void *)(p + 8)), 1);
}
LANE_FN void spread_two_u32(void *const rows[4], int first, const u32 *from)
{
    EACH_EIGHT_LANES
    {
        const __m256 x = load_pairs(from + 2 * l), y = load_pairs(from + 2 * l + 4);
        STORE_ROW(0, _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0x88)));
        STORE_ROW(1, _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0xdd)));
    }
}
LANE_FN void collect_two_u32(void *const rows[4], int first, u32 *to)
{
    EACH_EIGHT_LANES
    {
        const __m256i x = _mm256_unpacklo_epi32(LOAD_ROW(0), LOAD_ROW(1));
        const __m256i y = _mm256_unpackhi_epi32(LOAD_ROW(0), LOAD_ROW(1));
        STORE_BOTH(2 * l, LOW_HALVES(x, y));
        STORE_BOTH(2 * l + 8, HIGH_HALVES(x, y));
    }
}
#elif defined(__SSE2__)
#define EACH_FOUR_LANES for (int l = 0; l < HALF_WARP; l += 4)
#define LOAD_FOUR(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define STORE_FOUR(p, v) _mm_storeu_si128((__m128i *)(void *)(p), v)
/* Transposes 4 by 4 elements of the registers a to d, into r0 to r3. */
#define TRANSPOSE(a, b, c, d) \
    const __m128i low_ab = _mm_unpacklo_epi32(a, b), high_ab = _mm_unpackhi_epi32(a, b); \
    const __m128i low_cd = _mm_unpacklo_epi32(c, d), high_cd = _mm_unpackhi_epi32(c, d); \
    const __m128i r0 = _mm_unpacklo_epi64(low_ab, low_cd), r1 = _mm_unpackhi_epi64(low_ab, low_cd); \
    const __m128i r2 = _mm_unpacklo_epi64(high_ab, high_cd), r3 = _mm_unpackhi_epi64(high_ab, high_cd)

LANE_FN void spread_four_u32(void *const rows[4], int first, const u32 *from)
{
    EACH_FOUR_LANES
    {
        const u32 *p = from + 4 * l;
        TRANSPOSE(LOAD_FOUR(p), LOAD_FOUR(p + 4), LOAD_FOUR(p + 8), LOAD_FOUR(p + 12));
        STORE_FOUR(ROW_AT(u32, rows, 0, first) + l, r0);
        STORE_FOUR(ROW_AT(u32, rows, 1, first) + l, r1);
        STORE_FOUR(ROW_AT(u32, rows, 2, first) + l, r2);
        STORE_FOUR(ROW_AT(u32, rows, 3, first) + l, r3);
    }
}
#define LOAD_ROW(e) LOAD_FOUR(ROW_AT(u32, rows, e, first) + l)
LANE_FN void collect_four_u32(void *const rows[4], int first, u32 *to)
{
    EACH_FOUR_LANES
    {
        TRANSPOSE(LOAD_ROW(0), LOAD_ROW(1), LOAD_ROW(2), LOAD_ROW(3));
        STORE_FOUR(to + 4 * l, r0);
        STORE_FOUR(to + 4 * l + 4, r1);
        STORE_FOUR(to + 4 * l + 8, r2);
        STORE_FOUR(to + 4 * l + 12, r3);
    }
}
LANE_FN void spread_two_u32(void *const rows[4], int first, const u32 *from)
{
    EACH_FOUR_LANES
    {
        const __m128 x = _mm_castsi128_ps(LOAD_FOUR(from + 2 * l));
        const __m128 y = _mm_castsi128_ps(LOAD_FOUR(from + 2 * l + 4));
        STORE_FOUR(ROW_AT(u32, rows, 0, first) + l, _mm_castps_si128(_mm_shuffle_ps(x, y, 0x88)));
        STORE_FOUR(ROW_AT(u32, rows, 1, first) + l, _mm_castps_si128(_mm_shuffle_ps(x, y, 0xdd)));
    }
}
LANE_FN void collect_two_u32(void *const rows[4], int first, u32 *to)
{
    EACH_FOUR_LANES
    {
        STORE_FOUR(to + 2 * l, _mm_unpacklo_epi32(LOAD_ROW(0), LOAD_ROW(1)));
        STORE_FOUR(to + 2 * l + 4, _mm_unpackhi_epi32(LOAD_ROW(0), LOAD_ROW(1)));
    }
}
#else
HALF_WARP_FNS(u32)
#endif

/* The vectors of a whole warp; low, high: where those of lanes 0 and 16 are. */
#define VECTOR_FNS(T) \
    LANE_FN void spread_vectors_##T(void *const rows[4], uint32_t count, const void *low, const void *high) \
    { \
        if (count == 2) { \
            spread_two_##T(rows, 0, low); \
            spread_two_##T(rows, HALF_WARP, high); \
        } else { \
            spread_four_##T(rows, 0, low); \
            spread_four_##T(rows, HALF_WARP, high); \
        } \
    } \
    LANE_FN void collect_vectors_##T(void *const rows[4], uint32_t count, void *low, void *high) \
    { \
        if (count == 2) { \
            collect_two_##T(rows, 0, low); \
            collect_two_##T(rows, HALF_WARP, high); \
        } else { \
            collect_four_##T(rows, 0, low); \
            collect_four_##T(rows, HALF_WARP, high); \
        } \
    }
VECTOR_FNS(u16)
VECTOR_FNS(u32)
VECTOR_FNS(u64)

#endif
