/* Memory pools: their creation, the default and current pools of devices, their attributes, access. */
#include "api/memory/pool.h"

static void release(Object *object) { pool_share_free(((Pool *)object)->share); }

Pool *pool_new(Device *device, PoolKind kind)
{
    Pool *pool = object_new(OBJECT_POOL, sizeof *pool, NULL, release);
    if (!pool) return NULL;
    pool->device = device;
    pool->kind = kind;
    atomic_store(&pool->devices, kind == POOL_DEVICE ? UINT64_C(1) << device->ordinal : 0);
    atomic_store(&pool->host, kind == POOL_HOST);
    for (int i = 0; i < POOL_SETTINGS - 1; i++) atomic_store(&pool->settings[i], 1); /* the reuse policies */
    if (object_publish(OBJECT(pool)) == CUDA_SUCCESS) return pool;
    PUT(pool);
    return NULL;
}

/* The device's default and current pool of that kind, made at the first call; NULL if out of memory. */
static DevicePools *pools_of(Device *device, PoolKind kind)
{
    DevicePools *pools = &device->pools[kind];
    driver_lock();
    if (!pools->standard && (pools->standard = pool_new(device, kind))) pools->standard->is_default = true;
    if (!pools->current) pools->current = pools->standard;
    driver_unlock();
    return pools->standard ? pools : NULL;
}

/* *out: the device's current pool of that kind, or else (current is false) its default pool. */
static CUresult answer_pool(Device *device, PoolKind kind, CUmemoryPool *out, bool current)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    DevicePools *pools = pools_of(device, kind);
    if (!pools) return CUDA_ERROR_OUT_OF_MEMORY;
    driver_lock();
    *out = current ? pools->current : pools->standard;
    driver_unlock();
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice ordinal)
{
    TRY(driver_check());
    return answer_pool(driver_device(ordinal), POOL_DEVICE, out, false);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice ordinal)
{
    TRY(driver_check());
    return answer_pool(driver_device(ordinal), POOL_DEVICE, out, true);
}

/* The kind of pool for memory of that type at that location, and the device that has it: the first one for
 * memory of the host. */
static CUresult find_pool_place(const CUmemLocation *location, CUmemAllocationType type, Device **device,
                                PoolKind *kind)
{
    bool on_device = location->type == CU_MEM_LOCATION_TYPE_DEVICE;
    bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    if (!managed && type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    switch (location->type) {
    case CU_MEM_LOCATION_TYPE_NONE:
        if (!managed) return CUDA_ERROR_INVALID_VALUE;
        break;
    case CU_MEM_LOCATION_TYPE_DEVICE:
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    *kind = managed ? POOL_MANAGED : on_device ? POOL_DEVICE : POOL_HOST;
    *device = driver_device(on_device ? location->id : 0);
    return *device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult pool_at(CUmemoryPool *out, const CUmemLocation *location, CUmemAllocationType type,
                        bool current)
{
    Device *device;
    PoolKind kind;
    TRY(driver_check());
    if (!location) return CUDA_ERROR_INVALID_VALUE;
    TRY(find_pool_place(location, type, &device, &kind));
    return answer_pool(device, kind, out, current);
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
    return pool_at(out, location, type, false);
}

CUresult cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
    return pool_at(out, location, type, true);
}

CUresult pool_enter(CUmemoryPool handle, Pool **out)
{
    TRY(driver_check());
    *out = object_get(handle, OBJECT_POOL);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult make_current(Device *device, PoolKind kind, CUmemoryPool handle)
{
    Pool *pool;
    DevicePools *pools = pools_of(device, kind);
    if (!pools) return CUDA_ERROR_OUT_OF_MEMORY;
    driver_lock(); /* so that cuMemPoolDestroy does not destroy the pool meanwhile */
    CUresult result = pool_enter(handle, &pool);
    if (!result) {
        bool fits = pool->device == device && pool->kind == kind && !pool_is_imported(pool);
        result = fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        if (fits) pools->current = pool;
        PUT(pool);
    }
    driver_unlock();
    return result;
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle)
{
    TRY(driver_check());
    Device *device = driver_device(ordinal);
    return device ? make_current(device, POOL_DEVICE, handle) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool handle)
{
    Device *device;
    PoolKind kind;
    TRY(driver_check());
    if (!location) return CUDA_ERROR_INVALID_VALUE;
    TRY(find_pool_place(location, type, &device, &kind));
    return make_current(device, kind, handle);
}

/* Processes share memory of a device or of a NUMA node, which the pool must name. */
CUresult pool_check_properties(const CUmemPoolProps *properties, Device **device, PoolKind *kind)
{
    CUmemLocationType where = properties->location.type;
    TRY(find_pool_place(&properties->location, properties->allocType, device, kind));
    if (*kind == POOL_HOST && where == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return CUDA_ERROR_INVALID_VALUE;
    if (!properties->handleTypes) return CUDA_SUCCESS;
    if (*kind == POOL_MANAGED || where == CU_MEM_LOCATION_TYPE_HOST) return CUDA_ERROR_INVALID_VALUE;
    bool supported = !(properties->handleTypes & ~(unsigned)pool_handle_types());
    return supported ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* Whether a driver of the version that is shown has pools of memory of that type. */
static bool knows_type(CUmemAllocationType type)
{
    enum { FIRST_MANAGED = 13000 };
    return type != CU_MEM_ALLOCATION_TYPE_MANAGED || driver_settings()->version >= FIRST_MANAGED;
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties)
{
    Device *device;
    PoolKind kind;
    TRY(driver_check());
    if (!out || !properties) return CUDA_ERROR_INVALID_VALUE;
    if (!knows_type(properties->allocType)) return CUDA_ERROR_INVALID_VALUE;
    TRY(pool_check_properties(properties, &device, &kind));
    Pool *pool = pool_new(device, kind);
    if (!pool) return CUDA_ERROR_OUT_OF_MEMORY;
    pool->max = properties->maxSize;
    CUresult result = properties->handleTypes ? pool_make_shareable(pool) : CUDA_SUCCESS;
    if (result)
        object_retire(OBJECT(pool));
    else
        *out = pool;
    PUT(pool);
    return result;
}

/* Memory of the pool stays valid until it is freed. */
CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
    Pool *pool;
    TRY(pool_enter(handle, &pool));
    DevicePools *pools = &pool->device->pools[pool->kind];
    bool may = !pool->is_default;
    driver_lock();
    if (may && pools->current == pool) pools->current = pools->standard;
    bool mine = may && object_retire(OBJECT(pool));
    driver_unlock();
    if (mine) pool_stop_keeping(pool);
    PUT(pool);
    return may ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    Pool *pool;
    TRY(pool_enter(handle, &pool));
    pool_trim(pool, keep);
    PUT(pool);
    return CUDA_SUCCESS;
}

static CUresult get_attribute(Pool *pool, CUmemPool_attribute attribute, void *value)
{
    PoolCounts counts;
    pool_counts(pool, &counts);
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = (int)atomic_load(&pool->settings[attribute - 1]);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(uint64_t *)value = atomic_load(&pool->settings[attribute - 1]);
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *(uint64_t *)value = counts.reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *(uint64_t *)value = counts.reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(uint64_t *)value = counts.in_use; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(uint64_t *)value = counts.in_use_high; break;
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
        pool_reset_high(pool, attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
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

bool pool_allows(const Pool *pool, int device) { return atomic_load(&pool->devices) >> device & 1; }

void pool_allow(Pool *pool, int device) { atomic_fetch_or(&pool->devices, UINT64_C(1) << device); }

bool pool_allows_any(const Pool *pool) { return atomic_load(&pool->devices) != 0; }

enum { THE_HOST = -1 }; /* in place of a device's number */

/* What access is given to: *device, which may be THE_HOST. False if there is no such place. */
static bool find_accessor(const CUmemLocation *location, int *device)
{
    switch (location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: *device = location->id; return driver_device(location->id);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: *device = THE_HOST; return true;
    default: return false;
    }
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
    Pool *pool;
    int device;
    TRY(pool_enter(handle, &pool));
    bool valid = flags && location && find_accessor(location, &device);
    if (valid) {
        bool allowed = device == THE_HOST ? atomic_load(&pool->host) : pool_allows(pool, device);
        *flags = allowed ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    }
    PUT(pool);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Whether the access can be set, as an H200's driver of CUDA 13.0 answers: nothing may be read only, memory
 * of a device is not the host's, and a pool's own place keeps its access. */
static CUresult check_access(const Pool *pool, const CUmemAccessDesc *wanted)
{
    int device;
    if (!find_accessor(&wanted->location, &device)) return CUDA_ERROR_INVALID_VALUE;
    switch (wanted->flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
    case CU_MEM_ACCESS_FLAGS_PROT_NONE: break;
    case CU_MEM_ACCESS_FLAGS_PROT_READ: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    bool none = wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (device == THE_HOST && (pool->kind == POOL_DEVICE || (pool->kind == POOL_HOST && none)))
        return CUDA_ERROR_NOT_SUPPORTED;
    bool own = pool->kind == POOL_DEVICE && device == pool->device->ordinal;
    return own && none ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

/* The access was checked. */
static void set_access(Pool *pool, const CUmemAccessDesc *wanted)
{
    int device;
    bool allow = wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (!find_accessor(&wanted->location, &device)) return;
    if (device == THE_HOST)
        atomic_store(&pool->host, allow);
    else if (allow)
        pool_allow(pool, device);
    else
        atomic_fetch_and(&pool->devices, ~(UINT64_C(1) << device));
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *descriptors, size_t count)
{
    Pool *pool;
    if (!descriptors && count) return CUDA_ERROR_INVALID_VALUE;
    TRY(pool_enter(handle, &pool));
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < count && !result; i++) result = check_access(pool, &descriptors[i]);
    for (size_t i = 0; i < count && !result; i++) set_access(pool, &descriptors[i]);
    PUT(pool);
    return result;
}
