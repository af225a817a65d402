/* See loop_plan.h. */
#include "core/layout/loop_plan.h"

#include <string.h>

bool loop_broadcast(int *ndim, ptrdiff_t *shape, int other_ndim, const ptrdiff_t *other)
{
    int more = other_ndim - *ndim;
    if (more > 0) {
        memmove(shape + more, shape, (size_t)*ndim * sizeof *shape);
        for (int i = 0; i < more; i++) shape[i] = 1;
        *ndim = other_ndim;
    }
    for (int i = 0; i < other_ndim; i++) {
        ptrdiff_t *length = &shape[*ndim - 1 - i], wanted = other[other_ndim - 1 - i];
        if (*length == 1) *length = wanted;
        if (wanted != 1 && wanted != *length) return false;
    }
    return true;
}

void loop_start(LoopPlan *plan, LoopOperand *operands, int ndim, const ptrdiff_t *shape)
{
    plan->count = 0;
    plan->operands = operands;
    plan->ndim = ndim;
    plan->size = 1;
    for (int i = 0; i < ndim; i++) {
        plan->shape[i] = shape[i];
        plan->size *= shape[i];
    }
}

void loop_add(LoopPlan *plan, int number, uint64_t address, const StridedForm *form)
{
    LoopOperand *operand = &plan->operands[plan->count++];
    int missing = plan->ndim - form->ndim;
    operand->number = number;
    operand->address = address;
    operand->itemsize = form->itemsize;
    for (int i = 0; i < plan->ndim; i++)
        operand->strides[i] = i < missing || form->shape[i - missing] == 1 ? 0 : form->strides[i - missing];
}

/* Axis `from` becomes axis `to`, which is overwritten. */
static void move_axis(LoopPlan *plan, int to, int from)
{
    plan->shape[to] = plan->shape[from];
    for (int k = 0; k < plan->count; k++) plan->operands[k].strides[to] = plan->operands[k].strides[from];
}

static void drop_short_axes(LoopPlan *plan)
{
    int kept = 0;
    for (int i = 0; i < plan->ndim; i++)
        if (plan->shape[i] != 1) move_axis(plan, kept++, i);
    plan->ndim = kept;
}

/* LOOP_REVERSE: see loop_collapse(). */
static void reverse_axes(LoopPlan *plan)
{
    for (int i = 0; i < plan->ndim; i++) {
        int k = 0;
        while (k < plan->count && plan->operands[k].strides[i] == 0) k++;
        if (k == plan->count || plan->operands[k].strides[i] > 0) continue;
        for (k = 0; k < plan->count; k++) {
            LoopOperand *operand = &plan->operands[k];
            operand->address += (uint64_t)((plan->shape[i] - 1) * operand->strides[i]);
            operand->strides[i] = -operand->strides[i];
        }
    }
}

/* Whether axis a belongs outside of axis b: the first operand whose two strides differ decides. */
static bool is_outer(const LoopPlan *plan, int a, int b)
{
    for (int k = 0; k < plan->count; k++) {
        ptrdiff_t of_a = strides_distance(plan->operands[k].strides[a]),
                  of_b = strides_distance(plan->operands[k].strides[b]);
        if (of_a != of_b) return of_b && (!of_a || of_a > of_b);
    }
    return false;
}

static void swap_axes(LoopPlan *plan, int a, int b)
{
    ptrdiff_t length = plan->shape[a];
    plan->shape[a] = plan->shape[b];
    plan->shape[b] = length;
    for (int k = 0; k < plan->count; k++) {
        ptrdiff_t stride = plan->operands[k].strides[a];
        plan->operands[k].strides[a] = plan->operands[k].strides[b];
        plan->operands[k].strides[b] = stride;
    }
}

static void sort_axes(LoopPlan *plan)
{
    for (int i = 1; i < plan->ndim; i++)
        for (int j = i; j > 0 && is_outer(plan, j, j - 1); j--) swap_axes(plan, j, j - 1);
}

/* Whether two adjacent axes can be merged: for every operand the stride of the outer one is the extent of the
 * inner one. */
static bool can_merge(const LoopPlan *plan, int outer, int inner)
{
    for (int k = 0; k < plan->count; k++)
        if (plan->operands[k].strides[outer] != plan->operands[k].strides[inner] * plan->shape[inner])
            return false;
    return true;
}

static void merge_axes(LoopPlan *plan)
{
    int kept = 0;
    for (int i = 1; i < plan->ndim; i++) {
        if (can_merge(plan, kept, i)) {
            plan->shape[i] *= plan->shape[kept];
            move_axis(plan, kept, i);
        } else {
            move_axis(plan, ++kept, i);
        }
    }
    if (plan->ndim > 0) plan->ndim = kept + 1;
}

void loop_collapse(LoopPlan *plan, int order)
{
    drop_short_axes(plan);
    if (plan->size == 0) return;
    if (order & LOOP_REVERSE) reverse_axes(plan);
    if (order & LOOP_SORT) sort_axes(plan);
    merge_axes(plan);
}

enum { MIN_TILE = 16 }; /* elements of an axis: tiles of shorter axes would be mostly empty */

static bool is_contiguous_along(const LoopPlan *plan, int k, int axis)
{
    const LoopOperand *operand = &plan->operands[k];
    return strides_distance(operand->strides[axis]) == operand->itemsize && plan->shape[axis] >= MIN_TILE;
}

bool loop_tile(LoopPlan *plan, uint64_t *transposed)
{
    int last = plan->ndim - 1, other = -1;
    *transposed = 0;
    if (last < 1 || !is_contiguous_along(plan, 0, last)) return false;
    for (int k = 1; k < plan->count; k++)
        for (int i = 0; i < last; i++)
            if (is_contiguous_along(plan, k, i) && (other < 0 || plan->shape[i] > plan->shape[other]))
                other = i;
    if (other < 0) return false;
    swap_axes(plan, other, last - 1);
    for (int k = 1; k < plan->count; k++)
        if (is_contiguous_along(plan, k, last - 1)) *transposed |= UINT64_C(1) << plan->operands[k].number;
    return true;
}
