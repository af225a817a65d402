/* Order of basic blocks: a weak topological order, every loop contiguous with its head first. */
#ifndef DEVICE_LOWER_PASSES_ORDER_H
#define DEVICE_LOWER_PASSES_ORDER_H

#include "ptx/arena.h"

/* The successors of block b are next[start[b]] up to next[start[b + 1]]; block 0 is the entry. */
typedef struct BlockGraph {
    uint32_t count;
    const uint32_t *start;
    const uint32_t *next;
} BlockGraph;

/* Writes the blocks that can be reached to `order`, which has room for graph->count; returns how many. Where
 * the order leaves a choice, the first successor of a block comes right after it. */
uint32_t lower_order(Arena *scratch, const BlockGraph *graph, uint32_t *order);

#endif
