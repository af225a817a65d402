/* Pools that processes share.
 *
 * The shareable handle of a pool is the descriptor of a small unnamed file: its contents are an IpcHandle
 * that names the file with the memory of the process. The data of an exported pointer is an IpcHandle that
 * names a part of that file.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/base/log.h"
#include "api/memory/ipc.h"
#include "api/memory/memory.h"
#include "api/memory/pool.h"

_Static_assert(sizeof(IpcHandle) == sizeof(CUmemPoolPtrExportData), "an IpcHandle comes with a pointer");

static _Atomic uint64_t last_number;

int pool_handle_types(void)
{
    MemoryExport place;
    return memory_map_file(driver_memory(), &place) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                                    : CU_MEM_HANDLE_TYPE_NONE;
}

CUresult pool_make_shareable(Pool *pool)
{
    pool->share = calloc(1, sizeof *pool->share);
    if (!pool->share) return CUDA_ERROR_OUT_OF_MEMORY;
    pool->share->number = atomic_fetch_add(&last_number, 1) + 1;
    return CUDA_SUCCESS;
}

void pool_share_free(PoolShare *share)
{
    if (!share) return;
    if (share->imported) shared_file_close(&share->file);
    free(share);
}

/* Only file descriptors are supported, and there are no flags. */
static bool is_supported_handle(CUmemAllocationHandleType type, unsigned long long flags)
{
    return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && !flags;
}

/* Makes a file with the handle's bytes. Returns its descriptor, which the caller closes, or -1. */
static int write_file(const IpcHandle *handle)
{
    int descriptor = memfd_create("cuda-memory-pool", MFD_CLOEXEC);
    if (descriptor < 0) return -1;
    if (write(descriptor, handle, sizeof *handle) == (ssize_t)sizeof *handle) return descriptor;
    close(descriptor);
    return -1;
}

CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool handle, CUmemAllocationHandleType type,
                                          unsigned long long flags)
{
    Pool *pool;
    MemoryExport place;
    IpcHandle bytes;
    if (!out || !is_supported_handle(type, flags)) return CUDA_ERROR_INVALID_VALUE;
    TRY(pool_enter(handle, &pool));
    bool shareable = pool->share && !pool->share->imported && memory_map_file(driver_memory(), &place);
    int descriptor = -1;
    if (shareable) {
        ipc_fill_handle(&bytes, IPC_POOL, place.descriptor, place.inode);
        bytes.pool = pool->share->number;
        bytes.device = (int16_t)pool->device->ordinal;
        bytes.pool_kind = (int16_t)pool->kind;
        descriptor = write_file(&bytes);
    }
    PUT(pool);
    if (!shareable) {
        log_error("only a pool made for it (CUmemPoolProps.handleTypes) can be exported");
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (descriptor < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    *(int *)out = descriptor;
    return CUDA_SUCCESS;
}

/* A pool without blocks, with the caller's reference; NULL if out of memory. Owns the file, after an error
 * it is closed. */
static Pool *import_pool(const IpcHandle *bytes, const SharedFile *file)
{
    Pool *pool = pool_new(driver_device(bytes->device), (PoolKind)bytes->pool_kind);
    PoolShare *share = pool ? calloc(1, sizeof *share) : NULL;
    if (!share) {
        shared_file_close(file);
        if (pool) object_retire(OBJECT(pool));
        if (pool) PUT(pool);
        return NULL;
    }
    *share = (PoolShare){.imported = true,
                         .number = bytes->pool,
                         .process = bytes->process,
                         .inode = bytes->inode,
                         .file = *file};
    pool->share = share;
    return pool;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle, CUmemAllocationHandleType type,
                                            unsigned long long flags)
{
    IpcHandle bytes;
    SharedFile file;
    TRY(driver_check());
    if (!out || !is_supported_handle(type, flags)) return CUDA_ERROR_INVALID_VALUE;
    ssize_t length = pread((int)(intptr_t)handle, &bytes, sizeof bytes, 0);
    bool of_pool = length == (ssize_t)sizeof bytes && ipc_is_kind(&bytes, IPC_POOL);
    if (!of_pool || bytes.pool_kind < 0 || bytes.pool_kind >= POOL_KINDS) {
        log_error("%lld is not a descriptor of a memory pool of the CPU device", (long long)(intptr_t)handle);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!driver_device(bytes.device)) {
        log_error("the pool is of device %d, which this process does not have (PYCUDA_CPU_DEVICES)",
                  bytes.device);
        return CUDA_ERROR_INVALID_DEVICE;
    }
    TRY(ipc_open_file(&bytes, &file));
    Pool *pool = import_pool(&bytes, &file);
    if (!pool) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = pool;
    PUT(pool);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr address)
{
    MemoryRange range;
    MemoryExport place;
    IpcHandle bytes;
    TRY(driver_check());
    if (!out || !memory_map_find_for_call(driver_memory(), address, 1, &range))
        return CUDA_ERROR_INVALID_VALUE;
    const Pool *pool = range.block ? range.tag : NULL;
    if (!pool || !pool->share || !memory_map_export(driver_memory(), &range, &place)) {
        log_error("only memory of a pool made for it (CUmemPoolProps.handleTypes) can be exported");
        return CUDA_ERROR_INVALID_VALUE;
    }
    ipc_fill_handle(&bytes, IPC_POOL_MEMORY, place.descriptor, place.inode);
    bytes.offset = place.offset;
    bytes.size = range.size;
    bytes.id = range.id;
    bytes.pool = pool->share->number;
    memcpy(out, &bytes, sizeof bytes);
    return CUDA_SUCCESS;
}

/* Whether the pointer was exported from the imported pool. */
static bool is_of_export(const PoolShare *share, const IpcHandle *bytes)
{
    return share && share->imported && ipc_is_kind(bytes, IPC_POOL_MEMORY) && bytes->process == share->process
           && bytes->inode == share->inode && bytes->pool == share->number;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool handle, CUmemPoolPtrExportData *data)
{
    Context *context;
    Pool *pool;
    IpcHandle bytes;
    TRY(context_enter(&context));
    if (!out || !data) return CUDA_ERROR_INVALID_VALUE;
    TRY(pool_enter(handle, &pool));
    memcpy(&bytes, data, sizeof bytes);
    bool ours = is_of_export(pool->share, &bytes);
    CUresult result =
        ours ? ipc_map(context, &bytes, &pool->share->file, pool, true, out) : CUDA_ERROR_INVALID_VALUE;
    if (!ours) log_error("the pool was not imported, or the pointer is not of its memory");
    PUT(pool);
    return result;
}
