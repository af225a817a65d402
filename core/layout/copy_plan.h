/* A copy between arrays of one shape, as rows that a pitched copy can do. */
#ifndef CORE_LAYOUT_COPY_PLAN_H
#define CORE_LAYOUT_COPY_PLAN_H

#include "core/layout/strides.h"

/* Axes are sorted by the destination, reversed to positive steps there, and merged where both sides allow
 * it. */
typedef struct CopyPlan {
    ptrdiff_t to_start, from_start; /* bytes to add to the two addresses */
    ptrdiff_t width; /* bytes that are contiguous on both sides */
    ptrdiff_t height, to_pitch,
        from_pitch; /* rows of one pitched copy; height 1 when there is no second axis */
    int outer; /* further axes, to be walked */
    ptrdiff_t calls; /* pitched copies in all */
    ptrdiff_t shape[STRIDES_MAX_DIMS], to[STRIDES_MAX_DIMS], from[STRIDES_MAX_DIMS];
} CopyPlan;

/* False when elements of the destination may share memory: then no order of copies is right. The source may
 * have any steps; where it runs backwards relative to the destination or repeats elements, many calls are
 * needed, one per element in the worst case. The arrays must have elements. */
bool copy_plan_make(CopyPlan *plan, int ndim, const ptrdiff_t *shape, const ptrdiff_t *to,
                    const ptrdiff_t *from, ptrdiff_t itemsize);

/* Steps to the next pitched copy: index[] counts the outer axes, the offsets move along. False after the
 * last. */
bool copy_plan_next(const CopyPlan *plan, ptrdiff_t *index, ptrdiff_t *to_offset, ptrdiff_t *from_offset);

#endif
