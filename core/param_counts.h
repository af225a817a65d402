/* How many parameters each kernel of an image has, as the image itself says.
 *
 * Before CUDA 13.1 a driver reports the parameters of a kernel one by one, and the end only by an error,
 * which tools that watch the driver's errors show. So the image is parsed when it is loaded: a cubin in its
 * sections .nv.info.KERNEL, PTX in its entries. For other images the count is unknown.
 */
#ifndef CORE_PARAM_COUNTS_H
#define CORE_PARAM_COUNTS_H

#include <stddef.h>

typedef struct ParamCount {
    struct ParamCount *next; /* owned */
    int params;
    char name[]; /* of the kernel, as the driver knows it */
} ParamCount;

typedef struct ParamCounts {
    ParamCount *first; /* owned; NULL when nothing is known */
} ParamCounts;

/* Parses the image; nothing beyond its size is read. Where it cannot be parsed, or memory is short, the
 * counts are unknown. */
ParamCounts param_counts_read(const void *image, size_t size);
void param_counts_free(ParamCounts *counts);

/* -1 where that is not known. */
int param_counts_find(const ParamCounts *counts, const char *name);

#endif
