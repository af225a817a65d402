/* A copy between two arrays of the same shape, as a number of pitched copies (cuMemcpy2D). */
#ifndef CORE_LAYOUT_COPY_PLAN_H
#define CORE_LAYOUT_COPY_PLAN_H

#include "core/layout/strides.h"

/* Axes are sorted by the destination's strides, reversed so that these are positive, and merged where both
 * sides allow it. The last two are the bytes and rows of each pitched copy; a call is made for each element
 * of the outer axes. */
typedef struct CopyPlan {
    ptrdiff_t to_start, from_start; /* bytes to add to the two addresses */
    ptrdiff_t width; /* bytes of a row, contiguous on both sides */
    ptrdiff_t height; /* rows of one pitched copy; 1: there is no second axis, and the pitches are unset */
    ptrdiff_t to_pitch, from_pitch; /* bytes from row to row */
    int outer; /* the number of outer axes */
    ptrdiff_t calls; /* the number of pitched copies */
    /* Of the outer axes: lengths, and strides on the two sides. */
    ptrdiff_t shape[STRIDES_MAX_DIMS], to[STRIDES_MAX_DIMS], from[STRIDES_MAX_DIMS];
} CopyPlan;

/* Fills in the plan. False if elements of the destination may share memory: then no order of copies is
 * right. The source may have any strides; if it runs backwards relative to the destination or repeats
 * elements many calls are needed, one per element in the worst case. The arrays must have elements. */
bool copy_plan_make(CopyPlan *plan, int ndim, const ptrdiff_t *shape, const ptrdiff_t *to,
                    const ptrdiff_t *from, ptrdiff_t itemsize);

/* Advances to the next pitched copy: index[], the position on the outer axes, and the two offsets, all 0 for
 * the first copy. False after the last. */
bool copy_plan_next(const CopyPlan *plan, ptrdiff_t *index, ptrdiff_t *to_offset, ptrdiff_t *from_offset);

#endif
