/* Nodes that something still to come depends on, with the data of the edges that will lead there. */
#ifndef DEVICE_API_STREAM_NODE_SET_H
#define DEVICE_API_STREAM_NODE_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/cuda_abi.h"

struct CUgraphNode_st;

typedef struct NodeSet {
    struct CUgraphNode_st **nodes; /* owned, with a reference each */
    CUgraphEdgeData *data;         /* of each, never NULL where there are nodes */
    size_t count;
} NodeSet;

/* All under the graphs' lock. data: NULL where all edges are ordinary ones. False if out of memory; then the
 * set is as it was. */
bool node_set_add(NodeSet *set, struct CUgraphNode_st *node, const CUgraphEdgeData *data);
bool node_set_replace(NodeSet *set, struct CUgraphNode_st *const *nodes, const CUgraphEdgeData *data,
                      size_t count);
/* Removes the nodes that no longer belong to that graph. */
void node_set_prune(NodeSet *set, const struct CUgraph_st *graph);
void node_set_clear(NodeSet *set);
/* Whether some edge is not an ordinary one. */
bool node_set_has_data(const NodeSet *set);

#endif
