/* What the handlers of affine rows share: see affine.h. Included by files that are compiled for each
 * instruction set. */
#ifndef DEVICE_EXEC_OPS_AFFINE_ROWS_H
#define DEVICE_EXEC_OPS_AFFINE_ROWS_H

#include "exec/code/affine.h"
#include "exec/numbers/lanes.h"

#define AFFINE_AT(w, ref) affine_of(ref_rows(w, ref))

/* Writes the values of the operand's Affine into its row, unless it is not valid or they are there
 * already. Only the lowest bits of the fields are looked at: those of a register that was never written
 * are undefined. */
#define SPREAD_FN(bits) \
    LANE_FN void spread_##bits(Warp *w, Ref ref) \
    { \
        Affine *s = AFFINE_AT(w, ref); \
        b##bits *row = ROW(b##bits, w, ref); \
        if (!(s->valid & ~s->spread & 1)) return; \
        const b##bits low = (b##bits)s->low, high = (b##bits)s->high, stride = (b##bits)s->stride; \
        for (int l = 0; l < WARP_LANES / 2; l++) { \
            row[l] = low + stride * (b##bits)l; \
            row[l + WARP_LANES / 2] = high + stride * (b##bits)l; \
        } \
        s->spread = 1; \
    }
SPREAD_FN(32)
SPREAD_FN(64)
LANE_FN void spread_0(Warp *w, Ref ref) { (void)w, (void)ref; }

#endif
