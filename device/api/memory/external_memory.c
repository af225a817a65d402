/* Memory of other interfaces: imported by file descriptors, mapped in parts. See external.h. */
#include "api/memory/external.h"

#include <unistd.h>

#include "api/base/log.h"
#include "api/memory/ipc.h"
#include "api/memory/physical.h"

typedef struct CUextMemory_st {
    Object object;
    Physical *physical; /* a reference */
    uint64_t size;      /* as the import gave it, at most that of the physical memory */
} ExternalMemory;

/* CUexternalMemoryHandleType. */
enum { OPAQUE_FD = 1, OPAQUE_WIN32, OPAQUE_WIN32_KMT, D3D12_HEAP, D3D11_RESOURCE_KMT = 8, DMABUF_FD };
enum { DEDICATED = 1 }; /* CUDA_EXTERNAL_MEMORY_DEDICATED */

static void external_memory_release(Object *object) { PUT(((ExternalMemory *)object)->physical); }

/* Handle types of Windows and dma-bufs are not supported; NvSci's are unknown to a driver without it. */
static CUresult check_type(int type)
{
    switch (type) {
    case OPAQUE_FD: return CUDA_SUCCESS;
    case OPAQUE_WIN32:
    case OPAQUE_WIN32_KMT:
    case D3D12_HEAP:
    case D3D11_RESOURCE_KMT:
    case DMABUF_FD: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* After a success the file descriptor belongs to the driver, which closes it. */
CUresult cuImportExternalMemory(CUexternalMemory *out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *handle)
{
    Context *context;
    Physical *physical;
    TRY(context_enter(&context));
    if (!out || !handle || !handle->size || handle->flags & ~(unsigned)DEDICATED)
        return CUDA_ERROR_INVALID_VALUE;
    TRY(check_type(handle->type));
    CUresult result = physical_import(handle->handle.fd, &physical);
    if (result == CUDA_ERROR_INVALID_VALUE) {
        close(handle->handle.fd); /* as NVIDIA's driver does after this error */
        return CUDA_ERROR_UNKNOWN;
    }
    if (result) return result;
    ExternalMemory *memory = object_new(OBJECT_EXTERNAL_MEMORY, sizeof *memory, context, NULL);
    if (!memory) {
        PUT(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memory->object.release = external_memory_release;
    memory->physical = physical;
    memory->size = handle->size < physical->size ? handle->size : physical->size;
    result = object_publish(OBJECT(memory));
    if (!result) {
        close(handle->handle.fd);
        *out = memory;
    }
    PUT(memory);
    return result;
}

static CUresult enter_memory(CUexternalMemory handle, ExternalMemory **out)
{
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    *out = object_get(handle, OBJECT_EXTERNAL_MEMORY);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult external_map(Context *context, CUexternalMemory handle, uint64_t offset, uint64_t size,
                      CUdeviceptr *out)
{
    ExternalMemory *memory;
    TRY(enter_memory(handle, &memory));
    bool fits = size && offset <= memory->size && size <= memory->size - offset;
    IpcHandle part = {.offset = offset, .size = size};
    CUresult result =
        fits ? ipc_map(context, &part, &memory->physical->file, NULL, true, out) : CUDA_ERROR_INVALID_VALUE;
    if (!fits)
        log_error("%llu bytes from offset %llu are not in the external memory, which has %llu",
                  (unsigned long long)size, (unsigned long long)offset, (unsigned long long)memory->size);
    PUT(memory);
    return result;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *out, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *part)
{
    Context *context;
    TRY(context_enter(&context));
    if (!out || !part || part->flags) return CUDA_ERROR_INVALID_VALUE;
    return external_map(context, memory, part->offset, part->size, out);
}

/* Buffers and arrays that were mapped from it stay valid. */
CUresult cuDestroyExternalMemory(CUexternalMemory handle)
{
    Context *context;
    ExternalMemory *memory;
    TRY(context_enter_any(&context));
    TRY(enter_memory(handle, &memory));
    bool mine = object_retire(OBJECT(memory));
    PUT(memory);
    return mine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
