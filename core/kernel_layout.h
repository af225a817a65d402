/* The layout of a kernel's parameter buffer.
 *
 * From CUDA 12.4 on the driver reports offset and size of every parameter, and arguments are placed and
 * checked accordingly. With an older driver arguments are placed one after another with their natural
 * alignment, as the compiler does, and only the driver can detect an error.
 */
#ifndef CORE_KERNEL_LAYOUT_H
#define CORE_KERNEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/driver_table.h"

enum {
    KERNEL_ARGS_STACK_BYTES = 4096, /* of arguments, for which a launch has room on its stack */
    KERNEL_ARGS_MAX_BYTES = 32768,  /* of arguments: the limit from CUDA 12.1 on, rounded up */
    KERNEL_ARGS_STACK_COUNT = 64,   /* arguments for which a launch has room on its stack */
};

typedef struct KernelParam {
    uint32_t offset, size;
} KernelParam;

typedef struct KernelLayout {
    bool known; /* false: the driver cannot report it, and the other fields are 0 */
    uint32_t count; /* parameters */
    uint32_t bytes; /* end of the last one */
    KernelParam *params; /* owned; NULL when there are none */
} KernelLayout;

/* Fills in the layout, for kernel_layout_free(). That the driver cannot report it is no error: layout->known
 * is false then. After an error the layout is empty. count: the number of parameters (core/param_counts.h);
 * -1: it is unknown, and the driver is queried until it returns an error. */
IN_CALL CUresult kernel_layout_read(KernelLayout *layout, CUfunction function, int count);
void kernel_layout_free(KernelLayout *layout);

/* `offset` rounded up to a multiple of `alignment`, a power of two. */
static inline size_t kernel_layout_align(size_t offset, size_t alignment)
{
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* The alignment to assume for a value of `size` bytes whose type is unknown: the largest power of two that
 * divides its size, at most 16, as of CUDA's vector types. */
size_t kernel_layout_natural_alignment(size_t size);

#endif
