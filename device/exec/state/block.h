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
    Cluster *cluster;          /* points to `own` of the cluster's first block */
    Cluster own;               /* used in a cluster's first block only */
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
    bool asleep;               /* when its last turn ended, none of its warps could run */
    bool idle;                 /* asleep, and nothing ran in that turn: it waits for its cluster */
    bool mbarrier_waits;       /* some group may wait for an mbarrier */
    Barrier barriers[BARRIER_COUNT];
    struct Checker *checker;   /* NULL where nothing is checked (check.h) */
};

/* The host address of `bytes` bytes of shared memory, of the block or, by cluster.h's addresses, of
 * another one of its cluster. NULL if they are not all there, or if offset is not a multiple of `unit`, a
 * power of two. */
static inline uint8_t *block_shared_at(const Block *block, uint64_t offset, uint64_t bytes, uint32_t unit)
{
    bool inside = offset < block->shared_size && offset + bytes <= block->shared_size;
    if (offset & (unit - 1)) return NULL;
    if (inside) return block->shared + offset;
    return offset >> CLUSTER_SHIFT ? cluster_shared_at(block, offset, bytes) : NULL;
}

#endif
