/* Lanes of a warp that change places. Included by files compiled for each instruction set. */
#ifndef DEVICE_EXEC_OPS_EXCHANGE_H
#define DEVICE_EXEC_OPS_EXCHANGE_H

#include "exec/numbers/lanes.h"

/* d[lane] = a[lane ^ lane_mask]: lanes are exchanged within vectors of eight, then the vectors are. */
LANE_FN void exchange(const uint32_t *a, uint32_t lane_mask, uint32_t *d)
{
#if defined(__AVX2__)
    const __m256i lanes =
        _mm256_xor_si256(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)(lane_mask & 7)));
    __m256i eights[4];
    for (int k = 0; k < 4; k++)
        eights[k] =
            _mm256_permutevar8x32_epi32(_mm256_load_si256((const __m256i *)(const void *)(a + 8 * k)), lanes);
    for (uint32_t k = 0; k < 4; k++)
        _mm256_store_si256((__m256i *)(void *)(d + 8 * (k ^ lane_mask >> 3)), eights[k]);
#else
    uint32_t out[WARP_LANES];
    for (uint32_t l = 0; l < WARP_LANES; l++) out[l] = a[l ^ lane_mask];
    memcpy(d, out, sizeof out);
#endif
}

#endif
