/* A caching pool of device memory or page-locked memory.
 *
 * Blocks that are given back are held, and the next request of the same bin (pool_bins.h) takes one without a
 * driver call. The pool belongs to one context.
 *
 * Order. A block belongs to a stream, on which its last work was queued. Taken again on that stream it can be
 * used at once (pool_take). Taken on another one, that stream first waits for an event after the work
 * (pool_take_after). A stream that is destroyed leaves such an event in its place (pool_stream_gone).
 *
 * Two locks a pool. `lock` guards its fields; the driver is never called under it, so it is never held for
 * long. Under `streams` work of streams is asked for that the caller does not own: whoever destroys a stream
 * takes the lock first, and only functions marked IN_CALL take it. Those need the pool's context to be
 * current. None may be called in a forked child.
 */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include <pthread.h>

#include "core/driver_table.h"
#include "core/pool_bins.h"

/* Where a block is when there is no work before it, or when all of that comes before its event. */
#define POOL_NO_STREAM ((CUstream)(intptr_t)-1)

/* A driver event, given out for as long as blocks refer to it. */
typedef struct PoolEvent {
    struct PoolEvent *next;     /* among the unused ones */
    CUevent event;
    size_t users;
} PoolEvent;

typedef struct PoolBlock {
    struct PoolBlock *next;     /* in its bin, while held */
    CUdeviceptr pointer;
    size_t size;                /* bytes asked for, while active */
    CUstream stream;
    PoolEvent *ready;           /* active: what its stream waited for, else NULL. held: what to wait for */
    unsigned bin;
    bool reused;                /* it had an owner before the one it has */
} PoolBlock;

/* Where the memory comes from. */
typedef struct PoolSource {
    CUresult (*allocate)(CUdeviceptr *pointer, size_t size, unsigned flags);
    CUresult (*release)(CUdeviceptr pointer);
    const char *release_name;
} PoolSource;

extern const PoolSource pool_device_memory;
extern const PoolSource pool_host_memory;

/* Held blocks wait for the next request, active ones are in use. managed_bytes are those of both as
 * allocated, active_bytes those asked for. */
typedef struct PoolStatistics {
    size_t held_blocks, active_blocks, managed_bytes, active_bytes;
} PoolStatistics;

typedef struct Pool {
    pthread_mutex_t lock, streams;
    const PoolSource *source;
    unsigned flags, bits;       /* flags: the source's */
    bool stopped;               /* nothing is held any more */
    PoolStatistics now;
    PoolBlock **bins;           /* owned: the held blocks of each bin, last in, first out */
    PoolEvent *events;          /* unused ones */
} Pool;

/* False when memory is short. bits is at most POOL_MAX_BITS. */
bool pool_init(Pool *pool, const PoolSource *source, unsigned flags, unsigned bits);

/* Ends the pool, which has no active blocks. With the driver (context) what it holds is released; without,
 * when the context is gone, only forgotten. The first error. */
IN_CALL CUresult pool_clear(Pool *pool, bool with_driver);

PoolStatistics pool_statistics(Pool *pool);

/* A held block for `size` bytes that this stream can use at once, now active and of this stream. NULL when
 * there is none among the newest. */
PoolBlock *pool_take(Pool *pool, size_t size, CUstream stream);

/* How putting work in order went: CUDA_SUCCESS, or the error and the driver call that failed. */
typedef struct PoolOrder {
    CUresult result;
    const char *call;
} PoolOrder;

/* A held block for `size` bytes, now active and of this stream, which waits for the block's last work. *out
 * is NULL when there is none. After an error the block is good for pool_drop only. */
IN_CALL CUresult pool_take_after(Pool *pool, size_t size, CUstream stream, PoolBlock **out, PoolOrder *order);

/* A block of new memory, active, of this stream. */
IN_CALL CUresult pool_add(Pool *pool, size_t size, CUstream stream, PoolBlock **out);

/* The active block is used on one more stream. pool_follow: that stream waits for what the block's own stream
 * waited for, or has queued. pool_join: the block's own stream waits for what the other has queued. The
 * caller owns both streams. */
IN_CALL CUresult pool_follow(Pool *pool, const PoolBlock *block, CUstream other, PoolOrder *order);
IN_CALL CUresult pool_join(Pool *pool, PoolBlock *block, CUstream other, PoolOrder *order);

/* Puts an event in the place of an active block's stream, of which nobody will tell when it is destroyed.
 * To be followed by pool_put. */
IN_CALL CUresult pool_seal(Pool *pool, PoolBlock *block, PoolOrder *order);

/* Gives an active block back, after what is queued on its stream. False, and nothing was done, when the pool
 * holds nothing any more: then pool_drop. */
bool pool_put(Pool *pool, PoolBlock *block);

/* Gives the memory of an active block back to the driver, or forgets it when the context is gone. */
IN_CALL CUresult pool_drop(Pool *pool, PoolBlock *block, bool with_driver);

/* Gives held memory back to the driver, which waits for the work on it, or forgets it as above: the largest
 * block (*found tells whether there was one), all blocks, all now and in future. The first error. */
IN_CALL CUresult pool_release_largest(Pool *pool, bool *found);
IN_CALL CUresult pool_release_held(Pool *pool, bool with_driver);
IN_CALL CUresult pool_stop(Pool *pool, bool with_driver);

/* This stream is about to be destroyed: no block refers to it from now on. The caller owns it. Never fails:
 * without an event the work is waited for. */
IN_CALL CUresult pool_stream_gone(Pool *pool, CUstream stream);

#endif
