/* A caching pool of device memory or page-locked memory.
 *
 * A freed block is *held*, and a later request of the same bin (pool_bins.h) takes it without a driver call;
 * a block in use is *active*. Blocks are never split. A pool that shares its bins serves a request whose bin
 * is empty by a block of up to twice its size, and so holds little more than was in use at peak. The pool
 * belongs to one context.
 *
 * Order. A block belongs to the stream on which its last work was queued. On the same stream it can be
 * reused at once (pool_take). Another stream must first wait for an event that is recorded after that work
 * (pool_take_after). When the stream is destroyed an event replaces it in the block (pool_stream_destroyed).
 *
 * Each pool has two locks. `lock` guards its fields; the driver is never called under it, so it is never
 * held for long. `streams` is held while work is queued on streams that the caller does not own, and while a
 * stream is destroyed; only IN_CALL functions take it. IN_CALL functions need the pool's context to be
 * current. No function may be called in a forked child.
 */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include <pthread.h>

#include "core/driver_table.h"
#include "core/pool_bins.h"
#include "core/spin_lock.h"

/* PoolBlock.stream of a block without a stream: its last work is before its event, or done if it has none. */
#define POOL_NO_STREAM ((CUstream)(intptr_t)-1)

/* A driver event, reused once no block refers to it. */
typedef struct PoolEvent {
    struct PoolEvent *next; /* in the list of unused events */
    CUevent event;
    size_t users; /* blocks and pending frees that refer to it */
} PoolEvent;

typedef struct Pool Pool;

typedef struct PoolBlock {
    struct PoolBlock *next; /* in its bin, while held */
    struct PoolBlock *before, *after; /* in the list of all blocks of the pool */
    CUdeviceptr pointer;
    size_t capacity; /* bytes as allocated */
    size_t size; /* bytes requested, while active */
    CUstream stream; /* of its last work, or POOL_NO_STREAM */
    PoolEvent *ready; /* active: what its stream has waited for, or pool_record(); held: what to wait for */
    void *heap; /* its handle of a memory checker (memory_marks.h), in a checked pool */
    void *cpu_mark; /* its mark of the CPU device (CpuMemoryMarks), if the pool has cpu_marks */
    unsigned bin;
    bool reused; /* there was work on it before: it was held, or its source is ordered */
    bool active;
} PoolBlock;

/* A stream on which memory was freed to the driver's pool or, after the stream was destroyed, the event that
 * replaces it. Until the host has waited for it the driver counts that memory as in use. */
typedef struct PoolPendingFree {
    CUstream stream;
    PoolEvent *ready;
} PoolPendingFree;

/* The source of a pool's memory (pool_sources.c). The functions are IN_CALL. */
typedef struct PoolSource {
    CUresult (*allocate)(const Pool *pool, CUdeviceptr *pointer, size_t size, CUstream stream);
    CUresult (*release)(const Pool *pool, const PoolBlock *block);
    /* Frees memory that is still there after the context has ended; NULL: it went with the context. */
    void (*free_later)(const PoolBlock *block);
    /* Frees memory that the source itself holds, until it holds at most `keep` bytes; may be NULL. */
    CUresult (*trim)(const Pool *pool, size_t keep);
    /* Destroys the source's own pool; NULL if it has none. */
    CUresult (*end)(Pool *pool);
    const char *release_name; /* the driver function that `release` calls, for messages */
    bool ordered; /* memory is allocated and freed in stream order: the pool holds none itself */
    bool of_host; /* it is the host's memory */
    bool host_uses; /* the host may access it at any time: it is reused only after the work on it is done */
    bool may_be_checked; /* by memory_marks.h: it is an allocation of the driver that only kernels use */
} PoolSource;

/* Whether the default stream cannot be used now: it would wait for a captured stream, which would invalidate
 * the capture. */
IN_CALL bool pool_default_stream_is_barred(void);

extern const PoolSource pool_device_memory;
extern const PoolSource pool_host_memory;
extern const PoolSource pool_registered_memory; /* flags: CU_MEMHOSTREGISTER_* */
extern const PoolSource pool_managed_memory; /* flags: CUmemAttach_flags */
extern const PoolSource pool_ordered_memory; /* of the pool's driver_pool */
extern const PoolSource pool_external_memory; /* external: pool_adopt, and pool_drop without the driver */

/* managed_bytes: of all blocks, as allocated. active_bytes: as requested. The last two fields are the
 * maxima. */
typedef struct PoolStatistics {
    size_t held_blocks, active_blocks, managed_bytes, active_bytes, managed_bytes_high, active_bytes_high;
} PoolStatistics;

struct Pool {
    SpinLock lock;
    pthread_mutex_t streams;
    const PoolSource *source;
    CUmemoryPool driver_pool; /* owned; of ordered memory, until pool_end_source() */
    unsigned flags; /* for the source */
    unsigned bits; /* of a size, for its bin */
    bool stopped; /* freed blocks are not held */
    bool shares_bins; /* a request whose bin is empty takes a block of up to twice its size */
    bool exact; /* blocks have the requested size: they are never reused */
    bool checked; /* it reports to a memory checker which bytes of each block are in use */
    const CpuMemoryMarks *cpu_marks; /* it reports that to the CPU device; NULL: not */
    size_t limit; /* of managed_bytes; 0: none */
    PoolStatistics now;
    PoolBlock *blocks; /* all of them */
    PoolBlock **bins; /* owned: the held blocks of each bin, last in, first out */
    PoolEvent *events; /* unused ones */
    PoolPendingFree *pending; /* owned; of ordered memory */
    size_t pending_count, pending_capacity;
};

/* Makes an empty pool; false if out of memory. source: borrowed, must outlive the pool. flags: for the
 * source. bits: as in pool_bins.h, at most POOL_MAX_BITS.
 *
 * `checked` and `cpu_marks` are set if a memory checker wants reports, or the driver is the CPU device.
 * Pools that pass requests through (pool_pass_through), as all those of ordered sources do, make no such
 * reports. */
bool pool_init(Pool *pool, const PoolSource *source, unsigned flags, unsigned bits);

/* Ends the pool, which has no active blocks. with_driver: its blocks are released; false, after the context
 * was destroyed: their memory no longer exists, and only the pool's own data are freed. Returns the first
 * error. */
IN_CALL CUresult pool_clear(Pool *pool, bool with_driver);

/* Waits for the work after which memory was freed to the driver's pool, except on streams under capture,
 * which stay pending. */
IN_CALL CUresult pool_await_pending_frees(Pool *pool);

/* Destroys the source's own pool. All work on its memory must be done, and no other thread may call the
 * driver for the pool. Active blocks lose their memory: only pool_drop() without the driver may be called
 * for them. */
IN_CALL CUresult pool_end_source(Pool *pool);

/* From now on each request and each free goes to the source, so that tools that watch the driver's
 * allocations see every one. Called before the first request. */
void pool_pass_through(Pool *pool);

PoolStatistics pool_statistics(Pool *pool);

/* Resets the peaks to what is in use now. */
void pool_reset_peaks(Pool *pool);

/* Copies up to `capacity` of the pool's blocks; returns how many there are. */
size_t pool_list_blocks(Pool *pool, PoolBlock *out, size_t capacity);
/* Copies all of the pool's blocks to an array of *count, to be freed with free(). NULL if out of memory. */
PoolBlock *pool_copy_blocks(Pool *pool, size_t *count);

/* 0 is no limit. Existing blocks stay. */
void pool_set_limit(Pool *pool, size_t limit);
size_t pool_get_limit(Pool *pool);

/* Whether a new block for `size` bytes would exceed the limit: then that is why pool_add() has failed. */
bool pool_is_beyond_limit(Pool *pool, size_t size);

/* A held block for `size` bytes that this stream can use at once; now active on this stream. NULL if there
 * is none among the newest blocks, and in a checked pool. */
PoolBlock *pool_take(Pool *pool, size_t size, CUstream stream);

/* The result of ordering work: CUDA_SUCCESS, or the error and the name of the driver call that failed. */
typedef struct PoolError {
    CUresult result;
    const char *call;
} PoolError;

/* *out: a held block for `size` bytes, now active on this stream, which waits for the block's last work;
 * NULL if there is none. After an error only pool_drop() may be called for the block. CUDA_ERROR_NOT_READY:
 * the wait was interrupted, the block is held again, and *out is NULL. */
IN_CALL CUresult pool_take_after(Pool *pool, size_t size, CUstream stream, PoolBlock **out, PoolError *error);

/* *out: a block of new memory, active on this stream. */
IN_CALL CUresult pool_add(Pool *pool, size_t size, CUstream stream, PoolBlock **out);

/* An active block of memory that the caller has allocated and will free. NULL if memory is short, or the
 * limit would be exceeded. */
PoolBlock *pool_adopt(Pool *pool, CUdeviceptr pointer, size_t size, CUstream stream);

/* For an active block that is used on another stream as well. The caller owns both streams. pool_follow,
 * before that use: the other stream waits for the work that the block's own stream had to wait for, or has
 * queued. pool_join, after it: the block's own stream waits for the work that the other stream has queued. */
IN_CALL CUresult pool_follow(Pool *pool, const PoolBlock *block, CUstream other, PoolError *error);
IN_CALL CUresult pool_join(Pool *pool, PoolBlock *block, CUstream other, PoolError *error);

/* Records an event on the stream of an active block, after its first work: streams that pool_follow() the
 * block wait for that work, and for no later work of its stream. */
IN_CALL CUresult pool_record(Pool *pool, PoolBlock *block, PoolError *error);

/* Replaces an active block's stream by an event, because the destruction of that stream will not be
 * reported. To be followed by pool_put(). */
IN_CALL CUresult pool_seal(Pool *pool, PoolBlock *block, PoolError *error);

/* Replaces the event of such a block by the default stream, which waits for the event. If it cannot, the
 * host waits, for the event or for all work. */
IN_CALL CUresult pool_leave_event(PoolBlock *block);

/* Called before pool_put() in a checked pool: waits for the work on the block, and reports to the memory
 * checker that it is unused, so that later accesses are errors. */
IN_CALL CUresult pool_end_use(const PoolBlock *block);

/* A new stream, which is not captured, on which memory can be allocated that is to be used on a captured
 * stream. pool_end_uncaptured() waits until the memory is allocated and destroys the stream. */
IN_CALL CUresult pool_begin_uncaptured(CUstream *stream);
IN_CALL CUresult pool_end_uncaptured(CUstream stream);

/* Returns an active block to the pool: it is held, and may be reused after the work queued on its stream.
 * False if the pool does not hold blocks (`stopped`): then the caller calls pool_drop(). */
bool pool_put(Pool *pool, PoolBlock *block);

/* Removes an active block from the pool, and frees its memory; if with_driver is false only the pool's data,
 * as in pool_clear(). */
IN_CALL CUresult pool_drop(Pool *pool, PoolBlock *block, bool with_driver);

/* These free memory of held blocks. with_driver: as in pool_clear(). They return the first error. */
/* The largest held block. *found: whether there was one. */
IN_CALL CUresult pool_release_largest(Pool *pool, bool *found);
/* All held blocks. */
IN_CALL CUresult pool_release_held(Pool *pool, bool with_driver);
/* The largest blocks first, until managed_bytes are at most `keep`. */
IN_CALL CUresult pool_trim_to(Pool *pool, size_t keep);
/* All held blocks; from now on freed blocks are not held. */
IN_CALL CUresult pool_stop(Pool *pool, bool with_driver);

/* Called before this stream, which the caller owns, is destroyed: from now on no block refers to it. Always
 * CUDA_SUCCESS: if no event can be made it waits for the stream's work. */
IN_CALL CUresult pool_stream_destroyed(Pool *pool, CUstream stream);

#endif
