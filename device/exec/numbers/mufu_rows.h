/* The polynomials of mufu.h for a row: the coefficients of 32 places are looked up at once, by the vector
 * instructions of the instruction set, and the squares are computed in 16 bits, twice as many to a vector. */
#ifndef DEVICE_EXEC_NUMBERS_MUFU_ROWS_H
#define DEVICE_EXEC_NUMBERS_MUFU_ROWS_H

#include "exec/numbers/mufu.h"

/* For each lane its place, then the coefficients of its segment and the square of its x. */
typedef struct {
    _Alignas(64) b32 place[WARP_LANES];
    _Alignas(64) s32 a[WARP_LANES], b[WARP_LANES], c[WARP_LANES];
    _Alignas(64) u16 square[WARP_LANES];
} MufuRows;

#if defined(__AVX512F__)
/* t[k] of a table of 64, by permuting registers. */
LANE_FN __m512i mufu_pick_64(const int *t, __m512i k)
{
    __m512i low = _mm512_permutex2var_epi32(_mm512_load_si512(t), k, _mm512_load_si512(t + 16));
    __m512i high = _mm512_permutex2var_epi32(_mm512_load_si512(t + 32), k, _mm512_load_si512(t + 48));
    return _mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(k, _mm512_set1_epi32(32)), high);
}
/* r[l] = t[the segment of place[l]]. */
LANE_FN void mufu_pick(s32 *r, const int *t, int segments, const b32 *place)
{
    for (int l = 0; l < WARP_LANES; l += 16) {
        __m512i k = _mm512_srli_epi32(_mm512_load_si512(place + l), MUFU_X_BITS), picked = mufu_pick_64(t, k);
        if (segments > 64) {
            __mmask16 upper = _mm512_test_epi32_mask(k, _mm512_set1_epi32(64));
            picked = _mm512_mask_mov_epi32(picked, upper, mufu_pick_64(t + 64, k));
        }
        _mm512_store_si512(r + l, picked);
    }
}
#elif defined(__AVX2__)
LANE_FN void mufu_pick(s32 *r, const int *t, int segments, const b32 *place)
{
    (void)segments;
    for (int l = 0; l < WARP_LANES; l += 8) {
        __m256i k =
            _mm256_srli_epi32(_mm256_load_si256((const __m256i *)(const void *)(place + l)), MUFU_X_BITS);
        _mm256_store_si256((__m256i *)(void *)(r + l), _mm256_i32gather_epi32(t, k, 4));
    }
}
#else
LANE_FN void mufu_pick(s32 *r, const int *t, int segments, const b32 *place)
{
    (void)segments;
    for (int l = 0; l < WARP_LANES; l++) r[l] = t[place[l] >> MUFU_X_BITS];
}
#endif

/* Fills the coefficients and squares of r, whose places are set. */
static __attribute__((noinline, unused)) void mufu_look_up(MufuRows *r, const MufuTable *t)
{
    mufu_pick(r->a, t->a, t->segments, r->place);
    mufu_pick(r->b, t->b, t->segments, r->place);
    mufu_pick(r->c, t->c, t->segments, r->place);
    LANES_LOOP r->square[l] = (u16)(r->place[l] >> 1);
    LANES_LOOP r->square[l] = mufu_square(r->square[l]);
}

/* The polynomial's value at lane l's place. */
LANE_FN f64 mufu_row_value(const MufuRows *r, const MufuTable *t, int l)
{
    return mufu_polynomial(t, r->a[l], r->b[l], r->c[l], r->place[l], r->square[l]);
}

#endif
