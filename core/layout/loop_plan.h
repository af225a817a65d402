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
    int number; /* the caller's */
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

/* One more operand, whose shape broadcasts to the loop's. address: of its element 0. */
void loop_add(LoopPlan *plan, int number, uint64_t address, const StridedForm *form);

/* As loop_add(), for one whose elements follow each other, in a loop of one axis. */
static inline void loop_add_dense(LoopPlan *plan, int number, uint64_t address, ptrdiff_t itemsize)
{
    LoopOperand *operand = &plan->operands[plan->count++];
    operand->number = number;
    operand->address = address;
    operand->strides[0] = operand->itemsize = itemsize;
}

/* How the order of iteration may change. */
enum {
    LOOP_REVERSE = 1, /* axes along which the first operand that moves has negative strides are reversed */
    LOOP_SORT = 2, /* axes are sorted by falling strides of operand 0, ties by the next; stride 0 is outermost
                    */
};

/* Drops axes of length 1, reverses and sorts as `order` says, merges adjacent axes that every operand steps
 * over as one. From a loop without elements only the axes of length 1 are dropped. */
void loop_collapse(LoopPlan *plan, int order);

/* Prepares a loop for tiles. True when operand 0 is contiguous along the last axis and other operands along a
 * different one: in tiles of both axes the accesses to all of them are coalesced. That other axis becomes the
 * second to last. Bit k of *transposed: operand k is contiguous along it. */
bool loop_tile(LoopPlan *plan, uint64_t *transposed);

#endif
