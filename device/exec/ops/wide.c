/* Rows of all warps of a block at once, warp after warp: see wide.h. */
#include "exec/ops/exchange.h"
#include "exec/ops/vector_rows.h"

#define SPLIT_FN(bits, T) \
    void EXEC_NAME(wide_split_##bits)(void *const rows[4], unsigned count, const void *from, unsigned warps) \
    { \
        const T *p = from; \
        void *at[4]; \
        memcpy(at, rows, sizeof at); \
        for (; warps; warps--, p += count * WARP_LANES) { \
            spread_vectors_##T(at, count, p, p + count * HALF_WARP); \
            for (unsigned e = 0; e < count; e++) at[e] = (T *)at[e] + WARP_LANES; \
        } \
    }
SPLIT_FN(32, u32)
SPLIT_FN(64, u64)

/* d[lane] = a[lane ^ lane_mask] in each of the warps, as shfl.bfly has it. */
void EXEC_NAME(wide_exchange)(void *d, const void *a, unsigned lane_mask, unsigned warps)
{
    uint32_t *to = d;
    const uint32_t *from = a;
    for (; warps; warps--, to += WARP_LANES, from += WARP_LANES) exchange(from, lane_mask, to);
}
