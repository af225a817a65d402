/* Sets of nodes with the data of edges. See node_set.h. */
#include "api/stream/node_set.h"

#include <stdlib.h>

#include "graph/graph.h"

static const CUgraphEdgeData ordinary;

static bool make_room(NodeSet *set)
{
    Node **nodes = realloc(set->nodes, (set->count + 1) * sizeof *nodes);
    if (!nodes) return false;
    set->nodes = nodes;
    CUgraphEdgeData *data = realloc(set->data, (set->count + 1) * sizeof *data);
    if (!data) return false;
    set->data = data;
    return true;
}

/* If the node is in the set already, an ordinary edge replaces another one: it waits for all of the node's
 * work. */
bool node_set_add(NodeSet *set, Node *node, const CUgraphEdgeData *data)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->nodes[i] != node) continue;
        if (!data || edge_is_ordinary(data)) set->data[i] = ordinary;
        return true;
    }
    if (!make_room(set)) return false;
    set->nodes[set->count] = node;
    set->data[set->count++] = data ? *data : ordinary;
    object_hold(OBJECT(node));
    return true;
}

bool node_set_replace(NodeSet *set, Node *const *nodes, const CUgraphEdgeData *data, size_t count)
{
    NodeSet fresh = {0};
    for (size_t i = 0; i < count; i++)
        if (!node_set_add(&fresh, nodes[i], data ? &data[i] : NULL)) {
            node_set_clear(&fresh);
            return false;
        }
    node_set_clear(set);
    *set = fresh;
    return true;
}

void node_set_prune(NodeSet *set, const Graph *graph)
{
    size_t left = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (set->nodes[i]->graph != graph) {
            PUT(set->nodes[i]);
            continue;
        }
        set->nodes[left] = set->nodes[i];
        set->data[left++] = set->data[i];
    }
    set->count = left;
}

void node_set_clear(NodeSet *set)
{
    for (size_t i = 0; i < set->count; i++) PUT(set->nodes[i]);
    free(set->nodes);
    free(set->data);
    *set = (NodeSet){0};
}

bool node_set_has_data(const NodeSet *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (!edge_is_ordinary(&set->data[i])) return true;
    return false;
}
