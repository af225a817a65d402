/* Nodes on which a node that will be added later depends, with the data of the edges that will lead to it. */
#ifndef DEVICE_API_STREAM_NODE_SET_H
#define DEVICE_API_STREAM_NODE_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/cuda_abi.h"

struct CUgraphNode_st;

typedef struct NodeSet {
    struct CUgraphNode_st **nodes; /* owned, with a reference each */
    CUgraphEdgeData *data; /* owned: of each node; NULL only if the set is empty */
    size_t count;
} NodeSet;

/* All functions are called under the graphs' lock. An edge whose data is zero is an ordinary one. */
/* Adds a node, or replaces the whole set. data: NULL if all these edges are ordinary. False if out of
 * memory; then the set is unchanged. */
bool node_set_add(NodeSet *set, struct CUgraphNode_st *node, const CUgraphEdgeData *data);
bool node_set_replace(NodeSet *set, struct CUgraphNode_st *const *nodes, const CUgraphEdgeData *data,
                      size_t count);
/* Removes the nodes that do not belong to that graph, or do so no longer. */
void node_set_prune(NodeSet *set, const struct CUgraph_st *graph);
/* Empties the set and frees what it owns. */
void node_set_clear(NodeSet *set);
/* Whether some edge is not an ordinary one. */
bool node_set_has_data(const NodeSet *set);

#endif
