/* How the parameters of a kernel lie in its parameter buffer.
 *
 * A driver from CUDA 12.4 on tells offset and size of every parameter, and then arguments are placed and
 * checked by that. An older one does not: arguments are then placed one after another with the alignment
 * natural to each, which is what the compiler does, and only the driver can object.
 */
#ifndef CORE_KERNEL_ARGS_H
#define CORE_KERNEL_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/driver_table.h"

enum {
    KERNEL_ARGS_STACK_BYTES = 4096,     /* what the launch keeps on its stack: the limit before CUDA 12.1 */
    KERNEL_ARGS_MAX_BYTES = 32768,      /* the limit since, rounded up */
    KERNEL_ARGS_STACK_COUNT = 64,
};

typedef struct KernelParam {
    uint32_t offset, size;
} KernelParam;

typedef struct KernelLayout {
    bool known;             /* false: the driver cannot tell, nothing below holds */
    uint32_t count;         /* parameters */
    uint32_t bytes;         /* end of the last one */
    KernelParam *params;    /* owned; NULL when there are none */
} KernelLayout;

/* Fills in what the driver says about this function. A driver that cannot say leaves known == false and that
 * is a success. On failure the layout is empty. count: of the parameters, where that is known
 * (core/param_counts.h), else -1: then the driver is asked until it refuses. */
IN_CALL CUresult kernel_layout_read(KernelLayout *layout, CUfunction function, int count);
void kernel_layout_free(KernelLayout *layout);

/* The first offset from `offset` on that is a multiple of `alignment`, a power of two. */
static inline size_t kernel_args_align(size_t offset, size_t alignment)
{
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* The alignment to assume for a value of `size` bytes whose own is not known: the largest power of two that
 * divides its size, at most 16, as CUDA's vector types have it. */
size_t kernel_args_natural_alignment(size_t size);

#endif
