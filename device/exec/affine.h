/* Rows on a line: each half of 16 lanes starts somewhere and rises by one stride from lane to lane.
 *
 * Indices, addresses, loop counters and everything that is equal in all lanes are such rows. A row of a
 * register that may be one (lower/affine.c decides), of a constant, a parameter or a special register has an
 * Affine in the cache line before it; as long as that is known, the row itself need not be written, and an
 * operation on it is one on three numbers. The pair is only another form of the row, whoever wrote which
 * lanes: a handler that cannot go on with numbers spreads them into the row and does what it always did.
 */
#ifndef DEVICE_EXEC_AFFINE_H
#define DEVICE_EXEC_AFFINE_H

#include <stdint.h>

typedef struct Affine {
    int64_t low, high; /* lanes 0 and 16, modulo the width of the row */
    int64_t stride;      /* from a lane to the next one of its half */
    uint32_t known;    /* 1: these numbers are the row */
    uint32_t spread;   /* 1: the row holds it as well */
    uint8_t unused[32];
} Affine;

enum { AFFINE_BYTES = sizeof(Affine) }; /* between the start of an Affine and its row */

static inline Affine *affine_of(void *row) { return (Affine *)((uint8_t *)row - AFFINE_BYTES); }

/* The same value in all lanes, in the row already. */
static inline void affine_set_uniform(void *row, uint64_t value)
{
    *affine_of(row) = (Affine){.low = (int64_t)value, .high = (int64_t)value, .known = 1, .spread = 1};
}

#endif
