/* What is known of an address. */
#include <string.h>

#include "api/memory/memory.h"
#include "api/memory/pool.h"
#include "api/memory/virtual.h"

/* The value of an attribute, of which `size` bytes, up to 8, are written to the caller. */
typedef struct Answer {
    uint64_t value;
    size_t size;
} Answer;

static CUresult answer_attribute(const MemoryRange *range, CUpointer_attribute attribute, CUdeviceptr address,
                                 Answer *out)
{
    enum { READ_WRITE = 3 }; /* CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE */
    bool host = memory_is_of_host(range);
#define ANSWER(attribute, type, value) \
    case CU_POINTER_ATTRIBUTE_##attribute: \
        *out = (Answer){(uint64_t)(value), sizeof(type)}; \
        return CUDA_SUCCESS;
    switch (attribute) {
        ANSWER(CONTEXT, void *, (uintptr_t)range->owner)
        ANSWER(MEMORY_TYPE, unsigned, host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE)
        ANSWER(DEVICE_POINTER, CUdeviceptr, address)
        ANSWER(SYNC_MEMOPS, unsigned, 0)
        ANSWER(BUFFER_ID, unsigned long long, range->id)
        ANSWER(IS_MANAGED, unsigned, memory_is_managed(range->kind))
        ANSWER(DEVICE_ORDINAL, unsigned, (unsigned)range->device)
        ANSWER(IS_LEGACY_CUDA_IPC_CAPABLE, unsigned, range->shared)
        ANSWER(RANGE_START_ADDR, CUdeviceptr, range->base)
        ANSWER(RANGE_SIZE, size_t, range->size)
        ANSWER(MAPPED, unsigned, 1)
        ANSWER(ALLOWED_HANDLE_TYPES, uint64_t, 0)
        ANSWER(IS_GPU_DIRECT_RDMA_CAPABLE, unsigned, 0)
        ANSWER(ACCESS_FLAGS, unsigned, READ_WRITE)
        ANSWER(MEMPOOL_HANDLE, void *, (uintptr_t)range->tag)
        ANSWER(MAPPING_SIZE, size_t, range->size)
        ANSWER(MAPPING_BASE_ADDR, CUdeviceptr, range->base)
        ANSWER(MEMORY_BLOCK_ID, unsigned long long, range->id)
        ANSWER(IS_HW_DECOMPRESS_CAPABLE, unsigned, 0)
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *out = (Answer){address, sizeof(void *)};
        return host || memory_is_managed(range->kind) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
#undef ANSWER
}

/* The attribute of a reserved address, for the device with that ordinal (-1: for none). If nothing is mapped
 * to the address, attributes of the memory are an error. */
static CUresult answer_virtual(const VirtualFacts *facts, CUpointer_attribute attribute, CUdeviceptr address,
                               int device, Answer *out)
{
    bool mapped = facts->mapping_size != 0;
    unsigned reads = device >= 0 ? facts->readers >> device & 1 : 0;
    unsigned writes = device >= 0 ? facts->writers >> device & 1 : 0;
#define ANSWER(attribute, type, has_value, value) \
    case CU_POINTER_ATTRIBUTE_##attribute: \
        *out = (Answer){(uint64_t)(value), sizeof(type)}; \
        return (has_value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
        ANSWER(RANGE_START_ADDR, CUdeviceptr, true, facts->base)
        ANSWER(RANGE_SIZE, size_t, true, facts->size)
        ANSWER(MAPPED, unsigned, true, mapped)
        ANSWER(CONTEXT, void *, mapped, 0)
        ANSWER(MEMORY_TYPE, unsigned, mapped, CU_MEMORYTYPE_DEVICE)
        ANSWER(DEVICE_POINTER, CUdeviceptr, reads, address)
        ANSWER(HOST_POINTER, void *, false, 0)
        ANSWER(SYNC_MEMOPS, unsigned, mapped, 0)
        ANSWER(BUFFER_ID, unsigned long long, mapped, facts->id)
        ANSWER(IS_MANAGED, unsigned, mapped, 0)
        ANSWER(DEVICE_ORDINAL, unsigned, mapped, (unsigned)facts->device)
        ANSWER(IS_LEGACY_CUDA_IPC_CAPABLE, unsigned, mapped, 0)
        ANSWER(ALLOWED_HANDLE_TYPES, uint64_t, mapped, facts->handle_types)
        ANSWER(IS_GPU_DIRECT_RDMA_CAPABLE, unsigned, mapped, 0)
        ANSWER(ACCESS_FLAGS, unsigned, mapped, reads | writes << 1)
        ANSWER(MEMPOOL_HANDLE, void *, mapped, 0)
        ANSWER(MAPPING_SIZE, size_t, mapped, facts->mapping_size)
        ANSWER(MAPPING_BASE_ADDR, CUdeviceptr, mapped, facts->mapping_base)
        ANSWER(MEMORY_BLOCK_ID, unsigned long long, mapped, facts->id)
        ANSWER(IS_HW_DECOMPRESS_CAPABLE, unsigned, mapped, 0)
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
#undef ANSWER
}

/* Whether kernels of the context can read the memory: memory of another device needs peer access. */
static bool is_reachable(const Context *context, const MemoryRange *range)
{
    return !memory_refusal(context, range, false);
}

/* Works without a current context; then access by a device does not matter. A current context that was
 * destroyed is an error, as in every call; so is memory of a graph before the graph's first launch. */
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    Context *context;
    MemoryRange range;
    VirtualFacts facts;
    Answer found;
    TRY(driver_check());
    bool reserved = virtual_find(address, &facts);
    if (!data || (!reserved && !memory_map_find_for_call(driver_memory(), address, 1, &range)))
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult enter_error = context_enter_any(&context);
    if (enter_error == CUDA_ERROR_CONTEXT_IS_DESTROYED) return enter_error;
    const bool has_context = enter_error == CUDA_SUCCESS;
    if (reserved) {
        const int device = has_context ? context->device->ordinal : -1;
        TRY(answer_virtual(&facts, attribute, address, device, &found));
    } else {
        if (pool_awaits_launch(address)) return CUDA_ERROR_INVALID_VALUE;
        if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER && has_context && !is_reachable(context, &range))
            return CUDA_ERROR_INVALID_VALUE;
        TRY(answer_attribute(&range, attribute, address, &found));
    }
    memcpy(data, &found.value, found.size);
    return CUDA_SUCCESS;
}

/* Unknown addresses, and attributes that the memory does not have, give zeros. */
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr address)
{
    Context *context;
    VirtualFacts facts;
    MemoryRange range = {0}, unknown = {.device = CU_DEVICE_INVALID};
    TRY(driver_check());
    if (!count || !attributes || !data) return CUDA_ERROR_INVALID_VALUE;
    bool reserved = virtual_find(address, &facts);
    bool mapped = !reserved && memory_map_find_for_call(driver_memory(), address, 1, &range);
    int device = reserved && !context_enter_any(&context) ? context->device->ordinal : -1;
    for (unsigned i = 0; i < count; i++) {
        Answer found = {0, 0};
        CUresult result = reserved
                              ? answer_virtual(&facts, attributes[i], address, device, &found)
                              : answer_attribute(mapped ? &range : &unknown, attributes[i], address, &found);
        if (result && !found.size) return result; /* it is not a known attribute */
        bool zero = result || (!mapped && !reserved && attributes[i] != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
        if (zero) found.value = 0;
        memcpy(data[i], &found.value, found.size);
    }
    return CUDA_SUCCESS;
}

/* SYNC_MEMOPS, the only attribute that can be set, is for other hardware that reads the memory while the
 * driver copies. There is none (IS_GPU_DIRECT_RDMA_CAPABLE is 0), so *value changes nothing, and
 * cuPointerGetAttribute still returns 0. Reserved addresses are valid only if some device has access, as the
 * look-up finds no others. */
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    MemoryRange range;
    TRY(driver_check());
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
    return memory_map_find_for_call(driver_memory(), address, 1, &range) ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
}
