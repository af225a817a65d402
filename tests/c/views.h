/* Random views, and a walk over the elements of one, for the tests of core/layout. */
#ifndef TESTS_C_VIEWS_H
#define TESTS_C_VIEWS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { DIMS = 4, ROOM = 1 << 16 }; /* maximum axes of a view; bytes of the memory that tests use */

static unsigned random_state = 2463534242u;
/* From 0 to n - 1. */
static inline int random_below(int n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return (int)(random_state % (unsigned)n);
}

static inline ptrdiff_t count_elements(int ndim, const ptrdiff_t *shape)
{
    ptrdiff_t count = 1;
    for (int axis = 0; axis < ndim; axis++) count *= shape[axis];
    return count;
}

/* Gets an element's offset in bytes and its number in row-major order. */
typedef void (*VisitFn)(ptrdiff_t offset, ptrdiff_t number, void *data);
/* Calls visit for every element, in row-major order. */
static inline void walk(int ndim, const ptrdiff_t *shape, const ptrdiff_t *strides, VisitFn visit, void *data)
{
    ptrdiff_t count = count_elements(ndim, shape);
    for (ptrdiff_t number = 0; number < count; number++) {
        ptrdiff_t rest = number, offset = 0;
        for (int axis = ndim - 1; axis >= 0; axis--) {
            offset += rest % shape[axis] * strides[axis];
            rest /= shape[axis];
        }
        visit(offset, number, data);
    }
}

/* Makes a view with a random order of axes, gaps and directions, in which no two elements overlap. Returns
 * its number of axes. */
static inline int random_view(ptrdiff_t *shape, ptrdiff_t *strides, ptrdiff_t itemsize)
{
    int ndim = random_below(DIMS + 1), order[DIMS];
    ptrdiff_t step = itemsize * (1 + random_below(2));
    for (int i = 0; i < ndim; i++) order[i] = i;
    for (int i = ndim - 1; i > 0; i--) {
        int other = random_below(i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (int i = 0; i < ndim; i++) {
        shape[order[i]] = 1 + random_below(4);
        strides[order[i]] = random_below(4) ? step : -step;
        step = step * shape[order[i]] + itemsize * random_below(2) * random_below(3);
    }
    return ndim;
}

/* Data of visitors: memory to copy from and to, and the offsets of the elements by number. */
typedef struct Images {
    unsigned char *to, *from;
    ptrdiff_t itemsize;
    ptrdiff_t offsets[256];
} Images;

/* A visitor: stores the offset in Images. */
static inline void remember(ptrdiff_t offset, ptrdiff_t number, void *data)
{
    ((Images *)data)->offsets[number] = offset;
}

#endif
