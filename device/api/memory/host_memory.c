/* Page-locked host memory: allocated by the driver, or the program's own that it registers. Kernels use the
 * same addresses. */
#include "api/memory/memory.h"

enum { ALL_HOST_FLAGS = 7, ALL_REGISTER_FLAGS = 15 }; /* all CU_MEMHOSTALLOC_*, CU_MEMHOSTREGISTER_* */

/* The flags are kept for cuMemHostGetFlags and change nothing: all of this memory is portable, mapped and
 * cached. */
CUresult cuMemHostAlloc(void **out, size_t size, unsigned int flags)
{
    Context *context;
    CUdeviceptr address;
    TRY(context_enter(&context));
    if (!out || !size || flags > ALL_HOST_FLAGS) return CUDA_ERROR_INVALID_VALUE;
    TRY(memory_allocate(context, &(MemoryRequest){.size = size, .kind = MEMORY_HOST_PINNED, .flags = flags},
                        &address));
    *out = (void *)(uintptr_t)address;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void **out, size_t size) { return cuMemHostAlloc(out, size, 0); }

CUresult cuMemFreeHost(void *pointer)
{
    Context *context;
    MemoryRange range;
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    TRY(context_enter_any(&context));
    if (!pointer) return context_error(context);
    if (!memory_map_find_for_call(driver_memory(), address, 1, &range)) return CUDA_ERROR_INVALID_VALUE;
    if (range.base != address || range.kind != MEMORY_HOST_PINNED) return CUDA_ERROR_INVALID_VALUE;
    TRY(memory_wait(&range, context));
    if (!memory_release(address)) return CUDA_ERROR_INVALID_VALUE;
    return context_error(context);
}

/* CU_MEMHOSTREGISTER_READ_ONLY makes the memory read-only for kernels. The other flags change nothing. */
CUresult cuMemHostRegister_v2(void *pointer, size_t size, unsigned int flags)
{
    Context *context;
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    TRY(context_enter(&context));
    if (!pointer || !size || flags > ALL_REGISTER_FLAGS || address + size < address)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY) return CUDA_ERROR_NOT_SUPPORTED;
    MemoryRequest request = {
        .size = size,
        .kind = MEMORY_REGISTERED,
        .flags = flags,
        .owner = context,
        .device = context->device->ordinal,
        .read_only = (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0,
    };
    if (!context_keep_open(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    bool registered = memory_map_register(driver_memory(), address, &request);
    context_allow_close(context);
    return registered ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult cuMemHostUnregister(void *pointer)
{
    Context *context;
    MemoryRange range;
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    TRY(context_enter_any(&context));
    if (!pointer) return CUDA_ERROR_INVALID_VALUE;
    if (!memory_map_find_for_call(driver_memory(), address, 1, &range) || range.kind != MEMORY_REGISTERED
        || range.base != address)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    TRY(memory_wait(&range, context));
    bool gone = memory_map_unregister(driver_memory(), address, NULL);
    if (!gone) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return context_error(context);
}

static bool find_host(const void *pointer, MemoryRange *range)
{
    return memory_map_find_for_call(driver_memory(), (uint64_t)(uintptr_t)pointer, 1, range)
           && memory_is_of_host(range);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *pointer, unsigned int flags)
{
    Context *context;
    MemoryRange range;
    TRY(context_enter(&context));
    if (!out || flags || !find_host(pointer, &range)) return CUDA_ERROR_INVALID_VALUE;
    *out = (CUdeviceptr)(uintptr_t)pointer;
    return CUDA_SUCCESS;
}

/* The result always has CU_MEMHOSTALLOC_DEVICEMAP: with unified addressing all page-locked memory is
 * mapped. */
CUresult cuMemHostGetFlags(unsigned int *flags, void *pointer)
{
    Context *context;
    MemoryRange range;
    TRY(context_enter(&context));
    if (!flags || !find_host(pointer, &range) || range.kind != MEMORY_HOST_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = range.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}
