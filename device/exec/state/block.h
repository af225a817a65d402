/* A block: its warps, barriers and shared memory. */
#ifndef DEVICE_EXEC_STATE_BLOCK_H
#define DEVICE_EXEC_STATE_BLOCK_H

#include "exec/state/cluster.h"
#include "exec/state/warp.h"

enum { BARRIER_COUNT = 16 };

/* A named barrier of a block. Threads are counted, not warps. */
typedef struct Barrier {
    uint32_t arrived;   /* threads, 0: idle */
    uint32_t expected;  /* threads, 0: all that have not exited */
    uint32_t popc;      /* bar.red: threads whose predicate holds */
    uint32_t votes;     /* bar.red: threads that voted */
} Barrier;

struct Block {
    Block *next;               /* in the worker's list of live or of free blocks */
    Grid *grid;
    Cluster *cluster;          /* that of its first block */
    Cluster own;               /* of a first block */
    uint32_t rank;             /* in the cluster */
    _Alignas(64) SpecialRow rows[BLOCK_ROWS]; /* by enum BlockRow */
    uint32_t id[3];
    uint64_t linear;
    uint8_t *shared;
    size_t shared_capacity;
    uint32_t shared_size;      /* bytes a thread may access, reserved ones too */
    Warp *warps;
    uint32_t warp_count, warp_capacity;
    uint32_t dims[3];          /* block shape that the warps' tid rows are made for */
    uint32_t threads, live;    /* threads in all, and not yet exited */
    uint32_t barriers_busy;    /* bit b: barrier b has arrivals */
    uint32_t spins;            /* passes in which no warp did more than wait */
    uint64_t wake_at;          /* when the first of the groups that sleep wakes; 0: none does */
    bool asleep;               /* nothing of it could run when it was given up */
    bool idle;                 /* the same, and nothing ran in that turn: it waits for its cluster */
    bool mbarrier_waits;       /* some group may wait for an mbarrier */
    Barrier barriers[BARRIER_COUNT];
    struct Checker *checker;   /* NULL where nothing is checked (check.h) */
};

/* The host's address of bytes of shared memory at an offset that is aligned for `unit`, a power of two; NULL
 * where they are not all there. */
static inline uint8_t *block_shared_at(const Block *block, uint64_t offset, uint64_t bytes, uint32_t unit)
{
    bool inside = offset < block->shared_size && offset + bytes <= block->shared_size;
    if (offset & (unit - 1)) return NULL;
    if (inside) return block->shared + offset;
    return offset >> CLUSTER_SHIFT ? cluster_shared_at(block, offset, bytes) : NULL;
}

#endif
