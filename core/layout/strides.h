/* Shapes and strides of arrays: contiguity, packed strides, the bytes an array spans.
 *
 * Strides are in bytes and may be negative or zero. No memory is read.
 */
#ifndef CORE_LAYOUT_STRIDES_H
#define CORE_LAYOUT_STRIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STRIDES_MAX_DIMS = 64 }; /* NumPy's own limit */
enum { WIDEST_ACCESS = 16 };    /* bytes that one load or store of a kernel's thread moves at most */

/* Bytes between neighboring elements, in either direction. The smallest stride, which has no positive
 * counterpart, is returned as it is. */
static inline ptrdiff_t strides_distance(ptrdiff_t stride)
{
    return stride < 0 ? (ptrdiff_t)(0 - (size_t)stride) : stride;
}

/* The number of elements; -1 if a length is negative or the number of bytes overflows. */
ptrdiff_t strides_count(int ndim, const ptrdiff_t *shape, ptrdiff_t itemsize);
#define STRIDES_COUNT_PROBLEM "the shape has a negative length or too many elements"

/* Fills in the strides of a contiguous array in row-major ('C') or column-major ('F') order. An axis of
 * length 0 counts as one of length 1. */
void strides_fill(char order, int ndim, const ptrdiff_t *shape, ptrdiff_t itemsize, ptrdiff_t *strides);

/* Whether the array is C-contiguous or F-contiguous. Strides of axes of length 1, and of arrays without
 * elements, do not matter. */
bool strides_is_c(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize);
bool strides_is_f(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize);

/* order[i] becomes the axis that is i-th by decreasing distance, in a stable sort: order[0] is the
 * outermost. */
void strides_sort(int ndim, const ptrdiff_t *strides, int *order);

/* out[]: the strides, except that a stride of 0 is replaced by the distance of the next inner axis, so that
 * such axes keep their place when the axes are sorted. */
void strides_follow_neighbors(int ndim, const ptrdiff_t *strides, ptrdiff_t *out);

/* Fills in the strides of an array without gaps whose axes have the same order in memory as those of `like`.
 * All strides are positive. */
void strides_pack_like(int ndim, const ptrdiff_t *shape, const ptrdiff_t *like, ptrdiff_t itemsize,
                       ptrdiff_t *strides);

/* Whether the elements fill one block of memory without gaps or overlap, in any order of axes, and all
 * strides are positive. */
bool strides_is_packed(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize);

/* Whether the strides are equal where they matter: on axes longer than 1 of arrays that have elements. */
bool strides_equal(int ndim, const ptrdiff_t *shape, const ptrdiff_t *a, const ptrdiff_t *b);

/* All elements are in the bytes [*low, *high), relative to the address of element 0. Both are 0 for an array
 * without elements. False if that overflows; then both are undefined. */
bool strides_extent(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize,
                    ptrdiff_t *low, ptrdiff_t *high);

/* The largest power of two, up to WIDEST_ACCESS, that divides the addresses of all elements. Element 0 is at
 * `address`. */
ptrdiff_t strides_alignment(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, uint64_t address);

/* The largest unit in which kernels can move elements of that size: 8, 4, 2 or 1 bytes. */
ptrdiff_t strides_word(ptrdiff_t itemsize);

/* Whether two elements may share memory: a stride is 0, or strides are so small that axes interleave. */
bool strides_may_overlap(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize);

/* Shape, strides and itemsize of an array. */
typedef struct StridedForm {
    int ndim;
    const ptrdiff_t *shape, *strides;
    ptrdiff_t itemsize;
} StridedForm;

/* False if two arrays have no byte in common, as far as a single stride of either array, or the greatest
 * common divisor of all, shows it: real and imaginary parts, every other element and columns are recognized
 * as disjoint. offset: bytes from element 0 of a to element 0 of b. */
bool strides_may_meet(const StridedForm *a, const StridedForm *b, ptrdiff_t offset);

/* Fills in new_strides[], by which the same memory has another shape, with the elements in the same
 * row-major ('C') or column-major ('F') order. False if there are no such strides. Both shapes must have the
 * same number of elements, and at least one. */
bool strides_reshape(char order, int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, int new_ndim,
                     const ptrdiff_t *new_shape, ptrdiff_t itemsize, ptrdiff_t *new_strides);

#endif
