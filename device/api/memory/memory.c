/* Device and managed memory: allocating, freeing, asking for sizes. */
#include "api/memory/memory.h"

#include <stdio.h>

#include "api/base/log.h"
#include "api/memory/ipc.h"
#include "api/memory/pool.h"
#include "api/memory/virtual.h"
#include "api/stream/capture.h"
#include "api/stream/queue.h"

/* Whether memory of that kind counts against the device's size. */
static bool is_counted(MemoryKind kind)
{
    return kind == MEMORY_DEVICE || kind == MEMORY_MANAGED || kind == MEMORY_ARRAY || kind == MEMORY_PHYSICAL;
}

bool memory_charge(Device *device, MemoryKind kind, uint64_t bytes)
{
    if (!is_counted(kind)) return true;
    uint64_t used = atomic_load(&device->memory_used);
    do {
        if (bytes > device->memory_size - used) return false;
    } while (!atomic_compare_exchange_weak(&device->memory_used, &used, used + bytes));
    return true;
}

CUresult memory_try(Device *device, const MemoryRequest *request, uint64_t charge, CUdeviceptr *out)
{
    if (!memory_charge(device, request->kind, charge)) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = memory_map_alloc(driver_memory(), request);
    if (!*out) memory_uncharge(device, request->kind, charge);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void memory_uncharge(Device *device, MemoryKind kind, uint64_t bytes)
{
    if (is_counted(kind)) atomic_fetch_sub(&device->memory_used, bytes);
}

void memory_log_shortage(Device *device, uint64_t size)
{
    log_error("out of memory: %llu bytes requested, %llu of %llu in use on device %d (PYCUDA_CPU_MEMORY sets "
              "the size)",
              (unsigned long long)size, (unsigned long long)atomic_load(&device->memory_used),
              (unsigned long long)device->memory_size, device->ordinal);
}

CUresult memory_allocate(Context *context, const MemoryRequest *request, CUdeviceptr *out)
{
    TRY(capture_check_thread());
    if (!context_keep_open(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = memory_allocate_inside(context, request, out);
    context_allow_close(context);
    return result;
}

CUresult memory_allocate_inside(Context *context, const MemoryRequest *request, CUdeviceptr *out)
{
    Device *device = context->device;
    MemoryRequest whole = *request;
    whole.owner = context;
    whole.device = device->ordinal;
    CUresult result = memory_try(device, &whole, whole.size, out);
    if (result) {
        pools_reclaim(device);
        result = memory_try(device, &whole, whole.size, out);
    }
    if (result) memory_log_shortage(device, whole.size);
    return result;
}

bool memory_release(CUdeviceptr address)
{
    MemoryRange range;
    if (pool_is_bound(address)) return pool_release(address);
    if (pool_release(address) || ipc_release(address)) return true;
    if (!memory_map_free(driver_memory(), address, &range)) return false;
    memory_uncharge(driver_device(range.device), range.kind, range.size);
    return true;
}

void memory_release_of(const Object *object, CUdeviceptr address)
{
    if (!context_keep_open(object->context)) return;
    if (object_context_is_live(object)) memory_release(address);
    context_allow_close(object->context);
}

CUresult memory_wait(const MemoryRange *range, Context *current)
{
    if (range->owner == current) return queue_wait_context(current);
    Context *owner = context_find(range->owner);
    if (!owner) return capture_check_thread();
    CUresult result = queue_wait_context(owner);
    context_put(owner);
    return result;
}

CUresult memory_fail_closed(Context *context, const char *what)
{
    char text[160];
    snprintf(text, sizeof text,
             "%s uses reserved addresses to which nothing is mapped (cuMemMap), or to which no "
             "device has access (cuMemSetAccess)",
             what);
    context_fail(context, CUDA_ERROR_ILLEGAL_ADDRESS, text, 0);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

bool memory_is_of_host(const MemoryRange *range)
{
    if (range->kind == MEMORY_IMPORTED) return range->tag && ((const Pool *)range->tag)->kind == POOL_HOST;
    return range->kind == MEMORY_HOST_PINNED || range->kind == MEMORY_REGISTERED;
}

bool memory_is_of_host_pool(const MemoryRange *range) { return memory_is_of_host(range) && range->tag; }

/* Managed memory, and host memory of no pool, is accessible to all devices; memory of a pool and mapped
 * memory to those that the program named; all other memory to its own device, and to contexts that have
 * enabled peer access to it. */
const char *memory_refusal(const void *closure, const MemoryRange *range, bool write)
{
    const Context *context = closure;
    int device = context->device->ordinal;
    bool pooled = memory_is_of_host_pool(range);
    if ((memory_is_of_host(range) && !pooled) || memory_is_managed(range->kind)) return NULL;
    if (range->kind == MEMORY_MAPPED) {
        if ((write ? range->writers : range->readers) >> device & 1) return NULL;
        return range->readers >> device & 1 ? "this device may only read it (cuMemSetAccess)"
                                            : "this device has no access to it (cuMemSetAccess)";
    }
    if (range->tag)
        return pool_allows(range->tag, device) ? NULL
                                               : "its pool gives this device no access (cuMemPoolSetAccess)";
    return range->device == device || atomic_load(&context->peers) >> range->device & 1
               ? NULL
               : "it belongs to another device, to which peer access is not enabled";
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
    Context *context;
    TRY(context_enter(&context));
    if (!out || !size) return CUDA_ERROR_INVALID_VALUE;
    return memory_allocate(context, &(MemoryRequest){.size = size, .kind = MEMORY_DEVICE, .shared = true},
                           out);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
                            unsigned int element_size)
{
    enum { PITCH_UNIT = 512 };
    Context *context;
    size_t bytes;
    TRY(context_enter(&context));
    if (!out || !pitch || !width || !height) return CUDA_ERROR_INVALID_VALUE;
    if (element_size != 4 && element_size != 8 && element_size != 16) return CUDA_ERROR_INVALID_VALUE;
    if (width > SIZE_MAX - PITCH_UNIT) return CUDA_ERROR_INVALID_VALUE;
    size_t row = (width + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT;
    if (__builtin_mul_overflow(row, height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    TRY(memory_allocate(context, &(MemoryRequest){.size = bytes, .kind = MEMORY_DEVICE, .shared = true},
                        out));
    *pitch = row;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned int flags)
{
    Context *context;
    TRY(context_enter(&context));
    if (!out || !size) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
    return memory_allocate(context, &(MemoryRequest){.size = size, .kind = MEMORY_MANAGED, .flags = flags},
                           out);
}

/* Waits for the work of the context that owns the memory, as kernels may be using it. In a context with a
 * fault it frees the memory as well, and returns the fault. */
CUresult cuMemFree_v2(CUdeviceptr address)
{
    Context *context;
    MemoryRange range;
    TRY(context_enter_any(&context));
    if (!address) return context_error(context);
    if (!memory_map_find_for_call(driver_memory(), address, 1, &range) || range.base != address)
        return CUDA_ERROR_INVALID_VALUE;
    if (range.kind != MEMORY_DEVICE && range.kind != MEMORY_MANAGED && range.kind != MEMORY_IMPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    TRY(memory_wait(&range, context));
    if (!memory_release(address)) return CUDA_ERROR_INVALID_VALUE;
    return context_error(context);
}

/* Either pointer may be NULL. */
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    Context *context;
    TRY(context_enter(&context));
    if (!free_bytes && !total) return CUDA_ERROR_INVALID_VALUE;
    if (total) *total = context->device->memory_size;
    if (free_bytes) *free_bytes = context->device->memory_size - atomic_load(&context->device->memory_used);
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    Context *context;
    MemoryRange range;
    VirtualFacts facts;
    TRY(context_enter(&context));
    if (virtual_find(address, &facts)) {
        if (!facts.mapping_size) return CUDA_ERROR_NOT_FOUND;
        range = (MemoryRange){.base = facts.mapping_base, .size = facts.mapping_size};
    } else if (!memory_map_find_for_call(driver_memory(), address, 1, &range)) {
        return CUDA_ERROR_NOT_FOUND;
    }
    if (base) *base = range.base;
    if (size) *size = range.size;
    return CUDA_SUCCESS;
}
