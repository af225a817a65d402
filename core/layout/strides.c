/* See strides.h. */
#include "core/layout/strides.h"

#include <stdlib.h>

static bool is_empty(int ndim, const ptrdiff_t *shape)
{
    for (int axis = 0; axis < ndim; axis++)
        if (shape[axis] == 0) return true;
    return false;
}

ptrdiff_t strides_count(int ndim, const ptrdiff_t *shape, ptrdiff_t itemsize)
{
    ptrdiff_t bytes = itemsize > 0 ? itemsize : 1, count = 1;
    for (int axis = 0; axis < ndim; axis++) {
        if (shape[axis] < 0) return -1;
        if (shape[axis] > 0 && __builtin_mul_overflow(bytes, shape[axis], &bytes)) return -1;
        count *= shape[axis];
    }
    return count;
}

void strides_fill(char order, int ndim, const ptrdiff_t *shape, ptrdiff_t itemsize, ptrdiff_t *strides)
{
    ptrdiff_t step = itemsize;
    for (int i = 0; i < ndim; i++) {
        int axis = order == 'F' ? i : ndim - 1 - i;
        strides[axis] = step;
        step *= shape[axis] ? shape[axis] : 1;
    }
}

static bool is_contiguous(char order, int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides,
                          ptrdiff_t itemsize)
{
    ptrdiff_t step = itemsize;
    if (is_empty(ndim, shape)) return true;
    for (int i = 0; i < ndim; i++) {
        int axis = order == 'F' ? i : ndim - 1 - i;
        if (shape[axis] == 1) continue;
        if (strides[axis] != step) return false;
        step *= shape[axis];
    }
    return true;
}

bool strides_is_c(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize)
{
    return is_contiguous('C', ndim, shape, strides, itemsize);
}

bool strides_is_f(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize)
{
    return is_contiguous('F', ndim, shape, strides, itemsize);
}

void strides_sort(int ndim, const ptrdiff_t *strides, int *order)
{
    for (int axis = 0; axis < ndim; axis++) {
        int place = axis;
        while (place > 0 && strides_distance(strides[order[place - 1]]) < strides_distance(strides[axis])) {
            order[place] = order[place - 1];
            place--;
        }
        order[place] = axis;
    }
}

/* Replaces the strides of axes of length 1, which say nothing, by their inner neighbors' distance, so that
 * such axes keep their place when the axes are sorted. */
static void neutral_strides(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t *out)
{
    ptrdiff_t follow = 0;
    for (int axis = ndim - 1; axis >= 0; axis--) {
        out[axis] = shape[axis] == 1 ? follow : strides[axis];
        follow = strides_distance(out[axis]);
    }
}

void strides_follow_neighbors(int ndim, const ptrdiff_t *strides, ptrdiff_t *out)
{
    ptrdiff_t follow = 0;
    for (int axis = ndim - 1; axis >= 0; axis--) {
        out[axis] = strides[axis] ? strides[axis] : follow;
        follow = strides_distance(out[axis]);
    }
}

void strides_pack_like(int ndim, const ptrdiff_t *shape, const ptrdiff_t *like, ptrdiff_t itemsize,
                       ptrdiff_t *strides)
{
    int order[STRIDES_MAX_DIMS];
    ptrdiff_t neutral[STRIDES_MAX_DIMS] = {0}, step = itemsize;
    neutral_strides(ndim, shape, like, neutral);
    strides_sort(ndim, neutral, order);
    for (int i = ndim - 1; i >= 0; i--) {
        strides[order[i]] = step;
        step *= shape[order[i]] ? shape[order[i]] : 1;
    }
}

bool strides_is_packed(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize)
{
    ptrdiff_t packed[STRIDES_MAX_DIMS] = {0};
    strides_pack_like(ndim, shape, strides, itemsize, packed);
    return strides_equal(ndim, shape, strides, packed);
}

bool strides_equal(int ndim, const ptrdiff_t *shape, const ptrdiff_t *a, const ptrdiff_t *b)
{
    if (is_empty(ndim, shape)) return true;
    for (int axis = 0; axis < ndim; axis++)
        if (shape[axis] > 1 && a[axis] != b[axis]) return false;
    return true;
}

bool strides_extent(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize,
                    ptrdiff_t *low, ptrdiff_t *high)
{
    *low = *high = 0;
    if (is_empty(ndim, shape)) return true;
    for (int axis = 0; axis < ndim; axis++) {
        ptrdiff_t reach, *end;
        if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach)) return false;
        end = reach < 0 ? low : high;
        if (__builtin_add_overflow(*end, reach, end)) return false;
    }
    return !__builtin_add_overflow(*high, itemsize, high);
}

ptrdiff_t strides_alignment(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, uint64_t address)
{
    uint64_t bits = address | WIDEST_ACCESS;
    if (is_empty(ndim, shape)) return WIDEST_ACCESS;
    for (int axis = 0; axis < ndim; axis++)
        if (shape[axis] > 1) bits |= (uint64_t)strides[axis];
    return (ptrdiff_t)(bits & -bits);
}

ptrdiff_t strides_word(ptrdiff_t itemsize)
{
    ptrdiff_t word = 8;
    while (itemsize % word) word /= 2;
    return word;
}

bool strides_may_overlap(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize)
{
    int order[STRIDES_MAX_DIMS] = {0};
    ptrdiff_t reach = itemsize;
    if (is_empty(ndim, shape)) return false;
    strides_sort(ndim, strides, order);
    for (int i = ndim - 1; i >= 0; i--) {
        ptrdiff_t length = shape[order[i]], step = strides_distance(strides[order[i]]);
        if (length == 1) continue;
        if (step < reach) return true;
        reach += (length - 1) * step;
    }
    return false;
}

static ptrdiff_t common_divisor(ptrdiff_t a, ptrdiff_t b)
{
    while (b) {
        ptrdiff_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The bytes of the elements along those axes whose strides are not multiples of `step`, as of
 * strides_extent(). */
static void extent_within(const StridedForm *form, ptrdiff_t step, ptrdiff_t *low, ptrdiff_t *high)
{
    *low = 0;
    *high = form->itemsize;
    for (int axis = 0; axis < form->ndim; axis++) {
        ptrdiff_t reach = (form->shape[axis] - 1) * form->strides[axis];
        if (form->strides[axis] % step) *(reach < 0 ? low : high) += reach;
    }
}

/* Whether the two arrays never have a byte in common, modulo `step`: their extents within a period of `step`
 * bytes are disjoint. */
static bool are_apart_within(const StridedForm *a, const StridedForm *b, ptrdiff_t offset, ptrdiff_t step)
{
    ptrdiff_t a_low, a_high, b_low, b_high;
    extent_within(a, step, &a_low, &a_high);
    extent_within(b, step, &b_low, &b_high);
    ptrdiff_t start = (offset + b_low - a_low) % step;
    if (start < 0) start += step;
    return start >= a_high - a_low && start + (b_high - b_low) <= step;
}

/* Whether some stride of `of` (a or b) shows that the two arrays are disjoint. */
static bool are_apart_by_strides(const StridedForm *a, const StridedForm *b, ptrdiff_t offset,
                                 const StridedForm *of)
{
    for (int axis = 0; axis < of->ndim; axis++) {
        ptrdiff_t step = strides_distance(of->strides[axis]);
        if (of->shape[axis] > 1 && step && are_apart_within(a, b, offset, step)) return true;
    }
    return false;
}

/* The greatest common divisor of `step` and the form's strides. */
static ptrdiff_t common_step(const StridedForm *form, ptrdiff_t step)
{
    for (int axis = 0; axis < form->ndim; axis++)
        if (form->shape[axis] > 1) step = common_divisor(strides_distance(form->strides[axis]), step);
    return step;
}

bool strides_may_meet(const StridedForm *a, const StridedForm *b, ptrdiff_t offset)
{
    ptrdiff_t a_low, a_high, b_low, b_high;
    if (is_empty(a->ndim, a->shape) || is_empty(b->ndim, b->shape)) return false;
    strides_extent(a->ndim, a->shape, a->strides, a->itemsize, &a_low, &a_high);
    strides_extent(b->ndim, b->shape, b->strides, b->itemsize, &b_low, &b_high);
    if (a_high <= offset + b_low || offset + b_high <= a_low) return false;
    if (are_apart_by_strides(a, b, offset, a) || are_apart_by_strides(a, b, offset, b)) return false;
    ptrdiff_t step = common_step(b, common_step(a, 0));
    return !step || !are_apart_within(a, b, offset, step);
}

/* The i-th axis, counted from the one whose index changes fastest. */
static int from_fastest(char order, int ndim, int i) { return order == 'F' ? i : ndim - 1 - i; }

bool strides_reshape(char order, int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, int new_ndim,
                     const ptrdiff_t *new_shape, ptrdiff_t itemsize, ptrdiff_t *new_strides)
{
    int old = 0, new = 0;
    while (new < new_ndim) {
        /* The next axes of both shapes that together have the same number of elements. The old ones must be
         * one axis by their strides: then any new ones can replace them. */
        ptrdiff_t old_count = 1, new_count = 1, base = itemsize, expected = 0;
        int first = new;
        do {
            if (new_count <= old_count && new < new_ndim) {
                new_count *= new_shape[from_fastest(order, new_ndim, new ++)];
            } else if (old < ndim) {
                int axis = from_fastest(order, ndim, old++);
                if (shape[axis] == 1) continue;
                if (old_count == 1)
                    base = strides[axis];
                else if (strides[axis] != expected)
                    return false;
                expected = strides[axis] * shape[axis];
                old_count *= shape[axis];
            } else {
                return false;
            }
        } while (new_count != old_count);
        for (ptrdiff_t step = base; first < new; first++) {
            int axis = from_fastest(order, new_ndim, first);
            new_strides[axis] = step;
            step *= new_shape[axis];
        }
    }
    return true;
}
