/* Whether arrays have memory in common. */
#ifndef EXT_GPUARRAY_SHARED_MEMORY_H
#define EXT_GPUARRAY_SHARED_MEMORY_H

#include "ext/gpuarray/gpuarray.h"

/* Addresses from `low` up to, but not including, `high`. */
typedef struct MemorySpan {
    CUdeviceptr low, high;
} MemorySpan;

/* The smallest span with all elements of an array. */
static inline MemorySpan shared_memory_span(const GPUArrayObject *array)
{
    MemorySpan span = {array->pointer, array->pointer + (CUdeviceptr)array->itemsize};
    if (array->layout) return (MemorySpan){array->pointer, array->pointer + (CUdeviceptr)array->nbytes};
    for (int i = 0; i < array->ndim; i++) {
        Py_ssize_t reach = (array->shape[i] - 1) * array->strides[i];
        span.low += reach < 0 ? (CUdeviceptr)reach : 0;
        span.high += reach > 0 ? (CUdeviceptr)reach : 0;
    }
    return span;
}

/* Whether their spans have a byte in common; false for an array without elements. */
static inline bool shared_memory_spans_meet(const GPUArrayObject *a, const GPUArrayObject *b)
{
    MemorySpan one = shared_memory_span(a), other = shared_memory_span(b);
    return one.low < other.high && other.low < one.high;
}

/* Whether elements may have a byte in common: false for the real and the imaginary parts of an array, for
 * example, or for two columns. */
bool shared_memory_is_possible(const GPUArrayObject *a, const GPUArrayObject *b);

#endif
