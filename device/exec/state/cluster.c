/* The position of a block in its cluster, and the shared memory that the blocks of a cluster reach. */
#include "exec/state/cluster.h"

#include "exec/state/grid.h"

void grid_set_cluster(GridLaunch *launch, const uint32_t given[3])
{
    const CodeFunction *code = launch->function;
    launch->explicit_cluster = code->cluster[0] || given[0];
    for (int axis = 0; axis < 3; axis++) {
        launch->cluster[axis] = code->cluster[0] ? code->cluster[axis] : given[axis];
        if (code->blocks_are_clusters) launch->grid[axis] *= launch->cluster[axis];
    }
}

uint32_t cluster_place(const Block *block, unsigned place)
{
    const GridLaunch *launch = block->grid->launch;
    uint32_t axis = place % 3, size = launch_cluster_size(launch, axis);
    switch (place) {
    case CLUSTER_RANK: return block->rank;
    case CLUSTER_SIZE: return block->cluster->size;
    case CLUSTER_EXPLICIT: return launch->explicit_cluster;
    default: break;
    }
    switch (place - axis) {
    case CLUSTER_ID: return block->id[axis] / size;
    case CLUSTER_COUNT: return launch->grid[axis] / size;
    case CLUSTER_CTAID: return block->id[axis] % size;
    default: return size;
    }
}

Block *cluster_holder(const Block *block, uint64_t address)
{
    const Cluster *cluster = block->cluster;
    for (uint32_t r = 0; r < cluster->size; r++) {
        Block *holder = cluster->blocks[r];
        if (address - (uintptr_t)holder->shared < holder->shared_size) return holder;
    }
    return NULL;
}

uint32_t cluster_address(const Block *of, uint64_t offset)
{
    const uint32_t below = (1u << CLUSTER_SHIFT) - 1;
    return (of->rank + CLUSTER_FIRST) << CLUSTER_SHIFT | ((uint32_t)offset & below);
}

Block *cluster_block_of(const Block *block, uint64_t address, uint64_t *offset)
{
    const Cluster *cluster = block->cluster;
    uint64_t number = address >> CLUSTER_SHIFT;
    *offset = address & ((1u << CLUSTER_SHIFT) - 1);
    if (number == 0) return cluster->blocks[block->rank];
    return number - CLUSTER_FIRST < cluster->size ? cluster->blocks[number - CLUSTER_FIRST] : NULL;
}

uint8_t *cluster_shared_at(const Block *block, uint64_t address, uint64_t bytes)
{
    uint64_t offset;
    const Block *holder = cluster_block_of(block, address, &offset);
    bool inside = holder && offset < holder->shared_size && offset + bytes <= holder->shared_size;
    return inside ? holder->shared + offset : NULL;
}
