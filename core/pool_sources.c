/* Where the memory of pools comes from: one PoolSource for each kind of memory. See pool.h. */
#include <stdint.h>
#include <sys/mman.h>

#include "core/pool.h"

/* ---- Device memory ---- */

IN_CALL static CUresult allocate_device(const Pool *pool, CUdeviceptr *pointer, size_t size, CUstream stream)
{
    (void)pool;
    (void)stream;
    return driver.cuMemAlloc(pointer, size);
}

IN_CALL static CUresult release_device(const Pool *pool, const PoolBlock *block)
{
    (void)pool;
    return driver.cuMemFree(block->pointer);
}

const PoolSource pool_device_memory = {.allocate = allocate_device,
                                       .release = release_device,
                                       .release_name = "cuMemFree",
                                       .may_be_checked = true};

/* ---- Page-locked memory ---- */

static void *pointer_of(CUdeviceptr address) { return (void *)(uintptr_t)address; }

IN_CALL static CUresult allocate_host(const Pool *pool, CUdeviceptr *pointer, size_t size, CUstream stream)
{
    void *memory = NULL;
    (void)stream;
    CUresult result = driver.cuMemHostAlloc(&memory, size, pool->flags);
    *pointer = (CUdeviceptr)(uintptr_t)memory;
    return result;
}

IN_CALL static CUresult release_host(const Pool *pool, const PoolBlock *block)
{
    (void)pool;
    return driver.cuMemFreeHost(pointer_of(block->pointer));
}

const PoolSource pool_host_memory = {.allocate = allocate_host,
                                     .release = release_host,
                                     .release_name = "cuMemFreeHost",
                                     .of_host = true};

/* ---- Memory of the process that the driver page-locks ---- */

/* The mapping is shared: after a fork, private pages would be copied at the parent's next write, and the
 * device would go on with the old ones. */
IN_CALL static CUresult allocate_registered(const Pool *pool, CUdeviceptr *pointer, size_t size,
                                            CUstream stream)
{
    (void)stream;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = driver.cuMemHostRegister(memory, size, pool->flags);
    if (result != CUDA_SUCCESS) munmap(memory, size);
    *pointer = (CUdeviceptr)(uintptr_t)memory;
    return result;
}

static void free_registered(const PoolBlock *block) { munmap(pointer_of(block->pointer), block->capacity); }

IN_CALL static CUresult release_registered(const Pool *pool, const PoolBlock *block)
{
    (void)pool;
    CUresult result = driver.cuMemHostUnregister(pointer_of(block->pointer));
    free_registered(block);
    return result;
}

const PoolSource pool_registered_memory = {.allocate = allocate_registered,
                                           .release = release_registered,
                                           .free_later = free_registered,
                                           .release_name = "cuMemHostUnregister",
                                           .of_host = true};

/* ---- Managed memory ---- */

IN_CALL static CUresult allocate_managed(const Pool *pool, CUdeviceptr *pointer, size_t size, CUstream stream)
{
    (void)stream;
    return driver.cuMemAllocManaged(pointer, size, pool->flags);
}

const PoolSource pool_managed_memory = {.allocate = allocate_managed,
                                        .release = release_device,
                                        .release_name = "cuMemFree",
                                        .host_uses = true};

/* ---- A pool of the driver ---- */

IN_CALL static CUresult allocate_ordered(const Pool *pool, CUdeviceptr *pointer, size_t size, CUstream stream)
{
    return driver.cuMemAllocFromPoolAsync(pointer, size, pool->driver_pool, stream);
}

IN_CALL bool pool_default_stream_is_barred(void)
{
    CUstreamCaptureStatus status;
    return driver.cuStreamIsCapturing(NULL, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

/* Frees the block while a capture forbids the default stream. cuMemFree of memory that is not stream-ordered
 * waits for all work of the context in spite of captures: after that the block can be freed. */
IN_CALL static CUresult release_after_all(const PoolBlock *block)
{
    CUdeviceptr other;
    CUresult result = driver.cuMemAlloc(&other, 1);
    if (result == CUDA_SUCCESS) result = driver.cuMemFree(other);
    return result == CUDA_SUCCESS ? driver.cuMemFree(block->pointer) : result;
}

IN_CALL static CUresult release_ordered(const Pool *pool, const PoolBlock *block)
{
    (void)pool;
    if (!block->stream && pool_default_stream_is_barred()) return release_after_all(block);
    return driver.cuMemFreeAsync(block->pointer, block->stream);
}

IN_CALL static CUresult trim_ordered(const Pool *pool, size_t keep)
{
    return driver.cuMemPoolTrimTo(pool->driver_pool, keep);
}

IN_CALL static CUresult end_ordered(Pool *pool)
{
    CUresult result = driver.cuMemPoolTrimTo(pool->driver_pool, 0);
    CUresult destroyed = driver.cuMemPoolDestroy(pool->driver_pool);
    pool->driver_pool = NULL;
    return result == CUDA_SUCCESS ? destroyed : result;
}

const PoolSource pool_ordered_memory = {
    .allocate = allocate_ordered,
    .release = release_ordered,
    .trim = trim_ordered,
    .end = end_ordered,
    .release_name = "cuMemFreeAsync",
    .ordered = true,
};

/* ---- Memory that the program's own functions allocate and free (pool_adopt) ---- */

IN_CALL static CUresult allocate_external(const Pool *pool, CUdeviceptr *pointer, size_t size,
                                          CUstream stream)
{
    (void)pool;
    (void)size;
    (void)stream;
    *pointer = 0;
    return CUDA_ERROR_NOT_SUPPORTED;
}

IN_CALL static CUresult release_external(const Pool *pool, const PoolBlock *block)
{
    (void)pool;
    (void)block;
    return CUDA_SUCCESS;
}

const PoolSource pool_external_memory = {.allocate = allocate_external,
                                         .release = release_external,
                                         .release_name = "deallocate",
                                         .ordered = true};

/* ---- Streams outside of captures ---- */

IN_CALL CUresult pool_begin_uncaptured(CUstream *stream)
{
    return driver.cuStreamCreate(stream, CU_STREAM_NON_BLOCKING);
}

IN_CALL CUresult pool_end_uncaptured(CUstream stream)
{
    CUresult result = driver.cuStreamSynchronize(stream), destroyed = driver.cuStreamDestroy(stream);
    return result == CUDA_SUCCESS ? destroyed : result;
}
