/* See memory.h. Each device has pools for its graphs' memory, which have no handles: one of its own memory,
 * one of managed memory. */
#include "graph/memory.h"

#include <stdlib.h>

#include "graph/graph.h"

/* The device's pool of that kind for graphs, made at the first call; NULL if out of memory. */
static Pool *graph_pool(Device *device, PoolKind kind)
{
    driver_lock();
    Pool **pool = &device->graph_pools[kind];
    if (!*pool && (*pool = pool_new(device, kind))) {
        object_retire(OBJECT(*pool));
        pool_stop_keeping(*pool); /* keeps nothing of what is freed */
    }
    driver_unlock();
    return *pool;
}

/* Whether the descriptions of access name devices of this process, or the host. */
static bool are_valid(const CUmemAccessDesc *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!wanted) return false;
        bool host = wanted[i].location.type == CU_MEM_LOCATION_TYPE_HOST;
        bool device =
            wanted[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && driver_device(wanted[i].location.id);
        if (!host && !device) return false;
    }
    return true;
}

/* Access is a property of the pool here: a device that may access one allocation may access the memory of
 * all graphs of the pool's device. Access is never taken away. The host has it in any case. */
static void allow_access(Pool *pool, const CUmemAccessDesc *wanted)
{
    if (wanted->location.type == CU_MEM_LOCATION_TYPE_HOST) return;
    if (wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) pool_allow(pool, wanted->location.id);
}

/* Graphs allocate memory of a device, its own or managed memory, which processes do not share. */
static CUresult check_graph_pool_properties(const CUmemPoolProps *properties, Device **device, PoolKind *kind)
{
    CUresult result = pool_check_properties(properties, device, kind);
    if (result) return result == CUDA_ERROR_INVALID_DEVICE ? CUDA_ERROR_INVALID_VALUE : result;
    bool plain = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !properties->handleTypes;
    return plain ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult graph_memory_new(Context *context, const CUDA_MEM_ALLOC_NODE_PARAMS *params, GraphMemory **out)
{
    const CUmemPoolProps *properties = &params->poolProps;
    Device *device;
    PoolKind kind;
    TRY(check_graph_pool_properties(properties, &device, &kind));
    if (!params->bytesize || !are_valid(params->accessDescs, params->accessDescCount))
        return CUDA_ERROR_INVALID_VALUE;
    Pool *pool = graph_pool(device, kind);
    GraphMemory *memory = calloc(1, sizeof *memory);
    if (!pool || !memory) {
        free(memory);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memory->params = *params;
    memory->params.accessDescs = NULL;
    memory->params.accessDescCount = 0;
    atomic_init(&memory->references, 1);
    CUresult result = pool_bind(pool, context, params->bytesize, &memory->block, &memory->params.dptr);
    if (result) {
        free(memory);
        return result;
    }
    for (size_t i = 0; i < params->accessDescCount; i++) allow_access(pool, &params->accessDescs[i]);
    *out = memory;
    return CUDA_SUCCESS;
}

GraphMemory *graph_memory_hold(GraphMemory *memory)
{
    atomic_fetch_add(&memory->references, 1);
    return memory;
}

void graph_memory_put(GraphMemory *memory)
{
    if (atomic_fetch_sub(&memory->references, 1) != 1) return;
    pool_unbind(memory->block);
    free(memory);
}

static CUresult enter_attribute(CUdevice ordinal, CUgraphMem_attribute attribute, const void *value,
                                Pool **pool)
{
    TRY(driver_check());
    Device *device = driver_device(ordinal);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    if (!value || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) return CUDA_ERROR_INVALID_VALUE;
    *pool = graph_pool(device, POOL_DEVICE);
    return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    Pool *pool;
    PoolCounts counts;
    TRY(enter_attribute(device, attribute, value, &pool));
    pool_counts(pool, &counts);
    const uint64_t answers[] = {counts.in_use, counts.in_use_high, counts.reserved, counts.reserved_high};
    *(uint64_t *)value = answers[attribute];
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    Pool *pool;
    TRY(enter_attribute(device, attribute, value, &pool));
    bool high =
        attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    if (!high || *(uint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
    pool_reset_high(pool, attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
    return CUDA_SUCCESS;
}

/* Memory belongs to graphs for as long as they live: there is nothing else to trim. */
CUresult cuDeviceGraphMemTrim(CUdevice device)
{
    TRY(driver_check());
    return driver_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
