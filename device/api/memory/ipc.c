/* Memory of other processes, opened by its handles, and parts of shared files. */
#define _GNU_SOURCE
#include "api/memory/ipc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/base/log.h"
#include "api/memory/pool.h"
#include "api/stream/queue.h"

/* An allocation of another process, or a part of a shared file, that is mapped for a context. All calls for
 * the same allocation share one mapping, unless it was made `per_call`. */
typedef struct Import {
    struct Import *next;
    const Context *context;
    Pool *pool;              /* a reference, if the memory is from a pool; else NULL */
    bool per_call;           /* the mapping of one call, which ipc_release() ends */
    int process;             /* with inode and id it names the allocation, as in its handle */
    uint64_t inode, id;
    unsigned count;          /* calls that share the mapping */
    CUdeviceptr address;     /* of the allocation */
    void *pages;             /* the mapped pages, in which the allocation is */
    size_t length;           /* their bytes */
} Import;

static pthread_mutex_t imports_lock = PTHREAD_MUTEX_INITIALIZER;
static Import *imports;

CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr address)
{
    Context *context;
    MemoryRange range;
    MemoryExport place;
    IpcHandle handle;
    TRY(context_enter(&context));
    if (!out || !memory_map_find_for_call(driver_memory(), address, 1, &range))
        return CUDA_ERROR_INVALID_VALUE;
    if (range.kind != MEMORY_DEVICE || range.tag) {
        log_error("only memory of cuMemAlloc has an IPC handle, not %s", memory_kind_name(range.kind));
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!memory_map_export(driver_memory(), &range, &place)) {
        log_error(SHARED_FILE_PROBLEM ", or the program has closed its file");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    /* For initcheck the memory counts as written: writes of other processes are not seen here. */
    memory_map_written(driver_memory(), range.base, range.size);
    ipc_fill_handle(&handle, IPC_MEMORY, place.descriptor, place.inode);
    handle.offset = place.offset;
    handle.size = range.size;
    handle.id = range.id;
    memcpy(out, &handle, sizeof handle);
    return CUDA_SUCCESS;
}

/* The shared import of the handle's allocation for that context, or NULL. */
static Import *find_locked(const Context *context, const IpcHandle *handle)
{
    Import *import = imports;
    while (import
           && (import->per_call || import->context != context || import->process != handle->process
               || import->inode != handle->inode || import->id != handle->id))
        import = import->next;
    return import;
}

/* Maps the pages around the allocation. */
/* False if the file is smaller than the handle says, or cannot be mapped. */
static bool map_pages(Import *import, const IpcHandle *handle, const SharedFile *file)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = handle->offset & ~(page - 1), end;
    if (!handle->size || __builtin_add_overflow(handle->offset, handle->size, &end) || end > file->size)
        return false;
    import->length = (size_t)(((end + page - 1) & ~(page - 1)) - first);
    import->pages =
        mmap(NULL, import->length, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor, (off_t)first);
    import->address = (CUdeviceptr)(uintptr_t)import->pages + (handle->offset - first);
    return import->pages != MAP_FAILED;
}

/* Maps an allocation, which is added to the list. NULL when it cannot be mapped. */
static Import *import_locked(Context *context, const IpcHandle *handle, const SharedFile *file, Pool *pool,
                             bool per_call)
{
    MemoryRequest request = {
        .size = handle->size,
        .kind = MEMORY_IMPORTED,
        .device = context->device->ordinal,
        .owner = context,
        .tag = pool,
    };
    Import *import = calloc(1, sizeof *import);
    if (!import) return NULL;
    *import = (Import){.next = imports,
                       .context = context,
                       .pool = pool,
                       .per_call = per_call,
                       .process = handle->process,
                       .inode = handle->inode,
                       .id = handle->id};
    if (!map_pages(import, handle, file)) {
        free(import);
        return NULL;
    }
    if (!memory_map_register(driver_memory(), import->address, &request)) {
        munmap(import->pages, import->length);
        free(import);
        return NULL;
    }
    imports = import;
    if (pool) object_hold(OBJECT(pool));
    return import;
}

CUresult ipc_map(Context *context, const IpcHandle *handle, const SharedFile *file, Pool *pool, bool per_call,
                 CUdeviceptr *out)
{
    if (!context_keep_open(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    pthread_mutex_lock(&imports_lock);
    Import *import = per_call ? NULL : find_locked(context, handle);
    if (!import) import = import_locked(context, handle, file, pool, per_call);
    if (import) {
        import->count++;
        *out = import->address;
    }
    pthread_mutex_unlock(&imports_lock);
    context_allow_close(context);
    return import ? CUDA_SUCCESS : CUDA_ERROR_MAP_FAILED;
}

/* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS changes nothing: the memory is mapped for the current context, whichever
 * device it is counted on. */
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle bytes, unsigned int flags)
{
    Context *context;
    IpcHandle handle;
    SharedFile file;
    TRY(context_enter(&context));
    if (!out || flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    memcpy(&handle, &bytes, sizeof handle);
    TRY(ipc_open(&handle, IPC_MEMORY, &file));
    CUresult result = ipc_map(context, &handle, &file, NULL, false, out);
    shared_file_close(&file);
    return result;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle bytes, unsigned int flags)
{
    return cuIpcOpenMemHandle_v2(out, bytes, flags);
}

static void free_import(Import *import)
{
    memory_map_unregister(driver_memory(), import->address, NULL);
    munmap(import->pages, import->length);
    if (import->pool) PUT(import->pool);
    free(import);
}

/* Decrements the count of the import at that address; *last is the import if the count is 0 then, else NULL.
 * False if there is none. */
static bool release_import(const Context *context, CUdeviceptr address, Import **last)
{
    *last = NULL;
    pthread_mutex_lock(&imports_lock);
    Import **link = &imports;
    while (*link && ((*link)->address != address || (*link)->per_call || (*link)->context != context))
        link = &(*link)->next;
    bool found = *link != NULL;
    if (found && --(*link)->count == 0) {
        *last = *link;
        *link = (*link)->next;
    }
    pthread_mutex_unlock(&imports_lock);
    return found;
}

/* Waits as cuMemFree does: kernels may be using the memory. */
CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
    Context *context;
    Import *last;
    TRY(context_enter_any(&context));
    TRY(queue_wait_context(context));
    if (!release_import(context, address, &last)) return CUDA_ERROR_INVALID_VALUE;
    if (last) free_import(last);
    return context_error(context);
}

bool ipc_release(CUdeviceptr address)
{
    pthread_mutex_lock(&imports_lock);
    Import **link = &imports;
    while (*link && ((*link)->address != address || !(*link)->per_call)) link = &(*link)->next;
    Import *import = *link;
    if (import) *link = import->next;
    pthread_mutex_unlock(&imports_lock);
    if (import) free_import(import);
    return import != NULL;
}

/* Takes some import of the context out of the list; NULL if there is none. The caller frees it. */
static Import *take_any(const Context *context)
{
    pthread_mutex_lock(&imports_lock);
    Import **link = &imports;
    while (*link && (*link)->context != context) link = &(*link)->next;
    Import *import = *link;
    if (import) *link = import->next;
    pthread_mutex_unlock(&imports_lock);
    return import;
}

void ipc_close_context(const Context *context)
{
    for (Import *import; (import = take_any(context)) != NULL;) free_import(import);
}
