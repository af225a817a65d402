/* See copy_plan.h. */
#include "core/layout/copy_plan.h"

#include <string.h>

#include "core/layout/loop_plan.h"

/* Makes the axis `last` the rows of the pitched copy, if its strides on both sides are at least `width`
 * bytes. Returns the last axis that remains (-1: none). */
static int take_rows(CopyPlan *plan, const LoopPlan *loop, int last)
{
    ptrdiff_t to = last < 0 ? 0 : loop->operands[0].strides[last],
              from = last < 0 ? 0 : loop->operands[1].strides[last];
    if (last < 0 || from < plan->width || to < plan->width) return last;
    plan->height = loop->shape[last];
    plan->to_pitch = to;
    plan->from_pitch = from;
    return last - 1;
}

bool copy_plan_make(CopyPlan *plan, int ndim, const ptrdiff_t *shape, const ptrdiff_t *to,
                    const ptrdiff_t *from, ptrdiff_t itemsize)
{
    LoopOperand sides[2];
    LoopPlan loop;
    if (strides_may_overlap(ndim, shape, to, itemsize)) return false;
    loop_start(&loop, sides, ndim, shape);
    loop_add(&loop, 0, 0, &(StridedForm){ndim, shape, to, itemsize});
    loop_add(&loop, 1, 0, &(StridedForm){ndim, shape, from, itemsize});
    loop_collapse(&loop, LOOP_REVERSE | LOOP_SORT);
    *plan = (CopyPlan){.to_start = (ptrdiff_t)sides[0].address,
                       .from_start = (ptrdiff_t)sides[1].address,
                       .width = itemsize,
                       .height = 1,
                       .calls = 1};
    int last = loop.ndim - 1;
    if (last >= 0 && sides[0].strides[last] == itemsize && sides[1].strides[last] == itemsize)
        plan->width *= loop.shape[last--];
    plan->outer = take_rows(plan, &loop, last) + 1;
    for (int axis = 0; axis < plan->outer; axis++) {
        plan->calls *= plan->shape[axis] = loop.shape[axis];
        plan->to[axis] = sides[0].strides[axis];
        plan->from[axis] = sides[1].strides[axis];
    }
    return true;
}

bool copy_plan_next(const CopyPlan *plan, ptrdiff_t *index, ptrdiff_t *to_offset, ptrdiff_t *from_offset)
{
    for (int axis = plan->outer - 1; axis >= 0; axis--) {
        *to_offset += plan->to[axis];
        *from_offset += plan->from[axis];
        if (++index[axis] < plan->shape[axis]) return true;
        *to_offset -= plan->shape[axis] * plan->to[axis];
        *from_offset -= plan->shape[axis] * plan->from[axis];
        index[axis] = 0;
    }
    return false;
}
