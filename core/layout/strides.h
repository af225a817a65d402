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

/* Bytes from one element to the next, whatever the direction. */
static inline ptrdiff_t strides_distance(ptrdiff_t stride) { return stride < 0 ? -stride : stride; }

/* Elements of this shape, or -1 when a length is negative or the number of bytes overflows. */
ptrdiff_t strides_count(int ndim, const ptrdiff_t *shape, ptrdiff_t itemsize);
#define STRIDES_COUNT_PROBLEM "the shape has a negative length or too many elements"

/* Strides of a packed array in row-major ('C') or column-major ('F') order. An axis of length 0 counts as 1.
 */
void strides_fill(char order, int ndim, const ptrdiff_t *shape, ptrdiff_t itemsize, ptrdiff_t *strides);

/* Axes of length 1 and arrays without elements do not break contiguity. */
bool strides_is_c(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize);
bool strides_is_f(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize);

/* The axes sorted by decreasing distance in memory (a stable sort): order[0] is the outermost. */
void strides_sort(int ndim, const ptrdiff_t *strides, int *order);

/* The strides, those of axes that repeat an element (0) replaced by their inner neighbors' distance: then
 * such axes stay where they are when the others are sorted. */
void strides_follow_neighbors(int ndim, const ptrdiff_t *strides, ptrdiff_t *out);

/* Strides of a packed array with the same order of axes in memory as the given one: gaps are closed and
 * negative steps become positive. */
void strides_pack_like(int ndim, const ptrdiff_t *shape, const ptrdiff_t *like, ptrdiff_t itemsize,
                       ptrdiff_t *strides);

/* True when the elements fill one block of memory without gap or overlap and all steps are positive, in
 * whatever order of axes. */
bool strides_is_packed(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize);

/* The same strides wherever it matters, i.e. on axes longer than 1 of arrays that have elements. */
bool strides_equal(int ndim, const ptrdiff_t *shape, const ptrdiff_t *a, const ptrdiff_t *b);

/* The bytes touched, relative to the address of element 0: [*low, *high). Both 0 for an array without
 * elements. False, with both undefined, if that overflows. */
bool strides_extent(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize,
                    ptrdiff_t *low, ptrdiff_t *high);

/* The alignment of all elements: the largest power of two, up to WIDEST_ACCESS, that divides all
 * their addresses. Element 0 is at `address`. */
ptrdiff_t strides_alignment(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, uint64_t address);

/* The largest unit in which kernels move an element that is not a number: 8, 4, 2 or 1 bytes. */
ptrdiff_t strides_word(ptrdiff_t itemsize);

/* True when two elements may share memory: an axis of step 0, or steps that interleave. */
bool strides_may_overlap(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, ptrdiff_t itemsize);

/* An array without its address. */
typedef struct StridedForm {
    int ndim;
    const ptrdiff_t *shape, *strides;
    ptrdiff_t itemsize;
} StridedForm;

/* False when two arrays have no byte in common, as far as one stride of either shows it: real and imaginary
 * parts, every other element and columns are recognized as disjoint. offset: bytes from element 0 of a to
 * that of b. */
bool strides_may_meet(const StridedForm *a, const StridedForm *b, ptrdiff_t offset);

/* Strides that give the same elements another shape without moving them, read in row-major ('C') or
 * column-major ('F') order. False when no strides do that. Both shapes have the same, not zero, number of
 * elements. */
bool strides_reshape(char order, int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, int new_ndim,
                     const ptrdiff_t *new_shape, ptrdiff_t itemsize, ptrdiff_t *new_strides);

#endif
