/* A running grid: what its blocks share. */
#ifndef DEVICE_EXEC_STATE_GRID_H
#define DEVICE_EXEC_STATE_GRID_H

#include <pthread.h>
#include <stdatomic.h>

#include "exec/state/launch.h"
#include "exec/state/worker.h"

/* What threads of the pool can join in. */
typedef struct PoolJob {
    struct PoolJob *next;      /* in the pool's list */
    void (*work)(struct PoolJob *job); /* returns when there is nothing to do for one more thread */
    _Atomic uint32_t open;     /* 0: there is nothing at the moment */
    uint32_t helpers;          /* threads of the pool at work on it, under the pool's lock */
    atomic_bool queued;        /* it is in the list, or was asked to be, until it is finished */
} PoolJob;

struct Grid {
    PoolJob job;               /* first */
    const GridLaunch *launch;
    const CodeFunction *function;
    uint8_t *param_rows;
    uint32_t shared_used;   /* bytes of shared memory that the kernel asked for */
    uint32_t shared_size, threads, warps; /* with those that are reserved */
    size_t local_stride;       /* bytes between the local memories of two lanes */
    uint32_t local_size;       /* bytes of local memory a lane may use */
    uint64_t block_count, started_ns, schedule_seed;
    uint32_t cluster_size;     /* blocks */
    uint64_t cluster_count;
    uint32_t share;            /* clusters that a worker takes at a time */
    ExecFault *fault;
    pthread_mutex_t *fault_lock, *print_lock;
    WorkerPool *pool;
    bool called;               /* the pool was asked for help */
    struct Children *children;        /* what its threads launch */
    struct GlobalRace *global_race; /* what its blocks access, where that is checked; NULL */
    _Alignas(64) _Atomic uint64_t next_block; /* a cache line of its own: all workers write it */
    _Alignas(64) atomic_bool faulted;
    atomic_bool diverges; /* a block's warps diverged before their first loop: lockstep.c leaves the others */
    const _Atomic uint32_t *stop; /* the launch's, never NULL */
    _Atomic uint64_t resident; /* clusters begun and not done: one of each worker, and those that wait */
    _Alignas(64) uint32_t workspace[32]; /* of grid-wide barriers: %envreg1 and 2 point at it */
};

/* Whether the worker is to stop after this turn: after a fault, or as GridStop says. */
static inline bool grid_stops(const Grid *grid, const Worker *worker)
{
    return atomic_load_explicit(&grid->faulted, memory_order_relaxed)
           || (atomic_load_explicit(grid->stop, memory_order_relaxed) & worker->heeds);
}

#endif
