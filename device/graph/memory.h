/* Memory that a graph allocates. Its address is known when the node is made; kernels find it from the run of
 * the node that allocates it to the run of the node that frees it. */
#ifndef DEVICE_GRAPH_MEMORY_H
#define DEVICE_GRAPH_MEMORY_H

#include "api/memory/pool.h"

typedef struct GraphMemory {
    _Atomic unsigned references;
    MemoryBlock *block; /* of pool_bind() */
    CUDA_MEM_ALLOC_NODE_PARAMS params; /* with the address */
    unsigned instances; /* executable graphs that allocate it: 0 or 1; under the graphs' lock */
} GraphMemory;

/* New memory of the context, with the caller's reference. */
CUresult graph_memory_new(Context *context, const CUDA_MEM_ALLOC_NODE_PARAMS *params, GraphMemory **out);
GraphMemory *graph_memory_hold(GraphMemory *memory);
void graph_memory_put(GraphMemory *memory);

#endif
