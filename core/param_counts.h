/* How many parameters each kernel of an image has, read from the image.
 *
 * Before CUDA 13.1 a driver reports the parameters of a kernel one by one, and the end only by an error,
 * which tools that watch the driver's errors would show. So the image is parsed when it is loaded: the
 * sections .nv.info.KERNEL of a cubin, the .entry functions of PTX. For other images the number is unknown.
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

/* Parses the image of `size` bytes. For kernels that cannot be parsed, or if memory is short, the number is
 * unknown. */
ParamCounts param_counts_read(const void *image, size_t size);
void param_counts_free(ParamCounts *counts);

/* The number of parameters of the kernel with that name; -1 if it is unknown. */
int param_counts_find(const ParamCounts *counts, const char *name);

#endif
