/* A loop over the elements of several arrays at once: shapes broadcast against each other, axes brought into
 * the order of memory and merged, so that most loops have one or two axes.
 *
 * Strides are in bytes; an axis along which an operand repeats has stride 0. This is arithmetic on
 * descriptions; no memory is read.
 */
#ifndef CORE_LAYOUT_LOOP_PLAN_H
#define CORE_LAYOUT_LOOP_PLAN_H

#include "core/layout/strides.h"

typedef struct LoopOperand {
    int number; /* by which the caller identifies it */
    uint64_t address; /* of the loop's first element */
    ptrdiff_t itemsize;
    ptrdiff_t strides[STRIDES_MAX_DIMS];
} LoopOperand;

typedef struct LoopPlan {
    int count, ndim; /* operands, axes */
    ptrdiff_t size; /* elements in all */
    ptrdiff_t shape[STRIDES_MAX_DIMS]; /* outermost axis first */
    LoopOperand *operands; /* the caller's, large enough for all that are added */
} LoopPlan;

/* Broadcasts *ndim and shape[] with another shape. False when the two are incompatible. */
bool loop_broadcast(int *ndim, ptrdiff_t *shape, int other_ndim, const ptrdiff_t *other);

/* A loop over this shape, without operands yet. */
void loop_start(LoopPlan *plan, LoopOperand *operands, int ndim, const ptrdiff_t *shape);

/* Adds an operand, whose shape broadcasts to the loop's. address: of its element 0. */
void loop_add(LoopPlan *plan, int number, uint64_t address, const StridedForm *form);

/* Adds a contiguous operand to a loop of one axis. */
static inline void loop_add_dense(LoopPlan *plan, int number, uint64_t address, ptrdiff_t itemsize)
{
    LoopOperand *operand = &plan->operands[plan->count++];
    operand->number = number;
    operand->address = address;
    operand->strides[0] = operand->itemsize = itemsize;
}

/* Bits of `order`: how loop_collapse() may change the order of iteration. */
enum {
    /* Axes are reversed along which the first operand with a stride other than 0 has a negative one. */
    LOOP_REVERSE = 1,
    /* Axes are sorted by decreasing strides of operand 0, with equal ones by those of the next operand; axes
     * with stride 0 come first. */
    LOOP_SORT = 2,
};

/* Drops axes of length 1, reverses and sorts axes as `order` says, and merges adjacent axes that are one
 * axis for every operand. From a loop without elements only the axes of length 1 are dropped. */
void loop_collapse(LoopPlan *plan, int order);

/* Prepares a loop for tiles. True if operand 0 is contiguous along the last axis and another operand along a
 * different one, which becomes the second to last: in tiles of these two axes the accesses to all operands
 * are coalesced. Bit k of *transposed: operand k is contiguous along the second to last axis. */
bool loop_tile(LoopPlan *plan, uint64_t *transposed);

#endif
