/* A running grid: what its blocks share. */
#ifndef DEVICE_EXEC_STATE_GRID_H
#define DEVICE_EXEC_STATE_GRID_H

#include <pthread.h>
#include <stdatomic.h>

#include "exec/state/launch.h"
#include "exec/state/worker.h"

/* Work that threads of the pool can join. */
typedef struct PoolJob {
    struct PoolJob *next;      /* in the pool's list */
    void (*work)(
        struct PoolJob *job); /* called by each thread that joins; returns when nothing is left for it */
    _Atomic uint32_t open;     /* 0: no more threads can join at the moment */
    uint32_t helpers;          /* threads of the pool that work on it; guarded by the pool's lock */
    atomic_bool queued;        /* from the request to put it into the list until it is finished */
} PoolJob;

/* Where the grid has survived faults: those of one place are named once, then counted. */
enum { FAULT_PLACES = 32 };
typedef struct FaultPlace {
    const Insn *insn;
    CUresult code;
    _Atomic uint64_t *faults; /* GridLaunch.name_fault's */
} FaultPlace;
typedef struct FaultPlaces {
    uint32_t count;
    FaultPlace at[FAULT_PLACES];
} FaultPlaces;

struct Grid {
    PoolJob job;               /* must be first: a pointer to it is cast to Grid */
    const GridLaunch *launch;
    const CodeFunction *function;
    uint8_t *param_rows;       /* REF_PARAM */
    uint32_t shared_used; /* bytes of shared memory that the kernel and the launch ask for, of a block */
    uint32_t shared_size; /* shared_used and the bytes that are reserved */
    uint32_t threads, warps; /* of a block */
    size_t local_stride; /* bytes between the local memories of two lanes */
    uint32_t local_size; /* bytes of local memory a lane may use */
    uint64_t block_count, started_ns, schedule_seed;
    uint32_t cluster_size; /* blocks */
    uint64_t cluster_count;
    uint32_t share; /* clusters that a worker takes at a time */
    ExecFault *fault;
    pthread_mutex_t *fault_lock, *print_lock;
    FaultPlaces places; /* guarded by fault_lock */
    WorkerPool *pool;
    bool called; /* the pool was asked for help */
    struct Children *children; /* what its threads launch */
    struct GlobalRace *global_race; /* what its blocks access, where that is checked; NULL */
    _Alignas(64) _Atomic uint64_t next_block; /* a cache line of its own: all workers write it */
    _Alignas(64) atomic_bool faulted;
    atomic_bool diverges; /* a block's warps diverged before their first loop: lockstep.c leaves the others */
    const _Atomic uint32_t *stop; /* the launch's, never NULL */
    _Atomic uint64_t resident; /* clusters begun and not done: one of each worker, and those that wait */
    _Alignas(64) uint32_t workspace[32]; /* of grid-wide barriers: %envreg1 and 2 point at it */
};

/* Whether the worker must stop after this turn: after a fault, or because of a GridStop that it heeds. */
static inline bool grid_stops(const Grid *grid, const Worker *worker)
{
    return atomic_load_explicit(&grid->faulted, memory_order_relaxed)
           || (atomic_load_explicit(grid->stop, memory_order_relaxed) & worker->heeds);
}

#endif
