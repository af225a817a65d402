/* Memory pools and stream-ordered allocation. Memory is taken when it is asked for and given back when its
 * stream reaches the free; the pool counts. */
#include <stdlib.h>

#include "api/memory.h"
#include "api/stream.h"

enum { POOL_SETTINGS = 4 };

struct CUmemPoolHandle_st {
    Object object;
    Device *device;
    bool is_default;
    _Atomic uint64_t settings[POOL_SETTINGS]; /* reuse policies and the release threshold */
    _Atomic uint64_t used, used_high;
    uint64_t most;                            /* bytes; 0: as much as the device has */
};

static Pool *pool_new(Device *device)
{
    Pool *pool = object_new(OBJECT_POOL, sizeof *pool, NULL, NULL);
    if (!pool) return NULL;
    pool->device = device;
    for (int i = 0; i < POOL_SETTINGS - 1; i++) atomic_store(&pool->settings[i], 1);
    if (object_publish(OBJECT(pool))) return pool;
    PUT(pool);
    return NULL;
}

void pool_count(Pool *pool, int64_t bytes)
{
    uint64_t used = atomic_fetch_add(&pool->used, (uint64_t)bytes) + (uint64_t)bytes;
    uint64_t high = atomic_load(&pool->used_high);
    while (used > high && !atomic_compare_exchange_weak(&pool->used_high, &high, used)) {}
    if (bytes < 0) PUT(pool);
}

/* The device's default pool; NULL without memory. */
static Pool *default_pool(Device *device)
{
    driver_lock();
    if (!device->default_pool) {
        device->default_pool = pool_new(device);
        if (device->default_pool) device->default_pool->is_default = true;
    }
    if (!device->pool) device->pool = device->default_pool;
    Pool *pool = device->default_pool;
    driver_unlock();
    return pool;
}

static CUresult pool_of(CUdevice ordinal, CUmemoryPool *out, bool current)
{
    TRY(driver_check());
    Device *device = driver_device(ordinal);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    Pool *pool = default_pool(device);
    if (!pool) return CUDA_ERROR_OUT_OF_MEMORY;
    driver_lock();
    *out = current ? device->pool : pool;
    driver_unlock();
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice ordinal) { return pool_of(ordinal, out, false); }

CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice ordinal) { return pool_of(ordinal, out, true); }

static CUresult pool_enter(CUmemoryPool handle, Pool **out)
{
    TRY(driver_check());
    *out = object_get(handle, OBJECT_POOL);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle)
{
    Pool *pool;
    TRY(pool_enter(handle, &pool));
    Device *device = driver_device(ordinal);
    CUresult result = !device                  ? CUDA_ERROR_INVALID_DEVICE
                      : pool->device != device ? CUDA_ERROR_INVALID_VALUE
                                               : CUDA_SUCCESS;
    if (!result) {
        default_pool(device);
        driver_lock();
        device->pool = pool;
        driver_unlock();
    }
    PUT(pool);
    return result;
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties)
{
    TRY(driver_check());
    if (!out || !properties) return CUDA_ERROR_INVALID_VALUE;
    if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE || properties->handleTypes)
        return CUDA_ERROR_NOT_SUPPORTED;
    Device *device = driver_device(properties->location.id);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    Pool *pool = pool_new(device);
    if (!pool) return CUDA_ERROR_OUT_OF_MEMORY;
    pool->most = properties->maxSize;
    *out = pool;
    PUT(pool);
    return CUDA_SUCCESS;
}

/* Memory of the pool stays valid until it is freed. */
CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
    Pool *pool;
    TRY(pool_enter(handle, &pool));
    bool may = !pool->is_default;
    driver_lock();
    if (may && pool->device->pool == pool) pool->device->pool = pool->device->default_pool;
    driver_unlock();
    if (may) object_retire(OBJECT(pool));
    PUT(pool);
    return may ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Nothing is kept back: there is nothing to trim. */
CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    Pool *pool;
    (void)keep;
    TRY(pool_enter(handle, &pool));
    PUT(pool);
    return CUDA_SUCCESS;
}

static CUresult get_attribute(Pool *pool, CUmemPool_attribute attribute, void *value)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = (int)atomic_load(&pool->settings[attribute - 1]);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(uint64_t *)value = atomic_load(&pool->settings[attribute - 1]);
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(uint64_t *)value = atomic_load(&pool->used); break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(uint64_t *)value = atomic_load(&pool->used_high); break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult set_attribute(Pool *pool, CUmemPool_attribute attribute, const void *value)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        atomic_store(&pool->settings[attribute - 1], *(const int *)value != 0);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        atomic_store(&pool->settings[attribute - 1], *(const uint64_t *)value);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (*(const uint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
        atomic_store(&pool->used_high, atomic_load(&pool->used));
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    Pool *pool;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    TRY(pool_enter(handle, &pool));
    CUresult result = get_attribute(pool, attribute, value);
    PUT(pool);
    return result;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    Pool *pool;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    TRY(pool_enter(handle, &pool));
    CUresult result = set_attribute(pool, attribute, value);
    PUT(pool);
    return result;
}

/* All devices share the host's memory: every device may read and write every pool. */
CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
    Pool *pool;
    TRY(pool_enter(handle, &pool));
    PUT(pool);
    if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || !driver_device(location->id))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *descriptors, size_t count)
{
    Pool *pool;
    TRY(pool_enter(handle, &pool));
    PUT(pool);
    if (!descriptors && count) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (descriptors[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE
            || !driver_device(descriptors[i].location.id))
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult allocate(Pool *pool, Stream *stream, size_t size, CUdeviceptr *out)
{
    if (pool->most && size > pool->most - atomic_load(&pool->used)) return CUDA_ERROR_OUT_OF_MEMORY;
    MemoryRequest request = {.size = size, .kind = MEMORY_DEVICE, .tag = pool};
    TRY(memory_allocate(stream->object.context, &request, out));
    object_hold(OBJECT(pool));
    pool_count(pool, (int64_t)size);
    return CUDA_SUCCESS;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool handle, CUstream stream_handle)
{
    Pool *pool;
    Stream *stream;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(stream_enter(stream_handle, &stream));
    CUresult result = pool_enter(handle, &pool);
    if (!result) {
        *out = 0;
        if (size) result = allocate(pool, stream, size, out);
        PUT(pool);
    }
    PUT(stream);
    return result;
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream handle)
{
    Stream *stream;
    CUmemoryPool pool;
    TRY(stream_enter(handle, &stream));
    CUresult result = cuDeviceGetMemPool(&pool, stream->object.context->device->ordinal);
    PUT(stream);
    return result ? result : cuMemAllocFromPoolAsync(out, size, pool, handle);
}

typedef struct FreeTask {
    Task task;
    CUdeviceptr address;
} FreeTask;

static void run_free(Task *self, Stream *stream)
{
    (void)stream;
    memory_release(((FreeTask *)self)->address);
}

static void release_free(Task *self) { free(self); }

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
    Stream *stream;
    MemoryRange range;
    TRY(stream_enter(handle, &stream));
    CUresult result = CUDA_SUCCESS;
    FreeTask *task = NULL;
    if (address
        && (!memory_map_find(driver_memory(), address, &range) || range.base != address
            || (range.kind != MEMORY_DEVICE && range.kind != MEMORY_MANAGED)))
        result = CUDA_ERROR_INVALID_VALUE;
    else if (address && !(task = calloc(1, sizeof *task)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (task) {
        task->task = (Task){.run = run_free, .release = release_free, .always = true};
        task->address = address;
        queue_submit(stream, &task->task, NULL);
    }
    PUT(stream);
    return result;
}
