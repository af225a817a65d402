/* Clusters: blocks that run at the same time and reach each other's shared memory. */
#ifndef DEVICE_EXEC_STATE_CLUSTER_H
#define DEVICE_EXEC_STATE_CLUSTER_H

#include "exec/state/launch.h"
#include "exec/state/warp.h"

/* An address in a cluster's shared memory has from bit CLUSTER_SHIFT on the block's rank + CLUSTER_FIRST,
 * or 0 for the block of the thread; below it, the offset in that block's memory. Other values are
 * invalid. */
enum { CLUSTER_SHIFT = 24, CLUSTER_FIRST = 0x40 };

/* The blocks of a cluster, which one worker runs in turn. A block without a cluster is one of its own. */
typedef struct Cluster {
    Block *blocks[MAX_CLUSTER];   /* by rank */
    uint32_t size;
    uint32_t arrived;              /* threads at the cluster's barrier in this phase */
    uint32_t stuck;                /* passes in a row that did nothing but time out waits */
    uint64_t stuck_since;          /* the time of the first of these passes */
    uint32_t spins;                /* rounds in a row in which no block did more than wait */
    bool advanced;                 /* some block did more than wait */
} Cluster;

/* What a register of enum ClusterPlace reads. */
uint32_t cluster_place(const Block *block, unsigned place);
/* The block of the cluster whose shared memory has the generic address; NULL: none. */
Block *cluster_holder(const Block *block, uint64_t address);
/* The cluster's address, of 32 bits, for an offset in the shared memory of the block `of`. */
uint32_t cluster_address(const Block *of, uint64_t offset);
/* The block to which an address in the cluster's shared memory belongs, for threads of `block`; *offset
 * becomes the offset in that block's memory. NULL if there is no such block. */
Block *cluster_block_of(const Block *block, uint64_t address, uint64_t *offset);
/* The host address of bytes at such an address; NULL if they are not all there. */
uint8_t *cluster_shared_at(const Block *block, uint64_t address, uint64_t bytes);

/* To be called when a thread of the cluster has done more than wait: then there is no deadlock. */
static inline void cluster_advance(Cluster *cluster)
{
    cluster->stuck = 0;
    cluster->advanced = true;
}

#endif
