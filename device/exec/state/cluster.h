/* Clusters: blocks that run at the same time and reach each other's shared memory. */
#ifndef DEVICE_EXEC_STATE_CLUSTER_H
#define DEVICE_EXEC_STATE_CLUSTER_H

#include "exec/state/launch.h"
#include "exec/state/warp.h"

/* Addresses of a cluster's shared memory have rank + CLUSTER_FIRST from this bit on, or 0: the own block.
 * Addresses between them are invalid. */
enum { CLUSTER_SHIFT = 24, CLUSTER_FIRST = 0x40 };

/* The blocks of a cluster, which one worker runs in turn. A block without a cluster is one of its own. */
typedef struct Cluster {
    Block *blocks[MAX_CLUSTER];   /* by rank */
    uint32_t size;
    uint32_t arrived;              /* threads at the cluster's barrier in this phase */
    uint32_t stuck;                /* passes in a row that did nothing but time out waits */
    uint64_t stuck_since;          /* when the first of them was */
    uint32_t spins;                /* rounds in a row in which no block did more than wait */
    bool advanced;                 /* some block did more than wait */
} Cluster;

/* What a register of enum ClusterPlace reads. */
uint32_t cluster_place(const Block *block, unsigned place);
/* The block of the cluster that has that byte in its shared memory; NULL: none. */
Block *cluster_holder(const Block *block, uint64_t address);
/* The address of the cluster's shared memory, of 32 bits, for an offset in that of a block. */
uint32_t cluster_address(const Block *of, uint64_t offset);
/* The block, and the offset in its shared memory, of an address of the cluster's; NULL: there is none. */
Block *cluster_block_of(const Block *block, uint64_t address, uint64_t *offset);
uint8_t *cluster_shared_at(const Block *block, uint64_t address, uint64_t bytes);

/* Some thread did more than wait. */
static inline void cluster_advance(Cluster *cluster)
{
    cluster->stuck = 0;
    cluster->advanced = true;
}

#endif
