/* A worker: what one thread needs to run blocks. Block states and memory of warps live from launch to launch,
 * and so do small caches of the memory ranges that were hit last. */
#ifndef DEVICE_EXEC_STATE_WORKER_H
#define DEVICE_EXEC_STATE_WORKER_H

#include "exec/state/block.h"

enum { RANGE_SLOTS = 16 };

/* A range of memory that was hit; size 0: empty. */
typedef struct RangeEntry {
    uint64_t base, size;
} RangeEntry;

/* Memory for accesses that are not valid (exec_sink). */
typedef struct Sink {
    uint8_t *bytes;
    uint64_t size;
} Sink;

struct Worker {
    RangeEntry loads[RANGE_SLOTS], stores[RANGE_SLOTS]; /* by address of the instruction */
    Worker *next;
    uint64_t generation; /* of the memory map when the caches were filled */
    Block *live, *live_last; /* a list of the first blocks of clusters, in the order of their turns */
    Block *free_blocks;
    Block *last; /* the block that ran last: the caches may hold ranges of its memory */
    struct WarpStore *free_stores;
    uint64_t share_next, share_end; /* clusters taken of the grid and not begun */
    uint32_t index; /* shown as %smid */
    uint64_t random; /* state of the random scheduler's generator; 0: no random scheduler */
    uint32_t heeds; /* the GridStop bits at which it stops */
    struct GridRun *run; /* memory for the grid that it leads, or NULL */
    Sink sinks[2]; /* for reads, for writes */
    struct Lockstep *lockstep; /* memory of run/lockstep.c, or NULL */
};

/* The next number of the random scheduler's generator (xorshift64*). */
static inline uint32_t worker_random(Worker *worker)
{
    uint64_t x = worker->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    worker->random = x;
    return (uint32_t)((x * 0x2545f4914f6cdd1dull) >> 32);
}

#endif
