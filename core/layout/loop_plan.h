/* A loop over the elements of several arrays at once: shapes broadcast against each other, axes brought into
 * the order of memory and merged, so that most loops have one or two axes.
 *
 * Operand 0 is what is written. Strides are in bytes; an axis along which an operand repeats has stride 0.
 * Nothing here reads memory.
 */
#ifndef CORE_LAYOUT_LOOP_PLAN_H
#define CORE_LAYOUT_LOOP_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/layout/strides.h"

enum { LOOP_MAX_OPERANDS = 6 };

typedef struct LoopPlan {
    int count, ndim; /* operands, axes */
    ptrdiff_t size; /* elements in all */
    ptrdiff_t shape[STRIDES_MAX_DIMS]; /* outermost axis first */
    ptrdiff_t strides[LOOP_MAX_OPERANDS][STRIDES_MAX_DIMS];
    ptrdiff_t start[LOOP_MAX_OPERANDS]; /* bytes from an operand's element 0 to the loop's first */
} LoopPlan;

/* Widens *ndim and shape[] to what broadcasting with another shape gives. False when the two do not fit. */
bool loop_broadcast(int *ndim, ptrdiff_t *shape, int other_ndim, const ptrdiff_t *other);

/* A loop over this shape, without operands yet. */
void loop_start(LoopPlan *plan, int ndim, const ptrdiff_t *shape);

/* One more operand, whose shape broadcasts to the loop's. */
void loop_add(LoopPlan *plan, int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides);

/* Drops axes of length 1, reverses axes along which operand 0 has negative strides, sorts by operand 0 (ties
 * by the next), merges. */
void loop_collapse(LoopPlan *plan);

/* Whether operands are contiguous along another axis than operand 0 is, which then becomes the last but one:
 * in tiles of both axes the accesses to all of them are coalesced. Sizes of elements are in bytes. Bit k of
 * *turned: operand k is such a transposed one. */
bool loop_tile(LoopPlan *plan, const ptrdiff_t *sizes, uint64_t *turned);

/* Division of 0 <= x < 2^31 by a constant d > 0: (umulhi(x, factor) + x) >> shift. */
typedef struct LoopDivider {
    uint32_t divisor, factor, shift;
} LoopDivider;

LoopDivider loop_divider(uint32_t divisor);

#endif
