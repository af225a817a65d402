/* A caching pool of device memory or page-locked memory.
 *
 * Freed blocks are held, and the next request of the same bin (pool_bins.h) takes one without a driver call.
 * Blocks are never split: a pool that shares its bins serves a request whose bin is empty by a block of up
 * to twice its size, and so holds little more than was in use at peak. The pool belongs to one context.
 *
 * Order. A block belongs to a stream, on which its last work was queued. On the same stream it can be reused
 * at once (pool_take). Another stream must first wait for an event recorded after that work
 * (pool_take_after). When a stream is destroyed, an event takes its place (pool_stream_destroyed).
 *
 * Each pool has two locks. `lock` guards its fields; the driver is never called under it, so it is never
 * held for long. `streams` is held while work is queued on streams that the caller does not own: destroying
 * a stream takes it first, and only functions marked IN_CALL take it. Those need the pool's context to be
 * current. None may be called in a forked child.
 */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include <pthread.h>

#include "core/driver_table.h"
#include "core/pool_bins.h"
#include "core/spin_lock.h"

/* The order of a block's last work: none, or before its event. */
#define POOL_NO_STREAM ((CUstream)(intptr_t)-1)

/* A driver event, reused once no block refers to it. */
typedef struct PoolEvent {
    struct PoolEvent *next;     /* among the unused ones */
    CUevent event;
    size_t users;
} PoolEvent;

typedef struct Pool Pool;

typedef struct PoolBlock {
    struct PoolBlock *next;     /* in its bin, while held */
    struct PoolBlock *before, *after; /* among all blocks of the pool */
    CUdeviceptr pointer;
    size_t capacity;                /* bytes as allocated */
    size_t size;                /* bytes requested, while active */
    CUstream stream;
    PoolEvent *ready;           /* active: what its stream waited for, else NULL. held: what to wait for */
    void *heap;                 /* what a memory checker calls it (memory_marks.h), in a checked pool */
    void *cpu_mark; /* what the CPU device calls it (CpuMemoryMarks), where the pool has marks */
    unsigned bin;
    bool reused; /* it was reused, or is allocated in stream order */
    bool active;
} PoolBlock;

/* A stream on which memory was freed to the driver's pool, or an event in its place: until the host has
 * waited for it the driver counts that memory as in use. */
typedef struct PoolPendingFree {
    CUstream stream;
    PoolEvent *ready;
} PoolPendingFree;

/* The source of a pool's memory (pool_sources.c). The functions are IN_CALL. */
typedef struct PoolSource {
    CUresult (*allocate)(const Pool *pool, CUdeviceptr *pointer, size_t size, CUstream stream);
    CUresult (*release)(const Pool *pool, const PoolBlock *block);
    CUresult (*trim)(const Pool *pool, size_t keep); /* what the source itself holds; may be NULL */
    CUresult (*end)(Pool *pool); /* the source's own pool; may be NULL */
    const char *release_name;
    bool ordered; /* memory is allocated and freed in stream order: the pool holds none itself */
    bool host_uses; /* the host may access it at any time: reused only after the work on it is done */
    bool may_be_checked; /* by memory_marks.h: an allocation of the driver that only kernels use */
} PoolSource;

/* Whether the default stream would wait for a stream of a capture, which that would end. */
IN_CALL bool pool_default_stream_is_barred(void);

extern const PoolSource pool_device_memory;
extern const PoolSource pool_host_memory;
extern const PoolSource pool_managed_memory; /* flags: CUmemAttach_flags */
extern const PoolSource pool_ordered_memory; /* of the pool's driver_pool */
extern const PoolSource pool_external_memory; /* external: pool_adopt, and pool_drop without the driver */

/* Held blocks wait for the next request, active ones are in use. managed_bytes are those of both as
 * allocated, active_bytes those requested; the other two are their peaks. */
typedef struct PoolStatistics {
    size_t held_blocks, active_blocks, managed_bytes, active_bytes, managed_bytes_high, active_bytes_high;
} PoolStatistics;

struct Pool {
    SpinLock lock;
    pthread_mutex_t streams;
    const PoolSource *source;
    CUmemoryPool driver_pool; /* owned; of ordered memory, until pool_end_source */
    unsigned flags, bits; /* flags: the source's */
    bool stopped; /* nothing is held anymore */
    bool shares_bins; /* a request takes a block of up to twice its size when its bin has none */
    bool exact; /* blocks have the requested size: they are never reused */
    bool checked; /* reports to a memory checker which bytes of each block are in use */
    const CpuMemoryMarks *cpu_marks; /* and to the CPU device; else NULL */
    size_t limit; /* of managed_bytes; 0: none */
    PoolStatistics now;
    PoolBlock *blocks; /* all of them */
    PoolBlock **bins; /* owned: the held blocks of each bin, last in, first out */
    PoolEvent *events; /* unused ones */
    PoolPendingFree *pending; /* owned; of ordered memory */
    size_t pending_count, pending_capacity;
};

/* False if out of memory. source: borrowed, must outlive the pool. flags: for the source. bits: of a size, as
 * in pool_bins.h, at most POOL_MAX_BITS.
 *
 * `checked` and `cpu_marks` are two reports of which bytes are in use: the first to a memory checker that
 * asked for it, the second to the CPU device. Pools that pass requests through (pool_pass_through) make
 * neither: those of ordered sources, of which pool_external_memory is one. */
bool pool_init(Pool *pool, const PoolSource *source, unsigned flags, unsigned bits);

/* Ends the pool, which has no active blocks. With a context its blocks are released; without, after the
 * context was destroyed, only forgotten. The first error. */
IN_CALL CUresult pool_clear(Pool *pool, bool with_driver);

/* Waits for the work after which memory was freed to the driver's pool; streams under capture are left for
 * the next time. */
IN_CALL CUresult pool_await_pending_frees(Pool *pool);

/* Destroys the source's own pool. All work on its memory is done, and no other thread calls the driver for
 * the pool: blocks in use lose their memory, and only pool_drop without the driver may be called on them. */
IN_CALL CUresult pool_end_source(Pool *pool);

/* From now on each request and each free goes to the source, so that tools that watch the driver's
 * allocations see every one. Called before the first request. */
void pool_pass_through(Pool *pool);

PoolStatistics pool_statistics(Pool *pool);

/* Resets the peaks to what is in use now. */
void pool_reset_peaks(Pool *pool);

/* Copies up to `capacity` of the pool's blocks; returns how many there are. */
size_t pool_list_blocks(Pool *pool, PoolBlock *out, size_t capacity);
/* Copies all of them, for work that must not be done under the lock; to be freed with free(). NULL when
 * memory is short. */
PoolBlock *pool_copy_blocks(Pool *pool, size_t *count);

/* 0 is no limit. Existing blocks stay. */
void pool_set_limit(Pool *pool, size_t limit);
size_t pool_get_limit(Pool *pool);

/* Whether a new block for `size` bytes would be beyond the limit: the reason of an error of pool_add. */
bool pool_is_beyond_limit(Pool *pool, size_t size);

/* A held block for `size` bytes that this stream can use at once, now active on this stream. NULL when there
 * is none among the newest, and in a checked pool. */
PoolBlock *pool_take(Pool *pool, size_t size, CUstream stream);

/* What putting work in order gave: CUDA_SUCCESS, or the error and the driver call that failed. */
typedef struct PoolError {
    CUresult result;
    const char *call;
} PoolError;

/* A held block for `size` bytes, now active on this stream, which waits for the block's last work. *out is
 * NULL when there is none. After an error only pool_drop may be called on the block; after
 * CUDA_ERROR_NOT_READY, when the wait was interrupted, it is held again. */
IN_CALL CUresult pool_take_after(Pool *pool, size_t size, CUstream stream, PoolBlock **out, PoolError *error);

/* A block of new memory, active, of this stream. */
IN_CALL CUresult pool_add(Pool *pool, size_t size, CUstream stream, PoolBlock **out);

/* A block of memory that the caller allocated and will free. NULL when memory is short. */
PoolBlock *pool_adopt(Pool *pool, CUdeviceptr pointer, size_t size, CUstream stream);

/* The active block is used on one more stream. pool_follow: that stream waits for what the block's own stream
 * waited for, or has queued. pool_join: the block's own stream waits for what the other has queued. The
 * caller owns both streams. */
IN_CALL CUresult pool_follow(Pool *pool, const PoolBlock *block, CUstream other, PoolError *error);
IN_CALL CUresult pool_join(Pool *pool, PoolBlock *block, CUstream other, PoolError *error);

/* Replaces an active block's stream by an event, for a stream whose destruction will not be reported. To be
 * followed by pool_put. */
IN_CALL CUresult pool_seal(Pool *pool, PoolBlock *block, PoolError *error);

/* Replaces such an event by the default stream: it waits for it, or the host does, for the event or for
 * everything. */
IN_CALL CUresult pool_leave_event(PoolBlock *block);

/* Waits for the work on an active block, and marks it as unused for the memory checker, which reports later
 * accesses. Called before pool_put in a checked pool. */
IN_CALL CUresult pool_end_use(const PoolBlock *block);

/* A stream outside of any capture, for memory that is to be used on a captured stream: after end the memory
 * is allocated. In the pool's context, which is current. */
IN_CALL CUresult pool_begin_uncaptured(CUstream *stream);
IN_CALL CUresult pool_end_uncaptured(CUstream stream);

/* Returns an active block to the pool, after the work queued on its stream. False, with no effect, when the
 * pool no longer holds blocks: then pool_drop. */
bool pool_put(Pool *pool, PoolBlock *block);

/* Frees the memory of an active block, or forgets it when the context was destroyed. */
IN_CALL CUresult pool_drop(Pool *pool, PoolBlock *block, bool with_driver);

/* Frees held memory, after waiting for the work on it, or forgets it as above: the largest block (*found:
 * whether there was one), all blocks, all blocks now and in future. The first error. */
IN_CALL CUresult pool_release_largest(Pool *pool, bool *found);
IN_CALL CUresult pool_release_held(Pool *pool, bool with_driver);
/* The largest first, until managed_bytes are at most `keep`. */
IN_CALL CUresult pool_trim_to(Pool *pool, size_t keep);
IN_CALL CUresult pool_stop(Pool *pool, bool with_driver);

/* This stream is about to be destroyed: no block refers to it from now on. The caller owns it. Never fails:
 * if no event can be made, it waits for the work. */
IN_CALL CUresult pool_stream_destroyed(Pool *pool, CUstream stream);

#endif
