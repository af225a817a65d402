/* Where in memory an affine row of addresses points to, one element a lane. Included by files that are
 * compiled for each instruction set. */
#ifndef DEVICE_EXEC_OPS_PLACES_H
#define DEVICE_EXEC_OPS_PLACES_H

#include "exec/ops/addresses.h"
#include "exec/ops/affine_rows.h"

/* The host addresses of both halves' first lanes. dense: those of the other lanes follow; else all lanes
 * of a half have the same (uniform). Not valid where the addresses are neither, misaligned, or not in the
 * range that was looked at. */
typedef struct Places {
    uint8_t *low, *high;
    bool dense, valid;
} Places;

/* The places at the addresses *a plus the offset min. Valid only if with every offset from min to max
 * they are in the range. size: bytes of an element; shift: what is added to an address of the range to
 * make the host address. */
LANE_FN Places find_places(const Affine *a, int64_t min, int64_t max, uint32_t size, const RangeEntry *range,
                           uint64_t shift)
{
    const uint64_t low = (uint64_t)a->low + (uint64_t)min - range->base;
    const uint64_t high = (uint64_t)a->high + (uint64_t)min - range->base;
    const uint64_t last = range->size - (uint64_t)(max - min) - (a->stride != 0 ? HALF_WARP * size : size);
    const bool shaped = (a->valid & 1) && (a->stride == 0 || a->stride == size);
    const bool inside = (int64_t)(low | high | last | (last - low) | (last - high)) >= 0;
    const bool aligned = (((uint64_t)a->low | (uint64_t)a->high | (uint64_t)min) & (size - 1)) == 0;
    shift += range->base;
    return (Places){(uint8_t *)(uintptr_t)(low + shift), (uint8_t *)(uintptr_t)(high + shift), a->stride != 0,
                    shaped && inside && aligned};
}

/* Looks only at the range that this instruction hit last: others are found by the handlers for rows. */
LANE_FN Places places_generic(const Warp *w, const Insn *i, uint32_t size, bool write)
{
    const Worker *worker = w->worker;
    const RangeEntry *range = &(write ? worker->stores : worker->loads)[range_slot(i)];
    return find_places(AFFINE_AT(w, i->a), i->imm, i->imm, size, range, 0);
}

LANE_FN Places places_shared_between(const Warp *w, const Insn *i, uint32_t size, int64_t min, int64_t max)
{
    const RangeEntry window = {0, w->block->shared_size};
    return find_places(AFFINE_AT(w, i->a), min, max, size, &window, (uintptr_t)w->block->shared);
}

LANE_FN Places places_shared(const Warp *w, const Insn *i, uint32_t size, bool write)
{
    (void)write;
    return places_shared_between(w, i, size, i->imm, i->imm);
}

/* Where all lanes of a half store to one place, the last lane's value stays. */
#define MOVE_FNS(T) \
    LANE_FN void load_places_##T(T *d, const Places *at) \
    { \
        const T *low = (const T *)(const void *)at->low, *high = (const T *)(const void *)at->high; \
        const T first = *low, second = *high; \
        if (at->dense) { \
            HALF_WARP_LOOP d[l] = low[l]; \
            HALF_WARP_LOOP d[HALF_WARP + l] = high[l]; \
        } else { \
            HALF_WARP_LOOP d[l] = first; \
            HALF_WARP_LOOP d[HALF_WARP + l] = second; \
        } \
    } \
    LANE_FN void store_places_##T(const T *b, const Places *at) \
    { \
        T *low = (T *)(void *)at->low, *high = (T *)(void *)at->high; \
        if (at->dense) { \
            HALF_WARP_LOOP low[l] = b[l]; \
            HALF_WARP_LOOP high[l] = b[HALF_WARP + l]; \
        } else { \
            *low = b[HALF_WARP - 1]; \
            *high = b[WARP_LANES - 1]; \
        } \
    }
MOVE_FNS(uint32_t)
MOVE_FNS(uint64_t)

#endif
