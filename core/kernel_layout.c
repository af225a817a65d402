/* See kernel_layout.h. */
#include "core/kernel_layout.h"

#include <stdlib.h>

/* Appends one parameter. False when out of memory. */
static bool add_param(KernelLayout *layout, uint32_t *capacity, size_t offset, size_t size)
{
    if (layout->count == *capacity) {
        uint32_t larger = *capacity ? *capacity * 2 : 8;
        KernelParam *params = realloc(layout->params, larger * sizeof *params);
        if (!params) return false;
        layout->params = params;
        *capacity = larger;
    }
    layout->params[layout->count++] = (KernelParam){(uint32_t)offset, (uint32_t)size};
    if (offset + size > layout->bytes) layout->bytes = (uint32_t)(offset + size);
    return true;
}

/* Offset and size of a parameter. *end: there is no parameter with that index; drivers then return
 * CUDA_ERROR_INVALID_VALUE. With this error the call is repeated, because fault injection may have caused it
 * the first time (core/fault_injection.h); the second result counts. */
IN_CALL static CUresult next_param(CUfunction function, uint32_t index, size_t *offset, size_t *size,
                                   bool *end)
{
    CUresult result = driver.cuFuncGetParamInfo(function, index, offset, size);
    if (result == CUDA_ERROR_INVALID_VALUE) result = driver.cuFuncGetParamInfo(function, index, offset, size);
    *end = result == CUDA_ERROR_INVALID_VALUE;
    return *end ? CUDA_SUCCESS : result;
}

IN_CALL CUresult kernel_layout_read(KernelLayout *layout, CUfunction function, int count)
{
    uint32_t capacity = 0;
    *layout = (KernelLayout){0};
    if (!DRIVER_HAS(cuFuncGetParamInfo)) return CUDA_SUCCESS;
    while (count < 0 || layout->count < (uint32_t)count) {
        size_t offset = 0, size = 0;
        bool end;
        CUresult result = next_param(function, layout->count, &offset, &size, &end);
        if (end) break;
        if (result == CUDA_SUCCESS && !add_param(layout, &capacity, offset, size))
            result = CUDA_ERROR_OUT_OF_MEMORY;
        if (result != CUDA_SUCCESS) {
            kernel_layout_free(layout);
            return result;
        }
    }
    layout->known = true;
    return CUDA_SUCCESS;
}

void kernel_layout_free(KernelLayout *layout)
{
    free(layout->params);
    *layout = (KernelLayout){0};
}

size_t kernel_layout_natural_alignment(size_t size)
{
    size_t alignment = 1;
    while (alignment < 16 && size && size % (alignment * 2) == 0) alignment *= 2;
    return alignment;
}
