/* Memory pools. pool.c makes them and has their attributes; pool_blocks.c allocates and frees their memory.
 *
 * A pool's memory is in blocks. A block that a program frees in a stream may be allocated again at once,
 * before the stream has reached the free, if all work that will use it is ordered after the free. Unused
 * memory above the pool's release threshold is returned to the device when the host waits for work, and all
 * unused memory when memory is short.
 */
#ifndef DEVICE_API_MEMORY_POOL_H
#define DEVICE_API_MEMORY_POOL_H

#include "api/context/context.h"
#include "exec/memory/shared_file.h"

/* settings: the attributes CU_MEMPOOL_ATTR_* from 1 to 4, at index attribute - 1. Bins: see bin_of(). */
enum { POOL_SETTINGS = 4, POOL_BINS = 8 * 64 };

typedef struct MemoryBlock MemoryBlock;

/* Of a pool that processes share: its memory can be exported, or it was imported from another process. */
typedef struct PoolShare {
    bool imported;
    uint64_t number;        /* of the pool in the process that made it */
    int process;            /* of an imported pool: the process that made it */
    uint64_t inode;         /* of an imported pool: of the file with its memory */
    SharedFile file;        /* of an imported pool: the file, owned */
} PoolShare;

struct CUmemPoolHandle_st {
    Object object;
    Device *device;
    PoolKind kind;
    bool is_default;
    PoolShare *share;                         /* owned; NULL: processes do not share it (pool_share.c) */
    _Atomic uint64_t settings[POOL_SETTINGS]; /* three reuse policies (0 or 1) and the release threshold */
    _Atomic uint64_t devices;                 /* bit d: device d has access to its memory */
    atomic_bool host; /* the host has access, as calls show it: nothing depends on it */
    uint64_t max; /* bytes; 0: as much as the device has */

    /* Under the lock of pool_blocks.c. Each block has a reference to its pool. */
    Pool *next; /* in the list of pools that have blocks */
    MemoryBlock *used; /* the blocks in use */
    MemoryBlock *bins[POOL_BINS]; /* the unused blocks by capacity, the last freed first */
    uint64_t in_use, in_use_high; /* requested bytes: now, maximum */
    uint64_t reserved, reserved_high; /* bytes of all blocks: now, maximum */
    bool destroyed; /* its handle is invalid: nothing that is freed is kept */
};

/* The pool with a reference; CUDA_ERROR_INVALID_VALUE when there is none. */
CUresult pool_enter(CUmemoryPool handle, Pool **out);
/* A new pool with the caller's reference, in the registry; NULL if out of memory. */
Pool *pool_new(Device *device, PoolKind kind);
/* Whether cuMemPoolCreate makes pools with these properties; *device, *kind: what they say. */
CUresult pool_check_properties(const CUmemPoolProps *properties, Device **device, PoolKind *kind);
/* Lets other processes import the new pool's memory. */
CUresult pool_make_shareable(Pool *pool);
void pool_share_free(PoolShare *share);
/* The bits of CUmemAllocationHandleType that pools can be made with. */
int pool_handle_types(void);
static inline bool pool_is_imported(const Pool *pool) { return pool->share && pool->share->imported; }
/* Whether kernels of the device may access the pool's memory; whether those of any device may. */
bool pool_allows(const Pool *pool, int device);
bool pool_allows_any(const Pool *pool);
/* From now on kernels of the device may. */
void pool_allow(Pool *pool, int device);

typedef struct PoolCounts {
    uint64_t in_use, in_use_high, reserved, reserved_high;
} PoolCounts;

void pool_counts(Pool *pool, PoolCounts *out);
/* Sets the maximum of the reserved bytes, or else of the bytes in use, to what there is now. */
void pool_reset_high(Pool *pool, bool reserved);
/* Releases unused memory until at most `keep` bytes are reserved. */
void pool_trim(Pool *pool, uint64_t keep);
/* Called when the pool's handle was destroyed: releases unused memory now, and all other when it is freed. */
void pool_stop_keeping(Pool *pool);
/* Frees memory of a pool at once; the caller knows that no work uses it. False if no memory of a pool starts
 * at that address. */
bool pool_release(CUdeviceptr address);

/* --- Memory of a graph: a block that is bound to it, whose address does not change ---
 *
 * The program's calls find a bound block from pool_bind() on. A launch of the graph calls pool_bound_take();
 * kernels find the range from pool_range_begin() to pool_range_end(). */
/* A new block for a graph. */
CUresult pool_bind(Pool *pool, Context *context, uint64_t size, MemoryBlock **out, CUdeviceptr *address);
/* Called when the graph was destroyed: frees the block, or, if a launch has kept it for the program, lets it
 * live until the program frees it. */
void pool_unbind(MemoryBlock *block);
/* Whether a launch has kept the block for the program, which has not freed it. */
bool pool_bound_in_use(const MemoryBlock *block);
/* Called by a launch, which uses the memory while it runs, or with `keep` keeps it for the program, which
 * frees it. Returns the range for kernels. The block counts one more task, until pool_range_settle() or
 * pool_range_end() with `settle`. */
MemoryRange pool_bound_take(MemoryBlock *block, bool keep);
/* Frees memory as far as calls see it. *range is for pool_range_end(), up to which kernels still find it.
 * False if no memory that can be freed in a stream starts at that address. */
bool pool_withdraw(CUdeviceptr address, MemoryRange *range);
/* Whether calls find a bound block at that address. */
bool pool_is_bound(CUdeviceptr address);
/* Whether the address is in a bound block whose graph was not launched yet. */
bool pool_awaits_launch(CUdeviceptr address);
/* From now on kernels find the range. */
void pool_range_begin(const MemoryRange *range);
/* From now on kernels do not find the range. settle: calls pool_range_settle() as well. */
void pool_range_end(const MemoryRange *range, bool settle);
/* One task of the range's block is done: the block may be freed now. */
void pool_range_settle(const MemoryRange *range);

/* Memory is short: releases the unused memory of all pools of the device. */
void pools_reclaim(Device *device);

#endif
