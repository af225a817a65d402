/* How many parameters each kernel of an image has, as the image itself says.
 *
 * A driver before CUDA 13.1 tells the parameters of a kernel one by one, and that there are no more only by
 * refusing the next question, which tools that watch the driver's errors report. So what the image says is
 * read when it is loaded: a cubin in its sections .nv.info.KERNEL, PTX in its entries. Of other images
 * nothing is known.
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

/* Reads what the image says; nothing beyond its size is read. What cannot be understood, and what there is no
 * memory for, is not known afterwards. */
ParamCounts param_counts_read(const void *image, size_t size);
void param_counts_free(ParamCounts *counts);

/* -1 where that is not known. */
int param_counts_find(const ParamCounts *counts, const char *name);

#endif
