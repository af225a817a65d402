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

void loop_start(LoopPlan *plan, int ndim, const ptrdiff_t *shape)
{
    plan->count = 0;
    plan->ndim = ndim;
    plan->size = 1;
    for (int i = 0; i < ndim; i++) {
        plan->shape[i] = shape[i];
        plan->size *= shape[i];
    }
}

void loop_add(LoopPlan *plan, int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides)
{
    ptrdiff_t *own = plan->strides[plan->count];
    int missing = plan->ndim - ndim;
    for (int i = 0; i < plan->ndim; i++)
        own[i] = i < missing || shape[i - missing] == 1 ? 0 : strides[i - missing];
    plan->start[plan->count++] = 0;
}

static void move_axis(LoopPlan *plan, int to, int from)
{
    plan->shape[to] = plan->shape[from];
    for (int k = 0; k < plan->count; k++) plan->strides[k][to] = plan->strides[k][from];
}

static void drop_short_axes(LoopPlan *plan)
{
    int kept = 0;
    for (int i = 0; i < plan->ndim; i++)
        if (plan->shape[i] != 1) move_axis(plan, kept++, i);
    plan->ndim = kept;
}

/* The first operand that moves along an axis decides about its direction. */
static void turn_axes(LoopPlan *plan)
{
    for (int i = 0; i < plan->ndim; i++) {
        int k = 0;
        while (k < plan->count && plan->strides[k][i] == 0) k++;
        if (k == plan->count || plan->strides[k][i] > 0) continue;
        for (k = 0; k < plan->count; k++) {
            plan->start[k] += (plan->shape[i] - 1) * plan->strides[k][i];
            plan->strides[k][i] = -plan->strides[k][i];
        }
    }
}

static ptrdiff_t distance(ptrdiff_t stride) { return stride < 0 ? -stride : stride; }

/* True when axis a belongs outside of axis b. */
static bool is_outer(const LoopPlan *plan, int a, int b)
{
    for (int k = 0; k < plan->count; k++) {
        ptrdiff_t of_a = distance(plan->strides[k][a]), of_b = distance(plan->strides[k][b]);
        if (of_a && of_b && of_a != of_b) return of_a > of_b;
    }
    return false;
}

static void swap_axes(LoopPlan *plan, int a, int b)
{
    ptrdiff_t length = plan->shape[a];
    plan->shape[a] = plan->shape[b];
    plan->shape[b] = length;
    for (int k = 0; k < plan->count; k++) {
        ptrdiff_t stride = plan->strides[k][a];
        plan->strides[k][a] = plan->strides[k][b];
        plan->strides[k][b] = stride;
    }
}

static void sort_axes(LoopPlan *plan)
{
    for (int i = 1; i < plan->ndim; i++)
        for (int j = i; j > 0 && is_outer(plan, j, j - 1); j--) swap_axes(plan, j, j - 1);
}

/* Two neighbours are one axis where every operand steps over the inner one as a whole. */
static bool can_merge(const LoopPlan *plan, int outer, int inner)
{
    for (int k = 0; k < plan->count; k++)
        if (plan->strides[k][outer] != plan->strides[k][inner] * plan->shape[inner]) return false;
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

void loop_collapse(LoopPlan *plan)
{
    drop_short_axes(plan);
    if (plan->size == 0) return;
    turn_axes(plan);
    sort_axes(plan);
    merge_axes(plan);
}

enum { TILE_LEAST = 16 }; /* elements along both axes: in shorter ones tiles are mostly empty */

static bool is_along(const LoopPlan *plan, int k, int axis, ptrdiff_t size)
{
    return distance(plan->strides[k][axis]) == size && plan->shape[axis] >= TILE_LEAST;
}

bool loop_tile(LoopPlan *plan, const ptrdiff_t *sizes, uint64_t *turned)
{
    int last = plan->ndim - 1, other = -1;
    *turned = 0;
    if (last < 1 || !is_along(plan, 0, last, sizes[0])) return false;
    for (int k = 1; k < plan->count; k++)
        for (int i = 0; i < last; i++)
            if (is_along(plan, k, i, sizes[k]) && (other < 0 || plan->shape[i] > plan->shape[other]))
                other = i;
    if (other < 0) return false;
    swap_axes(plan, other, last - 1);
    for (int k = 1; k < plan->count; k++)
        if (is_along(plan, k, last - 1, sizes[k])) *turned |= UINT64_C(1) << k;
    return true;
}

LoopDivider loop_divider(uint32_t divisor)
{
    uint32_t shift = 0;
    while (shift < 31 && (UINT32_C(1) << shift) < divisor) shift++;
    uint64_t power = UINT64_C(1) << shift;
    uint32_t factor = (uint32_t)(((power - divisor) << 32) / divisor + 1);
    return (LoopDivider){divisor, factor, shift};
}
