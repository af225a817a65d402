/* Device memory: counted against the size of its device. */
#ifndef DEVICE_API_MEMORY_H
#define DEVICE_API_MEMORY_H

#include "api/context.h"

/* New memory of the context; CUDA_ERROR_OUT_OF_MEMORY (told in the log) when the device is full. */
CUresult memory_allocate(Context *context, const MemoryRequest *request, CUdeviceptr *out);
/* Frees what memory_allocate gave; false when no such live range starts there. */
bool memory_release(CUdeviceptr address);

/* NULL when kernels of the context may touch the range, else why not. */
const char *memory_refusal(const void *context, const MemoryRange *range, bool write);

/* Pools: simple, every allocation is a range of its own. */
void pool_count(Pool *pool, int64_t bytes);
/* Whether the pool lets a device touch its memory. */
bool pool_allows(const Pool *pool, int device, bool write);

#endif
