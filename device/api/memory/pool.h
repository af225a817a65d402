/* Memory pools. pool.c makes them and answers for their settings; pool_blocks.c hands out their memory.
 *
 * A pool's memory is in blocks. What a program frees in a stream it may get again at once, before the stream
 * has come to the free: if all that will use it is ordered after the free. Unused memory goes back to the
 * device when the host waits for work, as far as it exceeds the pool's release threshold, and whenever
 * memory is short.
 */
#ifndef DEVICE_API_MEMORY_POOL_H
#define DEVICE_API_MEMORY_POOL_H

#include "api/context/context.h"
#include "exec/memory/shared_file.h"

enum { POOL_SETTINGS = 4, POOL_BINS = 8 * 64 };

typedef struct MemoryBlock MemoryBlock;

/* What a pool has to do with other processes: its memory may go to them, or comes from one (imported). */
typedef struct PoolShare {
    bool imported;
    int process;            /* of an imported pool: where it comes from, */
    uint64_t inode, number; /* which file has its memory and its number there; else its number here */
    SharedFile file;        /* of an imported pool */
} PoolShare;

struct CUmemPoolHandle_st {
    Object object;
    Device *device;
    PoolKind kind;
    bool is_default;
    PoolShare *share;                         /* owned; NULL: nothing (pool_share.c) */
    _Atomic uint64_t settings[POOL_SETTINGS]; /* reuse policies and the release threshold */
    _Atomic uint64_t readers, writers;        /* bit d: device d may */
    uint64_t max;                            /* bytes; 0: as much as the device has */

    /* Under the lock of pool_blocks.c. Each block has a reference to its pool. */
    Pool *next;                               /* in the list of those that have blocks */
    MemoryBlock *used, *bins[POOL_BINS]; /* in use, and freed ones by capacity, the last freed first */
    uint64_t in_use, in_use_high; /* requested bytes */
    uint64_t reserved, reserved_high; /* bytes of all blocks */
    bool destroyed;
};

/* The pool with a reference; CUDA_ERROR_INVALID_VALUE when there is none. */
CUresult pool_enter(CUmemoryPool handle, Pool **out);
/* A new pool with the caller's reference, in the registry; NULL if out of memory. */
Pool *pool_new(Device *device, PoolKind kind);
/* Makes the memory of a new pool one that other processes may have. */
CUresult pool_make_shareable(Pool *pool);
void pool_share_free(PoolShare *share);
/* CUmemAllocationHandleType's bits that pools can be made with. */
int pool_handle_types(void);
static inline bool pool_is_imported(const Pool *pool) { return pool->share && pool->share->imported; }
/* Whether the pool lets a device touch its memory. */
bool pool_allows(const Pool *pool, int device, bool write);

typedef struct PoolCounts {
    uint64_t in_use, in_use_high, reserved, reserved_high;
} PoolCounts;

void pool_counts(Pool *pool, PoolCounts *out);
void pool_reset_high(Pool *pool, bool reserved);
/* Releases unused memory until at most that is left. */
void pool_trim(Pool *pool, uint64_t keep);
/* The pool's handle was destroyed. Releases unused memory, and from now on all that is freed to it. */
void pool_stop_keeping(Pool *pool);
/* Frees memory of a pool that no work uses any more. False when no pool's memory starts at that address. */
bool pool_release(CUdeviceptr address);

/* Memory of a graph: a block of its own, whose address does not change. Calls find it at once, kernels only
 * from pool_range_begin on. */
CUresult pool_bind(Pool *pool, Context *context, uint64_t size, MemoryBlock **out, CUdeviceptr *address);
/* The graph was destroyed. Memory that it has handed out stays until it is freed. */
void pool_unbind(MemoryBlock *block);
bool pool_bound_in_use(const MemoryBlock *block);
/* A launch hands the memory out, for as long as it runs, or with `keep` until the program frees it. Returns
 * the range as kernels are to find it. The block counts one task more, until pool_range_settle or
 * pool_range_end with `settle`. */
MemoryRange pool_bound_take(MemoryBlock *block, bool keep);
/* Frees, for calls, memory that was handed out; kernels find it until pool_range_end(range). False when no
 * such memory starts at that address. */
bool pool_withdraw(CUdeviceptr address, MemoryRange *range);
bool pool_is_bound(CUdeviceptr address);
/* From now on kernels find the range; no longer find it; and the block's task is over. */
void pool_range_begin(const MemoryRange *range);
void pool_range_end(const MemoryRange *range, bool settle);
void pool_range_settle(const MemoryRange *range);

/* Memory is short: releases all that is unused. */
void pools_reclaim(Device *device);

#endif
