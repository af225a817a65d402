/* Affine rows: value(lane) = base + stride * (lane % 16), with a base for each half of 16 lanes and one
 * stride. Uniform rows, the same in all lanes, are those of equal bases and stride 0.
 *
 * Indices, addresses and loop counters are affine, and what does not depend on the thread is uniform. A row
 * that may be affine (lower/passes/affine.c), of a register, a constant, a parameter or a special register,
 * has an Affine in the cache line before it. While that is valid, the row itself need not be written, and an
 * operation on it computes three values. It is only another representation of the row: a handler that cannot
 * use it expands it into the row first and works on lanes.
 */
#ifndef DEVICE_EXEC_CODE_AFFINE_H
#define DEVICE_EXEC_CODE_AFFINE_H

#include <stdint.h>

typedef struct Affine {
    int64_t low, high; /* the bases: lanes 0 and 16, modulo the width of the row */
    int64_t stride; /* from a lane to the next in its half */
    uint32_t valid; /* 1: these values stand for the row */
    uint32_t spread; /* 1: expanded, the row holds the values as well */
    uint8_t unused[32];
} Affine;

enum { AFFINE_BYTES = sizeof(Affine) }; /* between the start of an Affine and its row */

static inline Affine *affine_of(void *row) { return (Affine *)((uint8_t *)row - AFFINE_BYTES); }

/* Says that all lanes have this value, which is in the row already. */
static inline void affine_set_uniform(void *row, uint64_t value)
{
    *affine_of(row) = (Affine){.low = (int64_t)value, .high = (int64_t)value, .valid = 1, .spread = 1};
}

#endif
